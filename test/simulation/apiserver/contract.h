// The names of the contract between the parts of a cluster.
//
// They repeat those of controller/api on purpose: a wrong name there must not become right in the
// simulation too.
#pragma once

#include <string>
#include <string_view>

namespace simulation {

inline constexpr std::string_view kDomainLabel = "resource.nvidia.com/computeDomain";
inline constexpr std::string_view kTargetLabel = "resource.nvidia.com/computeDomainTarget";
inline constexpr std::string_view kCliqueLabel = "resource.nvidia.com/computeDomain.cliqueID";
inline constexpr std::string_view kFinalizer = "resource.nvidia.com/computeDomain";
inline constexpr std::string_view kDriver = "compute-domain.nvidia.com";
inline constexpr std::string_view kDaemonClass = "compute-domain-daemon.nvidia.com";
inline constexpr std::string_view kChannelClass = "compute-domain-default-channel.nvidia.com";
inline constexpr std::string_view kDaemonConfig = "ComputeDomainDaemonConfig";
inline constexpr std::string_view kChannelConfig = "ComputeDomainChannelConfig";
// The simulation's own: on the pod of a daemon that does not write its clique.
inline constexpr std::string_view kKeepsNoCliqueAnnotation = "simulation.test/keeps-no-clique";
inline constexpr std::string_view kMembershipWriterLabel = "cdom.dev/membership-writer";
inline constexpr std::string_view kImexAnnotation = "cdom.dev/imex";
inline constexpr std::string_view kTemplateHashAnnotation = "cdom.dev/template-hash";
inline constexpr std::string_view kDaemonRollAnnotation = "cdom.dev/daemon-roll";
inline constexpr std::string_view kDeletionGraceAnnotation = "cdom.dev/deletion-grace";
inline constexpr std::string_view kPlacementLabel = "cdom.dev/placement";
inline constexpr std::string_view kPlacementGroupAnnotation = "cdom.dev/placement-group-label";
// An example of a taint that removes nodes, from the default configuration.
inline constexpr std::string_view kDisruptedTaint = "karpenter.sh/disrupted";
inline constexpr std::string_view kDriverNamespace = "cdom-system";
inline constexpr std::string_view kLeaseName = "cdom-controller";

inline std::string DaemonName(const std::string& domain) {
  return "computedomain-daemon-" + domain;
}
inline std::string CliqueName(const std::string& domain, const std::string& clique) {
  return domain + "." + clique;
}
inline std::string SliceName(const std::string& node) {
  return "00000-" + std::string(kDriver) + "-" + node + "-x";
}

}  // namespace simulation
