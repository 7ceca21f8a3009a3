#include "test/simulation/plugin/world.h"

#include <algorithm>
#include <utility>

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

plugin::NodeIdentity IdentityOf(const std::string& node, const std::string& clique) {
  const std::string capability = "/dev/nvidia-caps/nvidia-cap512";
  return {.node = node,
          .driver_namespace = std::string(kDriverNamespace),
          .clique = clique,
          .folder = "/plugin",
          .channel_major = 235,
          .management = cdi::DeviceNode{
              .path = capability, .host_path = capability, .major = 236, .minor = 512}};
}

// UIDs of the claims that the checkpoint has as started or prepared.
std::set<std::string> HeldClaims(const std::optional<std::string>& checkpoint) {
  std::set<std::string> held;
  const auto decoded = plugin::DecodeCheckpoint(checkpoint.value_or(""));
  if (!decoded) return held;
  for (const auto& [uid, claim] : decoded->claims) {
    if (claim.state != plugin::ClaimState::kAborted) held.insert(uid);
  }
  return held;
}

}  // namespace

std::string DiskEdit::ToString() const {
  constexpr std::array kNames = {"write checkpoint", "write spec", "remove spec", "make folder",
                                 "remove folder"};
  return kNames.at(static_cast<std::size_t>(what)) + (" " + name);
}

void NodeDisk::Apply(const DiskEdit& edit) {
  switch (edit.what) {
    case DiskEdit::What::kCheckpoint:
      checkpoint = edit.text;
      break;
    case DiskEdit::What::kWriteSpec:
      specs[edit.name] = edit.text;
      break;
    case DiskEdit::What::kRemoveSpec:
      specs.erase(edit.name);
      break;
    case DiskEdit::What::kMakeFolder:
      folders.insert(edit.name);
      break;
    case DiskEdit::What::kRemoveFolder:
      folders.erase(edit.name);
      break;
  }
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
  const kube::ObjectKey key = {.ns = options.ns, .name = options.pod};
  const Value object = Value::Object({{"apiVersion", "resource.k8s.io/v1"},
                                      {"kind", "ResourceClaim"},
                                      {"metadata", Value::Object({{"name", options.pod}})},
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
  if (pod.state == State::kGone || !node.plugin) return false;
  const Time now = store_.now();
  if (pod.ticket) {
    if (pod.state == State::kEnding && pod.verb == Verb::kPrepare) {
      // On node-b the plugin hears of it too late.
      if (node.name == "node-a") node.plugin->Cancel(*pod.ticket);
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
    static_cast<void>(store_.Delete("claim-controller", Kind::kClaim, pod.key));
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
  node.plugin->Call(pod.verb, pod.key, pod.uid, *pod.ticket);
  return true;
}

PluginEvent& PluginWorld::Log(Node& node, PluginEvent::What what, const std::string& name) {
  events_.push_back({.what = what,
                     .node = node.name,
                     .boot_id = node.disk.boot_id,
                     .name = name,
                     .has_spec = node.disk.specs.contains(name),
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

void PluginWorld::StartPlugin(Node& node, bool after_crash) {
  const std::string client = "plugin/" + node.name;
  node.plugin = std::make_unique<Plugin>(
      server_, node.disk,
      PluginOptions{.client = client,
                    .self = IdentityOf(node.name, clique_),
                    .rules = rules_,
                    .old_view = after_crash && spec_.stale ? began_ : kNewest,
                    .seed = static_cast<std::uint64_t>(++starts_)},
      [this, &node](const http::Request& request) { return Serve(node, request); },
      [this, &node](const DiskEdit& edit) { return Edit(node, edit); });
}

// The kubelet repeats its open calls.
void PluginWorld::EndProcess(Node& node) {
  node.plugin.reset();
  node.start_at = store_.now() + kPluginStartsIn;
  for (const auto& pod : pods_) {
    if (pod->node != node.name || !pod->ticket) continue;
    pod->ticket.reset();
    pod->call_at = store_.now() + kKubeletRetriesIn;
  }
  Trace(node.name + ": the plugin died");
}

void PluginWorld::Boot(Node& node, bool keeps_specs) {
  EndProcess(node);
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
        return is_checkpoint;
      case PluginFault::kKubeletCancels:
        return std::ranges::any_of(
            pods_, [&](const auto& pod) { return pod->node == node.name && IsUnderWay(*pod); });
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
        if (other->plugin) other->plugin->ExpireWatches();
      }
      break;
    default:
      break;
  }
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
    for (const std::string& uid : HeldClaims(node.disk.checkpoint)) {
      if (!before.contains(uid)) Log(node, PluginEvent::What::kCheckpointed, uid);
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
      node.disk.checkpoint = edit.text.substr(0, edit.text.size() / 2);
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

bool PluginWorld::StepNode(Node& node) {
  if (!node.plugin) {
    if (store_.now() < node.start_at) return false;
    StartPlugin(node, outcome_.faulted);
    return true;
  }
  bool moved = false;
  for (std::size_t i = 0; i < pods_.size(); ++i) {
    if (pods_[i]->node == node.name) moved = StepKubelet(node, *pods_[i]) || moved;
  }
  try {
    moved = node.plugin->Step() || moved;
  } catch (const ProcessDied&) {
    const bool keeps = spec_.fault == PluginFault::kRebootKeepsSpecs;
    if (keeps || spec_.fault == PluginFault::kReboot) {
      Boot(node, keeps);
    } else {
      EndProcess(node);
    }
    return true;
  }
  for (const PluginAnswer& answer : node.plugin->TakeAnswers()) Take(node, answer);
  return moved;
}

bool PluginWorld::StepAll() {
  bool moved = false;
  for (auto& [name, node] : nodes_) {
    moved = StepDaemons(*node) || moved;
    moved = StepNode(*node) || moved;
  }
  return moved;
}

Time PluginWorld::NextDue() const {
  Time due = store_.now() + std::chrono::hours(1);
  const auto at = [&](Time time) {
    if (time > store_.now()) due = std::min(due, time);
  };
  for (const auto& [name, node] : nodes_) {
    at(node->start_at);
    if (!node->plugin) continue;
    if (const auto next = node->plugin->NextDue()) at(*next);
  }
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
  constexpr auto kSettlesIn = std::chrono::minutes(3);
  const PluginScenario* scenario = FindPluginScenario(spec_.scenario);
  CHECK(scenario != nullptr);
  for (const PluginPhase& phase : scenario->phases) {
    if (phase.begin) phase.begin(*this);
    RunFor(phase.lasts);
    const auto since = store_.now() - faulted_at_;
    if (phase.prepared && since < kSettlesIn)
      RunFor(std::chrono::ceil<seconds>(kSettlesIn - since));
    if (phase.prepared) CheckRest(phase);
    if (!outcome_.violations.empty()) break;
  }
  for (std::string& violation : CheckPlugins(server_, events_)) {
    outcome_.violations.push_back(std::move(violation));
  }
}

}  // namespace simulation
