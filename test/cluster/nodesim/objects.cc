#include "test/cluster/nodesim/objects.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "node/plugin/rules/opaque_config.h"
#include "pkg/base/number.h"
#include "pkg/base/rfc3339.h"
#include "test/cluster/nodesim/names.h"

namespace nodesim {

namespace {

std::string Text(json::View view) { return std::string(view.AsString()); }

std::optional<double> ParseDouble(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int IntOr(json::View view, int otherwise) {
  return static_cast<int>(view.AsInt().value_or(otherwise));
}

// The status of the condition `type` in a list of conditions; empty without it.
std::string_view ConditionStatus(json::View conditions, std::string_view type) {
  std::string_view status;
  conditions.ForEach([&](json::View condition) {
    if (condition["type"].AsString() == type) status = condition["status"].AsString();
  });
  return status;
}

std::vector<Container> DecodeContainers(json::View containers) {
  std::vector<Container> decoded;
  containers.ForEach([&](json::View container) {
    decoded.push_back({.name = Text(container["name"]), .image = Text(container["image"])});
  });
  return decoded;
}

PodStatus DecodePodStatus(json::View status) {
  const json::View conditions = status["conditions"];
  PodStatus decoded;
  decoded.phase = Text(status["phase"]);
  decoded.pod_ip = Text(status["podIP"]);
  decoded.initialized = ConditionStatus(conditions, "Initialized") == "True";
  decoded.ready = ConditionStatus(conditions, "Ready") == "True" &&
                  ConditionStatus(conditions, "ContainersReady") == "True";
  status["containerStatuses"].ForEach([&](json::View container) {
    const json::View state = container["state"];
    const json::View terminated = state["terminated"];
    const bool pulls = state["waiting"]["reason"].AsString() == kImagePullBackOff;
    const Containers kind = terminated.IsObject()         ? Containers::kTerminated
                            : state["running"].IsObject() ? Containers::kRunning
                            : pulls                       ? Containers::kImageMissing
                                                          : Containers::kWaiting;
    const bool same = decoded.containers == Containers::kNone || decoded.containers == kind;
    decoded.containers = same ? kind : Containers::kMixed;
    decoded.restarts = std::max(decoded.restarts, IntOr(container["restartCount"], 0));
    if (terminated.IsObject()) decoded.exit_code = IntOr(terminated["exitCode"], 0);
  });
  return decoded;
}

std::vector<PodClaim> DecodePodClaims(json::View pod) {
  std::vector<PodClaim> claims;
  pod["spec"]["resourceClaims"].ForEach([&](json::View item) {
    PodClaim claim = {.reference = Text(item["name"]),
                      .claim_name = Text(item["resourceClaimName"])};
    pod["status"]["resourceClaimStatuses"].ForEach([&](json::View made) {
      if (!claim.claim_name.empty() || made["name"].AsString() != claim.reference) return;
      claim.claim_name = Text(made["resourceClaimName"]);
      claim.needed = !claim.claim_name.empty();
    });
    claims.push_back(std::move(claim));
  });
  return claims;
}

// One opaque configuration of our driver, decoded as cdom's plugin decodes it for a prepare.
struct Config {
  std::vector<std::string> requests = {};  // Empty: all.
  DeviceKind kind = DeviceKind::kUnknown;
  std::string domain = {};
};

struct Configs {
  std::vector<Config> configs = {};  // Rising precedence.
  std::string problem = {};
  bool problem_is_permanent = false;
};

Configs DecodeConfigs(json::View allocated) {
  Configs all;
  // The built-in ones: without a domain, for any request of their kind.
  all.configs = {{.kind = DeviceKind::kChannel}, {.kind = DeviceKind::kDaemon}};
  for (const std::string_view source : {"FromClass", "FromClaim"}) {
    allocated.ForEach([&](json::View item) {
      if (item["source"].AsString() != source) return;
      const json::View opaque = item["opaque"];
      if (!opaque.IsObject()) all.problem = "a configuration is not opaque";
      if (opaque["driver"].AsString() != kDriver) return;
      const auto parameters = plugin::DecodeConfig(opaque["parameters"], dra::Decoding::kStrict);
      if (!parameters) {
        all.problem = parameters.error().message;
        all.problem_is_permanent = true;
        return;
      }
      const bool is_channel = parameters->type == plugin::DeviceType::kChannel;
      Config config = {.kind = is_channel ? DeviceKind::kChannel : DeviceKind::kDaemon,
                       .domain = parameters->domain};
      item["requests"].ForEach(
          [&](json::View request) { config.requests.push_back(Text(request)); });
      all.configs.push_back(std::move(config));
    });
  }
  return all;
}

Grant DecodeGrant(json::View result, const Configs& all) {
  Grant grant = {.pool = Text(result["pool"]),
                 .device = Text(result["device"]),
                 .admin = result["adminAccess"].AsBool(),
                 .problem = all.problem,
                 .problem_is_permanent = all.problem_is_permanent};
  if (grant.device.starts_with("channel-")) grant.kind = DeviceKind::kChannel;
  if (grant.device.starts_with("daemon-")) grant.kind = DeviceKind::kDaemon;
  if (grant.kind == DeviceKind::kUnknown && grant.problem.empty()) {
    grant.problem = "unknown device " + grant.device;
  }
  if (!grant.problem.empty()) return grant;

  const std::string_view full = result["request"].AsString();
  const std::string_view request = full.substr(0, full.find('/'));  // Without the sub-request.
  for (auto config = all.configs.rbegin(); config != all.configs.rend(); ++config) {
    const bool names_us = std::ranges::find(config->requests, full) != config->requests.end() ||
                          std::ranges::find(config->requests, request) != config->requests.end();
    if (names_us && config->kind != grant.kind) {
      grant.problem = "the configuration for request " + std::string(full) +
                      " is not one for device " + grant.device;
      return grant;
    }
    if (names_us || (config->requests.empty() && config->kind == grant.kind)) {
      grant.domain = config->domain;
      break;
    }
  }
  if (grant.domain.empty()) grant.problem = "the configuration has no domainID";
  return grant;
}

}  // namespace

bool Taint::SaysNodeIsLost() const {
  return key == "node.kubernetes.io/not-ready" || key == "node.kubernetes.io/unreachable";
}

bool Pod::LacksImage() const {
  return std::ranges::any_of(
      containers, [](const Container& one) { return one.image.ends_with(kMissingImageTag); });
}

bool Pod::IsOfJob() const {
  const kube::OwnerReference* owner = meta.ControllerOwner();
  return owner != nullptr && owner->kind == "Job";
}

bool Pod::RunsToCompletion() const {
  const kube::OwnerReference* owner = meta.ControllerOwner();
  if (IsOfJob()) return true;
  return restart != Restart::kAlways && (owner == nullptr || owner->kind != "DaemonSet");
}

const Member* Clique::Find(std::string_view node) const {
  const auto it = std::ranges::find(daemons, node, &Member::node);
  return it == daemons.end() ? nullptr : &*it;
}

base::Result<Node> DecodeNode(json::View object) {
  Node node;
  node.meta = TRY(kube::DecodeMeta(object));
  const json::View labels = object["metadata"]["labels"];
  const json::View status = object["status"];
  node.domain = Text(labels[kDomainLabel]);
  node.clique = Text(labels[kGpuCliqueLabel]);
  node.gpu_present = labels[kGpuPresentLabel].AsString() == "true";
  node.created_by_simulator =
      object["metadata"]["annotations"][kCreatedAnnotation].AsString() == "true";
  node.boot_id = Text(status["nodeInfo"]["bootID"]);
  node.ready = std::string(ConditionStatus(status["conditions"], "Ready"));
  object["spec"]["taints"].ForEach([&](json::View taint) {
    node.taints.push_back({.key = Text(taint["key"]),
                           .value = Text(taint["value"]),
                           .effect = Text(taint["effect"]),
                           .time_added = Text(taint["timeAdded"])});
  });
  return node;
}

base::Result<Slice> DecodeSlice(json::View object) {
  Slice slice;
  slice.meta = TRY(kube::DecodeMeta(object));
  slice.driver = Text(object["spec"]["driver"]);
  slice.node = Text(object["spec"]["nodeName"]);
  slice.pool = Text(object["spec"]["pool"]["name"]);
  object["spec"]["devices"].ForEach(
      [&](json::View device) { slice.devices.push_back(Text(device["name"])); });
  return slice;
}

base::Result<Pod> DecodePod(json::View object) {
  Pod pod;
  pod.meta = TRY(kube::DecodeMeta(object));
  const json::View metadata = object["metadata"];
  const json::View labels = metadata["labels"];
  const json::View annotations = metadata["annotations"];
  const json::View spec = object["spec"];
  pod.node = Text(spec["nodeName"]);
  if (!labels[kCliqueIdLabel].IsNull()) pod.clique_label = Text(labels[kCliqueIdLabel]);
  pod.controller_writes_membership =
      labels[kMembershipWriterLabel].AsString() == kMembershipWriterController;
  pod.imex = api::DecodeImexReport(annotations[api::kImexAnnotation].AsString());
  pod.run_seconds = ParseDouble(annotations[kRunSecondsAnnotation].AsString());
  pod.exit_code = base::ParseNumber<int>(annotations[kExitCodeAnnotation].AsString()).value_or(0);
  pod.host_network = spec["hostNetwork"].AsBool();
  const std::string_view restart = spec["restartPolicy"].AsString();
  if (restart == "OnFailure") pod.restart = Pod::Restart::kOnFailure;
  if (restart == "Never") pod.restart = Pod::Restart::kNever;
  pod.containers = DecodeContainers(spec["containers"]);
  pod.init_containers = DecodeContainers(spec["initContainers"]);
  pod.claims = DecodePodClaims(object);
  spec["containers"].ForEach([&](json::View container) {
    container["env"].ForEach([&](json::View variable) {
      if (variable["name"].AsString() != "MAX_NODES_PER_IMEX_DOMAIN") return;
      pod.members_max =
          base::ParseNumber<int>(variable["value"].AsString()).value_or(pod.members_max);
    });
  });
  pod.grace_period = std::chrono::seconds(IntOr(metadata["deletionGracePeriodSeconds"], 0));
  pod.status = DecodePodStatus(object["status"]);
  pod.start_time = base::ParseTime(object["status"]["startTime"].AsString());
  pod.scheduled = ConditionStatus(object["status"]["conditions"], "PodScheduled") == "True";
  return pod;
}

base::Result<Claim> DecodeResourceClaim(json::View object) {
  Claim claim;
  claim.meta = TRY(kube::DecodeMeta(object));
  const json::View status = object["status"];
  status["reservedFor"].ForEach([&](json::View consumer) {
    if (consumer["resource"].AsString() != "pods") return;
    claim.reserved_for.push_back({.name = Text(consumer["name"]), .uid = Text(consumer["uid"])});
  });
  const json::View allocation = status["allocation"];
  claim.allocated = allocation.IsObject();
  const Configs configs = DecodeConfigs(allocation["devices"]["config"]);
  allocation["devices"]["results"].ForEach([&](json::View result) {
    if (result["driver"].AsString() != kDriver) return;
    claim.grants.push_back(DecodeGrant(result, configs));
  });
  return claim;
}

base::Result<Domain> DecodeDomain(json::View object) {
  Domain domain;
  domain.meta = TRY(kube::DecodeMeta(object));
  object["status"]["nodes"].ForEach([&](json::View node) {
    domain.nodes[Text(node["name"])] = node["status"].AsString() == "Ready";
  });
  return domain;
}

base::Result<Clique> DecodeClique(json::View object) {
  Clique clique;
  clique.meta = TRY(kube::DecodeMeta(object));
  const json::View metadata = object["metadata"];
  metadata["labels"].ForEachMember([&](std::string_view name, json::View value) {
    clique.labels[std::string(name)] = Text(value);
  });
  metadata["annotations"].ForEachMember([&](std::string_view name, json::View value) {
    clique.annotations[std::string(name)] = Text(value);
  });
  const json::View owners = metadata["ownerReferences"];
  for (std::size_t i = 0; i < clique.meta.owners.size(); ++i) {
    const json::View blocks = owners.at(i)["blockOwnerDeletion"];
    CliqueOwner owner = {.reference = clique.meta.owners[i]};
    if (!blocks.IsNull()) owner.block_owner_deletion = blocks.AsBool();
    clique.owners.push_back(std::move(owner));
  }
  object["daemons"].ForEach([&](json::View daemon) {
    Member member = {.node = Text(daemon["nodeName"]),
                     .ip = Text(daemon["ipAddress"]),
                     .clique_id = Text(daemon["cliqueID"]),
                     .status = Text(daemon["status"])};
    if (const auto index = daemon["index"].AsInt()) member.index = static_cast<int>(*index);
    clique.daemons.push_back(std::move(member));
  });
  return clique;
}

}  // namespace nodesim
