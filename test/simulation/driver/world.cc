#include "test/simulation/driver/world.h"

#include <algorithm>
#include <utility>

#include "node/dra/rules/checkpoint_text.h"
#include "pkg/base/check.h"
#include "pkg/base/rfc3339.h"
#include "test/simulation/apiserver/fixtures.h"

namespace simulation {

namespace {

using std::chrono::seconds;

constexpr auto kPluginStartsIn = seconds(1);
constexpr auto kBootTakes = seconds(30);
constexpr auto kServesOutFor = seconds(42);
constexpr auto kRollsIn = seconds(1);
constexpr auto kComesAgainIn = seconds(60);
constexpr auto kLockHeldFor = seconds(2);

// Returns whether the fault ends the process.
bool IsFatal(PluginFault fault) {
  return fault == PluginFault::kCrashBefore || fault == PluginFault::kReboot ||
         fault == PluginFault::kRebootKeepsSpecs;
}

}  // namespace

std::set<std::string> PluginWorld::HeldClaims(const std::optional<std::string>& checkpoint) {
  std::set<std::string> held;
  const std::string text = checkpoint.value_or("");
  const auto parts = dra::CheckpointText::Cut(text);
  if (!parts) return held;
  static_cast<void>(parts->ForEachEntry([&held](const dra::EntryRead& entry) {
    if (entry.state != dra::ClaimState::kAborted) held.insert(entry.uid);
  }));
  return held;
}

PluginWorld::PluginWorld(PluginRunSpec spec, bool trace)
    : spec_(std::move(spec)), traced_(trace), server_(store_) {
  store_.SetTime(*base::ParseTime("2026-11-23T06:00:00Z"));
  for (const char* ns : {"train", "other", "cdom-system"}) {
    CHECK(store_.Create("admin", Kind::kNamespace, "", NamespaceObject(ns)).ok());
  }
  for (const char* name : {"node-a", "node-b"}) {
    CHECK(store_.Create(name, Kind::kNode, "", NodeObject(name, "boot")).ok());
    nodes_[name] = std::make_unique<Node>(Node{.name = name});
    nodes_[name]->disk.boot_id = std::string(name) + "-boot-0";
    if (spec_.is_rolling) nodes_[name]->rolls_at = store_.now() + kRollsIn;
  }
  began_ = store_.revision();
}

void PluginWorld::Trace(const std::string& line) {
  if (traced_) outcome_.trace.push_back(base::FormatSeconds(store_.now()) + " " + line);
}

PluginEvent& PluginWorld::Log(Node& node, PluginEvent::What what, const std::string& name) {
  events_.push_back({.what = what,
                     .node = node.name,
                     .boot_id = node.disk.boot_id,
                     .name = name,
                     .has_spec = node.disk.specs.contains(name),
                     .has_old_numbers = HasOldNumbers(node, name),
                     .revision = store_.revision(),
                     .time = store_.now()});
  return events_.back();
}

bool PluginWorld::IsUsed(const Node& node) const {
  return std::ranges::any_of(
      pods_, [&](const auto& pod) { return pod->node == node.name && pod->state != State::kGone; });
}

// ---- Plugins

void PluginWorld::StartPlugin(Node& node, bool after_crash) {
  const std::uint64_t number = ++starts_;
  const auto is_youngest = [&node, number] { return node.plugins.back()->number() == number; };
  const auto has_younger = [&node, is_youngest] {
    return !is_youngest() && node.plugins.back()->IsServing();
  };
  node.plugins.push_back(NewProcess(
      node,
      PluginOptions{.client = "plugin/" + node.name,
                    .node = node.name,
                    .instances = {.is_superseded = has_younger,
                                  .has_younger = has_younger,
                                  .has_elder =
                                      [&node, is_youngest] {
                                        return is_youngest() && node.plugins.size() > 1;
                                      }},
                    .old_view = after_crash && spec_.stale ? began_ : kNewest,
                    .seed = number},
      [this, &node](const http::Request& request) { return Handle(node, request); },
      [this, &node](const DiskEdit& edit) { return Edit(node, edit); }));
}

Plugin* PluginWorld::Serving(const Node& node) {
  for (auto it = node.plugins.rbegin(); it != node.plugins.rend(); ++it) {
    if ((*it)->IsServing()) return it->get();
  }
  return nullptr;
}

// The kubelet repeats the calls that it had open.
void PluginWorld::EndProcess(Node& node, std::uint64_t process) {
  std::erase_if(node.plugins, [&](const auto& one) { return one->number() == process; });
  node.start_at = store_.now() + kPluginStartsIn;
  for (const auto& pod : pods_) {
    if (pod->node != node.name || !pod->ticket || pod->process != process) continue;
    pod->ticket.reset();
    pod->call_at = store_.now() + kKubeletRetriesIn;
  }
  Trace(node.name + ": process " + std::to_string(process) + " of the plugin ended");
}

void PluginWorld::StopPlugins(Node& node, Time until) {
  while (!node.plugins.empty()) EndProcess(node, node.plugins.back()->number());
  node.is_rolling = false;
  node.start_at = until;
}

void PluginWorld::ReloadDriver(Node& node, const std::string& version) {
  ++node.host.driver_loads;
  if (!version.empty()) node.host.driver_version = version;
  node.driver_ready_at = store_.now() + kDriverLoadsIn;
  LogHost(node);
  Trace(node.name + ": NVIDIA's driver is loaded again");
}

void PluginWorld::Roll(Node& node) {
  node.is_rolling = true;
  node.start_at = store_.now();
  node.elder_ends_at = store_.now() + kServesOutFor;
  Trace(node.name + ": a rolling update of the plugin begins");
}

bool PluginWorld::StepRollout(Node& node) {
  if (store_.now() >= node.rolls_at) {
    node.rolls_at = Time::max();
    Roll(node);
  }
  if (!node.is_rolling || node.plugins.size() < 2 || !node.plugins.back()->IsServing())
    return false;
  Plugin& elder = *node.plugins.front();
  if (elder.HasOpenCalls() && store_.now() < node.elder_ends_at) return false;
  elder.AnswerAll();
  for (const PluginAnswer& answer : elder.TakeAnswers()) Take(node, answer);
  EndProcess(node, elder.number());
  node.is_rolling = false;
  return true;
}

void PluginWorld::LoseSpecs(Node& node) {
  for (const auto& [uid, text] : std::exchange(node.disk.specs, {})) {
    Log(node, PluginEvent::What::kSpecLost, uid).has_entry =
        HeldClaims(node.disk.checkpoint).contains(uid);
  }
}

void PluginWorld::Boot(Node& node, bool keeps_specs) {
  StopPlugins(node, store_.now() + kBootTakes);
  node.disk.boot_id = node.name + "-boot-" + std::to_string(++node.boots);
  if (!keeps_specs) LoseSpecs(node);
  for (const auto& pod : pods_) {
    if (pod->node != node.name) continue;
    if (pod->state == State::kPrepared) pod->state = State::kWanted;
    pod->call_at = node.start_at;
  }
  Trace(node.name + " boots");
}

// ---- Faults

bool PluginWorld::IsFaulted(const Node& node, bool is_request, bool is_write, bool is_checkpoint) {
  if (is_request && is_write) ++outcome_.writes;
  if (++outcome_.requests != spec_.at) return false;
  const bool hits = [&] {
    switch (spec_.fault) {
      case PluginFault::kNone:
        return false;
      case PluginFault::kForbidden:
        return is_request;
      case PluginFault::kConflict:
        return is_request && is_write;
      case PluginFault::kTorn:
        return is_checkpoint || node.disk.checkpoint.has_value();
      case PluginFault::kKubeletCancels:
      case PluginFault::kCallComesAgain:
        return std::ranges::any_of(
            pods_, [&](const auto& pod) { return pod->node == node.name && IsUnderWay(*pod); });
      case PluginFault::kKubeletForgets:
        return std::ranges::any_of(
            pods_, [&](const auto& pod) { return pod->node == node.name && pod->called; });
      case PluginFault::kFilesLost:
        return !node.disk.specs.empty() || !node.disk.folders.empty();
      case PluginFault::kPluginRolls:
        return node.plugins.size() == 1 && node.plugins.back()->IsServing();
      case PluginFault::kLockHeld:
        return node.disk.lock_holder == nullptr;
      default:
        return CanHappen(node);
    }
  }();
  outcome_.faulted = hits;
  faulted_at_ = store_.now();
  return hits;
}

// Just before the request or edit at which the fault happens.
void PluginWorld::DisturbWorld(Node& node) {
  switch (spec_.fault) {
    case PluginFault::kKubeletRestarts:
      for (const auto& pod : pods_) {
        if (pod->node != node.name) continue;
        pod->ticket.reset();
        pod->call_at = store_.now() + kKubeletRetriesIn;
        if (pod->state == State::kPrepared) pod->state = State::kWanted;
      }
      break;
    case PluginFault::kKubeletCancels:
      for (const auto& pod : pods_) {
        if (pod->node != node.name || !IsUnderWay(*pod)) continue;
        pod->state = State::kEnding;
        pod->is_replaced = true;
      }
      break;
    case PluginFault::kWatchesExpire:
      server_.Compact(store_.revision());
      for (auto& [name, other] : nodes_) {
        for (const auto& process : other->plugins) process->ExpireWatches();
      }
      break;
    case PluginFault::kCallComesAgain:
      for (const auto& pod : pods_) {
        if (pod->node != node.name || !IsUnderWay(*pod)) continue;
        late_calls_.push_back({.node = node.name,
                               .key = pod->key,
                               .uid = pod->uid,
                               .at = store_.now() + kComesAgainIn});
      }
      break;
    case PluginFault::kKubeletForgets:
      Forget(node);
      break;
    case PluginFault::kFilesLost:
      LoseSpecs(node);
      node.disk.folders.clear();
      node.disk.driver_spec.reset();
      break;
    case PluginFault::kDriverReloads:
      ReloadDriver(node);
      break;
    case PluginFault::kPluginRolls:
      Roll(node);
      break;
    case PluginFault::kLockHeld:
      node.disk.lock_holder = this;
      node.lock_free_at = store_.now() + kLockHeldFor;
      break;
    default:
      Disturb(node);
  }
}

void PluginWorld::Tear(Node& node, const std::string& text) {
  node.disk.Apply({.text = text.substr(0, text.size() / 2)});
  Log(node, PluginEvent::What::kDamaged, "");
}

base::Result<http::Response> PluginWorld::Handle(Node& node, const http::Request& request) {
  const bool is_write = request.method != http::Method::kGet;
  const bool hits = IsFaulted(node, true, is_write, false);
  Trace(std::to_string(outcome_.requests) + " " + node.name + " " +
        std::string(http::ToString(request.method)) + " " + request.path +
        (hits ? " <- fault" : ""));
  const auto serve = [&] { return server_.Handle("plugin/" + node.name, request); };
  if (!hits) return serve();
  DisturbWorld(node);
  if (IsFatal(spec_.fault)) throw ProcessDied();
  switch (spec_.fault) {
    case PluginFault::kTorn:
      Tear(node, *node.disk.checkpoint);
      throw ProcessDied();
    case PluginFault::kCrashAfter:
      static_cast<void>(serve());
      throw ProcessDied();
    case PluginFault::kReplyLost:
      static_cast<void>(serve());
      return base::Fail(base::ErrorCode::kUnknownOutcome, "the reply was lost");
    case PluginFault::kFails:
      return http::Response{.status = 500};
    case PluginFault::kForbidden:
      return http::Response{.status = 403};
    case PluginFault::kConflict:
      return http::Response{.status = 409};
    default:
      return serve();
  }
}

void PluginWorld::Apply(Node& node, const DiskEdit& edit) {
  const std::set<std::string> before = HeldClaims(node.disk.checkpoint);
  node.disk.Apply(edit);
  const std::set<std::string> after = HeldClaims(node.disk.checkpoint);
  for (const std::string& uid : after) {
    if (!before.contains(uid)) Log(node, PluginEvent::What::kCheckpointed, uid);
  }
  // Nobody hears that it takes back the claim of a pod that is gone.
  for (const auto& pod : pods_) {
    const bool is_forgotten = pod->state == State::kGone && pod->called;
    if (!is_forgotten || !before.contains(pod->uid) || after.contains(pod->uid)) continue;
    Log(node, PluginEvent::What::kUnprepared, pod->uid);
  }
  if (edit.what == DiskEdit::What::kWriteSpec)
    Log(node, PluginEvent::What::kSpecWritten, edit.name).text = edit.text;
  if (edit.what == DiskEdit::What::kRemoveSpec) {
    Log(node, PluginEvent::What::kSpecRemoved, edit.name).in_use = std::ranges::any_of(
        pods_,
        [&](const auto& pod) { return pod->uid == edit.name && pod->state == State::kPrepared; });
  }
  OnEdit(node, edit);
}

base::Result<void> PluginWorld::Edit(Node& node, const DiskEdit& edit) {
  const bool hits = IsFaulted(node, false, true, edit.what == DiskEdit::What::kCheckpoint);
  Trace(std::to_string(outcome_.requests) + " " + node.name + " " + edit.ToString() +
        (hits ? " <- fault" : ""));
  if (hits) DisturbWorld(node);
  if (hits && IsFatal(spec_.fault)) throw ProcessDied();
  switch (hits ? spec_.fault : PluginFault::kNone) {
    case PluginFault::kCrashAfter:
      Apply(node, edit);
      throw ProcessDied();
    case PluginFault::kTorn:
      Tear(node, edit.what == DiskEdit::What::kCheckpoint ? edit.text : *node.disk.checkpoint);
      throw ProcessDied();
    case PluginFault::kReplyLost:
      Apply(node, edit);
      return base::Fail(base::ErrorCode::kUnavailable, "fsync failed");
    case PluginFault::kFails:
      return base::Fail(base::ErrorCode::kUnavailable, "no space left");
    default:
      Apply(node, edit);
      return {};
  }
}

// ---- Time

bool PluginWorld::StepPlugins(Node& node) {
  bool moved = false;
  std::vector<std::uint64_t> numbers;
  numbers.reserve(node.plugins.size());
  for (const auto& process : node.plugins) numbers.push_back(process->number());
  for (const std::uint64_t number : numbers) {
    const auto process = std::ranges::find_if(
        node.plugins, [&](const auto& one) { return one->number() == number; });
    if (process == node.plugins.end()) continue;
    Plugin& plugin = **process;
    try {
      moved = plugin.Step() || moved;
    } catch (const ProcessDied&) {
      const bool keeps = spec_.fault == PluginFault::kRebootKeepsSpecs;
      if (keeps || spec_.fault == PluginFault::kReboot) {
        Boot(node, keeps);
      } else {
        EndProcess(node, number);
      }
      return true;
    }
    for (const PluginAnswer& answer : plugin.TakeAnswers()) Take(node, answer);
  }
  return moved;
}

bool PluginWorld::StepNode(Node& node) {
  if (node.disk.lock_holder == this && store_.now() >= node.lock_free_at) {
    node.disk.lock_holder = nullptr;
  }
  const std::size_t wanted = node.is_rolling ? 2 : 1;
  if (node.plugins.size() < wanted && store_.now() >= node.start_at) {
    StartPlugin(node, outcome_.faulted);
    return true;
  }
  bool moved = StepRollout(node);
  for (std::size_t i = 0; i < pods_.size(); ++i) {
    if (pods_[i]->node == node.name) moved = StepKubelet(node, *pods_[i]) || moved;
  }
  return StepPlugins(node) || moved;
}

bool PluginWorld::StepAll() {
  bool moved = false;
  for (auto& [name, node] : nodes_) {
    moved = StepWorkload(*node) || moved;
    moved = StepNode(*node) || moved;
  }
  return StepLateCalls() || moved;
}

}  // namespace simulation
