#include "node/plugin/loop/slice_publisher.h"

#include <algorithm>
#include <utility>

#include "pkg/json/value.h"

namespace plugin {

// Time for the watch to show a write.
constexpr std::chrono::seconds kWatchTime{5};
constexpr base::BackoffPolicy kBackoff = {.first = std::chrono::milliseconds(500),
                                          .most = std::chrono::seconds(30)};
constexpr std::chrono::seconds kSupersededPause{5};

std::optional<dra::ResourceSlice> SlicePublisher::Wanted() const {
  const HostView& host = state_.host;
  if (!state_.node.node() || (!host.host && !host.device_error)) return {};
  return SliceOf({.node = state_.settings.node,
                  .node_uid = state_.node.node()->meta.uid,
                  .clique = host.self.clique,
                  .has_daemon = !host.self.host_managed,
                  .error = host.device_error});
}

bool SlicePublisher::IsThere(const std::vector<kube::ObjectMeta>& found, TimePoint now) {
  if (!written_.holds) return found.empty();  // The server cannot store it, so it was deleted.
  const bool may_be_late = !was_seen_ && now < written_at_ + kWatchTime;
  const auto ours = std::ranges::find(found, written_.meta.uid, &kube::ObjectMeta::uid);
  if (ours == found.end()) return may_be_late;
  if (ours->resource_version != written_.meta.resource_version) {
    return may_be_late && kube::IsOlder(ours->resource_version, written_.meta.resource_version);
  }
  was_seen_ = true;
  return found.size() == 1;
}

TimePoint SlicePublisher::Turn() {
  if (state_.api == nullptr) return TimePoint::max();
  LabelClique();
  const TimePoint now = state_.clock.Now();
  const auto found = state_.api->slices();
  const auto wanted = Wanted();
  if (!found || !wanted || writing_) return TimePoint::max();
  if (now < next_) return next_;
  std::string text = json::Serialize(dra::Render(*wanted, state_.api->dra_version()));
  if (text == text_ && IsThere(*found, now)) {
    return was_seen_ || !written_.holds ? TimePoint::max() : written_at_ + kWatchTime;
  }
  const bool is_rewrite = text == text_;
  if (is_rewrite && now < rewrites_.next()) return rewrites_.next();
  if (state_.instances.is_superseded()) return now + kSupersededPause;
  if (is_rewrite) rewrites_.Count(now);
  Write(*wanted, std::move(text), *found);
  return TimePoint::max();
}

void SlicePublisher::Write(const dra::ResourceSlice& slice, std::string text,
                           std::vector<kube::ObjectMeta> found) {
  writing_ = true;
  const dra::SliceApi api = state_.api->dra_version();
  state_.api->Enqueue(PluginApi::Queue::kSlices, [this, slice, api, text = std::move(text),
                                                  found = std::move(found)](
                                                     http::Transport& transport) {
    const auto written = dra::WriteSlice(transport, slice, api, found);
    return [this, written, text] {
      writing_ = false;
      const TimePoint now = state_.clock.Now();
      if (!written) {
        next_ = now + backoff_.Next(kBackoff);
        const std::string& error = written.error().message;
        if (std::exchange(said_, error) != error) {
          state_.logger.Error("Writing the ResourceSlice failed, will retry", {{"err", said_}});
        }
        return;
      }
      backoff_.Reset();
      said_.clear();
      text_ = text;
      written_ = *written;
      written_at_ = now;
      was_seen_ = false;
      if (written->holds) {
        state_.logger.Info("Published the node's devices", {{"clique", state_.host.self.clique}});
      } else {
        state_.logger.Error(
            "The node publishes no devices: the API server drops taints, and untainted devices "
            "would be allocated. Kubernetes 1.36 keeps taints",
            {{"err", state_.host.trouble}});
      }
    };
  });
}

void SlicePublisher::LabelClique() {
  if (!state_.settings.labels_clique || !state_.host.host || !state_.node.MayChange()) return;
  const std::string& clique = state_.host.host->clique;
  const std::string& labelled = state_.node.node()->clique;
  const TimePoint now = state_.clock.Now();
  if (clique.empty() || labelled == clique || now < label_next_) return;
  label_next_ = now + kWatchTime;
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
