// The devices that a claim is given. Pure.
#pragma once

#include <string>

#include "node/cdi/spec.h"
#include "node/plugin/rules/checkpoint.h"
#include "node/plugin/rules/claim.h"
#include "node/plugin/rules/identity.h"

namespace plugin {

// Returns what the checkpoint and the kubelet get for the claim with this UID.
PreparedGroup GroupOf(const NodeIdentity& self, const std::string& uid, const Wanted& wanted);
// Returns its CDI spec, which has no devices if there is nothing to inject. `domain` is the domain
// that `wanted` names.
cdi::Spec SpecOf(const NodeIdentity& self, const std::string& uid, const Wanted& wanted,
                 const DomainIdentity& domain);

// Returns the spec of a prepared claim with the device numbers of the driver that is loaded now.
cdi::Spec WithDeviceNumbers(const NodeIdentity& self, cdi::Spec spec);

}  // namespace plugin
