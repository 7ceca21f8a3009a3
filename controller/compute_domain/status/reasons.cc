#include "controller/compute_domain/status/reasons.h"

#include <algorithm>
#include <iterator>

#include "controller/api/names.h"

namespace compute_domain {

constexpr Reason kReasons[] = {
    {api::kReasonAccepted, Telling::kSilent},
    {api::kReasonPaused, Telling::kNormal},
    {api::kReasonSpecMissing, Telling::kWarning, true},
    {api::kReasonTemplateNameInvalid, Telling::kWarning, true},
    {api::kReasonAnnotationInvalid, Telling::kWarning},
    {api::kReasonPlacementMissing, Telling::kWarning},
    {api::kReasonDraNotServed, Telling::kWarning, true},
    {api::kReasonPermissionMissing, Telling::kWarning, true},
    {api::kReasonChildrenNotRead, Telling::kWarning, true},
    {api::kReasonForbidden, Telling::kWarning, true},
    {api::kReasonTemplateNameTaken, Telling::kWarning, true},
    {api::kReasonNotAccepted, Telling::kSilent, true},
    {api::kReasonProvisioningFailed, Telling::kWarning, true},
    {api::kReasonChildrenMissing, Telling::kSilent, true},
    {api::kReasonChildrenTerminating, Telling::kWarning},
    {api::kReasonOutdated, Telling::kSilent},
    {api::kReasonRollStopped, Telling::kWarning},
    {api::kReasonChildrenExist, Telling::kSilent},
    {api::kReasonCliqueFull, Telling::kWarning},
    {api::kReasonNoMembers, Telling::kSilent},
    {api::kReasonIdle, Telling::kSilent},
    {api::kReasonHostManaged, Telling::kSilent},
    {api::kReasonClaimsNotRead, Telling::kWarning},
    {api::kReasonNodesNotRead, Telling::kWarning},
    {api::kReasonDaemonsNotRead, Telling::kWarning},
    {api::kReasonNodeLost, Telling::kWarning},
    {api::kReasonNodeRebooted, Telling::kWarning},
    {api::kReasonNodeDrained, Telling::kWarning},
    {api::kReasonNodeTainted, Telling::kWarning},
    {api::kReasonNodeHeldByAnotherDomain, Telling::kWarning},
    {api::kReasonPluginMissing, Telling::kWarning},
    {api::kReasonPodsStuckTerminating, Telling::kWarning},
    {api::kReasonFabricError, Telling::kWarning},
    {api::kReasonImexOnHost, Telling::kWarning},
    {api::kReasonImexWaitsForQuorum, Telling::kWarning},
    {api::kReasonImexAddressDiffers, Telling::kWarning},
    {api::kReasonImexIndexDiffers, Telling::kWarning},
    {api::kReasonImexPeersUnreachable, Telling::kWarning},
    {api::kReasonImexPeersUnknown, Telling::kWarning},
    {api::kReasonImexRestartedUnderJob, Telling::kWarning},
    {api::kReasonAllMembersReady, Telling::kNormal},
    {api::kReasonAllInOneClique, Telling::kSilent},
    {api::kReasonSharedWithinCliques, Telling::kSilent},
    {api::kReasonGroupsNotRead, Telling::kSilent},
    {api::kReasonMembersNotReady, Telling::kWarning},
    {api::kReasonMembersStarting, Telling::kNormal},
    {api::kReasonMembersLeaving, Telling::kNormal},
    {api::kReasonWaitingForMembers, Telling::kSilent},
    {api::kReasonMemberWithoutClaim, Telling::kWarning},
    {api::kReasonNodeLeaving, Telling::kWarning},
    {api::kReasonClaimNotListed, Telling::kWarning},
    {api::kReasonSpansCliques, Telling::kWarning},
    {api::kReasonCliqueShared, Telling::kWarning},
    {api::kReasonNoFabric, Telling::kWarning},
    {api::kReasonDeletionBlocked, Telling::kWarning},
    {api::kReasonHeldByFinalizer, Telling::kWarning},
    {api::kReasonDeleting, Telling::kSilent},
    {api::kReasonOtherControllerWrites, Telling::kWarning},
    {api::kReasonWritesUndone, Telling::kWarning},
    {api::kReasonClaimsReserved, Telling::kSilent},
    {api::kReasonPodsWaiting, Telling::kSilent},
    {api::kReasonChannelHeld, Telling::kWarning},
    {api::kReasonNoRoomInClique, Telling::kWarning},
    {api::kReasonNoChannelFree, Telling::kSilent},
    {api::kReasonNoPlugin, Telling::kWarning},
    {api::kReasonNoNodeHasGpus, Telling::kWarning},
    {api::kReasonNoClaims, Telling::kSilent},
};

const Reason* FindReason(std::string_view name) {
  const auto* const it = std::ranges::find(kReasons, name, &Reason::name);
  return it == std::end(kReasons) ? nullptr : it;
}

}  // namespace compute_domain
