#include "node/plugin/loop/host_watcher.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "node/cdi/files.h"
#include "node/nvml/fabric.h"
#include "node/plugin/host/base_spec.h"
#include "node/plugin/rules/claim_devices.h"
#include "pkg/base/capabilities.h"
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

Result<HostWatcher::Read> HostWatcher::ReadAll(const Settings& settings, const HostPaths& paths,
                                               const std::string& hook) {
  // The mark is read first, so that a change during the other reads is noticed later.
  Read read = {.mark = DriverMark(paths)};
  read.host = TRY(ReadHost(
      paths, {.strictness = settings.crash_on_fabric_errors ? nvml::Strictness::kAllAttached
                                                            : nvml::Strictness::kOnlyAttached,
              .daemons = !settings.host_managed,
              .partitions = settings.partitions}));
  const std::string& version = read.host.driver_version;
  const DriverFiles files =
      FindDriverFiles(settings.driver_root, version, settings.library_folders);
  const std::string trouble = LibrariesTrouble(files, settings.driver_root, version);
  if (!settings.host_managed && !trouble.empty()) {
    return base::Fail(ErrorCode::kNotFound, trouble);
  }
  const int gpus = CountGpus(files);
  if (!settings.host_managed && !read.host.clique.empty() && gpus < read.host.gpus) {
    read.has_gpu = gpus > 0;
    read.lacks = std::to_string(read.host.gpus - gpus) + " of " + std::to_string(read.host.gpus) +
                 " GPUs have no device node, such as /dev/nvidia0, in the driver's root: "
                 "nvidia-persistenced or nvidia-modprobe creates them";
  }
  read.base_spec = cdi::Render(BaseSpec(
      files, {.host_root = settings.host_driver_root, .hook = hook, .driver_version = version}));
  return read;
}

void HostWatcher::Turn() {
  const TimePoint now = state_.clock.Now();
  // Containers that start again in place need the files of now, and no claim asks for them.
  std::error_code ignored;
  const bool is_own = hook_ && !hook_->empty() && state_.settings.hook.empty();
  const bool has_lost_hook = is_own && !std::filesystem::exists(*hook_, ignored);
  if (has_lost_hook) hook_.reset();
  const bool is_lost = state_.host && (has_lost_hook || !state_.HasDriverSpec());
  if (state_.host && !reading_ && now >= look_next_) {
    look_next_ = now + kLookPeriod;
    static_cast<void>(state_.NoticeOtherDriver());
  }
  // A failed read is not repeated sooner because the host is outdated.
  const bool is_outdated = (state_.is_host_outdated || is_lost) && said_.empty();
  if (reading_ || (now < next_ && !is_outdated)) return;
  const Settings& settings = state_.settings;
  if (!hook_) {
    auto copied = settings.hook.empty() ? CopyProgram(settings.Folder(), own_hook_)
                                        : Result<std::string>(settings.hook);
    const bool is_there = copied || copied.error().code == ErrorCode::kNotFound;
    if (!is_there) {
      base::Error error = copied.error();
      error.code = ErrorCode::kUnavailable;
      return Take(tl::unexpected(std::move(error)));
    }
    hook_ = copied.value_or("");
  }
  reading_ = true;
  reader_->Post([this, &settings, paths = state_.host_paths(),
                 hook = *hook_](const std::stop_token& /*stop*/) {
    auto read = ReadAll(settings, paths, hook);
    if (read && read->lacks.empty() && !settings.keeps_privileges) {
      const auto dropped = base::KeepThreadCapabilities({});
      if (!dropped)
        state_.logger.Warning("Capabilities are kept", {{"err", dropped.error().message}});
    }
    state_.tasks.Post([this, read = std::move(read)] {
      reading_ = false;
      Take(read);
    });
  });
}

void HostWatcher::Take(Result<Read> read) {
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
    if (std::exchange(state_.host_trouble, trouble) != trouble && !is_whole) {
      state_.logger.Error("GPUs are missing", {{"err", trouble}});
    }
    state_.device_error.reset();
    state_.is_host_lost = false;
    return;
  }
  const base::Error& error = taken.error();
  state_.host_trouble = error.message;
  if (said_ != error.message) backoff_.Reset();
  next_ = now + backoff_.Next(error.code == ErrorCode::kUnavailable ? kSoon : kRetry);
  if (!read) NoteError(is_of_fabric);
  if (std::exchange(said_, error.message) == error.message) return;
  state_.logger.Error("The host lacks something, will retry", {{"err", error.message}});
}

// A driver that was never read publishes nothing. One that is replaced is away for a moment.
void HostWatcher::NoteError(bool is_of_fabric) {
  const TimePoint now = state_.clock.Now();
  if (state_.host && !std::exchange(state_.is_host_lost, true)) lost_at_ = now;
  const bool is_lost = state_.is_host_lost && now - lost_at_ >= kLostFor;
  if (state_.device_error || (!is_of_fabric && !is_lost)) return;
  state_.device_error =
      DeviceError{.of = is_of_fabric ? DeviceError::Of::kFabric : DeviceError::Of::kDriver,
                  .since = base::FormatSeconds(state_.clock.Wall())};
}

// Daemons write their peers' names, which IMEX of an older driver looks up only once.
void HostWatcher::LogDriver(const Host& host) {
  if (state_.self.host_managed || host.clique.empty()) return;
  if (nvml::KnowsNames(host.driver_version)) {
    state_.logger.Info("The driver version validation found no problem",
                       {{"driver", host.driver_version}});
  } else {
    state_.logger.Error("The driver version validation failed, IMEX may not find its peers",
                        {{"driver", host.driver_version}, {"least", "570.158.01"}});
  }
}

Result<void> HostWatcher::TakeOver(const Read& read) {
  // Writes only a changed spec: a container runtime then reads all CDI specs again.
  state_.driver_spec = read.base_spec;
  if (!state_.HasDriverSpec()) {
    TRY(state_.disk->WriteDriverSpec(read.base_spec));
  }
  state_.driver_mark = read.mark;
  state_.is_host_outdated = false;
  // The fabric was lost. Channels that pods have depend on it, so the clique stays.
  const bool keeps = read.host.clique.empty() && !state_.self.clique.empty();
  if (!state_.host || *state_.host != read.host) {
    state_.logger.Info(
        read.host.clique.empty() ? "Read the host" : "Read the host, identified fabric clique",
        {{"driver", read.host.driver_version},
         {"clique", read.host.clique},
         {"fabricHealth", read.host.fabric_health}});
    LogDriver(read.host);
  }
  state_.host = read.host;
  if (keeps) state_.host->clique = state_.self.clique;
  state_.self.clique = state_.host->clique;
  state_.self.channel_major = state_.host->channel_major;
  state_.self.management = state_.host->management;
  return RenumberClaims();
}

Result<void> HostWatcher::RenumberClaims() {
  for (const std::string& uid : TRY(state_.disk->Specs())) {
    const auto spec = state_.disk->ReadSpec(uid);
    if (!spec || !*spec) continue;  // An unreadable file is replaced when its claim is prepared.
    cdi::Spec numbered = WithDeviceNumbers(state_.self, **spec);
    if (numbered == **spec) continue;
    TRY(state_.disk->WriteSpec(uid, numbered));
    state_.logger.Info("Renumbered the devices of a claim", {{"uid", uid}});
  }
  return {};
}

}  // namespace plugin
