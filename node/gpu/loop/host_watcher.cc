#include "node/gpu/loop/host_watcher.h"

#include <utility>

#include "node/cdi/files.h"
#include "node/gpu/rules/claim_devices.h"
#include "pkg/base/find.h"

namespace gpu {

namespace {

using base::Result;

constexpr std::chrono::minutes kReadPeriod{1};
constexpr std::chrono::seconds kMarkPeriod{5};
constexpr std::chrono::minutes kLostAfter{2};
constexpr std::chrono::minutes kHangsAfter{10};
constexpr base::BackoffPolicy kReadAgain = {.first = std::chrono::seconds(2),
                                            .most = std::chrono::minutes(1)};

}  // namespace

void HostWatcher::Turn(bool is_needed) {
  const TimePoint now = state_.clock.Now();
  bool is_other = false;
  if (view_.is_read && said_.empty() && (is_needed || now >= look_next_)) {
    look_next_ = now + kMarkPeriod;
    is_other = reader_.DriverMark() != driver_mark_;
    view_.trouble = is_other ? "NVIDIA's driver has changed, reading it again" : "";
  }
  if (reading_ && now - began_ >= kHangsAfter) NoteHang();
  if (reading_ || (now < next_ && !is_other)) return;
  reading_ = true;
  began_ = now;
  executor_.Post([this](const std::stop_token& /*stop*/) {
    tasks_.Post([this, read = reader_.Read()] {
      reading_ = false;
      Take(read);
    });
  });
}

void HostWatcher::Take(const Result<GpuRead>& read) {
  const TimePoint now = state_.clock.Now();
  if (!read) return NoteError(read.error(), now);
  TakeOver(*read);
  next_ = now + kReadPeriod;
  backoff_.Reset();
  if (const auto renewed = RenewSpecs(); !renewed) {
    NoteError(renewed.error(), now);
  }
}

void HostWatcher::TakeOver(const GpuRead& read) {
  driver_mark_ = read.mark;
  const bool is_news = !view_.is_read || view_.node != read.node;
  view_.node = read.node;
  view_.is_read = true;
  view_.is_lost = false;
  view_.trouble.clear();
  said_.clear();
  for (const GpuDevice& device : view_.node.inventory.devices) seen_[device.name] = device.uuid();
  if (is_news) LogDevices();
}

void HostWatcher::LogDevices() const {
  std::string names;
  for (const GpuDevice& device : view_.node.inventory.devices) {
    names += (names.empty() ? "" : " ") + device.name;
  }
  state_.logger.Info("Read the GPUs", {{"driver", view_.node.driver_version}, {"devices", names}});
  for (const Unpublished& left : view_.node.inventory.unpublished) {
    state_.logger.Error("A GPU is not published", {{"gpu", left.device}, {"err", left.why}});
  }
}

void HostWatcher::NoteError(const base::Error& error, TimePoint since) {
  const TimePoint now = state_.clock.Now();
  if (said_.empty()) failed_at_ = since;
  if (said_ != error.message) backoff_.Reset();
  view_.trouble = error.message;
  view_.is_lost = now - failed_at_ >= kLostAfter;
  next_ = now + backoff_.Next(kReadAgain);
  if (std::exchange(said_, error.message) == error.message) return;
  state_.logger.Error("The host lacks something, will retry", {{"err", error.message}});
}

void HostWatcher::NoteHang() {
  NoteError(
      {.message = "NVIDIA's library has not answered for 10 minutes: look at the driver's log "
                  "(dmesg)"},
      began_);
}

Result<void> HostWatcher::RenewSpecs() {
  if (state_.instances.is_superseded()) return {};
  if (auto locked = state_.checkpoint_file.Lock(); !locked) {
    if (locked.error().code != base::ErrorCode::kUnavailable) return locked;
    next_ = state_.clock.Now() + kMarkPeriod;  // Another instance is at work.
    return {};
  }
  Result<void> done = {};
  for (const auto& [uid, entry] : state_.checkpoint_file.checkpoint().claims) {
    if (done && cdi::IsFileSafe(uid)) done = RenewSpec(uid, entry);
  }
  state_.checkpoint_file.Unlock();
  return done;
}

Result<void> HostWatcher::RenewSpec(const std::string& uid, const CheckpointClaim& entry) {
  const auto& wanted = entry.status.wanted();
  if (entry.state != ClaimState::kCompleted || !wanted) return {};
  const auto spec = state_.claim_disk.ReadSpec(uid);
  if (!spec || !*spec || !state_.rules.is_outdated(view_.node, **spec)) return {};
  const bool is_same = MissingOf(view_.node, *wanted).empty() &&
                       HasDevices(entry, GroupOf(view_.node, uid, *wanted));
  if (!is_same) return {};
  TRY(state_.claim_disk.WriteSpec(uid, SpecOf(view_.node, uid, *wanted)));
  state_.logger.Info("Wrote the CDI file of a claim again, for the driver that is loaded now",
                     {{"uid", uid}});
  return {};
}

std::vector<kubelet::DeviceHealth> HostWatcher::Health() const {
  using Is = kubelet::DeviceHealth::Is;
  std::string missing = "NVIDIA's driver no longer reports it";
  for (const Unpublished& left : view_.node.inventory.unpublished) {
    missing += "; " + left.device + " " + left.why;
  }
  std::vector<kubelet::DeviceHealth> devices;
  for (const auto& [name, uuid] : seen_) {
    const GpuDevice* device = view_.node.inventory.Find(name);
    const bool is_there = device != nullptr && device->uuid() == uuid;
    const Is is = !is_there ? Is::kUnhealthy : view_.trouble.empty() ? Is::kHealthy : Is::kUnknown;
    devices.push_back({.is = is,
                       .pool = state_.node,
                       .name = name,
                       .message = is_there ? view_.trouble : missing});
  }
  return devices;
}

}  // namespace gpu
