// The devices that a claim is given. Pure.
#pragma once

#include <string>

#include "node/cdi/spec.h"
#include "node/plugin/rules/checkpoint.h"
#include "node/plugin/rules/claim.h"
#include "node/plugin/rules/identity.h"

namespace plugin {

struct ClaimDevices {
  cdi::Spec spec = {};       // The claim's CDI spec. Has no devices if there is nothing to inject.
  PreparedGroup group = {};  // For the checkpoint and the kubelet.
};
// Returns the devices of the claim with this UID. `domain` is the domain that `wanted` names.
ClaimDevices ClaimDevicesOf(const NodeIdentity& self, const std::string& uid, const Wanted& wanted,
                            const DomainIdentity& domain);

// Returns the spec of a prepared claim with the device numbers of the driver that is loaded now.
cdi::Spec WithDeviceNumbers(const NodeIdentity& self, cdi::Spec spec);

}  // namespace plugin
