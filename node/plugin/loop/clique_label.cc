#include "node/plugin/loop/clique_label.h"

#include <chrono>

#include "node/plugin/api/api_calls.h"

namespace plugin {

// Time for the watch to show a write.
constexpr std::chrono::seconds kWriteTime{5};

void CliqueLabel::Turn() {
  if (!state_.settings.labels_clique || !state_.host.host || !state_.node.MayChange()) return;
  const std::string& clique = state_.host.host->clique;
  const std::string& labelled = state_.node.node()->clique;
  const TimePoint now = state_.clock.Now();
  if (clique.empty() || labelled == clique || now < next_) return;
  next_ = now + kWriteTime;
  if (state_.instances.is_superseded()) return;
  state_.node.ChangeLabel(
      *state_.api, {.which = LabelChange::Which::kClique, .from = labelled, .to = clique},
      [this](const base::Result<void>& changed) {
        if (!changed) {
          state_.logger.Error("Writing the node's clique label failed, will retry",
                              {{"err", changed.error().message}});
        }
      });
}

}  // namespace plugin
