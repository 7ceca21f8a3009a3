#include "controller/compute_domain/status/explanation/shortage.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "controller/compute_domain/status/explanation/clique_capacity.h"
#include "controller/compute_domain/status/explanation/usage.h"

namespace compute_domain {

namespace {

using Do = Advice::Do;

std::string There(const char* before, std::string_view after = "") {
  return std::string(before) + " " + std::string(kWherePodsMayRun) + std::string(after);
}

// Returns "the GPUs that annotation cdom.dev/gpus asks for (8 of DeviceClass gpu.nvidia.com)".
// Empty if the domain requests no GPUs.
std::string GpusAskedFor(const Observed& observed) {
  const auto gpus = FindGpus(observed).gpus;
  if (!gpus) return "";
  return "the GPUs that annotation " + std::string(api::kGpusAnnotation) + " asks for (" +
         observed.domain->gpus + " of DeviceClass " + gpus->device_class + ")";
}

Shortage NobodyPublishes(const std::vector<std::string>& nodes) {
  const std::string where =
      nodes.empty() ? "No node of the cluster publishes devices of " + std::string(api::kDriver)
                    : There("Nodes", " publish no devices of ") + std::string(api::kDriver) + " (" +
                          Names(nodes) + ")";
  return {MakeFailure(api::kReasonNoPlugin,
                      where + ", so no pod gets a channel" + (nodes.empty() ? "" : " there") +
                          ". For administrators: install a kubelet plugin, or find out why its "
                          "pods do not run."),
          {.what = Do::kInstallPlugin, .objects = nodes}};
}

// Returns whether no node has so many GPUs, even if none is in use.
std::optional<Shortage> FindTooManyGpus(const Observed& observed, const NodeSurvey& survey) {
  const auto gpus = FindGpus(observed).gpus;
  if (!gpus || !survey.gpus_most) return {};
  const int most = *survey.gpus_most;
  if (gpus->count <= most) return {};
  const std::string where = There("No node");
  if (most == 0) {
    return Shortage{MakeFailure(api::kReasonNoNodeHasGpus,
                                where + " publishes GPUs of DeviceClass " + gpus->device_class +
                                    ". For administrators: install its DRA driver, or find out "
                                    "why its pods do not run."),
                    {.what = Do::kInstallGpuDriver}};
  }
  const std::string number = std::to_string(most);
  return Shortage{
      MakeFailure(api::kReasonNoNodeHasGpus,
                  where + " has " + std::to_string(gpus->count) + " GPUs of DeviceClass " +
                      gpus->device_class + " (largest: " + number + "): set annotation " +
                      std::string(api::kGpusAnnotation) + " to " + number +
                      ", and delete the pods that wait, so that new ones ask for fewer."),
      {.what = Do::kAskForGpus, .number = most}};
}

std::optional<Shortage> FindHeldChannels(const Observed& observed, const NodeSurvey& survey) {
  std::vector<std::string> strays;
  Advice advice = {.what = Do::kDeleteClaims};
  bool is_all_named = true;
  for (const api::ResourceClaim& claim : survey.claims) {
    const std::string name = kube::ToString(claim.meta.key);
    const bool is_named = MayName(observed, claim.meta.key.ns);
    if (!is_named) is_all_named = false;
    strays.push_back("the channel of " + claim.node + " by " +
                     (is_named ? "ResourceClaim " + name : "a ResourceClaim in another namespace") +
                     (claim.consumers.empty()        ? " (used by no pod)"
                      : claim.channel_domain.empty() ? " (of no ComputeDomain)"
                                                     : " (of a domain in another namespace)"));
    advice.objects.push_back(name);
  }
  if (strays.empty()) return {};
  std::ranges::sort(strays);
  std::ranges::sort(advice.objects);
  return Shortage{
      MakeFailure(
          api::kReasonChannelHeld,
          "Channels are held by unrelated claims: " + Names(strays) +
              ". Delete such a claim, or the pods that use it." +
              (is_all_named
                   ? ""
                   : " Administrators find the claims of other namespaces in /debug/domains.")),
      std::move(advice)};
}

// The channels are there, and other domains or pods have them, or other devices are lacking.
Advice FindWhomToWaitFor(const NodeSurvey& survey) {
  if (!survey.holders.empty()) {
    return {.what = Do::kWaitForDomains, .objects = {survey.holders.begin(), survey.holders.end()}};
  }
  return {.what = survey.own > 0 ? Do::kWaitForOwnPods : Do::kWaitForDevices};
}

// Says whom to wait for, in one sentence or two.
std::string SayWhomToWaitFor(const Observed& observed, const NodeSurvey& survey, Do what) {
  const std::string gpus = GpusAskedFor(observed);
  const std::string found = "The scheduler found nodes without a free channel" +
                            (gpus.empty() ? "" : ", or without " + gpus) + ". ";
  if (what == Do::kWaitForDomains) {
    return found + "Other domains hold nodes: " + Names(NamesForOwner(observed, survey.holders)) +
           ". The pods start when a pod of those domains ends.";
  }
  if (what == Do::kWaitForOwnPods) {
    return found + There("Pods of this domain hold the channels",
                         ". The pods start when one of those ends.");
  }
  if (survey.free == 0) return found + "The pods start when other pods release their channels.";
  // The scheduler also rejects nodes for reasons that are not looked at here.
  return There("Nodes", " have a free channel (") + std::to_string(survey.free) +
         "), and lack something else, which the scheduler's message names" +
         (gpus.empty() ? "" : ", such as " + gpus) + ". The pods start when other pods release it.";
}

Shortage FindWaitForOthers(const Observed& observed, const NodeSurvey& survey) {
  Advice advice = FindWhomToWaitFor(survey);
  std::string says = SayWhomToWaitFor(observed, survey, advice.what);
  if (!survey.without_plugin.empty()) {
    says += " Nodes that publish no devices of " + std::string(api::kDriver) +
            ", since no kubelet plugin runs there: " + Names(survey.without_plugin) + ".";
  }
  return {MakeFailure(api::kReasonNoChannelFree,
                      says + " (Two pods on one node must name the same ResourceClaim.)"),
          std::move(advice)};
}

Shortage FindShortageOf(const Observed& observed, const NodeSurvey& survey) {
  // Do not ask for an installation because of a stale cache: slices may exist.
  if (observed.nobody_publishes && observed.facts.views.IsFresh(Kind::kResourceSlice)) {
    return NobodyPublishes({});
  }
  if (auto gpus = FindTooManyGpus(observed, survey)) return *std::move(gpus);
  if (auto held = FindHeldChannels(observed, survey)) return *std::move(held);
  if (auto full = FindFullClique(observed, &survey)) return *std::move(full);
  const bool has_others = survey.free > 0 || !survey.holders.empty();
  if (!has_others && !survey.without_plugin.empty()) return NobodyPublishes(survey.without_plugin);
  return FindWaitForOthers(observed, survey);
}

// Returns the first shortage that only a person can end, or else the first of all.
Shortage MostSevere(const std::vector<Shortage>& shortages) {
  const auto it = std::ranges::find_if(shortages, NeedsAPerson, &Shortage::advice);
  return it == shortages.end() ? shortages.front() : *it;
}

// Until the nodes are surveyed, all of them count.
std::vector<NodeSurvey> SurveysOf(const Observed& observed) {
  std::vector<kube::OwnerReference> pods = FindPodsWithoutChannel(observed);
  if (pods.empty()) return {};
  if (!observed.others.surveys.empty()) return observed.others.surveys;
  return {NodeSurvey{.pods = std::move(pods)}};
}

}  // namespace

std::optional<Shortage> FindShortage(const Observed& observed) {
  std::vector<Shortage> found;
  for (const NodeSurvey& survey : SurveysOf(observed)) {
    found.push_back(FindShortageOf(observed, survey));
  }
  // Pods may wait because the clique is full, even if channels are free.
  return found.empty() ? FindFullClique(observed) : MostSevere(found);
}

std::map<kube::Uid, Shortage> FindShortages(const Observed& observed) {
  std::map<kube::Uid, Shortage> found;
  for (const NodeSurvey& survey : SurveysOf(observed)) {
    const Shortage shortage = FindShortageOf(observed, survey);
    for (const kube::OwnerReference& pod : survey.pods) found.emplace(pod.uid, shortage);
  }
  return found;
}

}  // namespace compute_domain
