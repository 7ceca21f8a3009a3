// One reflector of a process and its link to the API server, moved one request or one frame at a
// time.
//
// For one thread. What is passed outlives it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "pkg/kube/cache/reflector.h"
#include "test/simulation/apiserver/api_server.h"
#include "test/simulation/cluster/process_parts.h"

namespace simulation {

class Watcher {
 public:
  // How late a frame is; it is asked once for each. Null: never late.
  using Lag = std::function<std::chrono::microseconds()>;

  // Without `open` nothing stands between the watches and the server.
  Watcher(kube::Reflector& reflector, ApiServer& server, std::string client, const Serve& serve,
          const StoreClock& clock, Lag lag = {}, OpenWatch open = {})
      : reflector_(reflector),
        server_(server),
        client_(std::move(client)),
        serve_(serve),
        clock_(clock),
        lag_(std::move(lag)),
        open_(std::move(open)) {}

  [[nodiscard]] const kube::Reflector& reflector() const { return reflector_; }
  // Whether there was something to move now: for a server that knows the truth up to `view`.
  bool Step(Revision view);
  // When it has something to move although nothing changes.
  [[nodiscard]] std::optional<Time> NextDue() const;
  [[nodiscard]] bool IsOpen() const { return stream_.has_value(); }
  // Its process goes on without.
  [[nodiscard]] bool IsDoneWithout() const {
    return reflector_.problem().kind == kube::ReflectorProblem::Kind::kForbidden &&
           !reflector_.options().cost_without.empty();
  }
  // Nothing is on its way.
  [[nodiscard]] bool IsAtRest() const { return stream_ && !late_; }
  // The server no longer knows the version that an open watch has come to: 410.
  void Expire() { is_expired_ = stream_.has_value(); }
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
  [[nodiscard]] std::optional<std::string> NextFrame(Revision view);

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
  std::optional<base::Clock::TimePoint> until_ = {};  // Waits until then.
};

}  // namespace simulation
