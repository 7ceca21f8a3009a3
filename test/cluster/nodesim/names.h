// Names on nodes, pods and claims that the simulator uses.
#pragma once

#include <string_view>

#include "pkg/kube/api/resource.h"

namespace nodesim {

inline constexpr std::string_view kDriver = "compute-domain.nvidia.com";
inline constexpr std::string_view kGpuDriver = "gpu.nvidia.com";

inline constexpr std::string_view kDomainLabel = "resource.nvidia.com/computeDomain";
inline constexpr std::string_view kCliqueIdLabel = "resource.nvidia.com/computeDomain.cliqueID";
inline constexpr std::string_view kGpuCliqueLabel = "nvidia.com/gpu.clique";
inline constexpr std::string_view kGpuPresentLabel = "nvidia.com/gpu.present";

// On a daemon pod: the membership writer.
inline constexpr std::string_view kMembershipWriterLabel = "cdom.dev/membership-writer";
inline constexpr std::string_view kMembershipWriterController = "controller";

// On any pod: how long its containers run and how they exit. Seconds may have a fraction; a
// negative number means until they are stopped.
inline constexpr std::string_view kRunSecondsAnnotation = "nodesim.cdom.dev/run-seconds";
inline constexpr std::string_view kExitCodeAnnotation = "nodesim.cdom.dev/exit-code";
// An image with this suffix is in no registry: its container never starts.
inline constexpr std::string_view kMissingImageTag = ":missing";
inline constexpr std::string_view kImagePullBackOff = "ImagePullBackOff";
// On a Node that a simulator created, so that a later simulator can delete it.
inline constexpr std::string_view kCreatedAnnotation = "nodesim.cdom.dev/created";

// ServiceAccount of daemon pods.
inline constexpr std::string_view kDaemonAccount = "compute-domain-daemon-service-account";

inline constexpr std::string_view kLeaseNamespace = "kube-node-lease";

inline const kube::Resource kComputeDomains = {"resource.nvidia.com", "v1beta1", "computedomains",
                                               "ComputeDomain", true};
inline const kube::Resource kCliques = {"resource.nvidia.com", "v1beta1", "computedomaincliques",
                                        "ComputeDomainClique", true};

}  // namespace nodesim
