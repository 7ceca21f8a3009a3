#include "controller/api/names.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/status/conditions/condition.h"

namespace compute_domain {

Verdict JudgeDeletion(const StatusInput& input, const DeletionWait& wait) {
  Verdict verdict = {"False", api::kReasonDeleting, "The domain is being deleted."};
  if (!wait.pinned.empty()) {
    verdict = {"False", api::kReasonHeldByFinalizer,
               "Finalizers of others keep " + Names(wait.pinned) +
                   ". Whoever set one takes it off when its work is done; if that component is "
                   "gone, take it off with kubectl edit." +
                   (wait.blockers.empty() ? "" : " There are still " + Names(wait.blockers) + ".")};
  } else if (!wait.blockers.empty() && wait.patience == std::chrono::milliseconds(0)) {
    verdict = {"False", api::kReasonDeletionBlocked,
               "Deletion waits for " + Names(wait.blockers) + ". Delete them, or wait until " +
                   std::to_string(wait.at_most.count()) + " s after the deletion was asked for."};
  } else if (IsPaused(input.observed)) {
    verdict = {"False", api::kReasonPaused,
               "The deletion waits until the annotation " + std::string(api::kPausedAnnotation) +
                   " is taken off."};
  } else if (input.analysis.failure) {
    verdict = {"False", api::kReasonDeletionBlocked, input.analysis.failure->message};
  }
  const MissingPlugins& missing = input.explanation.plugins;
  const bool is_blocked = verdict.reason != api::kReasonDeleting;
  if (is_blocked && !wait.blockers.empty() && !missing.nodes.empty())
    verdict.message += DescribeMissing(missing);
  return verdict;
}

}  // namespace compute_domain
