#include "test/simulation/gpu/oracles.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "node/cdi/files.h"
#include "test/simulation/gpu/machine.h"

namespace simulation {

namespace {

using std::chrono::seconds;
using What = PluginEvent::What;

// In which a spec is written again: the host is read every minute, and lost files are looked for
// every 5 seconds. A process that has crashed starts a second later.
constexpr auto kWrittenAgainIn = seconds(75);

// Path, major and minor of each.
using Nodes = std::set<std::tuple<std::string, std::int64_t, std::int64_t>>;

Nodes NodesIn(const cdi::Edits& edits) {
  Nodes nodes;
  for (const cdi::DeviceNode& node : edits.nodes) nodes.insert({node.path, node.major, node.minor});
  return nodes;
}

Nodes NodesFor(const std::string& device, const HostTruth& host) {
  const bool is_mig = device == kMigDevice;
  const int minor = is_mig ? 3 : std::stoi(device.substr(std::string("gpu-").size()));
  Nodes nodes = {{"/dev/nvidia" + std::to_string(minor), kGpuMajor, minor}};
  if (!is_mig) return nodes;
  for (const int capability : kMigCapabilities) {
    nodes.insert({"/dev/nvidia-caps/nvidia-cap" + std::to_string(capability), CapabilityMajor(host),
                  capability});
  }
  return nodes;
}

// What one claim has on one node, as the events tell it.
struct Told {
  std::string boot_id = {};  // Empty if the kubelet was not told that it is prepared.
  std::vector<std::string> cdi_ids = {};
};

// Replays what kubelets were told. Both calls of a claim end it.
class Replay {
 public:
  void Take(const PluginEvent& event) {
    const std::pair key(event.node, event.name);
    if (event.what == What::kEnding || event.what == What::kUnprepared) told_.erase(key);
    // If a stranger damages the checkpoint and removes the spec, nothing on the node tells that the
    // claim was prepared, and an allocated claim need not be.
    if (event.what == What::kSpecLost && !event.has_entry) told_.erase(key);
    if (event.what == What::kHostChanged) hosts_[event.node] = event.host;
    if (event.what == What::kPrepared) {
      told_[key] = {.boot_id = event.boot_id, .cdi_ids = event.cdi_ids};
    }
  }
  // Null if it was not told in this boot.
  const Told* Find(const PluginEvent& event) const {
    const auto it = told_.find({event.node, event.name});
    return it == told_.end() || it->second.boot_id != event.boot_id ? nullptr : &it->second;
  }
  HostTruth HostOf(const std::string& node) const {
    const auto it = hosts_.find(node);
    return it == hosts_.end() ? HostTruth() : it->second;
  }
  const std::map<std::pair<std::string, std::string>, Told>& told() const { return told_; }

 private:
  std::map<std::pair<std::string, std::string>, Told> told_ = {};  // By node and claim.
  std::map<std::string, HostTruth> hosts_ = {};
};

std::vector<GpuTruth> DevicesOf(const ClaimTruths& claims, const kube::Uid& uid) {
  const auto claim = claims.find(uid);
  return claim == claims.end() ? std::vector<GpuTruth>() : claim->second;
}

bool HasAll(const HostTruth& host, const std::vector<GpuTruth>& devices) {
  return host.is_readable && std::ranges::none_of(devices, [&host](const GpuTruth& device) {
           return host.lost.contains(device.device);
         });
}

}  // namespace

ClaimTruths ReadClaims(const ApiServer& server) {
  ClaimTruths claims;
  const History& history = server.store().history();
  for (const std::size_t place : history.ChangesOf(Kind::kClaim)) {
    const ObjectPtr& claim = history.changes()[place].after;
    const json::Value& results =
        simulation::At(claim->value(), {"status", "allocation", "devices", "results"});
    if (!results.IsArray()) continue;
    std::vector<GpuTruth>& devices = claims[claim->uid()];
    devices.clear();
    for (const json::Value& result : results.items()) {
      if (result["driver"].AsString() != kGpuDriver) continue;
      devices.push_back({.node = std::string(result["pool"].AsString()),
                         .device = std::string(result["device"].AsString()),
                         .admin_access = result["adminAccess"].AsBool()});
    }
  }
  return claims;
}

std::string WrongIn(const std::string& spec, const kube::Uid& uid,
                    const std::vector<GpuTruth>& devices, const HostTruth& host) {
  const auto parsed = cdi::Parse(spec, uid);
  if (!parsed) return "is unreadable";
  const std::string library = "/usr/lib64/libcuda.so." + host.driver_version;
  if (parsed->edits.mounts.size() != 1 || parsed->edits.mounts[0].host_path != library) {
    return "has other libraries than " + library;
  }
  const Nodes control = {{"/dev/nvidiactl", kGpuMajor, 255},
                         {"/dev/nvidia-uvm", UvmMajor(host), 0},
                         {"/dev/nvidia-uvm-tools", UvmMajor(host), 1}};
  if (NodesIn(parsed->edits) != control) return "has other device nodes for all GPUs";
  std::set<std::string> wanted;
  for (const GpuTruth& device : devices) wanted.insert(device.device);
  if (parsed->devices.size() != wanted.size()) return "has another number of devices";
  for (const std::string& device : wanted) {
    const auto found = std::ranges::find(parsed->devices, uid + "-" + device, &cdi::Device::name);
    if (found == parsed->devices.end()) return "lacks " + device;
    if (NodesIn(found->edits) != NodesFor(device, host)) return "has other nodes for " + device;
  }
  return {};
}

Violations GpusHaveOneHolder(const ClaimTruths& claims, const PluginEvents& events) {
  Violations violations;
  std::map<std::string, std::set<std::string>> holders;  // By node: claims.
  std::map<std::string, std::string> boots;
  std::set<std::pair<std::string, std::string>> ended;  // Node and claim.
  for (const PluginEvent& event : events) {
    auto& held = holders[event.node];
    if (std::exchange(boots[event.node], event.boot_id) != event.boot_id) held.clear();
    if (event.what == What::kEnding) ended.insert({event.node, event.name});
    // Of a claim that the kubelet has forgotten, only its spec tells that it is over.
    const bool is_over = event.what == What::kSpecRemoved || event.what == What::kSpecLost;
    const bool has_ended = ended.contains({event.node, event.name});
    if (event.what == What::kUnprepared || (is_over && has_ended)) held.erase(event.name);
    if (event.what != What::kPrepared) continue;
    ended.erase({event.node, event.name});
    for (const std::string& other : held) {
      for (const GpuTruth& device : DevicesOf(claims, event.name)) {
        const bool is_taken =
            std::ranges::any_of(DevicesOf(claims, other), [&device](const GpuTruth& theirs) {
              return theirs.device == device.device && !theirs.admin_access;
            });
        if (other == event.name || device.admin_access || !is_taken) continue;
        violations.push_back(At("G-1", event) + "claims " + event.name + " and " + other +
                             " both hold " + device.device);
      }
    }
    held.insert(event.name);
  }
  return violations;
}

namespace {

// Follows the specs of claims that kubelets were told of.
class SpecWatch {
 public:
  explicit SpecWatch(const ClaimTruths& claims) : claims_(claims) {}

  void Take(const PluginEvent& event) {
    const std::pair key(event.node, event.name);
    CheckLate(event);
    if (event.what == What::kSpecWritten) specs_[key] = event.text;
    if (event.what == What::kSpecRemoved || event.what == What::kSpecLost) specs_.erase(key);
    if (event.what == What::kSpecRemoved && replay_.Find(event) != nullptr) {
      Say(event, event.name, "goes although its containers run");
    }
    const bool is_excused = event.what == What::kSpecLost || event.what == What::kHostChanged;
    if (is_excused) excused_[event.node] = event.time;
    if (event.what == What::kHostChanged) {
      wrong_.clear();
    } else {
      wrong_.erase(key);
    }
    replay_.Take(event);
    CheckLate(event);
    // A claim is answered by its file, which may be of the driver of a moment ago, and may be lost
    // while the answer is on its way.
    const std::string wrong = event.what == What::kPrepared ? WrongOf(key) : "";
    const auto late = specs_.contains(key) ? kWrittenAgainIn : seconds(0);
    if (!wrong.empty() && !IsExcused(event.node, event.time, late)) Say(event, event.name, wrong);
  }

  // Before and after each event: what is wrong must not be so for long.
  void CheckLate(const PluginEvent& event) {
    for (const auto& [key, told] : replay_.told()) {
      if (key.first != event.node) continue;
      const bool is_booted = told.boot_id != event.boot_id;
      const HostTruth host = replay_.HostOf(event.node);
      const std::string wrong =
          is_booted || !HasAll(host, DevicesOf(claims_, key.second)) ? "" : WrongOf(key);
      if (wrong.empty()) {
        wrong_since_.erase(key);
        continue;
      }
      const Time since = wrong_since_.emplace(key, event.time).first->second;
      const Time from = std::max(since, excused_[event.node]);
      if (event.time <= from + kWrittenAgainIn) continue;
      Say(event, key.second, wrong);
      wrong_since_[key] = Time::max() - kWrittenAgainIn;  // Once is enough.
    }
  }

  Violations Take() { return std::move(violations_); }

 private:
  std::string WrongOf(const std::pair<std::string, std::string>& key) {
    const auto known = wrong_.find(key);
    if (known != wrong_.end()) return known->second;
    const auto spec = specs_.find(key);
    std::string& wrong = wrong_[key];
    wrong = spec == specs_.end() ? "is not there"
                                 : WrongIn(spec->second, key.second, DevicesOf(claims_, key.second),
                                           replay_.HostOf(key.first));
    return wrong;
  }
  bool IsExcused(const std::string& node, Time time, seconds late) const {
    const auto at = excused_.find(node);
    return at != excused_.end() && time <= at->second + late;
  }
  void Say(const PluginEvent& event, const std::string& claim, const std::string& what) {
    violations_.push_back(At("G-2", event) + "the spec of claim " + claim +
                          ", which is prepared, " + what);
  }

  const ClaimTruths& claims_;
  Replay replay_ = {};
  std::map<std::pair<std::string, std::string>, std::string> specs_ = {};
  std::map<std::pair<std::string, std::string>, std::string> wrong_ = {};  // Of what is known.
  std::map<std::pair<std::string, std::string>, Time> wrong_since_ = {};
  std::map<std::string, Time> excused_ = {};  // By node.
  Violations violations_ = {};
};

}  // namespace

Violations AnsweredClaimsHaveSpecs(const ClaimTruths& claims, const PluginEvents& events,
                                   Time end) {
  SpecWatch watch(claims);
  std::map<std::string, PluginEvent> last;  // By node.
  for (const PluginEvent& event : events) {
    watch.Take(event);
    last[event.node] = event;
  }
  for (auto& [node, event] : last) {
    event.time = end;
    watch.CheckLate(event);
  }
  return watch.Take();
}

Violations NoGpuStays(const PluginEvents& events) {
  Violations violations;
  for (const PluginEvent& event : events) {
    if (event.what != What::kUnprepared && event.what != What::kRest) continue;
    for (const std::string& left : event.left) {
      violations.push_back(At("G-3", event) + "no pod needs it, and there stays " + left);
    }
  }
  return violations;
}

Violations PublishedIsThere(const PluginEvents& events) {
  Violations violations;
  for (const PluginEvent& event : events) {
    if (event.what != What::kRest) continue;
    const auto has =
        event.host.is_readable ? simulation::DevicesOf(event.host) : std::vector<std::string>();
    if (event.published == has) continue;
    std::string published;
    for (const std::string& device : event.published) published += " " + device;
    violations.push_back(At("G-4", event) + "other devices are published than it has:" + published);
  }
  return violations;
}

Violations AnswersRepeat(const ClaimTruths& claims, const PluginEvents& events) {
  Violations violations;
  Replay replay;
  std::set<std::string> hurt;  // Nodes that lost a file, which is made again with the driver.
  for (const PluginEvent& event : events) {
    const Told* told = replay.Find(event);
    const bool differs =
        event.what == What::kPrepared && told != nullptr && told->cdi_ids != event.cdi_ids;
    if (differs) {
      violations.push_back(At("G-5", event) + "claim " + event.name +
                           " is prepared again, with other devices");
    }
    const bool is_hurt_now = event.what == What::kSpecLost || event.what == What::kDamaged;
    if (is_hurt_now) hurt.insert(event.node);
    const bool is_hurt = hurt.contains(event.node) &&
                         !HasAll(replay.HostOf(event.node), DevicesOf(claims, event.name));
    if (event.what == What::kRefused && told != nullptr && !is_hurt) {
      violations.push_back(At("G-5", event) + "claim " + event.name +
                           " is prepared, and is refused: " + event.text);
    }
    replay.Take(event);
  }
  return violations;
}

Violations OnlyAllocatedIsGiven(const ClaimTruths& claims, const PluginEvents& events) {
  Violations violations;
  for (const PluginEvent& event : events) {
    if (event.what != What::kPrepared) continue;
    const std::vector<GpuTruth> devices = DevicesOf(claims, event.name);
    std::set<std::string> wanted;
    for (const GpuTruth& device : devices) {
      if (device.node != event.node) continue;
      wanted.insert("k8s.gpu.nvidia.com/claim=" + event.name + "-" + device.device);
    }
    if (!wanted.empty() && std::set(event.cdi_ids.begin(), event.cdi_ids.end()) == wanted) continue;
    violations.push_back(At("G-6", event) + "claim " + event.name +
                         " is given other devices than it was allocated");
  }
  return violations;
}

Violations CheckGpus(const ApiServer& server, const PluginEvents& events) {
  const ClaimTruths claims = ReadClaims(server);
  Violations all;
  for (const Violations& some :
       {GpusHaveOneHolder(claims, events),
        AnsweredClaimsHaveSpecs(claims, events, server.store().now()), NoGpuStays(events),
        PublishedIsThere(events), AnswersRepeat(claims, events),
        OnlyAllocatedIsGiven(claims, events), CheckCalls(events)}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace simulation
