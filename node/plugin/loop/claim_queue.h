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

class ClaimWork {
 public:
  ClaimWork(State& state, Readiness& readiness) : state_(state), readiness_(readiness) {}

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
  struct Batch {
    kubelet::Answers answers = {};
    std::size_t open = 0;
    kubelet::Done done = {};
  };
  struct One {
    Operation operation = Operation::kPrepare;
    kubelet::ClaimName name = {};
    std::shared_ptr<Batch> batch = {};
    TimePoint since = {};
    std::optional<Claim> claim = {};  // As it was read.
    bool asking = false;              // An answer is on its way, without which nothing goes on.
    std::string failed = {};          // What went wrong last.
    int failures = 0;
    TimePoint next = {};  // Not before.
    bool domain_asked = false;
    bool domain_gone = false;
    bool is_answered = false;
    std::string said = {};
  };

  // Until it waits or is answered; returns when to look again.
  [[nodiscard]] TimePoint Advance(One& one);
  [[nodiscard]] Step Decide(One& one);
  [[nodiscard]] Step DecidePrepare(One& one);
  [[nodiscard]] Observed Observe(One& one, const std::string& domain);
  [[nodiscard]] Step Hold(const One& one, std::string what) const;
  // Whether it can be answered by what is noted, whatever cannot be read now.
  [[nodiscard]] bool IsOnDisk(const One& one, const Observed& observed) const;
  void Read(One& one);
  void AskForDomain(One& one, const std::string& domain);
  // What changes a file.
  [[nodiscard]] base::Result<void> Do(const One& one, const Step& step);
  void ChangeLabel(One& one, const Step& step);
  void Fail(One& one, const base::Error& error);
  void Answer(One& one, const Step& step);

  State& state_;
  Readiness& readiness_;
  std::list<One> all_;  // Where each stays until it is answered and nothing is asked for it.
  bool took_back_ = false;
};

}  // namespace plugin
