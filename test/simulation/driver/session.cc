#include "test/simulation/driver/session.h"

#include <algorithm>
#include <stop_token>
#include <utility>

namespace simulation {

namespace {

class ServingTransport final : public http::Transport {
 public:
  explicit ServingTransport(const Serve& serve) : serve_(serve) {}
  std::vector<base::Result<http::Response>> SendAll(
      const std::vector<http::Request>& requests) override {
    std::vector<base::Result<http::Response>> replies;
    replies.reserve(requests.size());
    for (const http::Request& request : requests) replies.push_back(serve_(request));
    return replies;
  }

 private:
  const Serve& serve_;
};

}  // namespace

kube::ApiSession::WatchHandle StepSession::Watch(std::vector<kube::Reflector*> reflectors,
                                                 std::function<void()> on_turn) {
  auto group = std::make_shared<Group>();
  group->on_turn = std::move(on_turn);
  for (kube::Reflector* reflector : reflectors) {
    group->watchers.emplace_back(*reflector, server_, client_, serve_, clock_, lag_);
  }
  std::erase_if(groups_, [](const auto& other) { return other.expired(); });
  groups_.push_back(group);
  return group;
}

std::vector<std::shared_ptr<StepSession::Group>> StepSession::Groups() const {
  std::vector<std::shared_ptr<Group>> groups;
  for (const auto& one : groups_) {
    if (auto group = one.lock()) groups.push_back(std::move(group));
  }
  return groups;
}

bool StepSession::Step(Revision view) {
  for (const auto& group : Groups()) {
    for (Watcher& watcher : group->watchers) {
      if (!watcher.Step(view)) continue;
      group->on_turn();
      return true;
    }
  }
  if (tasks_.empty()) return false;
  const Task task = std::move(tasks_.front());
  tasks_.pop_front();
  ServingTransport transport(serve_);
  task(transport);
  return true;
}

std::optional<Time> StepSession::NextDue() const {
  std::optional<Time> due;
  for (const auto& group : Groups()) {
    for (const Watcher& watcher : group->watchers) {
      if (const auto next = watcher.NextDue()) due = std::min(due.value_or(*next), *next);
    }
  }
  return due;
}

void StepSession::ExpireWatches() {
  for (const auto& group : Groups()) {
    for (Watcher& watcher : group->watchers) watcher.Expire();
  }
}

bool StepExecutor::Step() {
  if (tasks_.empty()) return false;
  const Task task = std::move(tasks_.front());
  tasks_.pop_front();
  task(std::stop_token());
  return true;
}

}  // namespace simulation
