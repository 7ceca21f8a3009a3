#include "test/simulation/gpu/world.h"

#include <algorithm>
#include <utility>

#include "pkg/base/check.h"
#include "test/simulation/gpu/gpu_plugin.h"
#include "test/simulation/gpu/machine.h"
#include "test/simulation/gpu/mutants.h"
#include "test/simulation/gpu/oracles.h"

namespace simulation {

namespace {

using json::Value;

constexpr std::chrono::minutes kHostFaultLasts{3};
constexpr const char* kDeviceThatIsLost = "gpu-0";

Value AllocationOf(const GpuPodOptions& options) {
  Value results = Value::Array();
  for (const std::string& device : options.devices) {
    Value result = Value::Object({{"request", "r-" + std::to_string(results.items().size())},
                                  {"driver", kGpuDriver},
                                  {"pool", options.pool.empty() ? options.node : options.pool},
                                  {"device", device}});
    if (options.admin_access) result["adminAccess"] = true;
    results.Append(std::move(result));
  }
  Value devices = Value::Object({{"results", std::move(results)}});
  if (options.strategy.empty()) return devices;
  const Value parameters =
      Value::Object({{"apiVersion", "resource.nvidia.com/v1beta1"},
                     {"kind", "GpuConfig"},
                     {"sharing", Value::Object({{"strategy", options.strategy}})}});
  devices["config"] = Value::Array({Value::Object(
      {{"source", "FromClaim"},
       {"opaque", Value::Object({{"driver", kGpuDriver}, {"parameters", parameters}})}})});
  return devices;
}

}  // namespace

const PluginProgram& GpuPlugins() {
  static const PluginProgram program = {
      .name = "gpu",
      .faults = {PluginFault::kCrashBefore,
                 PluginFault::kCrashAfter,
                 PluginFault::kFails,
                 PluginFault::kReplyLost,
                 PluginFault::kForbidden,
                 PluginFault::kConflict,
                 PluginFault::kTorn,
                 PluginFault::kReboot,
                 PluginFault::kRebootKeepsSpecs,
                 PluginFault::kKubeletRestarts,
                 PluginFault::kKubeletCancels,
                 PluginFault::kWatchesExpire,
                 PluginFault::kCallComesAgain,
                 PluginFault::kKubeletForgets,
                 PluginFault::kFilesLost,
                 PluginFault::kDriverReloads,
                 PluginFault::kPluginRolls,
                 PluginFault::kLockHeld,
                 PluginFault::kDriverUnreadable,
                 PluginFault::kGpuLost},
      .has_scenario = [](const auto& name) { return FindNamed(GpuScenarios(), name) != nullptr; },
      .has_mutant = [](const auto& name) { return FindNamed(GpuMutants(), name) != nullptr; },
      .execute =
          [](const PluginRunSpec& spec, bool trace) {
            GpuWorld world(spec, trace);
            world.Run(*FindNamed(GpuScenarios(), spec.scenario));
            return world.outcome();
          },
  };
  return program;
}

GpuWorld::GpuWorld(PluginRunSpec spec, bool trace) : PluginWorld(std::move(spec), trace) {
  if (this->spec().mutant.empty()) return;
  rules_ = FindNamed(GpuMutants(), this->spec().mutant)->rules;
}

// ---- Users and administrators

void GpuWorld::MakePod(const GpuPodOptions& options) {
  const PluginPod& pod = AddPod({.pod = options.pod,
                                 .claim = options.claim,
                                 .ns = options.ns,
                                 .node = options.node,
                                 .keeps_claim = options.keeps_claim},
                                AllocationOf(options));
  options_[pod.uid] = options;
}

void GpuWorld::MakeAgain(const PluginPod& pod, const std::string& claim) {
  GpuPodOptions again = options_.at(pod.uid);
  again.pod = pod.name.substr(0, pod.name.find(' '));
  // Pods that shared a claim share another one of that name.
  if (again.claim.empty()) again.claim = claim;
  MakePod(again);
}

void GpuWorld::LoseGpu(const std::string& device) {
  NodeA().host.lost.insert(device);
  LogHost(NodeA());
  Trace("node-a loses " + device);
}

void GpuWorld::FindGpu(const std::string& device) {
  NodeA().host.lost.erase(device);
  LogHost(NodeA());
  Trace("node-a has " + device + " again");
}

void GpuWorld::ReplaceDriver(const std::string& version) { ReloadDriver(NodeA(), version); }

void GpuWorld::SetDriverReadable(bool is_readable) {
  NodeA().host.is_readable = is_readable;
  LogHost(NodeA());
  Trace(std::string("node-a: the driver ") + (is_readable ? "can" : "cannot") + " be read");
}

void GpuWorld::Reboot() { Boot(NodeA(), false); }

void GpuWorld::TearCheckpoint() {
  Trace("node-a: the checkpoint is torn");
  Tear(NodeA(), NodeA().disk.checkpoint.value_or(""));
}

void GpuWorld::StopPlugin(std::chrono::seconds time) { StopPlugins(NodeA(), store().now() + time); }

PluginPod& GpuWorld::Find(const std::string& pod) {
  const auto it = std::ranges::find(pods(), pod, [](const auto& one) { return one->name; });
  CHECK(it != pods().end());
  return **it;
}

void GpuWorld::DropPod(const std::string& name) {
  PluginPod& pod = Find(name);
  ForgetPod(pod, pod.keeps_claim);
}

void GpuWorld::DeleteClaimOf(const std::string& name) {
  static_cast<void>(store().Delete("user", Kind::kClaim, Find(name).key));
}

// ---- Nodes

std::unique_ptr<Plugin> GpuWorld::NewProcess(Node& node, const PluginOptions& options, Serve serve,
                                             EditDisk edit) {
  const auto mark = [&node] { return std::to_string(node.host.driver_loads); };
  const auto read = [this, &node, mark]() -> base::Result<gpu::GpuRead> {
    if (store().now() < node.driver_ready_at)
      return base::Unavailable("the driver is being loaded");
    if (!node.host.is_readable) return base::Unavailable("the driver does not answer");
    return gpu::GpuRead{.mark = mark(), .node = ReadMachine(node.name, node.host)};
  };
  return std::make_unique<GpuPlugin>(server(), node.disk, options, rules_,
                                     GpuHost{.driver_mark = mark, .read = read}, std::move(serve),
                                     std::move(edit));
}

// A host that a fault has hit is as before.
bool GpuWorld::StepWorkload(Node& node) {
  if (store().now() < made_good_at_ || &node != &NodeA()) return false;
  made_good_at_ = Time::max();
  if (spec().fault == PluginFault::kGpuLost) FindGpu(kDeviceThatIsLost);
  if (spec().fault == PluginFault::kDriverUnreadable) SetDriverReadable(true);
  return true;
}

bool GpuWorld::CanHappen(const Node& node) const {
  const bool is_of_host =
      spec().fault == PluginFault::kGpuLost || spec().fault == PluginFault::kDriverUnreadable;
  const bool is_whole = node.host.is_readable && node.host.lost.empty();
  return !is_of_host || (node.name == "node-a" && is_whole);
}

void GpuWorld::Disturb(Node& /*node*/) {
  made_good_at_ = store().now() + kHostFaultLasts;
  if (spec().fault == PluginFault::kGpuLost) LoseGpu(kDeviceThatIsLost);
  if (spec().fault == PluginFault::kDriverUnreadable) SetDriverReadable(false);
}

// ---- What is left

std::vector<std::string> GpuWorld::LeftOf(const Node& node, const kube::Uid& claim) {
  std::vector<std::string> left;
  if (node.disk.specs.contains(claim)) left.push_back("the spec of claim " + claim);
  if (HeldClaims(node.disk.checkpoint).contains(claim)) left.push_back("the entry of " + claim);
  return left;
}

void GpuWorld::OnUnprepared(const Node& node, const PluginPod& pod, PluginEvent& event) {
  event.left = LeftOf(node, pod.uid);
}

std::vector<std::string> GpuWorld::PublishedOn(const std::string& node) const {
  std::vector<std::string> names;
  for (const auto& [key, slice] : store().Live(Kind::kSlice)) {
    const Value& content = (*slice)["spec"];
    if (content["driver"].AsString() != kGpuDriver || content["nodeName"].AsString() != node) {
      continue;
    }
    if (!content["devices"].IsArray()) continue;
    for (const Value& device : content["devices"].items()) {
      names.emplace_back(device["name"].AsString());
    }
  }
  std::ranges::sort(names);
  return names;
}

void GpuWorld::CheckNode(const Node& node, bool /*is_last*/) {
  PluginEvent& rest = Log(*nodes().at(node.name), PluginEvent::What::kRest, "");
  rest.host = node.host;
  rest.published = PublishedOn(node.name);
  std::set<std::string> claims = HeldClaims(node.disk.checkpoint);
  for (const auto& [uid, text] : node.disk.specs) claims.insert(uid);
  for (const auto& pod : pods()) {
    if (pod->node == node.name && pod->state != State::kGone) claims.erase(pod->uid);
  }
  for (const std::string& uid : claims) {
    const auto left = LeftOf(node, uid);
    rest.left.insert(rest.left.end(), left.begin(), left.end());
  }
}

std::string GpuWorld::Describe(const Node& node) const {
  std::string published;
  for (const std::string& device : PublishedOn(node.name)) published += " " + device;
  return node.name + ": " + std::to_string(node.disk.specs.size()) + " specs, " +
         std::to_string(HeldClaims(node.disk.checkpoint).size()) + " entries, publishes" +
         published + "; ";
}

Violations GpuWorld::Check() const { return CheckGpus(server(), events()); }

}  // namespace simulation
