// Every name that other components rely on.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "pkg/kube/api/meta.h"
#include "pkg/kube/api/resource.h"

namespace api {

// Shared with NVIDIA's components. These names must match exactly, or the components stop working
// together.
inline constexpr std::string_view kGroup = "resource.nvidia.com";
inline constexpr std::string_view kDomainLabel =
    "resource.nvidia.com/computeDomain";  // Value: the domain's UID.
inline constexpr std::string_view kTargetLabel = "resource.nvidia.com/computeDomainTarget";
inline constexpr std::string_view kTargetDaemon = "Daemon";
inline constexpr std::string_view kTargetWorkload = "Workload";
// On a daemon pod: the id of its clique, "<uuid>.<n>". Absent while the daemon starts, empty on a
// node without fabric.
inline constexpr std::string_view kCliqueLabel = "resource.nvidia.com/computeDomain.cliqueID";
// On a node: its clique, in the same form. Some clusters do not set this label.
inline constexpr std::string_view kNodeCliqueLabel = "nvidia.com/gpu.clique";
inline constexpr std::string_view kFinalizer = "resource.nvidia.com/computeDomain";
inline constexpr std::string_view kDriver = "compute-domain.nvidia.com";
inline constexpr std::string_view kDaemonDeviceClass = "compute-domain-daemon.nvidia.com";
inline constexpr std::string_view kChannelDeviceClass = "compute-domain-default-channel.nvidia.com";
inline constexpr std::string_view kChannelDevicePrefix = "channel-";
inline constexpr std::string_view kDaemonServiceAccount = "compute-domain-daemon-service-account";
inline constexpr std::string_view kImexInUse = "NV_ERR_IN_USE";  // In the log of IMEX.
inline constexpr std::string_view kDaemonConfigKind = "ComputeDomainDaemonConfig";
inline constexpr std::string_view kChannelConfigKind = "ComputeDomainChannelConfig";
inline constexpr std::string_view kDaemonContainer = "compute-domain-daemon";

// Names of the Leases that controllers use: cdom, NVIDIA's program by default, NVIDIA's chart, and
// NVIDIA's GPU Operator.
inline constexpr auto kLeaseNames = std::to_array<std::string_view>(
    {"cdom-controller", "nvidia-compute-domain-controller", "dra-driver-nvidia-gpu-controller",
     "nvidia-dra-driver-controller"});

inline const kube::Resource kComputeDomains = {std::string(kGroup), "v1beta1", "computedomains",
                                               "ComputeDomain", true};
inline const kube::Resource kComputeDomainCliques = {
    std::string(kGroup), "v1beta1", "computedomaincliques", "ComputeDomainClique", true};

// Name of a domain's DaemonSet and of its daemons' claim template. It must not contain
// "compute-domain-daemon-": a daemon would mistake its own line in the hosts file for a peer.
inline std::string DaemonName(const kube::Uid& domain_uid) {
  return "computedomain-daemon-" + domain_uid;
}
inline std::string CliqueName(const kube::Uid& domain_uid, const std::string& clique) {
  return domain_uid + "." + clique;
}

// Field managers of cdom's programs, which comes from their user agent, and of NVIDIA's controller:
// the name of its program.
inline constexpr std::string_view kOwnFieldManager = "cdom";
inline constexpr std::string_view kForeignFieldManager = "compute-domain-controller";

// The admission policy in manifests/ that lets only controllers delete a domain's children.
inline constexpr std::string_view kChildDeletionPolicy = "cdom-child-deletion";
// Bindings of the policies that put a domain's pods into one clique.
inline constexpr std::string_view kPlacementBinding = "cdom-placement";
inline constexpr std::string_view kPreferredBinding = "cdom-placement-preferred";
// Returns whether that policy accepts `user` as the controller of cdom, of NVIDIA's chart or of its
// GPU Operator.
inline bool IsControllerAccount(std::string_view user) {
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  constexpr std::string_view kOfChart = "-service-account-controller";
  const std::size_t colon = user.rfind(':');
  if (!user.starts_with(kPrefix) || colon <= kPrefix.size()) return false;
  const std::string_view name = user.substr(colon + 1);
  return name == "cdom-controller" || name == "nvidia-dra-driver-controller" ||
         (name.size() > kOfChart.size() && name.ends_with(kOfChart));
}

// Key of the taint that cdom's kubelet plugin puts on its devices while the node's NVLink fabric
// has an error. The value names the error in one word.
inline constexpr std::string_view kFabricErrorTaint = "cdom.dev/fabric-error";

// Taints that announce that a node will be removed. An autoscaler, a provider of spot nodes, or a
// person who declares the node dead sets them. A key that ends in "/*" matches every key with this
// prefix.
inline constexpr std::string_view kOutOfServiceTaint = "node.kubernetes.io/out-of-service";
inline constexpr std::array kLeavingTaints = {
    std::string_view("ToBeDeletedByClusterAutoscaler"), std::string_view("karpenter.sh/disrupted"),
    std::string_view("cloud.google.com/impending-node-termination"),
    std::string_view("aws-node-termination-handler/*"), kOutOfServiceTaint};

// Part of the scheduler's message if no device is left for a claim. Other schedulers use it, too.
inline constexpr std::string_view kSchedulerLacksDevice = "cannot allocate all claims";

// cdom's own names.
inline constexpr std::string_view kReportingController = "cdom.dev/compute-domain-controller";
// On a daemon pod: the writer of its clique entry. Only the value "controller" is used.
inline constexpr std::string_view kMembershipWriterLabel = "cdom.dev/membership-writer";
inline constexpr std::string_view kMembershipWriterController = "controller";

// On a clique: indices that are kept for nodes whose daemon was deleted.
inline constexpr std::string_view kHeldIndicesAnnotation = "cdom.dev/held-indices";
// On a clique: nodes that have rebooted and whose daemon has not been ready since, as "a,b". The
// next leader reads it: no object shows that a node has rebooted.
inline constexpr std::string_view kRebootedAnnotation = "cdom.dev/rebooted-nodes";
// On a clique: number of nodes that are joining it and were not yet in it at its last write. A
// daemon starts IMEX when this is 0, because IMEX is slow to learn of later nodes.
inline constexpr std::string_view kJoiningAnnotation = "cdom.dev/joining";
// On the DaemonSet's pod template and its pods: the names of nodes in IMEX. Only the value "domain"
// is used: they contain a hash of the domain's UID. Without it all domains have the same names.
inline constexpr std::string_view kNodeNamesAnnotation = "cdom.dev/imex-node-names";
inline constexpr std::string_view kNodeNamesOfDomain = "domain";
// On cdom's DaemonSet, its pods and claim templates: hash of what was rendered, to detect changes.
// The DaemonSet's value is "<hash>:<generation>", because an edit of its spec raises the
// generation.
inline constexpr std::string_view kTemplateHashAnnotation = "cdom.dev/template-hash";
// On the DaemonSet's pod template: the generation that was repaired, so that each repair is a
// change.
inline constexpr std::string_view kRepairedAnnotation = "cdom.dev/repaired-generation";
// On a domain: how long its deletion waits for pods that use it, such as "90s" or "0".
inline constexpr std::string_view kDeletionGraceAnnotation = "cdom.dev/deletion-grace";
// On a domain: whether its daemons may be replaced while a job runs, "Always" or "WhenIdle".
inline constexpr std::string_view kDaemonRollAnnotation = "cdom.dev/daemon-roll";
// Label on a domain: all its pods must run in one NVLink clique. Policies select domains by it.
inline constexpr std::string_view kPlacementLabel = "cdom.dev/placement";
inline constexpr std::string_view kPlacementClique = "clique";
inline constexpr std::string_view kPlacementExclusive = "exclusive-clique";
inline constexpr std::string_view kPlacementAny = "any";  // Its pods may run in several.
// On a domain: key of a label of its pods. Pods with the same value run in one clique.
inline constexpr std::string_view kPlacementGroupAnnotation = "cdom.dev/placement-group-label";
// On a domain: the number of GPUs in each workload claim, and their DeviceClass. The number is such
// as "4", or "All" for all GPUs of the node.
inline constexpr std::string_view kGpusAnnotation = "cdom.dev/gpus";
inline constexpr std::string_view kGpuClassAnnotation = "cdom.dev/gpu-class";
inline constexpr std::string_view kGpuDeviceClass = "gpu.nvidia.com";  // If the domain names none.
// On a domain: "true" pauses reconciliation; only status is written.
inline constexpr std::string_view kPausedAnnotation = "cdom.dev/paused";
// Prefix of cdom's keys, and the keys that are valid on a domain. Other keys with it are reported.
inline constexpr std::string_view kOwnPrefix = "cdom.dev/";
inline constexpr std::array kDomainAnnotations = {kDeletionGraceAnnotation,  kDaemonRollAnnotation,
                                                  kPlacementGroupAnnotation, kGpusAnnotation,
                                                  kGpuClassAnnotation,       kPausedAnnotation};
inline constexpr std::array kDomainLabels = {kPlacementLabel};
// On a namespace: "true" tells cdom's policies that it is a driver namespace.
inline constexpr std::string_view kDriverNamespaceLabel = "cdom.dev/driver";

// Condition types. Ready summarizes the three before it.
inline constexpr std::string_view kConditionAccepted = "Accepted";
inline constexpr std::string_view kConditionProvisioned = "Provisioned";
inline constexpr std::string_view kConditionMembersReady = "MembersReady";
inline constexpr std::string_view kConditionReady = "Ready";
// A job can be started: its pods share memory.
inline constexpr std::string_view kConditionMemoryShared = "MemoryShared";
inline constexpr std::string_view kConditionInUse = "InUse";
// Only during deletion.
inline constexpr std::string_view kConditionDeletionBlocked = "DeletionBlocked";
// Only while another controller writes the domain, too.
inline constexpr std::string_view kConditionConflicted = "Conflicted";

// Condition reasons.
inline constexpr std::string_view kReasonAccepted = "Accepted";
inline constexpr std::string_view kReasonSpecMissing = "SpecMissing";
inline constexpr std::string_view kReasonTemplateNameInvalid = "TemplateNameInvalid";
inline constexpr std::string_view kReasonPlacementMissing = "PlacementMissing";
inline constexpr std::string_view kReasonAnnotationInvalid = "AnnotationInvalid";
inline constexpr std::string_view kReasonPaused = "Paused";
inline constexpr std::string_view kReasonDraNotServed = "DRANotServed";
inline constexpr std::string_view kReasonPermissionMissing = "PermissionMissing";
inline constexpr std::string_view kReasonForbidden = "Forbidden";
inline constexpr std::string_view kReasonTemplateNameTaken = "TemplateNameTaken";
inline constexpr std::string_view kReasonNotAccepted = "NotAccepted";
inline constexpr std::string_view kReasonProvisioningFailed = "ProvisioningFailed";
inline constexpr std::string_view kReasonChildrenMissing = "ChildrenMissing";
inline constexpr std::string_view kReasonChildrenTerminating = "ChildrenTerminating";
inline constexpr std::string_view kReasonChildrenExist = "ChildrenExist";
inline constexpr std::string_view kReasonOutdated = "Outdated";
inline constexpr std::string_view kReasonRollStopped = "RollStopped";
inline constexpr std::string_view kReasonCliqueFull = "CliqueFull";
inline constexpr std::string_view kReasonNoMembers = "NoMembers";
inline constexpr std::string_view kReasonHostManaged = "HostManaged";
inline constexpr std::string_view kReasonIdle = "Idle";
inline constexpr std::string_view kReasonChildrenNotRead = "ChildrenNotRead";
inline constexpr std::string_view kReasonClaimsNotRead = "ClaimsNotRead";
inline constexpr std::string_view kReasonNodesNotRead = "NodesNotRead";
inline constexpr std::string_view kReasonDaemonsNotRead = "DaemonsNotRead";
inline constexpr std::string_view kReasonNodeLost = "NodeLost";
inline constexpr std::string_view kReasonNodeRebooted = "NodeRebooted";
inline constexpr std::string_view kReasonNodeDrained = "NodeDrained";
inline constexpr std::string_view kReasonNodeTainted = "NodeTainted";
inline constexpr std::string_view kReasonNodeHeldByAnotherDomain = "NodeHeldByAnotherDomain";
inline constexpr std::string_view kReasonPluginMissing = "PluginMissing";
inline constexpr std::string_view kReasonPodsStuckTerminating = "PodsStuckTerminating";
inline constexpr std::string_view kReasonFabricError = "FabricError";
inline constexpr std::string_view kReasonImexOnHost = "ImexOnHost";
inline constexpr std::string_view kReasonImexWaitsForQuorum = "ImexWaitsForQuorum";
inline constexpr std::string_view kReasonImexAddressDiffers = "ImexAddressDiffers";
inline constexpr std::string_view kReasonImexIndexDiffers = "ImexIndexDiffers";
inline constexpr std::string_view kReasonImexPeersUnreachable = "ImexPeersUnreachable";
inline constexpr std::string_view kReasonImexPeersUnknown = "ImexPeersUnknown";
inline constexpr std::string_view kReasonImexRestartedUnderJob = "ImexRestartedUnderJob";
inline constexpr std::string_view kReasonMembersNotReady = "MembersNotReady";
inline constexpr std::string_view kReasonMembersStarting = "MembersStarting";
inline constexpr std::string_view kReasonMembersLeaving = "MembersLeaving";
inline constexpr std::string_view kReasonWaitingForMembers = "WaitingForMembers";
inline constexpr std::string_view kReasonCliqueShared = "CliqueShared";
inline constexpr std::string_view kReasonMemberWithoutClaim = "MemberWithoutClaim";
inline constexpr std::string_view kReasonNodeLeaving = "NodeLeaving";
inline constexpr std::string_view kReasonClaimNotListed = "ClaimNotListed";
inline constexpr std::string_view kReasonSpansCliques = "SpansCliques";
inline constexpr std::string_view kReasonNoFabric = "NoFabric";
inline constexpr std::string_view kReasonAllMembersReady = "AllMembersReady";
inline constexpr std::string_view kReasonAllInOneClique = "AllInOneClique";
inline constexpr std::string_view kReasonSharedWithinCliques = "SharedWithinCliques";
inline constexpr std::string_view kReasonGroupsNotRead = "GroupsNotRead";
inline constexpr std::string_view kReasonDeletionBlocked = "DeletionBlocked";
inline constexpr std::string_view kReasonDeleting = "Deleting";
inline constexpr std::string_view kReasonHeldByFinalizer = "HeldByFinalizer";
inline constexpr std::string_view kReasonOtherControllerWrites = "OtherControllerWrites";
inline constexpr std::string_view kReasonWritesUndone = "WritesUndone";
inline constexpr std::string_view kReasonClaimsReserved = "ClaimsReserved";
inline constexpr std::string_view kReasonPodsWaiting = "PodsWaiting";
inline constexpr std::string_view kReasonChannelHeld = "ChannelHeldByUnrelatedClaim";
inline constexpr std::string_view kReasonNoRoomInClique = "NoRoomInClique";
inline constexpr std::string_view kReasonNoChannelFree = "NoChannelFree";
inline constexpr std::string_view kReasonNoPlugin = "NoPlugin";
inline constexpr std::string_view kReasonNoNodeHasGpus = "NoNodeHasGpus";
inline constexpr std::string_view kReasonNoClaims = "NoClaims";

// Reasons of Events that report an action. Events that report a state use a condition's reason.
inline constexpr std::string_view kEventDaemonReplaced = "DaemonReplaced";
inline constexpr std::string_view kEventDaemonsInterrupted = "DaemonsInterrupted";
inline constexpr std::string_view kEventDeletionForced = "DeletionForced";
inline constexpr std::string_view kEventDuplicateRemoved = "DuplicateRemoved";
inline constexpr std::string_view kEventFeatureGateNotSupported = "FeatureGateNotSupported";
inline constexpr std::string_view kEventMemberRemoved = "MemberRemoved";
inline constexpr std::string_view kEventRepaired = "Repaired";
inline constexpr std::string_view kEventStaleLabelRemoved = "StaleLabelRemoved";
inline constexpr std::string_view kEventTemplateNameWanted = "TemplateNameWanted";
inline constexpr std::string_view kEventTemplateUpdated = "TemplateUpdated";

}  // namespace api
