#include "controller/compute_domain/clique_content.h"

#include <algorithm>
#include <tuple>

#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using api::Clique;
using api::DaemonPod;
using api::HeldIndex;
using api::Member;

// After the time at which it should have ended.
constexpr std::chrono::seconds kLeavesWithin{30};

// One clique: what it holds now, and what it should hold.
class CliqueRule {
 public:
  CliqueRule(const Observed& observed, const PodByNode& pods, std::string id, const Clique* clique,
             base::Clock::WallTime now)
      : observed_(observed), pods_(pods), id_(std::move(id)), clique_(clique), now_(now) {}

  // What it should hold. Sets `needs_daemons` and adds to `refused`.
  CliqueContent Decide(Membership& membership) {
    if (clique_ != nullptr) {
      // Its daemon is about to remove its own entry; a write of ours would make it fail.
      if (OwnWriterLeaves(membership)) return {.daemons = clique_->daemons, .held = clique_->held};
      for (const HeldIndex& held : clique_->held) {
        if (IsHeldNow(held)) next_.held.push_back(held);
      }
      for (const Member& entry : clique_->daemons) Keep(entry, membership);
    }
    // Those that had an index before come first, so that nobody else takes it.
    for (const auto& [node, pod] : pods_) {
      if (!Joins(node, *pod)) continue;
      if (const int index = IndexBefore(node); index >= 0) Join(*pod, index);
    }
    for (const auto& [node, pod] : pods_) {
      if (!Joins(node, *pod)) continue;
      if (const int index = FreeIndex(); index >= 0) {
        Join(*pod, index);
      } else {
        membership.refused.push_back(node + " in clique " + id_);
      }
    }
    return std::move(next_);
  }

 private:
  bool IsHeldNow(const HeldIndex& held) const {
    const auto until = base::ParseTime(held.until);
    return until && *until > now_;
  }

  // The lowest that nobody has or is kept for; if all are, the one that is kept for the node that
  // has been away longest. -1: none.
  int FreeIndex() {
    const int most = observed_.facts.daemons.nodes_per_imex_domain_max;
    std::set<int> taken = used_;
    for (const HeldIndex& held : next_.held) taken.insert(held.index);
    if (const int index = LowestFreeIndex(taken, most); index >= 0) return index;
    std::ranges::sort(next_.held, {},
                      [](const HeldIndex& held) { return std::tie(held.until, held.index); });
    for (const HeldIndex& held : next_.held) {
      if (IsFree(held.index)) return held.index;
    }
    return -1;
  }

  // Daemons that write their own entries choose among all indices, whatever is kept.
  void Hold(const Member& entry) {
    const bool is_ours = observed_.facts.daemons.controller_writes && IsFree(entry.index);
    if (!is_ours || observed_.facts.index_hold <= std::chrono::seconds(0)) return;
    next_.held.push_back({.node = entry.node,
                          .index = entry.index,
                          .until = base::FormatSeconds(now_ + observed_.facts.index_hold)});
  }

  const DaemonPod* PodOf(const std::string& node) const {
    const auto it = pods_.find(node);
    return it == pods_.end() ? nullptr : it->second;
  }

  // One on a node that is lost, or that should have ended a while ago, writes nothing any more, and
  // must not keep us from taking out who is gone. Sets when that will be so of who is waited for.
  bool OwnWriterLeaves(Membership& membership) const {
    return std::ranges::any_of(observed_.children.daemon_pods, [&](const DaemonPod& pod) {
      const bool leaves =
          !pod.controller_writes && pod.meta.deleting && !pod.terminal && pod.clique == id_;
      if (!leaves || IsLost(observed_, pod.node)) return false;
      const auto ends = base::ParseTime(pod.meta.deletion_timestamp);
      if (!ends) return true;
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(*ends + kLeavesWithin - now_);
      if (rest <= std::chrono::milliseconds(0)) return false;
      BringForward(membership.look_again, rest);
      return true;
    });
  }

  bool IsProvenGone(const Member& entry, Membership& membership) const {
    if (!observed_.evidence.daemon_pods) {
      membership.needs_daemons = true;
      return false;
    }
    return std::ranges::none_of(*observed_.evidence.daemon_pods, [&](const DaemonPod& pod) {
      return pod.node == entry.node && !pod.terminal && MayBeIn(pod, id_);
    });
  }

  void Keep(const Member& entry, Membership& membership) {
    const DaemonPod* pod = PodOf(entry.node);
    // Nobody leaves because one cache lags, not even one whose pod seems to be elsewhere (S5).
    if (pod == nullptr || !MayBeIn(*pod, id_)) {
      if (IsProvenGone(entry, membership)) {
        Hold(entry);
      } else {
        Put(entry);
      }
      return;
    }
    if (!pod->controller_writes) return Put(entry);
    Member updated = entry;
    updated.ready = pod->clique && Serves(*pod);
    if (!pod->ip.empty()) updated.ip = pod->ip;
    // One that is no index, or is given twice, was not given by us: its node joins afresh. But one
    // beyond a bound that was lowered since is what its IMEX runs with.
    if (entry.index >= 0 && !used_.contains(entry.index)) Put(updated);
  }

  bool IsFree(int index) const {
    return index >= 0 && index < observed_.facts.daemons.nodes_per_imex_domain_max &&
           !used_.contains(index);
  }

  bool Joins(const std::string& node, const DaemonPod& pod) const {
    return pod.controller_writes && pod.clique == id_ && !pod.ip.empty() && !pod.meta.deleting &&
           !entries_of_.contains(node);
  }

  // The free index that is kept for the node, or under which status still shows it: a clique that
  // somebody deleted is made again as it was, since its daemons go on under their indices (S4).
  // -1: none.
  int IndexBefore(const std::string& node) const {
    for (const HeldIndex& held : next_.held) {
      if (held.node == node && IsFree(held.index)) return held.index;
    }
    for (const Member& member : observed_.domain->status.nodes) {
      const bool is_it = member.node == node && member.clique == id_;
      if (is_it && IsFree(member.index)) return member.index;
    }
    return -1;
  }

  void Join(const DaemonPod& pod, int index) {
    Put({.node = pod.node, .ip = pod.ip, .clique = id_, .index = index, .ready = Serves(pod)});
  }

  void Put(const Member& member) {
    used_.insert(member.index);
    entries_of_.insert(member.node);
    std::erase_if(next_.held, [&](const HeldIndex& held) {
      return held.node == member.node || held.index == member.index;
    });
    next_.daemons.push_back(member);
  }

  const Observed& observed_;
  const PodByNode& pods_;
  const std::string id_;
  const Clique* clique_;
  const base::Clock::WallTime now_;
  CliqueContent next_;
  std::set<int> used_;
  std::set<std::string> entries_of_;
};

}  // namespace

int LowestFreeIndex(const std::set<int>& used, int members_max) {
  for (int index = 0; index < members_max; ++index) {
    if (!used.contains(index)) return index;
  }
  return -1;
}

CliqueContent DecideCliqueContent(const Observed& observed, const PodByNode& pods,
                                  const std::string& id, const Clique* clique,
                                  base::Clock::WallTime now, Membership& membership) {
  return CliqueRule(observed, pods, id, clique, now).Decide(membership);
}

}  // namespace compute_domain
