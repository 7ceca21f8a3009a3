#include "node/plugin/loop/host_watcher.h"

#include <utility>

#include "node/cdi/files.h"
#include "node/plugin/host/base_spec.h"
#include "node/plugin/host/domain_dirs.h"
#include "pkg/base/rfc3339.h"

namespace plugin {

namespace {

using base::ErrorCode;
using base::Result;

constexpr std::chrono::minutes kPeriod{10};
constexpr std::chrono::seconds kRetry{2};
constexpr const char* kOwnHook = "/usr/bin/nvidia-cdi-hook";

}  // namespace

Result<HostWatcher::Read> HostWatcher::ReadAll(const Settings& settings, const std::string& hook) {
  Read read = {.host = TRY(ReadHost(
                   {.driver_root = settings.driver_root,
                    .devices = settings.DevicesPath(),
                    .capability = settings.CapabilityPath()},
                   {.strictness = settings.crash_on_fabric_errors ? nvml::Strictness::kAllAttached
                                                                  : nvml::Strictness::kOnlyAttached,
                    .names = settings.names}))};
  const std::string& version = read.host.driver_version;
  read.base_spec = cdi::Render(
      BaseSpec(FindDriverFiles(settings.driver_root, version),
               {.host_root = settings.host_driver_root, .hook = hook, .driver_version = version}));
  return read;
}

void HostWatcher::Turn() {
  const TimePoint now = state_.clock.Now();
  if (reading_ || now < next_) return;
  const Settings& settings = state_.settings;
  if (!hook_) {
    auto copied = settings.hook.empty() ? CopyProgram(settings.Folder(), kOwnHook)
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
  reader_.Post([this, &settings, hook = *hook_](const std::stop_token& /*stop*/) {
    auto read = ReadAll(settings, hook);
    state_.tasks.Post([this, read = std::move(read)] {
      reading_ = false;
      Take(read);
    });
  });
}

void HostWatcher::Take(const Result<Read>& read) {
  const bool is_of_fabric = !read && read.error().code == ErrorCode::kInvalid;
  const Result<void> taken = read ? TakeOver(*read) : tl::unexpected(read.error());
  next_ = state_.clock.Now() + (taken ? std::chrono::nanoseconds(kPeriod) : kRetry);
  if (taken) {
    said_.clear();
    state_.host_trouble.clear();
    state_.fabric_error_since.reset();
    return;
  }
  const base::Error& error = taken.error();
  state_.host_trouble = error.message;
  if (is_of_fabric && !state_.fabric_error_since) {
    state_.fabric_error_since = base::FormatSeconds(state_.clock.Wall());
  }
  if (std::exchange(said_, error.message) == error.message) return;
  state_.logger.Error("The host is not as it should be and is looked at again",
                      {{"err", error.message}});
}

Result<void> HostWatcher::TakeOver(const Read& read) {
  TRY(cdi::WriteWhole(state_.settings.cdi_folder, std::string(cdi::kBaseFile), read.base_spec));
  // A fabric that is there no longer was lost, and what was given goes by it.
  const bool keeps = read.host.clique.empty() && !state_.self.clique.empty();
  if (!state_.host || *state_.host != read.host) {
    state_.logger.Info("The host is read",
                       {{"driver", read.host.driver_version}, {"clique", read.host.clique}});
  }
  state_.host = read.host;
  if (keeps) state_.host->clique = state_.self.clique;
  state_.self.clique = state_.host->clique;
  state_.self.channel_major = state_.host->channel_major;
  state_.self.management = state_.host->management;
  return {};
}

}  // namespace plugin
