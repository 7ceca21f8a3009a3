#include "node/gpu/loop/garbage_collector.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "node/dra/api/requests.h"

namespace gpu {

namespace {

using base::Result;

constexpr std::chrono::minutes kCollectPeriod{10};
constexpr std::chrono::seconds kCollectAgain{5};

}  // namespace

GarbageCollector::GarbageCollector(GpuState& state,
                                   std::function<void(const kubelet::ClaimName& claim)> take_back)
    : state_(state),
      look_ups_(state.clock, state.logger,
                {.state = [&state](const auto& uid) { return state.checkpoint_file.StateOf(uid); },
                 .take_back = std::move(take_back),
                 .look_again = [this](TimePoint time) { next_ = std::min(next_, time); }}) {}

TimePoint GarbageCollector::Turn() {
  const TimePoint now = state_.clock.Now();
  // Until it is rebuilt, no claim is prepared or unprepared.
  const bool is_unreadable = state_.checkpoint_file.is_unreadable();
  if (!std::exchange(was_unreadable_, is_unreadable) && is_unreadable) next_ = now;
  if (now < next_) return next_;
  if (asking_ || state_.api == nullptr || !state_.api->slices()) return TimePoint::max();
  next_ = now + kCollectPeriod;
  if (auto done = Collect(); !done) TryLater(done.error());
  return next_;
}

Result<void> GarbageCollector::Collect() {
  TRY(state_.checkpoint_file.Lock());
  const bool is_unreadable = state_.checkpoint_file.is_unreadable();
  const auto specs = state_.claim_disk.Specs();
  Result<void> done = {};
  GarbagePlan garbage;
  if (specs && !is_unreadable) {
    garbage = state_.rules.find_garbage(state_.checkpoint_file.checkpoint(), *specs);
    for (const std::string& uid : garbage.remove_specs) {
      done = state_.claim_disk.RemoveSpec(uid);
      if (!done) break;
      state_.logger.Info("Deleted a CDI file of a claim that is not prepared", {{"uid", uid}});
    }
  }
  state_.checkpoint_file.Unlock();
  if (!specs) return tl::unexpected(specs.error());
  TRY(std::move(done));
  for (const kubelet::ClaimName& claim : garbage.look_up) look_ups_.LookUp(*state_.api, claim);
  if (!is_unreadable) return {};
  if (!state_.host.is_read) return base::Unavailable(state_.host.trouble);
  Rebuild();
  return {};
}

void GarbageCollector::Rebuild() {
  asking_ = true;
  state_.api->Enqueue(dra::DriverApi::Queue::kReads, [this, version = state_.api->dra_version()](
                                                         http::Transport& transport) {
    auto claims = dra::ReadClaimsOn<Wanted>(transport, version, state_.node);
    return [this, claims = std::move(claims)] {
      asking_ = false;
      bool is_rebuilt = false;
      const auto rebuild = [&]() -> Result<void> {
        if (!claims) return tl::unexpected(dra::AdviseOnListing(claims.error(), state_.ns));
        const std::vector<std::string> specs = TRY(state_.claim_disk.Specs());
        TRY(state_.checkpoint_file.Lock());
        Result<void> saved = {};
        // Another instance may have rebuilt it, and prepared claims since.
        if (state_.checkpoint_file.is_unreadable()) {
          saved =
              state_.Save(state_.rules.rebuild(state_.host.node, state_.boot_id, *claims, specs));
          is_rebuilt = true;
        }
        state_.checkpoint_file.Unlock();
        return saved;
      };
      if (const auto done = rebuild(); !done) {
        state_.checkpoint_file.SetTrouble(done.error().message);
        return TryLater(done.error());
      }
      next_ = {};
      if (!is_rebuilt) return;
      state_.logger.Info(
          "The checkpoint could not be read and is rebuilt from claims",
          {{"claims", std::to_string(state_.checkpoint_file.checkpoint().claims.size())}});
    };
  });
}

void GarbageCollector::TryLater(const base::Error& error) {
  next_ = state_.clock.Now() + kCollectAgain;
  if (std::exchange(said_, error.message) == error.message) return;
  state_.logger.Error("Garbage collection failed, will retry", {{"err", error.message}});
}

}  // namespace gpu
