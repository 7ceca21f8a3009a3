// The claims that the kubelet waits for: what the rule says is done for each, until it is answered.
// Used by the thread that decides.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/kubelet/claims.h"
#include "node/plugin/loop/domain_readiness.h"
#include "node/plugin/loop/plugin_state.h"

namespace plugin {

class ClaimQueue {
 public:
  ClaimQueue(PluginState& state, DomainReadiness& readiness)
      : state_(state), readiness_(readiness) {}

  using Operation = Metrics::Operation;
  void Add(Operation operation, const std::vector<kubelet::ClaimName>& claims, kubelet::Done done);
  // Takes each as far as it comes. When to do so again, should nothing have changed.
  [[nodiscard]] TimePoint Turn();
  // Answers all that is left with this error.
  void AnswerAll(const std::string& error);
  // Whether something was taken back since this was asked last.
  [[nodiscard]] bool TookBack() { return std::exchange(took_back_, false); }

 private:
  // What the kubelet asked for in one go, which is answered in one go.
  struct BatchCall {
    kubelet::Answers answers = {};
    std::size_t open = 0;
    kubelet::Done done = {};
  };
  struct ClaimRequest {
    Operation operation = Operation::kPrepare;
    kubelet::ClaimName name = {};
    std::shared_ptr<BatchCall> batch = {};
    TimePoint since = {};
    std::optional<ClaimToPrepare> claim = {};  // As it was read.
    bool asking = false;      // An answer is on its way, without which nothing goes on.
    std::string failed = {};  // What went wrong last.
    int failures = 0;
    TimePoint next = {};  // Not before.
    bool domain_asked = false;
    bool domain_gone = false;
    bool is_answered = false;
    std::string logged_reason = {};
  };

  // Until it waits or is answered; returns when to look again.
  [[nodiscard]] TimePoint Advance(ClaimRequest& request);
  [[nodiscard]] ClaimStep Decide(ClaimRequest& request);
  [[nodiscard]] ClaimStep DecidePrepare(ClaimRequest& request);
  [[nodiscard]] NodeObservation Observe(ClaimRequest& request, const std::string& domain);
  [[nodiscard]] ClaimStep WaitOrAnswer(const ClaimRequest& request, std::string what) const;
  // Whether it can be answered by what is noted, whatever cannot be read now.
  [[nodiscard]] bool IsOnDisk(const ClaimRequest& request, const NodeObservation& observed) const;
  void ReadFromApi(ClaimRequest& request);
  void AskForDomain(ClaimRequest& request, const std::string& domain);
  // What changes a file.
  [[nodiscard]] base::Result<void> Do(const ClaimRequest& request, const ClaimStep& step);
  void ChangeLabel(ClaimRequest& request, const ClaimStep& step);
  void Fail(ClaimRequest& request, const base::Error& error);
  void Answer(ClaimRequest& request, const ClaimStep& step);

  PluginState& state_;
  DomainReadiness& readiness_;
  std::list<ClaimRequest>
      requests_;  // Where each stays until it is answered and nothing is asked for it.
  bool took_back_ = false;
};

}  // namespace plugin
