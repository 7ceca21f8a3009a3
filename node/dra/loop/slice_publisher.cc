#include "node/dra/loop/slice_publisher.h"

#include <algorithm>
#include <utility>

#include "pkg/json/value.h"

namespace dra {

// Time for the watch to show a write.
constexpr std::chrono::seconds kWatchTime{5};
constexpr base::BackoffPolicy kWriteBackoff = {.first = std::chrono::milliseconds(500),
                                               .most = std::chrono::seconds(30)};
constexpr std::chrono::seconds kSupersededPause{5};

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

base::Clock::TimePoint SlicePublisher::Turn(DriverApi& api, const ResourceSlice& wanted,
                                            const std::string& trouble) {
  const TimePoint now = clock_.Now();
  const auto found = api.slices();
  trouble_ = trouble;
  if (!found || writing_) return TimePoint::max();
  if (now < next_) return next_;
  std::string text = json::Serialize(Render(wanted, api.dra_version()));
  if (text == text_ && IsThere(*found, now)) {
    return was_seen_ || !written_.holds ? TimePoint::max() : written_at_ + kWatchTime;
  }
  const bool is_rewrite = text == text_;
  if (is_rewrite && now < rewrites_.next()) return rewrites_.next();
  if (is_superseded_()) return now + kSupersededPause;
  if (is_rewrite) rewrites_.Count(now);
  Write(api, wanted, std::move(text), *found);
  return TimePoint::max();
}

void SlicePublisher::Write(DriverApi& api, const ResourceSlice& slice, std::string text,
                           std::vector<kube::ObjectMeta> found) {
  writing_ = true;
  const SliceApi version = api.dra_version();
  api.Enqueue(DriverApi::Queue::kSlices, [this, slice, version, text = std::move(text),
                                          found = std::move(found)](http::Transport& transport) {
    const auto written = WriteSlice(transport, slice, version, found);
    return [this, slice, written, text] {
      writing_ = false;
      const TimePoint now = clock_.Now();
      if (!written) {
        next_ = now + backoff_.Next(kWriteBackoff);
        const std::string& error = written.error().message;
        if (std::exchange(said_, error) != error) {
          logger_.Error("Writing the ResourceSlice failed, will retry", {{"err", said_}});
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
        logger_.Info("Published the node's devices",
                     {{"driver", slice.driver}, {"devices", std::to_string(slice.devices.size())}});
      } else {
        logger_.Error(
            "The node publishes no devices: the API server drops taints, and untainted devices "
            "would be allocated. Kubernetes 1.36 keeps taints",
            {{"err", trouble_}});
      }
    };
  });
}

}  // namespace dra
