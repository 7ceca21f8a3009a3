// Surveys the nodes where pods may run that find no channel. Pure.
// This only explains: no decision depends on it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/model/observed.h"

namespace compute_domain {

// For one thread. Add() each node of the cluster, then Take().
class NodeSurveyor {
 public:
  // Returns "namespace/name" of the domain with this UID. Empty if it does not exist.
  using NameOf = std::function<std::string(const kube::Uid& uid)>;

  // `unrelated` are the claims that hold a channel without a domain or a pod. `observed` must
  // outlive the surveyor. REQUIRES: observed.domain.
  NodeSurveyor(const Observed& observed, const std::vector<api::ResourceClaim>& unrelated,
               NameOf name_of);

  void Add(const api::Node& node, const NodeContext& context);
  // One for all pods that may run on the same nodes. Empty if no pod lacks a channel.
  std::vector<NodeSurvey> Take();

 private:
  struct InWork {
    NodeSurvey survey = {};
    std::vector<std::string> lacking = {};      // Ready nodes without a plugin.
    std::vector<std::string> in_a_clique = {};  // Those of them with a clique.
  };

  void AddTo(InWork& one, const api::Node& node, const NodeContext& context) const;
  void CountInClique(const api::Node& node, const NodeContext& context, bool is_usable,
                     NodeSurvey& survey) const;
  std::optional<int> GpusOf(const std::string& node) const;

  const Observed& observed_;
  const NameOf name_of_;
  std::string clique_;  // All pods must run in it. Empty if they need not.
  int gpus_ = 0;        // Number that each pod needs. 0 for none, or if they are not counted.
  std::vector<InWork> in_work_;
  std::map<std::string, std::vector<api::ResourceClaim>> claims_;  // Key: node.
};

}  // namespace compute_domain
