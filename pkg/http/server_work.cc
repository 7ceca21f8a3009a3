#include "pkg/http/server_work.h"

#include <utility>

namespace http {

WorkThread::WorkThread(std::size_t bytes_max, std::function<void()> on_made)
    : bytes_max_(bytes_max), on_made_(std::move(on_made)) {}

void WorkThread::Add(std::uint64_t id, ServerWork work) {
  waiting_.With([id](auto& waiting) { waiting.insert(id); });
  executor_.Post([this, id, work = std::move(work)](const std::stop_token& /*stop*/) {
    const bool is_wanted = waiting_.With([id](auto& waiting) { return waiting.erase(id) > 0; });
    if (!is_wanted) return;
    Made made = {.id = id, .reply = Hold(work())};
    made_.With([&](auto& all) { all.push_back(std::move(made)); });
    on_made_();
  });
}

void WorkThread::Drop(std::uint64_t id) {
  waiting_.With([id](auto& waiting) { waiting.erase(id); });
}

std::vector<WorkThread::Made> WorkThread::TakeMade() {
  return made_.With([](auto& made) { return std::exchange(made, {}); });
}

HeldReply WorkThread::Hold(ServerReply reply) {
  const std::size_t bytes = reply.body.capacity();
  if (bytes_.fetch_add(bytes) + bytes > bytes_max_) {
    bytes_ -= bytes;
    return {};
  }
  return {new ServerReply(std::move(reply)), [this, bytes](const ServerReply* held) {
            bytes_ -= bytes;
            delete held;
          }};
}

}  // namespace http
