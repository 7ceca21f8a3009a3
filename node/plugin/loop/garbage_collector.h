// Garbage-collects on the node, and rebuilds an unreadable checkpoint.
//
// Collects at start-up, every 10 minutes, soon after an unprepare or a domain's deletion, and when
// an aborted entry of the checkpoint is no longer needed. Used by the deciding thread.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "node/dra/loop/claim_look_ups.h"
#include "node/dra/loop/repeat_limit.h"
#include "node/kubelet/claims.h"
#include "node/plugin/loop/plugin_state.h"
#include "node/plugin/rules/garbage.h"

namespace plugin {

class GarbageCollector {
 public:
  // `take_back` is called for claims in the checkpoint that no longer exist.
  using TakeBack = std::function<void(const kubelet::ClaimName& claim)>;
  GarbageCollector(PluginState& state, TakeBack take_back);

  // Collects if it is due. Returns when to call it again if nothing changes.
  TimePoint Turn();
  // Schedules a collection if it finds garbage: the folder of a domain that is not in the cache and
  // that no claim uses, a lost label of a node with claims, a label that none needs, or an aborted
  // entry. Call it after an unprepare, and when a cache has changed.
  void CheckForGarbage();

 private:
  bool MayBegin() const;
  // Schedules a collection, not before `least`.
  void CollectSoon(TimePoint least = {});
  base::Result<NodeResidue> FindResidue() const;
  // Returns whether a folder that no claim uses belongs to a domain that is not in the cache.
  bool HasUnknownDomains(const NodeResidue& residue) const;
  GarbagePlan Find(const NodeResidue& residue) const;
  void PutLabelBack(const std::string& domain);
  void CheckDomains(std::vector<std::string> folders);
  void CollectGarbage(std::set<std::string> domains_gone);
  base::Result<void> Remove(const GarbagePlan& garbage);
  void Rebuild();
  void TryLater(const base::Error& error);

  PluginState& state_;
  TimePoint next_ = {};
  bool asking_ = false;
  bool was_unreadable_ = false;
  std::string said_ = {};
  // Limits for lists of all domains that find nothing to remove, and for labels that do not stay.
  dra::RepeatLimit lists_{{.first = std::chrono::seconds(10), .most = std::chrono::minutes(10)}};
  dra::RepeatLimit relabels_{{.first = std::chrono::seconds(10), .most = std::chrono::minutes(10)}};
  dra::RepeatLimit unlabels_{{.first = std::chrono::seconds(10), .most = std::chrono::minutes(10)}};
  dra::ClaimLookUps look_ups_;
};

}  // namespace plugin
