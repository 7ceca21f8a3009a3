// One process of a kubelet plugin in the simulation: the product's loop, reflectors and rules.
//
// It moves one frame of a watch, one task or one turn of the loop at a time. Destroying it is a
// crash. For one thread. Time is the store's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "node/plugin/api/plugin_api.h"
#include "node/plugin/loop/plugin_loop.h"
#include "test/simulation/cluster/process_parts.h"
#include "test/simulation/plugin/disk.h"
#include "test/simulation/plugin/session.h"

namespace simulation {

struct PluginOptions {
  std::string client = {};
  std::string node = {};
  plugin::Rules rules = {};
  plugin::Instances instances = {};
  // As in plugin::HostReader.
  std::function<std::string()> driver_mark = {};
  std::function<base::Result<plugin::DriverRead>()> read_driver = {};
  // The revision that it sees at first.
  Revision old_view = kNewest;
  std::uint64_t seed = 1;
};

using Verb = plugin::Metrics::Operation;
struct PluginAnswer {
  Verb verb = Verb::kPrepare;
  int ticket = 0;
  kube::Uid uid = {};
  std::string error = {};
  std::vector<std::string> cdi_ids = {};
};

class Plugin {
 public:
  Plugin(ApiServer& server, DiskContent& disk, PluginOptions options, Serve serve, EditDisk edit);
  ~Plugin();

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

 private:
  class Host;

  Revision View() const;
  void TakeTurn();

  const PluginOptions options_;
  const Serve serve_;
  StoreClock clock_;
  const Time born_;
  SeededRandom random_;
  RingLogger logger_;
  base::TaskQueue tasks_;
  const plugin::Settings settings_;
  plugin::Metrics metrics_;
  ProcessDisk disk_;
  std::unique_ptr<Host> host_;
  StepExecutor executor_;
  StepSession* session_ = nullptr;  // Of `api_`.
  std::unique_ptr<plugin::PluginApi> api_;
  std::unique_ptr<plugin::PluginLoop> loop_;
  bool is_serving_ = false;
  bool is_due_ = true;  // Something has changed since the last turn.
  plugin::TimePoint next_turn_ = {};
  std::map<int, std::stop_source> open_;  // Calls that are not answered, by ticket.
  std::vector<PluginAnswer> answers_;
};

}  // namespace simulation
