// One reflector of a simulated process, with its connection.
//
// It moves one request or one frame at a time. For one thread. The arguments must outlive it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "pkg/kube/cache/reflector.h"
#include "test/simulation/apiserver/api_server.h"
#include "test/simulation/cluster/process_parts.h"

namespace simulation {

class Watcher {
 public:
  // Returns the delay of a frame; called once for each. If null, frames are never late.
  using Lag = std::function<std::chrono::microseconds()>;

  // Without `open` watches go to the server directly.
  Watcher(kube::Reflector& reflector, ApiServer& server, std::string client, const Serve& serve,
          const StoreClock& clock, Lag lag = {}, OpenWatch open = {})
      : reflector_(reflector),
        server_(server),
        client_(std::move(client)),
        serve_(serve),
        clock_(clock),
        lag_(std::move(lag)),
        open_(std::move(open)) {}

  const kube::Reflector& reflector() const { return reflector_; }
  // Makes one step, with a server that knows the state up to `view`. Returns whether there was one
  // to make.
  bool Step(Revision view);
  // Returns when it has something to do although nothing changes. Empty if never.
  std::optional<Time> NextDue() const;
  bool IsOpen() const { return stream_.has_value(); }
  // Returns whether its process works without this watch.
  bool IsDoneWithout() const {
    return reflector_.problem().kind == kube::ReflectorProblem::Kind::kForbidden &&
           !reflector_.options().cost_without.empty();
  }
  // Returns whether nothing is in flight, and nothing is hidden by a silent watch.
  bool IsAtRest() const { return stream_ && !late_ && !(IsSilent() && stream_->IsBehind()); }
  // Answers an open watch with 410: its version is too old.
  void Expire() { is_expired_ = stream_.has_value(); }
  // From now on each watch is accepted, delivers nothing and ends after a minute.
  void Silence() { well_after_lists_ = std::numeric_limits<std::uint64_t>::max(); }
  // The same until the next LIST, as after a restore of etcd: the version of a watch is too new.
  void SilenceUntilListed() { well_after_lists_ = reflector_.lists() + 1; }
  // From now on a silent watch seems to prove at its end that nothing has changed.
  void BelieveSilence() { believes_silence_ = true; }
  // Answers the open watch with 410, and the next LIST with the state at `view`, or with an earlier
  // one that is older than what the reflector has seen. REQUIRES: IsAtRest().
  void GoBack(Revision view) {
    Expire();
    old_list_ = std::min(view, stream_->position() - 1);
  }
  // Breaks the connection of an open watch of at least this age, in the middle of its next event.
  void Break(std::chrono::seconds lived) {
    if (stream_ && clock_.StoreTime() - opened_ >= lived) stream_->Break();
  }

 private:
  struct Frame {
    std::string text = {};
    Time due = {};
  };

  bool MoveStream(Revision view);
  void Open(const http::Request& request, Revision view);
  std::optional<std::string> NextFrame(Revision view);
  bool IsSilent() const { return reflector_.lists() < well_after_lists_; }
  Time EndOfStream() const;

  kube::Reflector& reflector_;
  ApiServer& server_;
  const std::string client_;
  const Serve& serve_;
  const StoreClock& clock_;
  const Lag lag_;
  const OpenWatch open_;
  std::optional<WatchStream> stream_ = {};
  std::optional<Frame> late_ = {};
  Time opened_ = {};
  Time last_frame_ = {};
  bool is_expired_ = false;
  bool believes_silence_ = false;
  std::uint64_t well_after_lists_ = 0;                // Its watches are silent until so many LISTs.
  std::optional<Revision> old_list_ = {};             // The state that the next LIST shows.
  std::optional<base::Clock::TimePoint> until_ = {};  // Waits until then.
};

}  // namespace simulation
