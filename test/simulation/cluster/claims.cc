#include "test/simulation/cluster/claims.h"

#include <algorithm>

#include "test/simulation/apiserver/contract.h"

namespace simulation {

namespace {

using json::Value;

const Value& AllocationOf(const Object& claim) {
  return At(claim.value(), {"status", "allocation", "devices"});
}

}  // namespace

std::optional<ClaimConfig> FindConfig(const Object& claim) {
  const Value& allocation = AllocationOf(claim);
  const Value& configs =
      allocation.IsNull() ? At(claim.value(), {"spec", "devices", "config"}) : allocation["config"];
  std::optional<ClaimConfig> found;
  for (const Value& config : configs.items()) {  // Later ones win.
    const Value& opaque = config["opaque"];
    if (opaque["driver"].AsString() != kDriver) continue;
    const Value& parameters = opaque["parameters"];
    found = {.domain = parameters["domainID"].AsString(),
             .is_channel = parameters["kind"].AsString() == kChannelConfig};
  }
  return found;
}

std::string AllocatedNode(const Object& claim) {
  const Value::Items& results = AllocationOf(claim)["results"].items();
  return results.empty() ? "" : results.front()["pool"].AsString();
}

bool IsReservedFor(const Object& claim, const kube::Uid& pod) {
  return std::ranges::any_of(claim["status"]["reservedFor"].items(),
                             [&](const Value& item) { return item["uid"].AsString() == pod; });
}

bool IsAdminAccess(const Object& claim) {
  const Value::Items& requests = At(claim.value(), {"spec", "devices", "requests"}).items();
  return std::ranges::any_of(requests, [](const Value& request) {
    return request["exactly"]["adminAccess"].AsBool() || request["adminAccess"].AsBool();
  });
}

std::vector<PodClaim> ClaimsOf(const Object& pod) {
  std::vector<PodClaim> claims;
  for (const Value& item : pod["spec"]["resourceClaims"].items()) {
    PodClaim claim = {.request = item["name"].AsString(),
                      .template_name = item["resourceClaimTemplateName"].AsString(),
                      .claim = item["resourceClaimName"].AsString()};
    if (!claim.template_name.empty()) {
      for (const Value& status : pod["status"]["resourceClaimStatuses"].items()) {
        if (status["name"] == item["name"]) claim.claim = status["resourceClaimName"].AsString();
      }
    }
    claims.push_back(claim);
  }
  return claims;
}

std::string TargetNode(const Object& pod) {
  const Value& spec = pod["spec"];
  if (const std::string& bound = spec["nodeName"].AsString(); !bound.empty()) return bound;
  const Value& terms =
      At(spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
                "nodeSelectorTerms"});
  for (const Value& term : terms.items()) {
    for (const Value& field : term["matchFields"].items()) {
      if (field["key"].AsString() != "metadata.name") continue;
      return field["values"].items().empty() ? "" : field["values"].items().front().AsString();
    }
  }
  return "";
}

std::string NodeNamesOf(const Object& pod) {
  for (const Value& container : pod["spec"]["containers"].items()) {
    for (const Value& variable : container["env"].items()) {
      if (variable["name"].AsString() == "IMEX_NODE_NAMES") return variable["value"].AsString();
    }
  }
  return "";
}

bool IsTerminal(const Object& pod) {
  const std::string& phase = pod["status"]["phase"].AsString();
  return phase == "Succeeded" || phase == "Failed";
}

bool IsPodReady(const Object& pod) {
  return pod["status"]["phase"].AsString() == "Running" &&
         FindCondition(pod.value(), "Ready")["status"].AsString() == "True";
}

bool MatchesLabels(const Object& object, const Value& selector) {
  return std::ranges::all_of(selector.members(), [&](const Value::Member& member) {
    const std::string* label = object.FindLabel(member.first);
    return label != nullptr && *label == member.second.AsString();
  });
}

ObjectPtr FindByUid(const Objects& objects, const kube::Uid& uid) {
  for (const auto& [key, object] : objects) {
    if (object->uid() == uid) return object;
  }
  return nullptr;
}

}  // namespace simulation
