#include "controller/compute_domain/status/explanation/node_survey.h"

#include <algorithm>
#include <utility>

#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "controller/compute_domain/status/explanation/clique_capacity.h"
#include "controller/compute_domain/status/explanation/warnings.h"
#include "pkg/base/find.h"

namespace compute_domain {

namespace {

bool Tolerates(const PodReach& reach, const api::Node& node) {
  return std::ranges::all_of(node.taints, [&](const std::string& taint) {
    return std::ranges::any_of(reach.tolerations, [&](const api::Toleration& toleration) {
      return api::Tolerates(toleration, taint);
    });
  });
}

bool Reaches(const NodeSurvey& survey, const api::Node& node) {
  if (!survey.reach) return true;
  const bool is_selected =
      !survey.reach->nodes || survey.reach->nodes->contains(node.meta.key.name);
  return is_selected && Tolerates(*survey.reach, node);
}

bool IsFree(const NodeAvailability& availability) {
  using State = NodeAvailability::State;
  return availability.state == State::kFree || availability.state == State::kReserved;
}

// Returns whether the claim names the domain from a namespace in which it is not the domain's.
bool IsElsewhere(const Observed& observed, const api::ResourceClaim& claim) {
  return claim.has_channel && claim.channel_domain == observed.uid && !claim.admin_access &&
         !claim.consumers.empty() && !IsChannelClaim(observed, claim);
}

}  // namespace

NodeSurveyor::NodeSurveyor(const Observed& observed,
                           const std::vector<api::ResourceClaim>& unrelated, NameOf name_of)
    : observed_(observed),
      name_of_(std::move(name_of)),
      clique_(CliqueOfPods(observed)),
      gpus_(observed.facts.cluster.gpus.by_node ? NumberOfGpus(observed) : 0) {
  for (kube::OwnerReference& pod : FindPodsWithoutChannel(observed)) {
    const auto reach = base::FindOr(observed.memory.reach, pod.name, nullptr);
    auto same =
        std::ranges::find(in_work_, reach, [](const auto& one) { return one.survey.reach; });
    if (same == in_work_.end()) {
      same = in_work_.insert(same, InWork{.survey = {.reach = reach}});
    }
    same->survey.pods.push_back(std::move(pod));
  }
  for (const api::ResourceClaim& claim : unrelated) claims_[claim.node].push_back(claim);
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (IsElsewhere(observed, claim)) claims_[claim.node].push_back(claim);
  }
}

void NodeSurveyor::Add(const api::Node& node, const NodeContext& context) {
  // A pod cannot run there, whatever else is so.
  const bool is_usable = node.ready && context.fabric_error.empty() &&
                         NoticeOf(node, observed_.facts.settings->leaving_taints).empty();
  const bool is_in_its_clique = clique_.empty() || node.clique == clique_;
  const std::optional<int> gpus = GpusOf(node.meta.key.name);
  for (InWork& one : in_work_) {
    if (!Reaches(one.survey, node)) continue;
    const bool has_gpus = !gpus || *gpus >= gpus_;
    if (has_gpus) CountInClique(node, context, is_usable, one.survey);
    if (!is_usable || !is_in_its_clique) continue;
    if (gpus) one.survey.gpus_most = std::max(one.survey.gpus_most.value_or(0), *gpus);
    if (has_gpus) AddTo(one, node, context);
  }
}

// Returns the number of its GPUs. Empty if the domain asks for none, or if they are not counted.
std::optional<int> NodeSurveyor::GpusOf(const std::string& node) const {
  if (gpus_ == 0) return {};
  return base::FindOr(*observed_.facts.cluster.gpus.by_node, node, {}).count;
}

void NodeSurveyor::CountInClique(const api::Node& node, const NodeContext& context, bool is_usable,
                                 NodeSurvey& survey) const {
  const auto availability = AvailabilityOf(node, context, observed_.facts);
  if (!availability || node.clique.empty()) return;
  NodeSurvey::InClique& clique = survey.cliques[node.clique];
  ++clique.nodes;
  clique.free += is_usable && IsFree(*availability) ? 1 : 0;
}

void NodeSurveyor::AddTo(InWork& one, const api::Node& node, const NodeContext& context) const {
  const std::string& name = node.meta.key.name;
  // Do not report a missing plugin from a stale cache.
  const bool publishes = context.publishes || !observed_.facts.views.IsFresh(Kind::kResourceSlice);
  if (!publishes) {
    // Nothing starts there before it has a plugin, also if somebody holds it.
    one.lacking.push_back(name);
    if (!node.clique.empty()) one.in_a_clique.push_back(name);
    return;
  }
  ++one.survey.publishing;
  std::ranges::move(base::FindOr(claims_, name, {}), std::back_inserter(one.survey.claims));
  if (node.domain == observed_.uid) {
    ++one.survey.own;
  } else if (!node.domain.empty()) {
    if (std::string holder = name_of_(node.domain); !holder.empty()) {
      one.survey.holders.insert(std::move(holder));
    }
  }
  const auto availability = AvailabilityOf(node, context, observed_.facts);
  if (!availability) return;
  // Only placement keeps pods from a reserved node.
  const bool is_kept =
      availability->state == NodeAvailability::State::kReserved && IsPlaced(observed_);
  if (IsFree(*availability) && !is_kept) ++one.survey.free;
}

std::vector<NodeSurvey> NodeSurveyor::Take() {
  std::vector<NodeSurvey> surveys;
  for (InWork& one : in_work_) {
    // Where no plugin runs, even a node without fabric may have to have one.
    const bool none_has = one.survey.publishing == 0 && one.survey.reach && one.survey.reach->nodes;
    one.survey.without_plugin = std::move(none_has ? one.lacking : one.in_a_clique);
    surveys.push_back(std::move(one.survey));
  }
  return surveys;
}

}  // namespace compute_domain
