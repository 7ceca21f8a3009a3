// The names that nodes, pods and claims carry and that this simulator reads or writes.
#pragma once

#include <string_view>

#include "pkg/kube/api/resource.h"

namespace nodesim {

inline constexpr std::string_view kDriver = "compute-domain.nvidia.com";
inline constexpr std::string_view kGpuDriver = "gpu.nvidia.com";
inline constexpr std::string_view kConfigApiVersion = "resource.nvidia.com/v1beta1";

inline constexpr std::string_view kDomainLabel = "resource.nvidia.com/computeDomain";
inline constexpr std::string_view kCliqueIdLabel = "resource.nvidia.com/computeDomain.cliqueID";
inline constexpr std::string_view kGpuCliqueLabel = "nvidia.com/gpu.clique";
inline constexpr std::string_view kGpuPresentLabel = "nvidia.com/gpu.present";

// On a daemon pod: who writes its entry into the clique.
inline constexpr std::string_view kMembershipWriterLabel = "cdom.dev/membership-writer";
inline constexpr std::string_view kMembershipWriterController = "controller";

// On any pod: what its containers do. Seconds may have a fraction; negative: until they are
// stopped.
inline constexpr std::string_view kRunSecondsAnnotation = "nodesim.cdom.dev/run-seconds";
inline constexpr std::string_view kExitCodeAnnotation = "nodesim.cdom.dev/exit-code";
// What no registry has: a container of an image that ends like this never starts.
inline constexpr std::string_view kMissingImageTag = ":missing";
inline constexpr std::string_view kImagePullBackOff = "ImagePullBackOff";
// On a Node that a simulator created, so that a later one may clean it up too.
inline constexpr std::string_view kCreatedAnnotation = "nodesim.cdom.dev/created";

// Of the pods of daemons.
inline constexpr std::string_view kDaemonAccount = "compute-domain-daemon-service-account";

inline constexpr std::string_view kLeaseNamespace = "kube-node-lease";

inline const kube::Resource kComputeDomains = {"resource.nvidia.com", "v1beta1", "computedomains",
                                               "ComputeDomain", true};
inline const kube::Resource kCliques = {"resource.nvidia.com", "v1beta1", "computedomaincliques",
                                        "ComputeDomainClique", true};

}  // namespace nodesim
