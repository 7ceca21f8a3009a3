#include "controller/compute_domain/usage.h"

#include <algorithm>

#include "controller/compute_domain/ownership.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A scheduler at work needs no explanation; one that has found nothing for this long does.
constexpr seconds kPatience{5};
constexpr seconds kLookAgainMin{10};
constexpr seconds kLookAgainMax{300};
// So many pods are read: conditions name no more, and those that wait mostly wait for the same.
constexpr std::size_t kPodsMax = 5;

// The pod that a claim was made for; null: it stands by itself, or was made for something else.
const kube::OwnerReference* PodOf(const api::Claim& claim) {
  const kube::OwnerReference* owner = claim.meta.ControllerOwner();
  return owner != nullptr && owner->kind == "Pod" ? owner : nullptr;
}

bool IsWaiting(const Observed& observed, const api::Claim& claim) {
  return IsChannelClaim(observed, claim) && claim.node.empty() && !claim.meta.deleting &&
         PodOf(claim) != nullptr;
}

}  // namespace

Usage FindUsage(const Observed& observed) {
  Usage usage;
  for (const api::Claim& claim : observed.children.claims) {
    if (IsInUse(observed, claim)) {
      usage.users.insert(usage.users.end(), claim.consumers.begin(), claim.consumers.end());
    } else if (IsWaiting(observed, claim)) {
      const std::string& pod = PodOf(claim)->name;
      const auto words = observed.words.find(pod);
      const bool known = words != observed.words.end() && !words->second.empty();
      usage.waiting.push_back("pods/" + pod + (known ? " (" + words->second + ")" : ""));
    }
  }
  std::ranges::sort(usage.users);
  std::ranges::sort(usage.waiting);
  return usage;
}

std::vector<std::string> FindHeldNodes(const Observed& observed) {
  std::vector<std::string> held;
  for (const api::Claim& claim : observed.children.claims) {
    if (!IsInUse(observed, claim)) continue;
    const auto node = observed.nodes.find(claim.node);
    if (node == observed.nodes.end()) continue;
    const std::string& holder = node->second.domain;
    if (holder.empty() || holder == observed.uid) continue;
    const auto name = observed.other_domains.find(holder);
    held.push_back(claim.node + " (by " +
                   (name == observed.other_domains.end() ? "a domain that is gone, UID " + holder
                                                         : name->second) +
                   ")");
  }
  std::ranges::sort(held);
  const auto repeated = std::ranges::unique(held);
  held.erase(repeated.begin(), repeated.end());
  return held;
}

Words PlanWords(const Observed& observed, const Instant& now) {
  Words words;
  std::vector<std::string> pods;
  std::optional<base::Clock::WallTime> first;
  for (const api::Claim& claim : observed.children.claims) {
    if (!IsWaiting(observed, claim)) continue;
    pods.push_back(PodOf(claim)->name);
    const auto created = base::ParseTime(claim.meta.creation_timestamp);
    if (created && (!first || *created < *first)) first = created;
  }
  if (!first) return words;
  const auto waited = std::chrono::floor<milliseconds>(now.wall - *first);
  // Ever later, since what the scheduler says changes less and less.
  const milliseconds pace = std::clamp<milliseconds>(waited, kLookAgainMin, kLookAgainMax);
  milliseconds rest = kPatience - waited;
  if (observed.words_read) {
    rest = std::chrono::ceil<milliseconds>(*observed.words_read + pace - now.monotonic);
  }
  if (observed.evidence.words) rest = pace;
  if (rest > milliseconds(0)) {
    words.look_again = rest;
    return words;
  }
  std::ranges::sort(pods);
  pods.resize(std::min(pods.size(), kPodsMax));
  words.read = ReadPods{.ns = observed.domain->meta.key.ns, .names = std::move(pods)};
  return words;
}

}  // namespace compute_domain
