#include "controller/compute_domain/rules/membership/clique_spec.h"

#include <algorithm>
#include <tuple>

#include "pkg/base/check.h"
#include "pkg/base/find.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using api::DaemonPod, api::HeldIndex, api::Member;

// Twice the default grace period of pods.
constexpr std::chrono::seconds kLeavesWithin{60};

// Decides one clique: compares its current with its desired content.
class CliqueRule {
 public:
  CliqueRule(const MembershipIndex& index, CliquePlace place, const api::Clique* clique,
             const Instant& now)
      : index_(index),
        observed_(index.observed),
        pods_(base::FindOr(index.in_clique, place, {})),
        place_(std::move(place)),
        clique_(clique),
        now_(now) {}

  // Returns the desired content. Sets `needs_daemons` and adds to `refused`.
  api::Clique Decide(Membership& membership) {
    if (clique_ != nullptr) {
      // A daemon is about to remove its own entry. A write by the controller would make that fail.
      if (AwaitOwnWriter(membership)) return *clique_;
      next_ = *clique_;
      next_.daemons.clear();
      next_.rebooted.clear();
      std::erase_if(next_.held, [&](const HeldIndex& held) {
        return base::ParseTime(held.until).value_or(now_.wall) <= now_.wall;
      });
      for (const Member& entry : clique_->daemons) Keep(entry, membership);
    }
    // Nodes that had an index before come first, so that no other node takes it.
    for (const DaemonPod* pod : pods_) {
      if (!Joins(*pod)) continue;
      if (const int index = IndexBefore(pod->node); index >= 0) Join(*pod, index);
    }
    for (const DaemonPod* pod : pods_) {
      if (!Joins(*pod)) continue;
      if (const int index = FreeIndex(membership); index >= 0) {
        Join(*pod, index);
      } else {
        membership.without_index.push_back(pod->node + " in clique " + place_.id);
      }
    }
    return std::move(next_);
  }

 private:
  // Returns the lowest index that is neither used nor reserved. If all are, returns the index of
  // the node that has been away longest. -1 if there is none.
  int FreeIndex(Membership& membership) {
    const int most = observed_.facts.settings->daemons.nodes_per_imex_domain_max;
    const std::set<int> lost = LostIndices(membership);
    std::set<int> taken = used_;
    taken.insert(lost.begin(), lost.end());
    for (const HeldIndex& held : next_.held) taken.insert(held.index);
    if (const int index = LowestFreeIndex(taken, most); index >= 0) return index;
    std::ranges::sort(next_.held, {},
                      [](const HeldIndex& held) { return std::tie(held.until, held.index); });
    for (const HeldIndex& held : next_.held) {
      if (IsFree(held.index) && !lost.contains(held.index)) return held.index;
    }
    return -1;
  }

  // Returns the indices that only status still has, because a user deleted the clique. S3 (no index
  // is assigned twice): the daemon may use its index until a live read shows no pod of the node.
  std::set<int> LostIndices(Membership& membership) const {
    std::set<int> lost;
    for (const Member& shown : observed_.domain->status.nodes) {
      const bool is_known = entries_of_.contains(shown.node) || HadEntry(shown.node);
      if (shown.clique != place_.id || is_known || !IsFree(shown.index)) continue;
      if (!ProveGone(shown, membership)) lost.insert(shown.index);
    }
    return lost;
  }

  bool HadEntry(const std::string& node) const {
    return clique_ != nullptr && base::Contains(clique_->daemons, node, &Member::node);
  }

  // Reserves nothing for daemons that write their own entries: they choose among all indices.
  void Hold(const Member& entry) {
    const bool is_ours = observed_.facts.settings->daemons.controller_writes && IsFree(entry.index);
    if (!is_ours || observed_.facts.settings->index_hold <= std::chrono::seconds(0)) return;
    next_.held.push_back(
        {.node = entry.node,
         .index = entry.index,
         .until = base::FormatSeconds(now_.wall + observed_.facts.settings->index_hold)});
  }

  // Returns whether a daemon is about to remove its own entry. A daemon on a lost node, or one that
  // should have ended, no longer writes and must not block removals. Requeues for that time.
  // Measures it by this process's clock, because the clocks of hosts may be wrong.
  bool AwaitOwnWriter(Membership& membership) const {
    return std::ranges::any_of(observed_.children.daemon_pods, [&](const DaemonPod& pod) {
      const bool leaves = !pod.controller_writes && pod.meta.deleting && !pod.terminal &&
                          pod.clique == place_.id && pod.meta.key.ns == place_.ns;
      if (!leaves || IsLost(observed_, pod.node)) return false;
      const auto since = base::FindOr(observed_.memory.leaving_since, pod.meta.uid, now_.monotonic);
      return !membership.requeue_after.RequeueUnlessDue(since + kLeavesWithin - now_.monotonic);
    });
  }

  bool ProveGone(const Member& entry, Membership& membership) const {
    if (!index_.live.was_read()) {
      membership.needs_daemons = true;
      return false;
    }
    return !index_.live.AnyPodOn(entry.node,
                                 [&](const DaemonPod& pod) { return MayBeIn(pod, place_); });
  }

  void Keep(const Member& entry, Membership& membership) {
    const DaemonPod* const pod = base::FindOr(index_.pods, entry.node, nullptr);
    // S5 (a member leaves only after a live read), even if the cache shows its pod elsewhere.
    if (pod == nullptr || !MayBeIn(*pod, place_)) {
      return ProveGone(entry, membership) ? Hold(entry) : Put(entry);
    }
    if (!pod->controller_writes) return Put(entry);
    Member updated = entry;
    updated.ready = pod->clique && Serves(*pod);
    if (!pod->ip.empty()) updated.ip = pod->ip;
    const bool has_rebooted =
        clique_->rebooted.contains(entry.node) || observed_.rebooted.contains(entry.node);
    if (has_rebooted && !updated.ready) next_.rebooted.insert(entry.node);
    // The controller never assigned an index that is negative or used twice, so that node joins
    // again. An index above a lowered limit stays, because IMEX runs with it.
    if (entry.index >= 0 && !used_.contains(entry.index)) Put(updated);
  }

  bool IsFree(int index) const {
    return index >= 0 && index < observed_.facts.settings->daemons.nodes_per_imex_domain_max &&
           !used_.contains(index);
  }

  bool Joins(const DaemonPod& pod) const {
    return pod.controller_writes && !pod.ip.empty() && !pod.meta.deleting &&
           !entries_of_.contains(pod.node) && index_.MayJoin(pod.node);
  }

  // Returns the free index that is reserved for the node, or that status shows for it. -1 if there
  // is none. S4 (an index never changes): a deleted clique gets the same indices again, because its
  // daemons still use them.
  int IndexBefore(const std::string& node) const {
    for (const HeldIndex& held : next_.held) {
      if (held.node == node && IsFree(held.index)) return held.index;
    }
    const Member* const shown = base::FindOr(index_.shown, node, nullptr);
    if (shown == nullptr || shown->clique != place_.id) return -1;
    return IsFree(shown->index) ? shown->index : -1;
  }

  void Join(const DaemonPod& pod, int index) {
    CHECK(IsFree(index));  // Two IMEX daemons must not share an index.
    Put({.node = pod.node,
         .ip = pod.ip,
         .clique = place_.id,
         .index = index,
         .ready = Serves(pod)});
  }

  void Put(const Member& member) {
    used_.insert(member.index);
    entries_of_.insert(member.node);
    std::erase_if(next_.held, [&](const HeldIndex& held) {
      return held.node == member.node || held.index == member.index;
    });
    next_.daemons.push_back(member);
  }

  const MembershipIndex& index_;
  const Observed& observed_;
  std::vector<const DaemonPod*> pods_;  // With the clique's label.
  const CliquePlace place_;
  const api::Clique* clique_;
  const Instant& now_;
  api::Clique next_;
  std::set<int> used_;
  std::set<std::string> entries_of_;
};

}  // namespace

int LowestFreeIndex(const std::set<int>& used, int members_max) {
  int index = 0;
  while (used.contains(index)) ++index;
  return index < members_max ? index : -1;
}

api::Clique DecideClique(const MembershipIndex& index, const CliquePlace& place,
                         const api::Clique* clique, const Instant& now, Membership& membership) {
  return CliqueRule(index, place, clique, now).Decide(membership);
}

}  // namespace compute_domain
