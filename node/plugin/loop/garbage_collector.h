// Puts right what lies about on the node, at the start, every ten minutes, and soon after something
// was taken back or a domain went; and finds out what was prepared if that cannot be read. Used by
// the thread that decides.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "node/kubelet/claims.h"
#include "node/plugin/loop/plugin_state.h"
#include "node/plugin/rules/garbage.h"

namespace plugin {

class GarbageCollector {
 public:
  // `take_back` is called for claims that are gone, and nobody went on with.
  using TakeBack = std::function<void(const kubelet::ClaimName& claim)>;
  GarbageCollector(PluginState& state, TakeBack take_back)
      : state_(state), take_back_(std::move(take_back)) {}

  // When to do so again, should nothing have changed.
  [[nodiscard]] TimePoint Turn();
  // Something was taken back, or what is known of the cluster is another: looks whether a folder
  // lies about.
  void CheckForUnknownDomains();

 private:
  [[nodiscard]] bool MayBegin() const;
  void CollectSoon();
  [[nodiscard]] base::Result<NodeResidue> FindResidue() const;
  // Folders of domains that are not known here.
  [[nodiscard]] bool HasUnknownDomains(const NodeResidue& residue) const;
  void AskForDomains(std::vector<std::string> folders);
  void CollectGarbage(std::set<std::string> domains_gone);
  [[nodiscard]] base::Result<void> Remove(const GarbagePlan& garbage);
  void LookUpClaim(const std::string& uid);
  void Rebuild();
  void TryLater(const base::Error& error);

  PluginState& state_;
  const TakeBack take_back_;
  TimePoint next_ = {};
  bool asking_ = false;
  std::string said_ = {};
};

}  // namespace plugin
