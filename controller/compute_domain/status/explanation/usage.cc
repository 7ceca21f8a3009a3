#include "controller/compute_domain/status/explanation/usage.h"

#include <algorithm>

#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "pkg/base/find.h"
#include "pkg/base/text.h"

namespace compute_domain {

bool MayName(const Observed& observed, std::string_view ns) {
  return observed.facts.settings->names_others || ns == observed.domain->meta.key.ns;
}

std::string Names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  return base::JoinFew(names, kShown);
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

std::map<std::string, std::string> FindOccupiedNodes(const Observed& observed) {
  std::map<std::string, std::string> occupied;
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (!IsInUse(observed, claim)) continue;
    const api::Node* const node = base::Find(observed.nodes, claim.node);
    if (node == nullptr || node->domain.empty() || node->domain == observed.uid) continue;
    const std::string* const name = base::Find(observed.others.domains, node->domain);
    occupied[claim.node] =
        "by " + (name == nullptr ? "a domain that does not exist, UID " + node->domain
                                 : NamesForOwner(observed, {*name}).front());
  }
  return occupied;
}

}  // namespace compute_domain
