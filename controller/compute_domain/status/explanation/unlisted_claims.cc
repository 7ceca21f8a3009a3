#include "controller/compute_domain/status/explanation/unlisted_claims.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/status/explanation/usage.h"
#include "pkg/base/find.h"

namespace compute_domain {

namespace {

constexpr std::string_view kPods = "pods/";

// A pod that uses a claim. The references end with the visit.
struct UseView {
  const api::ResourceClaim& claim;
  std::string_view pod;
  const std::string& key;
};

// Visits each pod that uses a claim of the domain. One string has all the keys in turn: a plan
// looks at all of them, and rarely needs one.
void VisitUses(const Observed& observed, const std::function<void(const UseView&)>& visit) {
  std::string key;
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!IsInUse(observed, claim)) continue;
    for (const std::string_view consumer : claim.consumers) {
      if (!consumer.starts_with(kPods)) continue;
      const std::string_view pod = consumer.substr(kPods.size());
      key.assign(claim.meta.uid).append("/").append(pod);
      visit({.claim = claim, .pod = pod, .key = key});
    }
  }
}

}  // namespace

std::string KeyOfUse(const api::ResourceClaim& claim, const std::string& pod) {
  return claim.meta.uid + "/" + pod;
}

std::optional<ReadUses> PlanUses(const Observed& observed, const Analysis& analysis) {
  const auto is_ready = [](const api::Member& member) { return member.ready; };
  if (!std::ranges::all_of(analysis.expected, is_ready)) return {};
  // Status comes first: it must not wait for what only explains.
  if (!observed.domain->status.IsTrue(api::kConditionMembersReady)) return {};
  const std::map<std::string, bool>& known = observed.memory.lists_claim;
  std::vector<Use> uses;
  VisitUses(observed, [&](const UseView& use) {
    if (known.contains(use.key)) return;
    uses.push_back({.pod = std::string(use.pod), .claim = use.claim.meta.key.name, .key = use.key});
  });
  uses.resize(std::min(uses.size(), kUsesReadMax - std::min(known.size(), kUsesReadMax)));
  if (uses.empty()) return {};
  return ReadUses{.ns = observed.domain->meta.key.ns, .uses = std::move(uses)};
}

void KeepUses(const Observed& observed, std::map<std::string, bool>& known) {
  if (!observed.domain) return known.clear();
  const bool was_shared = observed.domain->status.IsTrue(api::kConditionMemoryShared);
  if (observed.memory.IsFirstLook() && known.empty() && was_shared) {
    VisitUses(observed, [&](const UseView& use) { known.try_emplace(use.key, true); });
  }
  std::size_t consumers = 0;
  for (const api::ResourceClaim& claim : observed.children.claims) {
    consumers += claim.consumers.size();
  }
  // Most plans have nothing to drop, and need not look at each.
  if (known.size() <= consumers && known.size() < kUsesReadMax) return;
  std::map<std::string, bool> still;
  VisitUses(observed, [&](const UseView& use) {
    if (auto one = known.extract(use.key)) still.insert(std::move(one));
  });
  known = std::move(still);
}

std::optional<SharingIssue> FindUnlisted(const Observed& observed) {
  const std::map<std::string, bool>& known = observed.memory.lists_claim;
  if (std::ranges::all_of(known, [](const auto& use) { return use.second; })) return {};
  std::vector<std::string> pods;
  VisitUses(observed, [&](const UseView& use) {
    if (!base::FindOr(known, use.key, true)) pods.push_back(std::string(kPods).append(use.pod));
  });
  if (pods.empty()) return {};
  std::ranges::sort(pods);
  return SharingIssue{
      .reason = api::kReasonClaimNotListed,
      .says = " No container lists the claim that holds the channel: " + Names(pods) +
              ". They share no memory. Name it in resources.claims of the "
              "containers that need it, and create the pods again."};
}

}  // namespace compute_domain
