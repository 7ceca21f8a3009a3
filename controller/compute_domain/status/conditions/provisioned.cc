#include <algorithm>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/rules/rollout.h"
#include "controller/compute_domain/status/conditions/condition.h"

namespace compute_domain {

namespace {

// Returns whether a DaemonSet without the annotation was made by cdom, not by NVIDIA's controller:
// its pods or its claim template have what cdom gave them.
bool HasLostItsAnnotation(const Observed& observed, const api::DaemonSet& set) {
  if (!IsDaemonSet(observed, set) || !set.template_hash.empty()) return false;
  const Children& children = observed.children;
  return std::ranges::any_of(children.daemon_pods,
                             [&](const api::DaemonPod& pod) {
                               return IsMadeBy(pod, set.meta.uid) && !pod.template_hash.empty();
                             }) ||
         std::ranges::any_of(children.templates, [&](const api::ResourceClaimTemplate& found) {
           return IsDaemonTemplate(observed, found) && !found.template_hash.empty();
         });
}

// Describes problems that do not affect the domain. Empty if there are none.
std::string Remarks(const StatusInput& input) {
  const Observed& observed = input.observed;
  const std::optional<Failure>& left_undone = input.analysis.left_undone;
  std::string remarks;
  if (left_undone) remarks += " Not done yet: " + left_undone->message;
  for (const api::DaemonSet& set : observed.children.daemon_sets) {
    if (!HasLostItsAnnotation(observed, set)) continue;
    remarks += " DaemonSet " + kube::ToString(set.meta.key) + " has lost its annotation " +
               std::string(api::kTemplateHashAnnotation) +
               ": edits of it stay, and it gets no update. To change that, delete it while no pod "
               "uses the domain.";
  }
  std::vector<std::string> nobodys;
  for (const api::Clique& clique : observed.children.cliques) {
    const bool is_nobodys = clique.id.empty() && IsClique(observed, clique);
    if (is_nobodys) nobodys.push_back(kube::ToString(clique.meta.key));
  }
  if (!nobodys.empty()) {
    remarks += " Ignored, because their names belong to no clique: " + Names(nobodys) + ".";
  }
  return remarks;
}

// Describes daemons of an older template, and when they are replaced.
Verdict JudgeOutdated(const Observed& observed, const std::vector<std::string>& outdated) {
  const std::string& stopped = observed.facts.cluster.rollout_stopped;
  const std::string names = Names(outdated);
  if (!stopped.empty()) {
    return {"True", api::kReasonRollStopped,
            "Daemons of an older template keep running: " + names +
                ". None is replaced in any domain: " + stopped +
                " For administrators: fix the image or the settings of the daemons, or that node."};
  }
  if (observed.facts.cluster.MissingUntil("delete", kube::kPods)) {
    return {"True", api::kReasonOutdated,
            "Daemons of an older template: " + names +
                ". The controller may not delete pods: delete them once no pod uses their "
                "clique, or grant it the permission to delete pods."};
  }
  return {"True", api::kReasonOutdated,
          "Daemons of an older template: " + names +
              (MayRestartUnderJob(observed)
                   ? ". They are replaced one by one in each clique."
                   : ". They are replaced once no pod uses their clique; annotation " +
                         std::string(api::kDaemonRollAnnotation) +
                         ": Always does not wait, and ends the job.")};
}

}  // namespace

Verdict JudgeProvisioned(const StatusInput& input) {
  const Observed& observed = input.observed;
  const Analysis& analysis = input.analysis;
  if (analysis.objection) {
    return {IsOfUnread(Verdict(*analysis.objection)) ? "Unknown" : "False", api::kReasonNotAccepted,
            "Nothing is created before the domain is accepted."};
  }
  // A cache that is not current may lack children that exist.
  const bool may_exist = !analysis.children_are_seen && IsProvisioned(observed);
  if (analysis.unreadable || (may_exist && !analysis.children.missing.empty())) {
    return {"True", api::kReasonChildrenExist,
            observed.facts.settings->imex_on_hosts ? "The claim template was created."
                                                   : "DaemonSet and claim templates were created."};
  }
  if (analysis.failure) return Verdict(*analysis.failure);
  const ChildrenState& children = analysis.children;
  if (!children.terminating.empty()) {
    return {"False", api::kReasonChildrenTerminating,
            "Being deleted: " + Names(children.terminating) +
                ". It is created again after that; pods that use it may wait until then."};
  }
  if (!children.missing.empty() && IsPaused(observed)) {
    return {"False", api::kReasonPaused,
            "Not created while paused: " + Names(children.missing) + "."};
  }
  if (!children.missing.empty()) {
    return {"False", api::kReasonChildrenMissing,
            "Being created: " + Names(children.missing) + "."};
  }
  if (!analysis.outdated.empty()) return JudgeOutdated(observed, analysis.outdated);
  return {"True", api::kReasonChildrenExist,
          (observed.facts.settings->imex_on_hosts ? "The claim template exists."
                                                  : "DaemonSet and claim templates exist.") +
              Remarks(input)};
}

}  // namespace compute_domain
