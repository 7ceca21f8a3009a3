#include "controller/compute_domain/status/usage.h"

#include <algorithm>
#include <map>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/status/clique_capacity.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A scheduler at work needs no explanation; one that has found nothing for this long does.
constexpr seconds kPatience{5};
constexpr seconds kLookAgainMin{10};
constexpr seconds kLookAgainMax{300};
// In the scheduler's words when no device is left for a claim, of kube-scheduler as of others.
constexpr std::string_view kNoDevice = "cannot allocate all claims";
// So many pods are read: conditions name no more, and those that wait mostly wait for the same.
constexpr std::size_t kPodsMax = 5;

// The pod that a claim was made for; null: it stands by itself, or was made for something else.
const kube::OwnerReference* PodOf(const api::Claim& claim) {
  const kube::OwnerReference* owner = claim.meta.ControllerOwner();
  return owner != nullptr && owner->kind == "Pod" && !owner->name.empty() ? owner : nullptr;
}

bool IsWaiting(const Observed& observed, const api::Claim& claim) {
  return IsChannelClaim(observed, claim) && claim.node.empty() && !claim.meta.deleting &&
         PodOf(claim) != nullptr;
}

bool MayName(const Observed& observed, std::string_view ns) {
  return observed.facts.names_others || ns == observed.domain->meta.key.ns;
}

// What else their claims may lack.
std::string WithoutGpus(const Observed& observed) {
  const auto gpus = FindGpus(observed).gpus;
  if (!gpus) return "";
  return ", or without the GPUs that annotation " + std::string(api::kGpusAnnotation) +
         " asks for (" + observed.domain->gpus + " of DeviceClass " + gpus->device_class + ")";
}

}  // namespace

std::string Names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::map<std::string, std::vector<std::string>> FindWaiting(const Observed& observed) {
  std::map<std::string, std::vector<std::string>> waiting;
  for (const api::Claim& claim : observed.children.claims) {
    if (!IsWaiting(observed, claim)) continue;
    const std::string& pod = PodOf(claim)->name;
    const auto words = observed.memory.words.find(pod);
    waiting[words == observed.memory.words.end() ? "" : words->second].push_back(pod);
  }
  for (auto& [words, pods] : waiting) std::ranges::sort(pods);
  return waiting;
}

std::vector<std::string> NamesForOwner(const Observed& observed,
                                       const std::set<std::string>& domains) {
  std::vector<std::string> names;
  std::size_t unnamed = 0;
  for (const std::string& domain : domains) {
    if (MayName(observed, std::string_view(domain).substr(0, domain.find('/')))) {
      names.push_back(domain);
    } else {
      ++unnamed;
    }
  }
  if (unnamed == 1) names.emplace_back("a domain in another namespace");
  if (unnamed > 1) names.push_back(std::to_string(unnamed) + " domains in other namespaces");
  return names;
}

Usage FindUsage(const Observed& observed) {
  Usage usage;
  for (const api::Claim& claim : observed.children.claims) {
    if (!IsInUse(observed, claim)) continue;
    usage.users.insert(usage.users.end(), claim.consumers.begin(), claim.consumers.end());
  }
  for (const auto& [words, pods] : FindWaiting(observed)) {
    usage.waiting.push_back("pods/" + Names(pods) + (words.empty() ? "" : " (" + words + ")"));
  }
  std::ranges::sort(usage.users);
  std::ranges::sort(usage.waiting);
  return usage;
}

std::vector<kube::OwnerReference> FindPodsWithoutChannel(const Observed& observed) {
  std::vector<kube::OwnerReference> pods;
  for (const api::Claim& claim : observed.children.claims) {
    if (!IsWaiting(observed, claim)) continue;
    const auto words = observed.memory.words.find(PodOf(claim)->name);
    const bool lacks =
        words != observed.memory.words.end() && words->second.find(kNoDevice) != std::string::npos;
    if (lacks) pods.push_back(*PodOf(claim));
  }
  return pods;
}

std::optional<Failure> FindShortage(const Observed& observed) {
  // It need not be for want of a channel that pods cannot follow the first ones.
  std::optional<Failure> full = FindFullClique(observed);
  if (FindPodsWithoutChannel(observed).empty()) return full;
  // From an old view nobody is told to install what may be there by now.
  if (observed.nobody_publishes && observed.facts.views.slices == Sight::kCurrent) {
    return Failure{.reason = std::string(api::kReasonNoPlugin),
                   .message = "No node of the cluster publishes devices of " +
                              std::string(api::kDriver) +
                              ", so no pod gets a channel. Install NVIDIA's kubelet plugin, or "
                              "look why its pods do not run."};
  }
  std::vector<std::string> strays;
  bool is_all_named = true;
  const auto add = [&](const api::Claim& claim) {
    const bool names_none = claim.channel_domain.empty();
    const bool is_named = MayName(observed, claim.meta.key.ns);
    if (!is_named) is_all_named = false;
    strays.push_back("the channel of " + claim.node + " by " +
                     (is_named ? "ResourceClaim " + kube::ToString(claim.meta.key)
                               : "a ResourceClaim in another namespace") +
                     (claim.consumers.empty() ? " (used by no pod)"
                      : names_none            ? " (of no ComputeDomain)"
                                              : " (of a domain in another namespace)"));
  };
  for (const api::Claim& claim : observed.others.stray_claims) add(claim);
  for (const api::Claim& claim : observed.children.claims) {
    const bool is_elsewhere = claim.has_channel && claim.channel_domain == observed.uid &&
                              !claim.admin_access && !IsChannelClaim(observed, claim);
    if (is_elsewhere && !claim.consumers.empty()) add(claim);
  }
  if (!strays.empty()) {
    std::ranges::sort(strays);
    return Failure{.reason = std::string(api::kReasonChannelHeld),
                   .message = "Channels are held by unrelated claims: " + Names(strays) +
                              ". Delete such a claim, or the pods that use it." +
                              (is_all_named ? ""
                                            : " Who administers the cluster finds those of other "
                                              "namespaces in /debug/domains.")};
  }
  if (full) return full;
  const std::vector<std::string> holders = NamesForOwner(observed, observed.others.holders);
  return Failure{
      .reason = std::string(api::kReasonNoChannelFree),
      .message = "The scheduler found nodes without a free channel" + WithoutGpus(observed) + ". " +
                 (holders.empty() ? "" : "Other domains hold nodes: " + Names(holders) + ". ") +
                 "They go on when pods there end; pods on one node share a ResourceClaim."};
}

std::map<std::string, std::string> FindOccupiedNodes(const Observed& observed) {
  std::map<std::string, std::string> occupied;
  for (const api::Claim& claim : observed.children.claims) {
    if (!IsInUse(observed, claim)) continue;
    const auto node = observed.nodes.find(claim.node);
    if (node == observed.nodes.end()) continue;
    const std::string& holder = node->second.domain;
    if (holder.empty() || holder == observed.uid) continue;
    const auto name = observed.others.domains.find(holder);
    occupied[claim.node] = "by " + (name == observed.others.domains.end()
                                        ? "a domain that is gone, UID " + holder
                                        : NamesForOwner(observed, {name->second}).front());
  }
  return occupied;
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
  milliseconds rest = kPatience - waited;
  const std::optional<base::Clock::TimePoint> read =
      observed.evidence.words ? now.monotonic : observed.memory.words_read;
  if (read) {
    // Ever later, since what the scheduler says changes less and less. By how long they had waited
    // when it was read: how long they have waited by now grows as fast as time passes.
    const auto had_waited = std::chrono::floor<milliseconds>(waited - (now.monotonic - *read));
    const milliseconds pace = std::clamp<milliseconds>(had_waited, kLookAgainMin, kLookAgainMax);
    rest = std::chrono::ceil<milliseconds>(*read + pace - now.monotonic);
  }
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
