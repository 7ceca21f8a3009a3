#include "pkg/kube/workqueue/work_queue.h"

#include <algorithm>
#include <utility>

#include "pkg/base/check.h"

namespace kube {

void WorkQueue::Add(const std::string& key, TimePoint now) {
  MoveDue(now);  // What was due before `key` goes before it.
  StopWaiting(key);
  MakeReady(key, now);
}

void WorkQueue::AddAt(const std::string& key, TimePoint when, TimePoint now) {
  if (when <= now) {
    Add(key, now);
    return;
  }
  if (dirty_.contains(key)) return;  // Handed out sooner than that anyway.
  const auto it = waiting_.find(key);
  if (it != waiting_.end() && it->second <= when) return;
  StopWaiting(key);
  waiting_.emplace(key, when);
  by_time_.emplace(when, key);
}

void WorkQueue::AddAfterFailure(const std::string& key, TimePoint now,
                                std::chrono::seconds at_least) {
  ++retries_;
  AddAt(key, now + failures_[key].Next(backoff_, random_, at_least), now);
}

std::optional<std::string> WorkQueue::Get(TimePoint now) {
  MoveDue(now);
  if (ready_.empty()) return std::nullopt;
  std::string key = std::move(ready_.front());
  ready_.pop_front();
  const TimePoint since = dirty_.extract(key).mapped();
  CHECK(in_progress_.emplace(key, Held{.since = now, .waited = now - since}).second);
  return key;
}

void WorkQueue::Done(const std::string& key, TimePoint now, const Ended& ended) {
  if (ended.failed) ++retries_;
  if (ended.again_after) AddAt(key, now + *ended.again_after, now);
  MoveDue(now);  // While it is held, so that a delay of its own makes it dirty and no more.
  CHECK(in_progress_.erase(key) == 1);
  if (dirty_.contains(key)) ready_.push_back(key);
}

std::optional<WorkQueue::TimePoint> WorkQueue::NextDue() const {
  if (by_time_.empty()) return std::nullopt;
  return by_time_.begin()->first;
}

WorkQueue::Stats WorkQueue::StatsAt(TimePoint now) const {
  Stats stats = {.depth = ready_.size(),
                 .in_progress = in_progress_.size(),
                 .adds = adds_,
                 .retries = retries_};
  for (const auto& [key, held] : in_progress_) {
    stats.unfinished += now - held.since;
    stats.longest_held = std::max(stats.longest_held, now - held.since);
  }
  return stats;
}

void WorkQueue::MakeReady(const std::string& key, TimePoint now) {
  if (!dirty_.emplace(key, now).second) return;
  ++adds_;
  if (!in_progress_.contains(key)) ready_.push_back(key);
}

void WorkQueue::StopWaiting(const std::string& key) {
  const auto it = waiting_.find(key);
  if (it == waiting_.end()) return;
  by_time_.erase({it->second, key});
  waiting_.erase(it);
}

void WorkQueue::MoveDue(TimePoint now) {
  while (!by_time_.empty() && by_time_.begin()->first <= now) {
    const auto [due, key] = *by_time_.begin();
    StopWaiting(key);
    MakeReady(key, due);
  }
}

}  // namespace kube
