// Who is where: what membership is decided from, in a shape in which nobody is searched for. Pure.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/model/daemon_pods.h"

namespace compute_domain {

using EntryByNode = std::map<std::string_view, const api::Member*>;
// They point into `members`; of several of one node, to the first.
[[nodiscard]] EntryByNode ByNode(const std::vector<api::Member>& members);

// The daemon pods and cliques that live reads found.
class LiveView {
 public:
  explicit LiveView(const Evidence& evidence);

  // Else nothing of it is known.
  [[nodiscard]] bool was_read() const { return was_read_; }

  // Whether a pod on the node that has not ended is as `is` says.
  template <typename Is>
  [[nodiscard]] bool AnyPodOn(const std::string& node, const Is& is) const {
    const auto pods = pods_.find(node);
    return pods != pods_.end() &&
           std::ranges::any_of(pods->second, [&](const api::DaemonPod* pod) { return is(*pod); });
  }
  // Whether there is a clique of this id.
  [[nodiscard]] bool HasClique(const std::string& id) const { return listed_.contains(id); }
  // And it has an entry of the node.
  [[nodiscard]] bool Lists(const std::string& id, const std::string& node) const;

 private:
  const bool was_read_;
  std::map<std::string_view, std::vector<const api::DaemonPod*>> pods_;
  std::map<std::string_view, std::set<std::string_view>> listed_;  // Nodes, by the cliques' ids.
};

// It points into `observed`, which must outlive it. REQUIRES: observed.domain.
struct MembershipIndex {
  explicit MembershipIndex(const Observed& everything);

  // Whether the node may be a member. That its label, its daemon and its clique say so is the word
  // of the node alone; that a pod of the domain is there, the scheduler says. Who was a member once
  // is one until it leaves.
  [[nodiscard]] bool MayJoin(const std::string& node) const {
    return !users || users->contains(node) || shown.contains(node);
  }

  const Observed& observed;
  const PodByNode pods;
  // Those of `pods` that have the label of a clique.
  std::map<CliquePlace, std::vector<const api::DaemonPod*>> in_clique = {};
  const EntryByNode shown;  // In status.
  // On which pods use the domain, as far as is known: while claims cannot be read nobody new joins.
  // Empty: they may not be read.
  const std::optional<std::set<std::string>> users;
  const LiveView live;
};

}  // namespace compute_domain
