#include "pkg/kube/workqueue/work_queue.h"

#include <algorithm>

#include "pkg/base/check.h"

namespace kube {

namespace {

constexpr std::size_t IndexOf(WorkQueue::Priority priority) {
  return static_cast<std::size_t>(priority);
}

}  // namespace

void WorkQueue::Add(const std::string& key, TimePoint now, const AddOptions& options) {
  MoveDue(now);  // Keys that were due earlier come before `key`.
  Key& entry = keys_[key];
  Want(entry, options);
  StopWaiting(key, entry);
  MakeDirty(key, entry, now);
}

void WorkQueue::AddAt(const std::string& key, TimePoint when, TimePoint now,
                      const AddOptions& options) {
  if (when <= now) {
    Add(key, now, options);
    return;
  }
  Key& entry = keys_[key];
  Want(entry, options);
  if (entry.dirty) return;  // It is handed out sooner anyway.
  if (entry.due && *entry.due <= when) return;
  StopWaiting(key, entry);
  entry.due = when;
  by_due_.emplace(when, key);
}

std::optional<std::string> WorkQueue::Get(TimePoint now) {
  MoveDue(now);
  const std::optional<Priority> priority = NextPriority();
  if (!priority) return std::nullopt;
  const std::string flow_name = std::get<2>(*turns_[IndexOf(*priority)].begin());
  Flow& flow = flows_.at(flow_name);
  std::string name = flow.ready[IndexOf(*priority)].begin()->second;
  Key& key = keys_.at(name);
  MakeUnready(key);
  const TimePoint since = std::exchange(key.dirty, std::nullopt).value();
  key.priority = Priority::kLow;
  CHECK(!key.held);
  key.held = Held{.flow = flow_name, .since = now, .waited = now - since};
  ++in_progress_;
  ++flow.held;
  flow.served = ++handed_out_;
  Place(flow_name);
  return name;
}

std::optional<WorkQueue::Priority> WorkQueue::NextPriority() {
  const bool any_normal = !turns_[IndexOf(Priority::kNormal)].empty();
  const bool any_low = !turns_[IndexOf(Priority::kLow)].empty();
  if (any_normal && (!any_low || normal_in_a_row_ < kNormalInARowMax)) {
    if (any_low) ++normal_in_a_row_;
    return Priority::kNormal;
  }
  normal_in_a_row_ = 0;
  return any_low ? std::optional(Priority::kLow) : std::nullopt;
}

void WorkQueue::Done(const std::string& key, TimePoint now, const Ended& ended) {
  if (ended.failed) ++retries_;
  if (ended.again_after) AddAt(key, now + *ended.again_after, now, {.priority = ended.priority});
  MoveDue(now);  // While it is held, so that its own delay only makes it dirty.
  Key& entry = keys_[key];
  CHECK(entry.held);
  const std::string flow = std::exchange(entry.held, std::nullopt)->flow;
  --in_progress_;
  --flows_.at(flow).held;
  Place(flow);
  if (ended.rest > std::chrono::nanoseconds(0)) {
    const TimePoint until = now + ended.rest;
    entry.rests_until = until;
    by_rest_.emplace(until, key);
  }
  if (entry.dirty) MakeReady(key, entry);
  ForgetIfUnknown(key);
}

std::optional<WorkQueue::TimePoint> WorkQueue::NextDue() const {
  if (by_due_.empty()) return std::nullopt;
  return by_due_.begin()->first;
}

WorkQueue::Stats WorkQueue::StatsAt(TimePoint now) const {
  Stats stats = {.depth = depth_, .in_progress = in_progress_, .adds = adds_, .retries = retries_};
  for (const auto& [name, key] : keys_) {
    if (!key.held) continue;
    stats.unfinished += now - key.held->since;
    stats.longest_held = std::max(stats.longest_held, now - key.held->since);
  }
  return stats;
}

void WorkQueue::Want(Key& key, const AddOptions& options) {
  const bool is_raised = options.priority < key.priority;
  const bool is_moved = !options.flow.empty() && options.flow != key.flow && !key.dirty;
  if (is_moved) key.flow = options.flow;
  if (!is_raised) return;
  const std::uint64_t place = key.place;
  if (place == 0) {
    key.priority = options.priority;
    return;
  }
  Flow& flow = flows_.at(key.flow);
  auto node = flow.ready[IndexOf(key.priority)].extract(place);
  key.priority = options.priority;
  flow.ready[IndexOf(key.priority)].insert(std::move(node));  // Keeps its age.
  Place(key.flow);
}

void WorkQueue::MakeDirty(const std::string& name, Key& key, TimePoint since) {
  if (key.dirty) return;
  key.dirty = since;
  ++adds_;
  MakeReady(name, key);
}

void WorkQueue::MakeReady(const std::string& name, Key& key) {
  if (key.held) return;
  if (key.rests_until) {
    by_due_.emplace(*key.rests_until, name);
    return;
  }
  key.place = ++last_place_;
  flows_[key.flow].ready[IndexOf(key.priority)].emplace(key.place, name);
  ++depth_;
  Place(key.flow);
}

void WorkQueue::MakeUnready(Key& key) {
  const auto erased =
      flows_.at(key.flow).ready[IndexOf(key.priority)].erase(std::exchange(key.place, 0));
  CHECK(erased == 1);
  --depth_;
}

void WorkQueue::StopWaiting(const std::string& name, Key& key) {
  if (!key.due) return;
  by_due_.erase({*key.due, name});
  key.due.reset();
}

void WorkQueue::MoveDue(TimePoint now) {
  while (!by_rest_.empty() && by_rest_.begin()->first <= now) {
    const auto [until, name] = by_rest_.extract(by_rest_.begin()).value();
    Key& key = keys_.at(name);
    key.rests_until.reset();
    if (key.dirty) by_due_.erase({until, name});
    if (key.dirty) MakeReady(name, key);
    ForgetIfUnknown(name);
  }
  while (!by_due_.empty() && by_due_.begin()->first <= now) {
    const auto [due, name] = *by_due_.begin();
    Key& key = keys_.at(name);
    StopWaiting(name, key);
    MakeDirty(name, key, due);
  }
}

void WorkQueue::ForgetIfUnknown(const std::string& name) {
  const auto it = keys_.find(name);
  const Key& key = it->second;
  if (!key.dirty && !key.due && !key.held && !key.rests_until) keys_.erase(it);
}

void WorkQueue::Place(const std::string& name) {
  const auto it = flows_.find(name);
  Flow& flow = it->second;
  bool has_ready = false;
  for (std::size_t i = 0; i < kPriorities; ++i) {
    if (flow.turns[i]) turns_[i].erase(*std::exchange(flow.turns[i], std::nullopt));
    if (flow.ready[i].empty()) continue;
    has_ready = true;
    if (flow.held >= held_by_flow_max_) continue;
    flow.turns[i] = Turn(flow.served, flow.ready[i].begin()->first, name);
    turns_[i].insert(*flow.turns[i]);
  }
  idle_flows_.erase({flow.served, name});
  if (has_ready || flow.held > 0) return;
  idle_flows_.emplace(flow.served, name);
  if (idle_flows_.size() <= kIdleFlowsMax) return;
  flows_.erase(idle_flows_.begin()->second);
  idle_flows_.erase(idle_flows_.begin());
}

}  // namespace kube
