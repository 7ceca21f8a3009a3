#include "node/plugin/loop/host_watcher.h"

#include <utility>

#include "node/cdi/files.h"
#include "node/nvml/fabric.h"
#include "node/plugin/rules/cdi_names.h"
#include "node/plugin/rules/claim_devices.h"
#include "pkg/base/rfc3339.h"

namespace plugin {

using base::ErrorCode, base::Result;

constexpr std::chrono::minutes kPeriod{10};
constexpr std::chrono::minutes kPeriodIncomplete{1};
constexpr std::chrono::seconds kLookPeriod{5};
constexpr std::chrono::minutes kGpusWithin{2};
constexpr std::chrono::minutes kLostFor{2};
// A fabric that forms, or a device that is missing, will be ready soon. A lost GPU will not.
constexpr base::BackoffPolicy kSoon = {.first = std::chrono::seconds(2),
                                       .most = std::chrono::seconds(10)};
constexpr base::BackoffPolicy kRetry = {.first = std::chrono::seconds(2),
                                        .most = std::chrono::minutes(1)};

bool HostWatcher::HasDriverSpec() const {
  const auto text = state_.disk.ReadDriverSpec();
  if (!text) return false;
  return driver_spec_.empty() ? cdi::Parse(*text, std::string(kBaseFile)).has_value()
                              : *text == driver_spec_;
}

void HostWatcher::LookForOtherDriver() {
  if (reader_.DriverMark() == driver_mark_) return view_.other_driver.clear();
  view_.other_driver = "NVIDIA's driver has changed, reading it again" +
                       (view_.trouble.empty() ? "" : ": " + view_.trouble);
}

void HostWatcher::Turn(bool is_needed) {
  const TimePoint now = state_.clock.Now();
  view_.has_driver_spec = HasDriverSpec();
  // Containers that start again in place need the files of now, and no claim asks for them.
  const bool has_lost_hook = hook_ && !hook_->empty() && !reader_.HasHook(*hook_);
  if (has_lost_hook) hook_.reset();
  const bool is_lost = view_.host && (has_lost_hook || !view_.has_driver_spec);
  if (view_.host && (is_needed || now >= look_next_)) {
    look_next_ = now + kLookPeriod;
    LookForOtherDriver();
  }
  // A failed read is not repeated sooner because the host is outdated.
  const bool is_outdated = (!view_.other_driver.empty() || is_lost) && said_.empty();
  if (reading_ || (now < next_ && !is_outdated)) return;
  if (!hook_) {
    auto installed = reader_.InstallHook();
    if (!installed) {
      installed.error().code = ErrorCode::kUnavailable;
      return Take(tl::unexpected(installed.error()));
    }
    hook_ = *installed;
  }
  reading_ = true;
  executor_.Post([this, hook = *hook_](const std::stop_token& /*stop*/) {
    tasks_.Post([this, read = reader_.Read(hook)] {
      reading_ = false;
      Take(read);
    });
  });
}

void HostWatcher::Take(Result<DriverRead> read) {
  const TimePoint now = state_.clock.Now();
  if (!read || read->lacks.empty()) {
    gpus_lacked_since_.reset();
  } else {
    if (!gpus_lacked_since_) gpus_lacked_since_ = now;
    const bool waits = !read->has_gpu || now - *gpus_lacked_since_ < kGpusWithin;
    if (waits) read = base::Unavailable(read->lacks);
  }
  const bool is_of_fabric = !read && read.error().code == ErrorCode::kInvalid;
  const Result<void> taken = read ? TakeOver(*read) : tl::unexpected(read.error());
  if (taken) {
    const bool is_whole = read->lacks.empty();
    next_ = now + (is_whole ? kPeriod : kPeriodIncomplete);
    backoff_.Reset();
    said_.clear();
    const std::string trouble = is_whole ? "" : read->lacks + "; daemons get the other GPUs";
    if (std::exchange(view_.trouble, trouble) != trouble && !is_whole) {
      state_.logger.Error("GPUs are missing", {{"err", trouble}});
    }
    view_.device_error.reset();
    view_.is_lost = false;
    return;
  }
  const base::Error& error = taken.error();
  view_.trouble = error.message;
  if (said_ != error.message) backoff_.Reset();
  next_ = now + backoff_.Next(error.code == ErrorCode::kUnavailable ? kSoon : kRetry);
  if (!read) NoteError(is_of_fabric);
  if (std::exchange(said_, error.message) == error.message) return;
  state_.logger.Error("The host lacks something, will retry", {{"err", error.message}});
}

// A driver that was never read publishes nothing. One that is replaced is away for a moment.
void HostWatcher::NoteError(bool is_of_fabric) {
  const TimePoint now = state_.clock.Now();
  if (view_.host && !std::exchange(view_.is_lost, true)) lost_at_ = now;
  const bool is_lost = view_.is_lost && now - lost_at_ >= kLostFor;
  if (view_.device_error || (!is_of_fabric && !is_lost)) return;
  view_.device_error =
      DeviceError{.of = is_of_fabric ? DeviceError::Of::kFabric : DeviceError::Of::kDriver,
                  .since = base::FormatSeconds(state_.clock.Wall())};
}

// Daemons write their peers' names, which IMEX of an older driver looks up only once.
void HostWatcher::LogDriver(const Host& host) {
  if (view_.self.host_managed || host.clique.empty()) return;
  if (nvml::KnowsNames(host.driver_version)) {
    state_.logger.Info("The driver version validation found no problem",
                       {{"driver", host.driver_version}});
  } else {
    state_.logger.Error("The driver version validation failed, IMEX may not find its peers",
                        {{"driver", host.driver_version}, {"least", "570.158.01"}});
  }
}

Result<void> HostWatcher::TakeOver(const DriverRead& read) {
  // Writes only a changed spec: a container runtime then reads all CDI specs again.
  driver_spec_ = read.base_spec;
  if (!HasDriverSpec()) {
    TRY(state_.disk.WriteDriverSpec(read.base_spec));
  }
  driver_mark_ = read.mark;
  view_.other_driver.clear();
  view_.has_driver_spec = true;
  // The fabric was lost. Channels that pods have depend on it, so the clique stays.
  const bool keeps = read.host.clique.empty() && !view_.self.clique.empty();
  if (!view_.host || *view_.host != read.host) {
    state_.logger.Info(
        read.host.clique.empty() ? "Read the host" : "Read the host, identified fabric clique",
        {{"driver", read.host.driver_version},
         {"clique", read.host.clique},
         {"fabricHealth", read.host.fabric_health}});
    LogDriver(read.host);
  }
  view_.host = read.host;
  if (keeps) view_.host->clique = view_.self.clique;
  view_.self.clique = view_.host->clique;
  view_.self.channel_major = view_.host->channel_major;
  view_.self.management = view_.host->management;
  return RenumberClaims();
}

Result<void> HostWatcher::RenumberClaims() {
  for (const std::string& uid : TRY(state_.claim_disk.Specs())) {
    const auto spec = state_.claim_disk.ReadSpec(uid);
    if (!spec || !*spec) continue;  // An unreadable file is replaced when its claim is prepared.
    cdi::Spec numbered = WithDeviceNumbers(view_.self, **spec);
    if (numbered == **spec) continue;
    TRY(state_.claim_disk.WriteSpec(uid, numbered));
    state_.logger.Info("Renumbered the devices of a claim", {{"uid", uid}});
  }
  return {};
}

}  // namespace plugin
