#include "controller/api/names.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/status/conditions/condition.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

// Returns "22:12:44 UTC". The date comes first if it is not the day of the deletion.
std::string TimeOf(base::Clock::WallTime deadline, const std::string& asked) {
  const std::string day = base::FormatSeconds(deadline).substr(0, 10);
  return (asked.starts_with(day) ? "" : day + " ") + base::FormatTimeOfDay(deadline);
}

// Describes what the deletion waits for, until when, and what to do.
std::string DescribeBlockers(const Observed& observed, const DeletionWait& wait) {
  const std::string time = TimeOf(wait.deadline, observed.domain->meta.deletion_timestamp);
  const std::string says = "Deletion waits for " + Names(wait.blockers) + ". ";
  if (!wait.jobs_have_ended) {
    return says + "Delete these pods, or wait: after " + time +
           " their daemons are removed under them.";
  }
  return says + "After " + time + " the deletion continues without them. For administrators: `" +
         KubectlForDaemons(observed, "get pods -o wide") + "`.";
}

}  // namespace

Verdict JudgeDeletion(const StatusInput& input, const DeletionWait& wait) {
  Verdict verdict = {"False", api::kReasonDeleting, "The domain is being deleted."};
  if (!wait.pinned.empty()) {
    verdict = {
        "False", api::kReasonHeldByFinalizer,
        "Finalizers of other components keep " + Names(wait.pinned) +
            ". Each component removes its own when its work is done. If the component does "
            "not exist any more, remove the finalizer with kubectl edit." +
            (wait.blockers.empty() ? "" : " These also remain: " + Names(wait.blockers) + ".")};
  } else if (!wait.blockers.empty() && wait.patience == std::chrono::milliseconds(0)) {
    verdict = {"False", api::kReasonDeletionBlocked, DescribeBlockers(input.observed, wait)};
  } else if (IsPaused(input.observed)) {
    verdict = {"False", api::kReasonPaused,
               "The deletion waits until the annotation " + std::string(api::kPausedAnnotation) +
                   " is removed."};
  } else if (input.analysis.failure &&
             input.analysis.failure->reason != api::kReasonTemplateNameTaken) {
    verdict = {"False", api::kReasonDeletionBlocked, input.analysis.failure->message};
  } else if (const auto& problems = input.observed.facts.views.problems; !problems.empty()) {
    verdict = {"False", api::kReasonDeletionBlocked,
               "Deletion waits until what belongs to the domain can be read: " +
                   problems.begin()->second + "."};
  }
  const MissingPlugins& missing = input.explanation.plugins;
  const bool is_blocked = verdict.reason != api::kReasonDeleting;
  if (is_blocked && !wait.blockers.empty() && !missing.nodes.empty())
    verdict.message += DescribeMissing(missing);
  return verdict;
}

}  // namespace compute_domain
