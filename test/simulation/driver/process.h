// One process of a kubelet plugin in the simulation: the loop, reflectors and rules of a driver.
//
// It moves one frame of a watch, one task or one turn of the loop at a time. Destroying it is a
// crash. For one thread. Time is the store's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "node/dra/loop/driver_loop.h"
#include "node/dra/loop/instances.h"
#include "test/simulation/cluster/process_parts.h"
#include "test/simulation/driver/disk.h"
#include "test/simulation/driver/session.h"

namespace simulation {

struct PluginOptions {
  std::string client = {};
  std::string node = {};
  dra::Instances instances = {};
  // The revision that it sees at first.
  Revision old_view = kNewest;
  std::uint64_t seed = 1;
};

using Verb = dra::Metrics::Operation;
struct PluginAnswer {
  Verb verb = Verb::kPrepare;
  int ticket = 0;
  kube::Uid uid = {};
  std::string error = {};
  std::vector<std::string> cdi_ids = {};
};

// A driver derives from it, and makes its API and its loop of the parts.
class Plugin {
 public:
  virtual ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  // Returns whether the kubelet may call.
  bool IsServing() const { return is_serving_; }
  // A call of the kubelet. Its answer has the same ticket. REQUIRES: IsServing().
  void Call(Verb verb, const kube::ObjectKey& key, const kube::Uid& uid, int ticket);
  // The kubelet no longer waits for the answer with this ticket.
  void Cancel(int ticket);
  std::vector<PluginAnswer> TakeAnswers() { return std::exchange(answers_, {}); }
  bool HasOpenCalls() const { return !open_.empty(); }
  // Answers its open calls with an error, as a process that ends does.
  void AnswerAll() { loop_->AnswerAll("the plugin is ending"); }
  // Numbers of processes are those of `options.seed`.
  std::uint64_t number() const { return options_.seed; }

  // Makes one step. Returns whether there was one to make. May throw ProcessDied.
  bool Step();
  // Returns when it has something to do although nothing changes.
  Time NextDue() const;
  void ExpireWatches() { session_->ExpireWatches(); }

 protected:
  Plugin(ApiServer& server, PluginOptions options, const dra::Metrics::Of& of, Serve serve);

  const PluginOptions& options() const { return options_; }
  const StoreClock& clock() const { return clock_; }
  base::Logger& logger() { return logger_; }
  base::TaskQueue& tasks() { return tasks_; }
  dra::Metrics& metrics() { return metrics_; }
  base::Executor& executor() { return executor_; }
  std::unique_ptr<base::Random> NewRandom() {
    return std::make_unique<SeededRandom>(random_.Next());
  }
  // For the API of the driver. Called once.
  std::unique_ptr<StepSession> NewSession();
  // A watch has news.
  void NoteChange();
  // `loop` is what the process runs. The last call of a constructor.
  void Run(dra::DriverLoop& loop) { loop_ = &loop; }

 private:
  Revision View() const;
  void TakeTurn();

  ApiServer& server_;
  const PluginOptions options_;
  const Serve serve_;
  StoreClock clock_;
  const Time born_;
  SeededRandom random_;
  RingLogger logger_;
  base::TaskQueue tasks_;
  dra::Metrics metrics_;
  StepExecutor executor_;
  StepSession* session_ = nullptr;   // The driver's API owns it.
  dra::DriverLoop* loop_ = nullptr;  // The driver's.
  bool is_serving_ = false;
  bool is_due_ = true;  // Something has changed since the last turn.
  dra::TimePoint next_turn_ = {};
  std::map<int, std::stop_source> open_;  // Calls that are not answered, by ticket.
  std::vector<PluginAnswer> answers_;
};

}  // namespace simulation
