#include "node/plugin/loop/plugin_state.h"

#include <utility>

namespace plugin {

using base::Result;

void State::LookAtNode() {
  if (link == nullptr) return;
  const auto seen = link->node();
  if (!seen) return;
  const bool is_older =
      node && node->uid == seen->uid && kube::IsOlder(seen->version, node->version);
  if (!is_older) node = seen;
}

void State::ChangeNodeLabel(LabelChange change, std::function<void(const Result<void>&)> done) {
  node_writing = true;
  link->Do(ApiLink::Lane::kNode, [this, change = std::move(change), seen = *node,
                                  done = std::move(done)](http::Transport& transport) {
    auto changed = ChangeLabel(transport, settings.node, seen, change);
    mailbox.Post([this, changed = std::move(changed), done] {
      node_writing = false;
      if (changed) node = *changed;
      done(changed ? Result<void>() : Result<void>(tl::unexpected(changed.error())));
    });
  });
}

Result<void> State::Save(Checkpoint next) {
  TRY(notes.Save(std::move(next)));
  metrics.Noted(notes.checkpoint());
  return {};
}

}  // namespace plugin
