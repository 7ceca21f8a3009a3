#include "node/plugin/loop/node_view.h"

#include <utility>

namespace plugin {

using base::Result;

void NodeView::Update(const PluginApi& api) {
  const auto seen = api.node();
  if (seen == nullptr) return;
  const bool is_older = node_ && node_->meta.uid == seen->meta.uid &&
                        kube::IsOlder(seen->meta.resource_version, node_->meta.resource_version);
  if (!is_older) node_ = *seen;
}

void NodeView::ChangeLabel(PluginApi& api, LabelChange change,
                           std::function<void(const Result<void>&)> done) {
  is_changing_ = true;
  api.Enqueue(PluginApi::Queue::kNode,
              [this, change = std::move(change), seen = *node_, may_patch = may_patch_,
               done = std::move(done)](http::Transport& transport) mutable {
                auto changed = plugin::ChangeLabel(transport, name_, seen, change, may_patch);
                return [this, changed = std::move(changed), may_patch, done] {
                  is_changing_ = false;
                  may_patch_ = may_patch;
                  if (changed) node_ = *changed;
                  done(changed ? Result<void>() : Result<void>(tl::unexpected(changed.error())));
                };
              });
}

}  // namespace plugin
