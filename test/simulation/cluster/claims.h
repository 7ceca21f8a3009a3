// Reads pods and claims, and their use of domains. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "test/simulation/apiserver/history.h"

namespace simulation {

// This driver's configuration in a claim.
struct ClaimConfig {
  std::string domain = {};
  bool is_channel = false;  // If false, a daemon's.
};
// Reads the allocation if there is one, else the spec. Empty if the claim is not for this driver.
std::optional<ClaimConfig> FindConfig(const Object& claim);

// Returns the node on which the claim is allocated. Empty if it is not allocated.
std::string AllocatedNode(const Object& claim);
bool IsReservedFor(const Object& claim, const kube::Uid& pod);
// Returns whether it has admin access, which does not hold the device.
bool IsAdminAccess(const Object& claim);

// A claim in a pod's spec, by template or by name. Points into the pod.
struct PodClaim {
  std::string_view request = {};        // Name within the pod.
  std::string_view template_name = {};  // Empty if the pod names the claim.
  std::string_view claim = {};          // Empty if unknown yet.
};
std::vector<PodClaim> ClaimsOf(const Object& pod);

// Returns the node that the pod is on, or is bound to run on. Empty if any.
std::string TargetNode(const Object& pod);
// Returns $IMEX_NODE_NAMES of a daemon's pod. Empty if it is not set.
std::string NodeNamesOf(const Object& pod);
bool IsTerminal(const Object& pod);
bool IsPodReady(const Object& pod);
// Returns whether `object` has all labels of `selector`.
bool MatchesLabels(const Object& object, const json::Value& selector);

// Null if none has this UID.
ObjectPtr FindByUid(const Objects& objects, const kube::Uid& uid);

}  // namespace simulation
