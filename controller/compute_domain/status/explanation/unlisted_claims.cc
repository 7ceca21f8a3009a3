#include "controller/compute_domain/status/explanation/unlisted_claims.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/status/explanation/usage.h"

namespace compute_domain {

namespace {

constexpr std::string_view kPods = "pods/";

// Returns each pod that uses a claim of the domain.
std::vector<Use> UsesOf(const Observed& observed) {
  std::vector<Use> uses;
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!IsInUse(observed, claim)) continue;
    for (const std::string& consumer : claim.consumers) {
      if (!consumer.starts_with(kPods)) continue;
      std::string pod = consumer.substr(kPods.size());
      std::string key = KeyOfUse(claim, pod);
      uses.push_back({.pod = std::move(pod), .claim = claim.meta.key.name, .key = std::move(key)});
    }
  }
  return uses;
}

}  // namespace

std::string KeyOfUse(const api::ResourceClaim& claim, const std::string& pod) {
  return claim.meta.uid + "/" + pod;
}

std::optional<ReadUses> PlanUses(const Observed& observed, const Analysis& analysis) {
  const auto is_ready = [](const api::Member& member) { return member.ready; };
  if (!std::ranges::all_of(analysis.expected, is_ready)) return {};
  // Status comes first: it must not wait for what only explains.
  const kube::Condition* told = observed.domain->status.Find(api::kConditionMembersReady);
  if (told == nullptr || told->status != "True") return {};
  const std::map<std::string, bool>& known = observed.memory.lists_claim;
  std::vector<Use> uses = UsesOf(observed);
  std::erase_if(uses, [&](const Use& use) { return known.contains(use.key); });
  uses.resize(std::min(uses.size(), kUsesReadMax - std::min(known.size(), kUsesReadMax)));
  if (uses.empty()) return {};
  return ReadUses{.ns = observed.domain->meta.key.ns, .uses = std::move(uses)};
}

std::map<std::string, bool> StillInUse(const Observed& observed,
                                       const std::map<std::string, bool>& before) {
  std::map<std::string, bool> still;
  if (!observed.domain) return still;
  const bool is_first_look = observed.memory.rendered.daemon_set.empty();
  const kube::Condition* shared = observed.domain->status.Find(api::kConditionMemoryShared);
  const bool were_fine = is_first_look && shared != nullptr && shared->status == "True";
  if (before.empty() && !were_fine) return still;
  for (const Use& use : UsesOf(observed)) {
    const auto known = before.find(use.key);
    if (known != before.end()) still.insert(*known);
    if (were_fine) still.try_emplace(use.key, true);
  }
  return still;
}

std::optional<SharingIssue> FindUnlisted(const Observed& observed) {
  std::vector<std::string> pods;
  for (const Use& use : UsesOf(observed)) {
    const auto known = observed.memory.lists_claim.find(use.key);
    if (known != observed.memory.lists_claim.end() && !known->second) {
      pods.push_back(std::string(kPods) + use.pod);
    }
  }
  if (pods.empty()) return {};
  std::ranges::sort(pods);
  return SharingIssue{
      .reason = api::kReasonClaimNotListed,
      .says = " No container lists the claim that holds the channel: " + Names(pods) +
              ". They share no memory. Name it in resources.claims of the "
              "containers that need it, and create the pods again."};
}

}  // namespace compute_domain
