#include "controller/compute_domain/status/explanation/usage.h"

#include <algorithm>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "controller/compute_domain/status/explanation/clique_capacity.h"

namespace compute_domain {

namespace {

bool MayName(const Observed& observed, std::string_view ns) {
  return observed.facts.names_others || ns == observed.domain->meta.key.ns;
}

// Returns what else the claims may lack. Empty if the domain requests no GPUs.
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
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!IsInUse(observed, claim)) continue;
    usage.users.insert(usage.users.end(), claim.consumers.begin(), claim.consumers.end());
  }
  for (const auto& [messages, pods] : FindWaiting(observed)) {
    usage.waiting.push_back("pods/" + Names(pods) +
                            (messages.empty() ? "" : " (" + messages + ")"));
  }
  std::ranges::sort(usage.users);
  std::ranges::sort(usage.waiting);
  return usage;
}

std::optional<Failure> FindShortage(const Observed& observed) {
  // Pods may wait because the clique is full, even if channels are free.
  std::optional<Failure> full = FindFullClique(observed);
  if (FindPodsWithoutChannel(observed).empty()) return full;
  // Do not ask for an installation because of a stale cache: slices may exist.
  if (observed.nobody_publishes && observed.facts.views.slices == Freshness::kFresh) {
    return MakeFailure(api::kReasonNoPlugin,
                       "No node of the cluster publishes devices of " + std::string(api::kDriver) +
                           ", so no pod gets a channel. For administrators: install a kubelet "
                           "plugin, or find out why its pods do not run.");
  }
  std::vector<std::string> strays;
  bool is_all_named = true;
  const auto add = [&](const api::ResourceClaim& claim) {
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
  for (const api::ResourceClaim& claim : observed.others.unrelated_claims) add(claim);
  for (const api::ResourceClaim& claim : observed.children.claims) {
    const bool is_elsewhere = claim.has_channel && claim.channel_domain == observed.uid &&
                              !claim.admin_access && !IsChannelClaim(observed, claim);
    if (is_elsewhere && !claim.consumers.empty()) add(claim);
  }
  if (!strays.empty()) {
    std::ranges::sort(strays);
    return MakeFailure(
        api::kReasonChannelHeld,
        "Channels are held by unrelated claims: " + Names(strays) +
            ". Delete such a claim, or the pods that use it." +
            (is_all_named
                 ? ""
                 : " Administrators find the claims of other namespaces in /debug/domains."));
  }
  if (full) return full;
  const std::vector<std::string> holders = NamesForOwner(observed, observed.others.node_holders);
  return MakeFailure(
      api::kReasonNoChannelFree,
      "The scheduler found nodes without a free channel" + WithoutGpus(observed) + ". " +
          (holders.empty() ? "The pods start when other pods release their channels."
                           : "Other domains hold nodes: " + Names(holders) +
                                 ". The pods start when a pod of those domains ends.") +
          " (Two pods on one node must name the same ResourceClaim.)");
}

std::map<std::string, std::string> FindOccupiedNodes(const Observed& observed) {
  std::map<std::string, std::string> occupied;
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!IsInUse(observed, claim)) continue;
    const auto node = observed.nodes.find(claim.node);
    if (node == observed.nodes.end()) continue;
    const std::string& holder = node->second.domain;
    if (holder.empty() || holder == observed.uid) continue;
    const auto name = observed.others.domains.find(holder);
    occupied[claim.node] = "by " + (name == observed.others.domains.end()
                                        ? "a domain that does not exist, UID " + holder
                                        : NamesForOwner(observed, {name->second}).front());
  }
  return occupied;
}

}  // namespace compute_domain
