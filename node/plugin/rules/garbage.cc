#include "node/plugin/rules/garbage.h"

#include <utility>

#include "node/plugin/rules/claim_devices.h"
#include "node/plugin/rules/prepare.h"
#include "pkg/base/find.h"
#include "pkg/base/rfc3339.h"

namespace plugin {

namespace {

bool IsOver(const CheckpointClaim& claim, base::Clock::WallTime now) {
  if (claim.state != ClaimState::kAborted) return false;
  const auto since = base::ParseTime(claim.aborted_at);
  // A clock that was set back must not keep the entry forever.
  return !since || now - *since > kAbortedFor || *since - now > kAbortedFor;
}

// Returns what a prepared claim was given. Empty if it cannot have been prepared.
std::optional<PreparedGroup> FindGroup(const NodeIdentity& self, const ClaimToPrepare& claim,
                                       const NodeResidue& residue) {
  if (!claim.is_allocated || !claim.wanted) return {};
  const Wanted& wanted = *claim.wanted;
  if (wanted.device.pool != self.node) return {};
  const bool is_daemon = wanted.name.type == DeviceType::kDaemon;
  if (is_daemon && (self.host_managed || claim.ns != self.driver_namespace)) return {};
  PreparedGroup group = GroupOf(self, claim.uid, wanted);
  const bool is_there = group.devices[0].cdi_ids.empty()
                            ? residue.node_domain == wanted.config.domain
                            : base::Contains(residue.specs, claim.uid);
  return is_there ? std::optional(std::move(group)) : std::nullopt;
}

}  // namespace

std::set<std::string> UsedDomains(const Checkpoint& checkpoint) {
  std::set<std::string> used;
  for (const auto& [uid, claim] : checkpoint.claims) {
    const auto use = UseOf(claim);
    if (use && claim.state != ClaimState::kAborted) used.insert(use->domain);
  }
  return used;
}

GarbagePlan FindGarbage(const NodeIdentity& self, const Checkpoint& checkpoint,
                        const NodeResidue& residue) {
  GarbagePlan garbage;
  const std::set<std::string> used = UsedDomains(checkpoint);
  for (const auto& [uid, claim] : checkpoint.claims) {
    const bool is_over = IsOver(claim, residue.now);
    if (is_over) garbage.forget.push_back(uid);
    const bool is_held = claim.state != ClaimState::kAborted;
    garbage.has_aborted = garbage.has_aborted || (!is_held && !is_over);
    if (is_held && !claim.name.empty()) garbage.look_up.push_back(uid);
    const auto use = UseOf(claim);
    const bool needs_label =
        use && use->type == DeviceType::kChannel && claim.state == ClaimState::kCompleted;
    if (needs_label && residue.domains_alive.contains(use->domain)) garbage.relabel = use->domain;
  }
  for (const std::string& uid : residue.specs) {
    if (!checkpoint.claims.contains(uid)) garbage.remove_specs.push_back(uid);
  }
  for (const std::string& domain : residue.folders) {
    if (IsUid(domain) && residue.domains_gone.contains(domain) && !used.contains(domain)) {
      garbage.remove_folders.push_back(domain);
    }
  }
  const bool is_labelled = !residue.node_domain.empty();
  if (self.host_managed || is_labelled) garbage.relabel.clear();
  garbage.unlabel = !self.host_managed && is_labelled && !residue.keeps_label &&
                    !IsLabelNeeded(residue.node_domain, "", checkpoint);
  return garbage;
}

Checkpoint Rebuild(const NodeIdentity& self, const std::string& boot_id,
                   const std::vector<ClaimToPrepare>& claims, const NodeResidue& residue) {
  Checkpoint checkpoint = {.boot_id = boot_id};
  for (const ClaimToPrepare& claim : claims) {
    auto group = FindGroup(self, claim, residue);
    if (!group) continue;
    CheckpointClaim entry = StartedClaim(claim);
    // Without a spec, nothing shows that the claim was answered, or that its domain is in its
    // namespace. Preparing it again costs nothing.
    const bool has_spec = !group->devices[0].cdi_ids.empty();
    if (has_spec) {
      entry.state = ClaimState::kCompleted;
      entry.groups = {*std::move(group)};
    }
    checkpoint.claims[claim.uid] = std::move(entry);
  }
  return checkpoint;
}

}  // namespace plugin
