// Reading pods, claims and what they have to do with domains. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "test/simulation/apiserver/history.h"

namespace simulation {

// Our driver's configuration of a claim.
struct ClaimConfig {
  std::string domain = {};
  bool is_channel = false;  // Else a daemon's.
};
// From the allocation if there is one, else from the spec; nothing if the claim is not our
// driver's.
[[nodiscard]] std::optional<ClaimConfig> FindConfig(const Object& claim);

// The node that the claim is allocated on; empty: not allocated.
[[nodiscard]] std::string AllocatedNode(const Object& claim);
[[nodiscard]] bool IsReservedFor(const Object& claim, const kube::Uid& pod);
// Asks for access without holding the device.
[[nodiscard]] bool IsAdminAccess(const Object& claim);

// A claim that a pod asks for, by whatever way it names it. Views of the pod.
struct PodClaim {
  std::string_view request = {};        // Within the pod.
  std::string_view template_name = {};  // Empty: the claim is named directly.
  std::string_view claim = {};          // Empty: not known yet.
};
[[nodiscard]] std::vector<PodClaim> ClaimsOf(const Object& pod);

// The node that the pod is on, or must go to; empty: any.
[[nodiscard]] std::string TargetNode(const Object& pod);
[[nodiscard]] bool IsTerminal(const Object& pod);
[[nodiscard]] bool IsPodReady(const Object& pod);
// Whether all labels of `selector` are on `object`.
[[nodiscard]] bool MatchesLabels(const Object& object, const json::Value& selector);

// nullptr if there is none with this UID.
[[nodiscard]] ObjectPtr FindByUid(const Objects& objects, const kube::Uid& uid);

}  // namespace simulation
