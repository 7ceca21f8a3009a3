// Lookup tables (pods and entries by node) for the membership rule. Pure.
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
// Returns pointers into `members`. Of several entries of one node, takes the first.
EntryByNode ByNode(const std::vector<api::Member>& members);

// The daemon pods and cliques that live reads found.
class LiveView {
 public:
  explicit LiveView(const Evidence& evidence);

  // Returns false if there was no live read. The functions below then return false, too.
  bool was_read() const { return was_read_; }

  // Returns whether `is` holds for a pod on the node that has not ended.
  template <typename Is>
  bool AnyPodOn(const std::string& node, const Is& is) const {
    const auto pods = pods_.find(node);
    return pods != pods_.end() &&
           std::ranges::any_of(pods->second, [&](const api::DaemonPod* pod) { return is(*pod); });
  }
  // Returns whether the clique with this id exists.
  bool HasClique(const std::string& id) const { return listed_.contains(id); }
  // Returns whether that clique has an entry of the node.
  bool Lists(const std::string& id, const std::string& node) const;

 private:
  const bool was_read_;
  std::map<std::string_view, std::vector<const api::DaemonPod*>> pods_;
  std::map<std::string_view, std::set<std::string_view>> listed_;  // Nodes. Key: clique id.
};

// Points into `observed`, which must outlive it. REQUIRES: observed.domain.
struct MembershipIndex {
  explicit MembershipIndex(const Observed& everything);

  // Returns whether the node may be a member: a claim shows a pod of the domain there, or status
  // lists it already. Its label, daemon and clique entry do not suffice: the node itself can write
  // them, but the scheduler allocates claims. A member stays a member until it leaves.
  bool MayJoin(const std::string& node) const {
    return !users || users->contains(node) || (shown.contains(node) && !unused.contains(node));
  }

  const Observed& observed;
  const PodByNode pods;
  // The `pods` with a clique label. Their cliques are the keys.
  std::map<CliquePlace, std::vector<const api::DaemonPod*>> in_clique = {};
  const EntryByNode shown;  // Entries of status.
  // Nodes on which pods use the domain, according to the cache. While that is stale, no new node
  // joins. Empty if cdom may not read claims; then any node may join.
  const std::optional<std::set<std::string>> users;
  const LiveView live;
  // Members that leave status before their daemons do. Set by FindUnused().
  std::set<std::string> unused = {};
};

}  // namespace compute_domain
