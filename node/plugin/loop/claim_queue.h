// The kubelet's open requests: executes the steps of each claim.
//
// Used by the deciding thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "node/kubelet/claims.h"
#include "node/plugin/loop/domain_readiness.h"
#include "node/plugin/loop/plugin_state.h"
#include "pkg/base/backoff.h"

namespace plugin {

class ClaimQueue {
 public:
  // `wake` is called on any thread when the kubelet has cancelled a call.
  ClaimQueue(PluginState& state, DomainReadiness& readiness, std::function<void()> wake)
      : state_(state), readiness_(readiness), wake_(std::move(wake)) {}

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
  // One call of the kubelet. It is answered when all of its claims are.
  struct BatchCall {
    BatchCall(std::size_t claims, std::stop_token token, kubelet::Done answer,
              std::function<void()> wake);

    kubelet::Answers answers = {};
    std::size_t open = 0;
    kubelet::Done done = {};
    std::stop_token cancelled = {};
    std::stop_callback<std::function<void()>> on_cancel;  // Wakes the deciding thread.
  };
  struct ClaimRequest {
    Operation operation = Operation::kPrepare;
    kubelet::ClaimName name = {};
    std::shared_ptr<BatchCall> batch = {};
    TimePoint since = {};
    base::Clock::WallTime called = {};
    std::optional<ClaimToPrepare> claim = {};  // Empty until it is read.
    bool asking = false;  // A request to the API server is in flight; nothing happens meanwhile.
    std::string failed = {};  // The last error. Empty if there is none.
    base::Backoff backoff = {};
    TimePoint next = {};  // Earliest time of the next step.
    bool domain_asked = false;
    bool domain_gone = false;
    bool is_overtaken = false;  // The kubelet has asked for the opposite since.
    bool is_answered = false;
    bool restores = false;     // Nobody asked: files of a prepared claim were lost.
    bool was_aborted = false;  // When the kubelet asked.
    std::string logged_reason = {};

    bool is_withdrawn() const { return is_overtaken || batch->cancelled.stop_requested(); }
    // Null while the claim is not read, and if it is invalid.
    const Wanted* wanted() const { return claim && claim->wanted ? &*claim->wanted : nullptr; }
  };

  bool HasLost(const std::string& uid, const CheckpointClaim& entry) const;
  // Executes steps until the claim waits or is answered. Returns when to call it again.
  TimePoint Advance(ClaimRequest& request);
  ClaimStep Decide(const ClaimRequest& request, const NodeObservation& observed) const;
  NodeObservation Observe(const ClaimRequest& request);
  // Files of a claim: its CDI file, and the folder of a daemon's domain.
  struct FilesSeen {
    bool has_spec = false;
    std::optional<cdi::Spec> spec = {};
    bool has_folder = false;
  };
  // Reads them once a turn.
  const FilesSeen& FilesOf(const ClaimRequest& request);
  // Returns whether the label of the claim's domain may stay for a while after its unprepare.
  bool KeepsLabel(const ClaimRequest& request) const;
  // Returns whether the claim is for a channel that needs the domain to be ready here.
  bool NeedsReadiness(const ClaimRequest& request, const NodeObservation& observed) const;
  // Requests the data that the observation of a claim lacks.
  void FetchMissing(ClaimRequest& request, const NodeObservation& observed);
  void FetchClaimOf(ClaimRequest& request);
  void FetchDomain(ClaimRequest& request, const std::string& domain);
  // Executes a step that changes a file or a label, or that reads the claim. Other steps have no
  // effect.
  base::Result<void> Execute(ClaimRequest& request, const ClaimStep& step);
  // Starts the change. The result comes later.
  base::Result<void> ChangeLabel(ClaimRequest& request, LabelChange change);
  void Fail(ClaimRequest& request, const base::Error& error);
  void Answer(ClaimRequest& request, const AnswerKubelet& answer);

  PluginState& state_;
  DomainReadiness& readiness_;
  const std::function<void()> wake_;
  // References stay valid until a request is answered and has nothing in flight.
  std::list<ClaimRequest> requests_;
  bool has_unprepared_ = false;
  TimePoint look_next_ = {};
  // By claim, as of this turn.
  std::map<std::string, FilesSeen, std::less<>> files_ = {};
};

}  // namespace plugin
