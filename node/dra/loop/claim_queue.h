// The kubelet's open calls: when each claim makes its next step, and when a call is answered.
//
// What a step does is the driver's. Used by the deciding thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "node/dra/host/checkpoint_file.h"
#include "node/dra/loop/metrics.h"
#include "node/kubelet/claims.h"
#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace dra {

using TimePoint = base::Clock::TimePoint;

// What follows a step.
struct GoOn {};
struct WaitUntil {
  std::string reason = {};
  TimePoint until = {};  // At the latest; any change may end the wait.
};
struct AnswerCall {
  std::vector<kubelet::Device> devices = {};  // Of a claim that is prepared.
  std::string error = {};                     // Empty if the call succeeded.
  bool is_permanent = false;                  // The claim is never prepared as it is.
  std::string log = {};                       // Replaces the line of a success. May be empty.
};
using StepResult = std::variant<GoOn, WaitUntil, AnswerCall>;

// Returns the devices of an answer. A group has `devices`, and each of them `requests`, `pool`,
// `name` and `cdi_ids`, as the kubelet gets them.
template <typename Group>
std::vector<kubelet::Device> DevicesOf(const std::vector<Group>& groups) {
  std::vector<kubelet::Device> devices;
  for (const Group& group : groups) {
    for (const auto& device : group.devices) {
      devices.push_back({.requests = device.requests,
                         .pool = device.pool,
                         .name = device.name,
                         .cdi_ids = device.cdi_ids});
    }
  }
  return devices;
}

// A driver's work on one claim. It lives until the call is answered and has nothing in flight.
class ClaimWork {
 public:
  virtual ~ClaimWork() = default;
  // Makes one step. The checkpoint is locked. After an error the step is repeated later.
  virtual base::Result<StepResult> Step() = 0;
};

// One call of the kubelet. It is answered when all of its claims are.
struct BatchCall {
  // `wake` is called on any thread when the kubelet has cancelled the call.
  BatchCall(std::size_t claims, std::stop_token token, kubelet::Done answer,
            std::function<void()> wake);

  kubelet::Answers answers = {};
  std::size_t open = 0;
  kubelet::Done done = {};
  std::stop_token cancelled = {};
  std::stop_callback<std::function<void()>> on_cancel;
};

// One claim of a call, until it is answered.
struct ClaimCall {
  Metrics::Operation operation = Metrics::Operation::kPrepare;
  kubelet::ClaimName name = {};
  std::shared_ptr<BatchCall> batch = {};
  TimePoint since = {};
  base::Clock::WallTime called = {};
  bool restores = false;  // Nobody asked: files of a prepared claim were lost.
  // Below, a driver's work sets `asking`, `refused` and Ended() alone.
  bool asking = false;                    // A request is in flight; nothing happens meanwhile.
  std::string refused = {};               // Why it ends with an error. Empty if it does not.
  std::string failed = {};                // The last error. Empty if there is none.
  std::optional<base::Error> error = {};  // The same, until the queue has seen it.
  base::Backoff backoff = {};
  TimePoint next = {};        // Earliest time of the next step.
  bool is_overtaken = false;  // The kubelet has asked for the opposite since.
  bool is_answered = false;
  std::string logged_reason = {};
  std::unique_ptr<ClaimWork> work = {};

  bool prepares() const { return operation == Metrics::Operation::kPrepare; }
  // The kubelet no longer waits for the call, or has asked for the opposite since.
  bool is_withdrawn() const { return is_overtaken || batch->cancelled.stop_requested(); }
  // A request has ended. After an error the next step is delayed.
  void Ended(const base::Result<void>& ended);
};

// What a driver does with the kubelet's calls.
class ClaimDriver {
 public:
  virtual ~ClaimDriver() = default;
  // `call` outlives the work.
  virtual std::unique_ptr<ClaimWork> Begin(ClaimCall& call) = 0;
  // The queue begins a turn: it steps each claim that can make a step.
  virtual void BeginTurn() = 0;
  // Returns the prepared claims whose files were lost.
  virtual std::vector<kubelet::ClaimName> FindLost() = 0;
};

class ClaimQueue {
 public:
  // The arguments outlive it. `wake` is called on any thread when the kubelet has cancelled a call.
  ClaimQueue(const base::Clock& clock, base::Logger& logger, Metrics& metrics,
             CheckpointLock& checkpoint, ClaimDriver& driver, std::function<void()> wake)
      : clock_(clock),
        logger_(logger),
        metrics_(metrics),
        checkpoint_(checkpoint),
        driver_(driver),
        wake_(std::move(wake)) {}

  using Operation = Metrics::Operation;
  // `done` is called when every claim is answered. A call withdraws earlier calls for the opposite
  // operation of the same claim. It ends without a result once a stop of `cancelled` is requested.
  void Add(Operation operation, const std::vector<kubelet::ClaimName>& claims,
           std::stop_token cancelled, kubelet::Done done);
  // Looks every 5 seconds for prepared claims whose files were lost, and prepares them again:
  // containers may start again in place. Call it before Turn().
  void RestoreLost();
  // Executes what is possible now. Returns when to call it again if nothing changes: at once if a
  // claim that waits may be able to continue.
  TimePoint Turn();
  // Answers every open claim with this error.
  void AnswerAll(const std::string& error);
  // Returns whether a call to prepare a claim waits.
  bool Prepares() const;
  // Returns whether a claim was unprepared since the last call.
  bool HasUnprepared() { return std::exchange(has_unprepared_, false); }

 private:
  ClaimCall& Open(ClaimCall call);
  // Makes steps until the claim waits or is answered. Returns when to call it again.
  TimePoint Advance(ClaimCall& call);
  void Fail(ClaimCall& call, const base::Error& error);
  void Answer(ClaimCall& call, const AnswerCall& answer);
  void LogAnswer(const ClaimCall& call, const AnswerCall& answer);

  const base::Clock& clock_;
  base::Logger& logger_;
  Metrics& metrics_;
  CheckpointLock& checkpoint_;
  ClaimDriver& driver_;
  const std::function<void()> wake_;
  // References stay valid until a call is answered and has nothing in flight.
  std::list<ClaimCall> calls_;
  bool has_unprepared_ = false;
  TimePoint look_next_ = {};
};

}  // namespace dra
