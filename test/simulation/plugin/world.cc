#include "test/simulation/plugin/world.h"

#include <algorithm>
#include <utility>

#include "node/cdi/files.h"
#include "node/plugin/rules/cdi_names.h"
#include "node/plugin/rules/checkpoint.h"
#include "pkg/base/check.h"
#include "pkg/base/rfc3339.h"
#include "test/simulation/apiserver/contract.h"
#include "test/simulation/apiserver/fixtures.h"
#include "test/simulation/plugin/mutants.h"

namespace simulation {

namespace {

using json::Value;
using std::chrono::seconds;
using State = PluginPod::State;

constexpr auto kKubeletWaits = seconds(45);
constexpr auto kKubeletRetriesIn = seconds(5);
constexpr auto kPluginStartsIn = seconds(1);
constexpr auto kBootTakes = seconds(30);
constexpr auto kServesOutFor = seconds(42);
constexpr auto kRollsIn = seconds(1);
constexpr auto kComesAgainIn = seconds(60);
constexpr auto kLockHeldFor = seconds(2);
constexpr auto kDriverLoadsIn = seconds(3);
constexpr std::int64_t kFirstMajor = 235;
constexpr int kNobody = -1;  // The ticket of a call whose answer nobody awaits.

Value Configuration(const PluginWorld::PodOptions& options, const std::string& domain) {
  const bool is_channel = options.device.starts_with("channel");
  Value parameters = Value::Object({{"apiVersion", "resource.nvidia.com/v1beta1"},
                                    {"kind", is_channel ? kChannelConfig : kDaemonConfig},
                                    {"domainID", domain}});
  if (is_channel) parameters["allocationMode"] = "Single";
  if (!options.extra_field.empty()) parameters[options.extra_field] = true;
  return Value::Object(
      {{"source", "FromClaim"},
       {"requests", Value::Array({"r"})},
       {"opaque", Value::Object({{"driver", kDriver}, {"parameters", std::move(parameters)}})}});
}

Value Consumer(const std::string& pod) {
  return Value::Array(
      {Value::Object({{"resource", "pods"}, {"name", pod}, {"uid", "uid-of-" + pod}})});
}

Value ClaimStatus(const PluginWorld::PodOptions& options, const std::string& domain) {
  const Value result = Value::Object(
      {{"request", "r"}, {"driver", kDriver}, {"pool", options.node}, {"device", options.device}});
  const Value devices = Value::Object({{"results", Value::Array({result})},
                                       {"config", Value::Array({Configuration(options, domain)})}});
  return Value::Object({{"allocation", Value::Object({{"devices", devices}})},
                        {"reservedFor", Consumer(options.pod)}});
}

}  // namespace

std::set<std::string> PluginWorld::HeldClaims(const std::optional<std::string>& checkpoint) {
  std::set<std::string> held;
  const auto decoded = plugin::DecodeCheckpoint(checkpoint.value_or(""));
  if (!decoded) return held;
  for (const auto& [uid, claim] : decoded->claims) {
    if (claim.state != plugin::ClaimState::kAborted) held.insert(uid);
  }
  return held;
}

PluginWorld::PluginWorld(PluginRunSpec spec, bool trace)
    : spec_(std::move(spec)), traced_(trace), server_(store_) {
  if (!spec_.mutant.empty()) {
    const PluginMutant* mutant = FindPluginMutant(spec_.mutant);
    CHECK(mutant != nullptr);
    rules_ = mutant->rules;
  }
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

// ---- Users

void PluginWorld::MakeDomain(const std::string& name, const std::string& ns) {
  const Reply made =
      store_.Create("user", Kind::kComputeDomain, ns, ComputeDomainObject(name, name + "-channel"));
  CHECK(made.ok());
  domains_[name] = made.object->uid();
  namespaces_[name] = ns;
}

void PluginWorld::DeleteDomain(const std::string& name) {
  static_cast<void>(
      store_.Delete("user", Kind::kComputeDomain, {.ns = namespaces_[name], .name = name}));
  Trace("domain " + name + " is deleted");
}

void PluginWorld::MakePod(const PodOptions& options) {
  const auto known = domains_.find(options.domain);
  const std::string domain = known != domains_.end() ? known->second : options.domain;
  const kube::ObjectKey key = {.ns = options.ns,
                               .name = options.claim.empty() ? options.pod : options.claim};
  const Value object = Value::Object({{"apiVersion", "resource.k8s.io/v1"},
                                      {"kind", "ResourceClaim"},
                                      {"metadata", Value::Object({{"name", key.name}})},
                                      {"spec", Value::Object({{"devices", Value::Object({})}})}});
  const Reply made = store_.Create("user", Kind::kClaim, options.ns, object);
  CHECK(made.ok());
  CHECK(store_
            .Edit(
                "scheduler", Kind::kClaim, key,
                [&](Value& claim) { claim["status"] = ClaimStatus(options, domain); },
                Subresource::kStatus)
            .ok());
  pods_.push_back(std::make_unique<PluginPod>(PluginPod{.name = options.pod,
                                                        .key = key,
                                                        .uid = made.object->uid(),
                                                        .node = options.node,
                                                        .domain = domain,
                                                        .options = options,
                                                        .keeps_claim = options.keeps_claim,
                                                        .call_at = store_.now()}));
  Trace("pod " + options.pod + " with claim " + made.object->uid());
}

void PluginWorld::EndPod(const std::string& name) {
  for (const auto& pod : pods_) {
    if (pod->name != name || pod->state == State::kGone) continue;
    pod->state = State::kEnding;
    pod->is_replaced = false;
    pod->call_at = store_.now();
  }
  Trace("pod " + name + " ends");
}

void PluginWorld::ReplaceUserOf(const std::string& name) {
  for (const auto& pod : pods_) {
    if (pod->name != name) continue;
    Trace("another pod uses the claim of " + name);
    CHECK(pod->state == State::kGone);
    const std::string other = name + "-" + std::to_string(++replaced_);
    CHECK(store_
              .Edit(
                  "scheduler", Kind::kClaim, pod->key,
                  [&](Value& claim) { claim["status"]["reservedFor"] = Consumer(other); },
                  Subresource::kStatus)
              .ok());
    pod->state = State::kWanted;
    pod->call_at = store_.now();
  }
}

void PluginWorld::RemoveLabel(const std::string& node) {
  CHECK(store_
            .Edit("admin", Kind::kNode, {.name = node},
                  [](Value& object) { object["metadata"]["labels"].Erase(kDomainLabel); })
            .ok());
}

// ---- Kubelets

bool PluginWorld::StepKubelet(Node& node, PluginPod& pod) {
  Plugin* const serving = Serving(node);
  if (pod.state == State::kGone || serving == nullptr) return false;
  const Time now = store_.now();
  if (pod.ticket) {
    if (pod.state == State::kEnding && pod.verb == Verb::kPrepare) {
      // On node-b the plugin hears of it too late.
      for (const auto& process : node.plugins) {
        if (node.name == "node-a") process->Cancel(*pod.ticket);
      }
      pod.ticket.reset();
      pod.call_at = now;
      return true;
    }
    if (now < pod.called_at + kKubeletWaits) return false;
    pod.ticket.reset();
    pod.call_at = now + kKubeletRetriesIn;
    return true;
  }
  if (pod.state == State::kPrepared || now < pod.call_at) return false;
  if (pod.state == State::kEnding && !pod.called) {
    pod.state = State::kGone;
    if (!pod.keeps_claim) {
      static_cast<void>(store_.Delete("claim-controller", Kind::kClaim, pod.key));
    }
    return true;
  }
  pod.called = true;
  pod.verb = pod.state == State::kWanted ? Verb::kPrepare : Verb::kUnprepare;
  if (pod.verb == Verb::kPrepare) {
    pod.called_in = node.disk.boot_id;
    Log(node, PluginEvent::What::kCalled, pod.uid);
  }
  pod.ticket = ++tickets_;
  pod.called_at = now;
  pod.process = serving->number();
  serving->Call(pod.verb, pod.key, pod.uid, *pod.ticket);
  return true;
}

// A reload in the middle of a turn is noticed in the next one.
bool PluginWorld::HasOldNumbers(const Node& node, const kube::Uid& claim) const {
  const auto spec = node.disk.specs.find(claim);
  const auto reloaded_at = node.driver_ready_at - kDriverLoadsIn;
  if (spec == node.disk.specs.end() || store_.now() == reloaded_at) return false;
  const auto parsed = cdi::Parse(spec->second, claim);
  if (!parsed) return false;
  return std::ranges::any_of(parsed->devices, [&](const cdi::Device& device) {
    return std::ranges::any_of(device.edits.nodes, [&](const cdi::DeviceNode& file) {
      return file.path.find("imex-channels") != std::string::npos &&
             file.major != DriverOf(node).host.channel_major;
    });
  });
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

void PluginWorld::Take(Node& node, const PluginAnswer& answer) {
  const auto it =
      std::ranges::find_if(pods_, [&](const auto& pod) { return pod->ticket == answer.ticket; });
  Trace(node.name + " answers " + (answer.verb == Verb::kPrepare ? "prepare " : "unprepare ") +
        answer.uid + ": " + (answer.error.empty() ? "done" : answer.error));
  if (it == pods_.end()) return;  // Nobody listens any more.
  PluginPod& pod = **it;
  pod.ticket.reset();
  pod.call_at = store_.now() + kKubeletRetriesIn;
  if (!answer.error.empty()) {
    Log(node, PluginEvent::What::kRefused, answer.uid).text = answer.error;
    return;
  }
  if (answer.verb == Verb::kPrepare) {
    Log(node, PluginEvent::What::kPrepared, answer.uid).cdi_ids = answer.cdi_ids;
    if (pod.state != State::kWanted) return;
    pod.state = State::kPrepared;
    pod.prepared_at = store_.now();
    return;
  }
  PluginEvent& event = Log(node, PluginEvent::What::kUnprepared, answer.uid);
  pod.state = State::kGone;
  pod.called = false;
  event.is_last =
      pod.called_in == node.disk.boot_id && std::ranges::none_of(pods_, [&](const auto& other) {
        return !other->is_daemon && other->node == pod.node && other->domain == pod.domain &&
               other->called;
      });
  if (pod.is_replaced) {
    pod.is_replaced = false;
    ReplaceUserOf(pod.name);
  } else if (!pod.keeps_claim) {
    static_cast<void>(store_.Delete("claim-controller", Kind::kClaim, pod.key));
  }
}

// ---- Plugins

base::Result<plugin::DriverRead> PluginWorld::ReadDriver(const Node& node) const {
  if (store_.now() < node.driver_ready_at) return base::Unavailable("the driver is being loaded");
  return DriverOf(node);
}

plugin::DriverRead PluginWorld::DriverOf(const Node& node) const {
  const std::string capability = "/dev/nvidia-caps/nvidia-cap512";
  const cdi::Spec files = {.kind = std::string(plugin::kBaseKind), .devices = {{.name = "all"}}};
  return {.mark = std::to_string(node.driver_loads),
          .host = {.driver_version = "580.95.05",
                   .clique = clique_,
                   .gpus = 4,
                   .channel_major = kFirstMajor + node.driver_loads,
                   .management = cdi::DeviceNode{.path = capability,
                                                 .host_path = capability,
                                                 .major = kFirstMajor - 1,
                                                 .minor = 512}},
          .base_spec = cdi::Render(files)};
}

void PluginWorld::StartPlugin(Node& node, bool after_crash) {
  const std::uint64_t number = ++starts_;
  const auto is_youngest = [&node, number] { return node.plugins.back()->number() == number; };
  node.plugins.push_back(std::make_unique<Plugin>(
      server_, node.disk,
      PluginOptions{.client = "plugin/" + node.name,
                    .node = node.name,
                    .rules = rules_,
                    .instances = {.is_superseded =
                                      [&node, is_youngest] {
                                        return !is_youngest() && node.plugins.back()->IsServing();
                                      },
                                  .has_elder =
                                      [&node, is_youngest] {
                                        return is_youngest() && node.plugins.size() > 1;
                                      }},
                    .driver_mark = [&node] { return std::to_string(node.driver_loads); },
                    .read_driver = [this, &node] { return ReadDriver(node); },
                    .old_view = after_crash && spec_.stale ? began_ : kNewest,
                    .seed = number},
      [this, &node](const http::Request& request) { return Serve(node, request); },
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

void PluginWorld::Boot(Node& node, bool keeps_specs) {
  while (!node.plugins.empty()) EndProcess(node, node.plugins.back()->number());
  node.is_rolling = false;
  node.start_at = store_.now() + kBootTakes;
  node.disk.boot_id = node.name + "-boot-" + std::to_string(++node.boots);
  if (!keeps_specs) node.disk.specs.clear();
  for (const auto& pod : pods_) {
    if (pod->node != node.name) continue;
    if (pod->state == State::kPrepared) pod->state = State::kWanted;
    pod->call_at = node.start_at;
  }
  Trace(node.name + " boots");
}

// The control plane ends the pods, and deletes their claims.
void PluginWorld::Forget(const Node& node) {
  const std::size_t before = pods_.size();
  for (std::size_t i = 0; i < before; ++i) {
    PluginPod& pod = *pods_[i];
    if (pod.node != node.name || pod.state == State::kGone || !pod.called) continue;
    const bool was_ending = pod.state == State::kEnding;
    pod.state = State::kGone;
    pod.ticket.reset();
    if (was_ending && pod.keeps_claim) continue;
    pod.name += " (forgotten)";
    CHECK(store_.Delete("claim-controller", Kind::kClaim, pod.key).ok());
    if (pod.is_daemon || was_ending) continue;
    PodOptions again = pod.options;
    again.claim = pod.key.name + "-again";  // The name of its pod stays.
    MakePod(again);
  }
  Trace(node.name + ": the kubelet forgets its pods");
}

bool PluginWorld::StepLateCalls() {
  const auto due = std::ranges::find_if(late_calls_, [&](const LateCall& call) {
    return call.at <= store_.now() && Serving(*nodes_.at(call.node)) != nullptr;
  });
  if (due == late_calls_.end()) return false;
  Serving(*nodes_.at(due->node))->Call(Verb::kPrepare, due->key, due->uid, kNobody);
  late_calls_.erase(due);
  return true;
}

bool PluginWorld::IsUnderWay(const PluginPod& pod) {
  return pod.state == State::kWanted && pod.ticket && pod.verb == Verb::kPrepare;
}

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
        return true;
    }
  }();
  outcome_.faulted = hits;
  faulted_at_ = store_.now();
  return hits;
}

// Just before the request or edit at which the fault happens.
void PluginWorld::DisturbWorld(Node& node) {
  switch (spec_.fault) {
    case PluginFault::kDomainDeleted:
      DeleteDomain(domains_.begin()->first);
      break;
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
      node.disk.specs.clear();
      node.disk.folders.clear();
      node.disk.driver_spec.reset();
      break;
    case PluginFault::kDriverReloads:
      ++node.driver_loads;
      node.driver_ready_at = store_.now() + kDriverLoadsIn;
      break;
    case PluginFault::kPluginRolls:
      Roll(node);
      break;
    case PluginFault::kLockHeld:
      node.disk.lock_holder = this;
      node.lock_free_at = store_.now() + kLockHeldFor;
      break;
    default:
      break;
  }
}

void PluginWorld::Tear(Node& node, const std::string& text) {
  node.disk.Apply({.text = text.substr(0, text.size() / 2)});
}

base::Result<http::Response> PluginWorld::Serve(Node& node, const http::Request& request) {
  const bool is_write = request.method != http::Method::kGet;
  const bool hits = IsFaulted(node, true, is_write, false);
  Trace(std::to_string(outcome_.requests) + " " + node.name + " " +
        std::string(http::ToString(request.method)) + " " + request.path +
        (hits ? " <- fault" : ""));
  const auto serve = [&] { return server_.Handle("plugin/" + node.name, request); };
  if (!hits) return serve();
  DisturbWorld(node);
  switch (spec_.fault) {
    case PluginFault::kTorn:
      Tear(node, *node.disk.checkpoint);
      throw ProcessDied();
    case PluginFault::kCrashBefore:
    case PluginFault::kReboot:
    case PluginFault::kRebootKeepsSpecs:
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

base::Result<void> PluginWorld::Edit(Node& node, const DiskEdit& edit) {
  const bool hits = IsFaulted(node, false, true, edit.what == DiskEdit::What::kCheckpoint);
  Trace(std::to_string(outcome_.requests) + " " + node.name + " " + edit.ToString() +
        (hits ? " <- fault" : ""));
  const auto apply = [&] {
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
    if (edit.what != DiskEdit::What::kRemoveFolder) return;
    Log(node, PluginEvent::What::kFolderRemoved, edit.name).in_use =
        std::ranges::any_of(pods_, [&](const auto& pod) {
          return pod->is_daemon && pod->node == node.name && pod->domain == edit.name &&
                 pod->state == State::kPrepared;
        });
  };
  if (hits) DisturbWorld(node);
  switch (hits ? spec_.fault : PluginFault::kNone) {
    case PluginFault::kCrashBefore:
    case PluginFault::kReboot:
    case PluginFault::kRebootKeepsSpecs:
      throw ProcessDied();
    case PluginFault::kCrashAfter:
      apply();
      throw ProcessDied();
    case PluginFault::kTorn:
      Tear(node, edit.what == DiskEdit::What::kCheckpoint ? edit.text : *node.disk.checkpoint);
      throw ProcessDied();
    case PluginFault::kReplyLost:
      apply();
      return base::Fail(base::ErrorCode::kUnavailable, "fsync failed");
    case PluginFault::kFails:
      return base::Fail(base::ErrorCode::kUnavailable, "no space left");
    default:
      apply();
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
    moved = StepDaemons(*node) || moved;
    moved = StepNode(*node) || moved;
  }
  return StepLateCalls() || moved;
}

Time PluginWorld::NextDue() const {
  Time due = store_.now() + std::chrono::hours(1);
  const auto at = [&](Time time) {
    if (time > store_.now()) due = std::min(due, time);
  };
  for (const auto& [name, node] : nodes_) {
    at(node->start_at);
    at(node->lock_free_at);
    at(node->elder_ends_at);
    at(node->rolls_at);
    for (const auto& process : node->plugins) at(process->NextDue());
  }
  for (const LateCall& call : late_calls_) at(call.at);
  for (const auto& pod : pods_) {
    at(pod->call_at);
    if (pod->ticket) at(pod->called_at + kKubeletWaits);
    if (pod->is_daemon) at(pod->prepared_at + PluginPod::kDaemonStartsIn);
  }
  return due;
}

void PluginWorld::RunFor(seconds time) {
  constexpr int kStepsMax = 20'000;
  const Time end = store_.now() + time;
  for (int steps = 0; store_.now() < end;) {
    while (StepAll()) {
      if (++steps < kStepsMax) continue;
      outcome_.violations.push_back("N-5: it never comes to rest");
      return;
    }
    store_.SetTime(std::min(end, NextDue()));
  }
}

void PluginWorld::Run() {
  // What the kubelet has forgotten, a collection finds every 10 minutes.
  const auto settles_in =
      std::chrono::minutes(spec_.fault == PluginFault::kKubeletForgets ? 25 : 3);
  const PluginScenario* scenario = FindPluginScenario(spec_.scenario);
  CHECK(scenario != nullptr);
  for (const PluginPhase& phase : scenario->phases) {
    if (phase.begin) phase.begin(*this);
    RunFor(phase.lasts);
    const auto since = store_.now() - faulted_at_;
    if (phase.prepared && since < settles_in)
      RunFor(std::chrono::ceil<seconds>(settles_in - since));
    if (phase.prepared) CheckRest(phase);
    if (!outcome_.violations.empty()) break;
  }
  for (std::string& violation : CheckPlugins(server_, events_)) {
    outcome_.violations.push_back(std::move(violation));
  }
}

}  // namespace simulation
