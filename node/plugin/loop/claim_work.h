// The work on each claim of the kubelet's open calls: observes the node, asks the rules for the
// next step, and executes it.
//
// Used by the deciding thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/dra/loop/claim_queue.h"
#include "node/plugin/loop/domain_readiness.h"
#include "node/plugin/loop/plugin_state.h"

namespace plugin {

class ClaimWorks final : public dra::ClaimDriver {
 public:
  ClaimWorks(PluginState& state, DomainReadiness& readiness);
  ~ClaimWorks() override;

  std::unique_ptr<dra::ClaimWork> Begin(dra::ClaimCall& call) override;
  void BeginTurn() override;
  std::vector<kubelet::ClaimName> FindLost() override;

 private:
  class Work;
  struct FilesSeen;

  bool HasLost(const std::string& uid, const CheckpointClaim& entry) const;

  PluginState& state_;
  DomainReadiness& readiness_;
  // By claim, as of this turn.
  std::map<std::string, FilesSeen, std::less<>> files_;
};

}  // namespace plugin
