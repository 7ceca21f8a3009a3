// The folder in which a container runtime looks for CDI specs, as far as it is ours.
//
// Messages of all name the path and the cause.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/cdi/spec.h"
#include "pkg/base/result.h"

namespace cdi {

inline constexpr std::string_view kBaseKind = "k8s.compute-domain.nvidia.com/device";
inline constexpr std::string_view kClaimKind = "k8s.compute-domain.nvidia.com/claim";
inline constexpr std::string_view kBaseFile = "k8s.compute-domain.nvidia.com-device_base.yaml";

// The name of a claim's file. REQUIRES: IsFileSafe(uid).
[[nodiscard]] std::string ClaimFile(std::string_view uid);
// Whether it may stand in a path: letters, digits and dashes, at most 64 of them.
[[nodiscard]] bool IsFileSafe(std::string_view uid);

// Who may do what with a file.
enum class Access { kOwner, kAllRead, kAllRun };
// Replaces the file in one go, and sees that it is on the disk: a crash leaves the old or the new.
[[nodiscard]] base::Result<void> WriteWhole(const std::string& folder, const std::string& file,
                                            std::string_view content,
                                            Access access = Access::kOwner);
// No file of that name is as good.
[[nodiscard]] base::Result<void> Remove(const std::string& folder, const std::string& file);

// UIDs of the claims that have a file, in order. A folder that is not there has none.
[[nodiscard]] base::Result<std::vector<std::string>> ClaimsIn(const std::string& folder);
// Takes away what a write that did not end has left. How many.
[[nodiscard]] base::Result<int> RemoveHalves(const std::string& folder);

// A claim's spec, if it has one. kInvalid: it has something else in its place.
[[nodiscard]] base::Result<std::optional<Spec>> ReadClaim(const std::string& folder,
                                                          std::string_view uid);

}  // namespace cdi
