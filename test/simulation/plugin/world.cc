#include "test/simulation/plugin/world.h"

#include <algorithm>
#include <utility>

#include "node/cdi/files.h"
#include "node/plugin/rules/cdi_names.h"
#include "pkg/base/check.h"
#include "test/simulation/apiserver/contract.h"
#include "test/simulation/apiserver/fixtures.h"
#include "test/simulation/plugin/domain_plugin.h"
#include "test/simulation/plugin/mutants.h"
#include "test/simulation/plugin/oracles.h"

namespace simulation {

namespace {

using json::Value;

constexpr std::int64_t kFirstMajor = 235;

Value Configuration(const DomainPodOptions& options, const std::string& domain) {
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

Value DevicesOf(const DomainPodOptions& options, const std::string& domain) {
  const Value result = Value::Object(
      {{"request", "r"}, {"driver", kDriver}, {"pool", options.node}, {"device", options.device}});
  return Value::Object({{"results", Value::Array({result})},
                        {"config", Value::Array({Configuration(options, domain)})}});
}

}  // namespace

const PluginProgram& DomainPlugins() {
  static const PluginProgram program = {
      .name = "plugin",
      .faults = {PluginFault::kCrashBefore, PluginFault::kCrashAfter, PluginFault::kFails,
                 PluginFault::kReplyLost, PluginFault::kForbidden, PluginFault::kConflict,
                 PluginFault::kTorn, PluginFault::kDomainDeleted, PluginFault::kReboot,
                 PluginFault::kRebootKeepsSpecs, PluginFault::kKubeletRestarts,
                 PluginFault::kKubeletCancels, PluginFault::kWatchesExpire,
                 PluginFault::kCallComesAgain, PluginFault::kKubeletForgets,
                 PluginFault::kFilesLost, PluginFault::kDriverReloads, PluginFault::kPluginRolls,
                 PluginFault::kLockHeld},
      .has_scenario =
          [](const auto& name) { return FindNamed(PluginScenarios(), name) != nullptr; },
      .has_mutant = [](const auto& name) { return FindNamed(PluginMutants(), name) != nullptr; },
      .execute =
          [](const PluginRunSpec& spec, bool trace) {
            DomainWorld world(spec, trace);
            world.Run(*FindNamed(PluginScenarios(), spec.scenario));
            return world.outcome();
          },
  };
  return program;
}

DomainWorld::DomainWorld(PluginRunSpec spec, bool trace) : PluginWorld(std::move(spec), trace) {
  if (this->spec().mutant.empty()) return;
  rules_ = FindNamed(PluginMutants(), this->spec().mutant)->rules;
}

// ---- Users

void DomainWorld::MakeDomain(const std::string& name, const std::string& ns) {
  const Reply made = store().Create("user", Kind::kComputeDomain, ns,
                                    ComputeDomainObject(name, name + "-channel"));
  CHECK(made.ok());
  domains_[name] = made.object->uid();
  namespaces_[name] = ns;
}

void DomainWorld::DeleteDomain(const std::string& name) {
  static_cast<void>(
      store().Delete("user", Kind::kComputeDomain, {.ns = namespaces_[name], .name = name}));
  Trace("domain " + name + " is deleted");
}

void DomainWorld::MakePod(const DomainPodOptions& options) {
  const auto known = domains_.find(options.domain);
  const std::string domain = known != domains_.end() ? known->second : options.domain;
  const PluginPod& pod = AddPod({.pod = options.pod,
                                 .claim = options.claim,
                                 .ns = options.ns,
                                 .node = options.node,
                                 .keeps_claim = options.keeps_claim},
                                DevicesOf(options, domain));
  uses_[pod.uid] = {.options = options, .domain = domain};
}

void DomainWorld::MakeAgain(const PluginPod& pod, const std::string& claim) {
  DomainPodOptions again = uses_.at(pod.uid).options;
  again.claim = claim;
  MakePod(again);
}

void DomainWorld::RemoveLabel(const std::string& node) {
  CHECK(store()
            .Edit("admin", Kind::kNode, {.name = node},
                  [](Value& object) { object["metadata"]["labels"].Erase(kDomainLabel); })
            .ok());
}

// ---- Nodes

std::unique_ptr<Plugin> DomainWorld::NewProcess(Node& node, const PluginOptions& options,
                                                Serve serve, EditDisk edit) {
  return std::make_unique<DomainPlugin>(
      server(), node.disk, options, rules_,
      DomainHost{.driver_mark = [&node] { return std::to_string(node.host.driver_loads); },
                 .read_driver = [this, &node] { return ReadDriver(node); }},
      std::move(serve), std::move(edit));
}

// A reload in the middle of a turn is noticed in the next one.
bool DomainWorld::HasOldNumbers(const Node& node, const kube::Uid& claim) const {
  const auto spec = node.disk.specs.find(claim);
  const auto reloaded_at = node.driver_ready_at - kDriverLoadsIn;
  if (spec == node.disk.specs.end() || store().now() == reloaded_at) return false;
  const auto parsed = cdi::Parse(spec->second, claim);
  if (!parsed) return false;
  return std::ranges::any_of(parsed->devices, [&](const cdi::Device& device) {
    return std::ranges::any_of(device.edits.nodes, [&](const cdi::DeviceNode& file) {
      return file.path.find("imex-channels") != std::string::npos &&
             file.major != DriverOf(node).host.channel_major;
    });
  });
}

base::Result<plugin::DriverRead> DomainWorld::ReadDriver(const Node& node) const {
  if (store().now() < node.driver_ready_at) return base::Unavailable("the driver is being loaded");
  return DriverOf(node);
}

plugin::DriverRead DomainWorld::DriverOf(const Node& node) const {
  const std::string capability = "/dev/nvidia-caps/nvidia-cap512";
  const cdi::Spec files = {.kind = std::string(plugin::kBaseKind), .devices = {{.name = "all"}}};
  return {.mark = std::to_string(node.host.driver_loads),
          .host = {.driver_version = "580.95.05",
                   .clique = clique_,
                   .gpus = 4,
                   .channel_major = kFirstMajor + node.host.driver_loads,
                   .management = cdi::DeviceNode{.path = capability,
                                                 .host_path = capability,
                                                 .major = kFirstMajor - 1,
                                                 .minor = 512}},
          .base_spec = cdi::Render(files)};
}

// Any fault but those of GPUs.
bool DomainWorld::CanHappen(const Node& /*node*/) const {
  return spec().fault != PluginFault::kDriverUnreadable && spec().fault != PluginFault::kGpuLost;
}

void DomainWorld::Disturb(Node& /*node*/) {
  if (spec().fault == PluginFault::kDomainDeleted) DeleteDomain(domains_.begin()->first);
}

void DomainWorld::OnEdit(Node& node, const DiskEdit& edit) {
  if (edit.what != DiskEdit::What::kRemoveFolder) return;
  Log(node, PluginEvent::What::kFolderRemoved, edit.name).in_use =
      std::ranges::any_of(pods(), [&](const auto& pod) {
        return pod->is_daemon && pod->node == node.name && DomainOf(*pod) == edit.name &&
               pod->state == State::kPrepared;
      });
}

void DomainWorld::OnUnprepared(const Node& node, const PluginPod& pod, PluginEvent& event) {
  event.is_last =
      pod.called_in == node.disk.boot_id && std::ranges::none_of(pods(), [&](const auto& other) {
        return !other->is_daemon && other->node == pod.node && DomainOf(*other) == DomainOf(pod) &&
               other->called;
      });
}

Violations DomainWorld::Check() const { return CheckPlugins(server(), events()); }

}  // namespace simulation
