#include "node/plugin/loop/plugin_state.h"

#include <utility>

#include "node/cdi/files.h"

namespace plugin {

using base::Result;

bool PluginState::HasDriverSpec() const {
  const auto text = disk->ReadDriverSpec();
  if (!text) return false;
  return driver_spec.empty() ? cdi::Parse(*text, std::string(cdi::kBaseFile)).has_value()
                             : *text == driver_spec;
}

bool PluginState::NoticeOtherDriver() {
  if (DriverMark(host_paths()) == driver_mark) return false;
  if (!std::exchange(is_host_outdated, true)) tasks.Wake();
  return true;
}

bool PluginState::IsAlive(const std::string& domain) const {
  if (api == nullptr) return false;
  const auto known = api->domains().Find(domain);
  return known && !known->domain.is_deleting;
}

void PluginState::LookAtNode() {
  if (api == nullptr) return;
  const auto seen = api->node();
  if (seen == nullptr) return;
  const bool is_older = node && node->meta.uid == seen->meta.uid &&
                        kube::IsOlder(seen->meta.resource_version, node->meta.resource_version);
  if (!is_older) node = *seen;
}

void PluginState::ChangeNodeLabel(LabelChange change,
                                  std::function<void(const Result<void>&)> done) {
  node_writing = true;
  api->Enqueue(PluginApi::Queue::kNode,
               [this, change = std::move(change), seen = *node, may_patch = may_patch_node,
                done = std::move(done)](http::Transport& transport) mutable {
                 auto changed = ChangeLabel(transport, settings.node, seen, change, may_patch);
                 tasks.Post([this, changed = std::move(changed), may_patch, done] {
                   node_writing = false;
                   may_patch_node = may_patch;
                   if (changed) node = *changed;
                   done(changed ? Result<void>() : Result<void>(tl::unexpected(changed.error())));
                 });
               });
}

Result<void> PluginState::Save(Checkpoint next) {
  TRY(checkpoint_file.Save(std::move(next)));
  metrics.CountPrepared(checkpoint_file.checkpoint());
  ++saves;
  return {};
}

}  // namespace plugin
