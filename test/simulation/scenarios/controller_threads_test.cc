// Goal: watch thread and workers share state, cache and queue without a race, in each order of
// leaders and whenever the process ends; ThreadSanitizer looks on. Method: the product's own parts
// on threads of their own, as controller/process has them, over the simulated cluster, which is
// behind one lock.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "controller/compute_domain/controller.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/http/gate.h"
#include "pkg/kube/testing/fakes.h"
#include "pkg/kube/workqueue/work_queue.h"
#include "test/simulation/apiserver/contract.h"
#include "test/simulation/cluster/peers.h"
#include "test/simulation/cluster/watcher.h"

namespace simulation {
namespace {

using std::chrono::milliseconds;

constexpr int kWorkers = 8;
constexpr int kDomains = 6;
constexpr milliseconds kTick{20};

// The cluster, and a signal that its time has advanced.
struct Shared {
  std::mutex mutex = {};
  Cluster cluster = Cluster();  // Under `mutex`.
  std::condition_variable_any ticked = {};
  base::ManualClock clock{Cluster::kStart};
  std::atomic<bool> leads = true;
  std::atomic<int> at_once = 0;       // Passes that are under way,
  std::atomic<int> most_at_once = 0;  // and the most that ever were.
};

compute_domain::Facts FactsOf(bool controller_writes) {
  compute_domain::Facts facts;
  facts.settings.Edit().driver_namespaces = {std::string(kDriverNamespace)};
  facts.settings.Edit().daemons = {
      .ns = std::string(kDriverNamespace), .image = "cdom", .controller_writes = controller_writes};
  return facts;
}

// One process of the controller, on nine threads. To destroy it is to shut it down, whatever its
// workers are at.
class Process {
 public:
  Process(Shared& shared, std::string client, bool controller_writes)
      : shared_(shared),
        client_(std::move(client)),
        controller_(
            FactsOf(controller_writes),
            {.enqueue = [this](const std::string& uid,
                               const kube::WorkQueue::AddOptions& options) { Add(uid, options); },
             .record = [](const auto&) {}},
            shared.clock, random_, logger_) {
    threads_.emplace_back([this](const std::stop_token& stop) { Watch(stop); });
    for (int i = 0; i < kWorkers; ++i) {
      threads_.emplace_back([this](const std::stop_token& stop) { Work(stop); });
    }
  }
  ~Process() {
    gate_.Close(milliseconds(0));
    for (std::jthread& thread : threads_) thread.request_stop();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

 private:
  void Add(const std::string& uid, const kube::WorkQueue::AddOptions& options) {
    const std::scoped_lock lock(queue_mutex_);
    queue_.Add(uid, shared_.clock.Now(), options);
  }

  // Until time goes on.
  void Wait(const std::stop_token& stop) {
    std::unique_lock lock(shared_.mutex);
    const auto before = shared_.cluster.now();
    shared_.ticked.wait(lock, stop, [&] { return shared_.cluster.now() != before; });
  }

  void Watch(const std::stop_token& stop) {
    std::unique_lock begin(shared_.mutex);
    const StoreClock clock(shared_.cluster.store(), Cluster::kStart);
    const Serve serve = [this](const http::Request& request) {
      return shared_.cluster.server().Handle(client_, request);
    };
    std::deque<Watcher> watchers;
    for (kube::Reflector& reflector : controller_.reflectors()) {
      watchers.emplace_back(reflector, shared_.cluster.server(), client_, serve, clock);
    }
    begin.unlock();
    while (!stop.stop_requested()) {
      bool moved = false;
      for (Watcher& watcher : watchers) {
        const std::scoped_lock lock(shared_.mutex);
        moved = watcher.Step(kNewest) || moved;
      }
      controller_.Observe();
      if (!moved) Wait(stop);
    }
  }

  void Work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::optional<std::string> uid;
      if (controller_.CanServe() && shared_.leads) {
        if (!begun_.exchange(true)) controller_.Start();
        const std::scoped_lock lock(queue_mutex_);
        uid = queue_.Get(shared_.clock.Now());
      }
      if (!uid) {
        Wait(stop);
        continue;
      }
      ++shared_.at_once;
      MeetAnother(stop);
      Reconcile(*uid);
      --shared_.at_once;
    }
  }

  // Where a pass ends before another thread is run, no two would ever be at it. So the first ones
  // wait for one another, for a while.
  void MeetAnother(const std::stop_token& stop) {
    const auto until = shared_.clock.Now() + std::chrono::minutes(1);
    while (shared_.most_at_once < 2 && shared_.clock.Now() < until && !stop.stop_requested()) {
      const int now = shared_.at_once;
      int most = shared_.most_at_once;
      while (most < now && !shared_.most_at_once.compare_exchange_weak(most, now)) {
      }
      std::this_thread::yield();
    }
  }

  void Reconcile(const std::string& uid) {
    compute_domain::ReconcilePass pass(controller_.shared(), uid);
    for (auto requests = pass.Next(); !requests.empty(); requests = pass.Next()) {
      std::vector<base::Result<http::Response>> replies;
      for (const http::Request& request : requests) replies.push_back(Send(request));
      pass.HandleReplies(std::move(replies));
    }
    const kube::WorkQueue::Ended ended = controller_.Finish(uid, pass.outcome());
    const std::scoped_lock lock(queue_mutex_);
    queue_.Done(uid, shared_.clock.Now(), ended);
  }

  base::Result<http::Response> Send(const http::Request& request) {
    if (const auto admitted = gate_.Admit(request); !admitted) {
      return tl::unexpected(admitted.error());
    }
    const std::scoped_lock lock(shared_.mutex);
    return shared_.cluster.server().Handle(client_, request);
  }

  Shared& shared_;
  const std::string client_;
  SeededRandom random_{1};
  kube::NoLog logger_;
  std::mutex queue_mutex_;
  kube::WorkQueue queue_;  // Under `queue_mutex_`.
  std::atomic<bool> begun_ = false;
  http::Gate gate_{[this] { return shared_.leads.load(); }, shared_.clock};
  compute_domain::Controller controller_;
  std::vector<std::jthread> threads_;  // Last: they end first.
};

class ControllerThreads : public testing::TestWithParam<bool> {
 protected:
  ControllerThreads() {
    shared.cluster.AddNamespace("train");
    for (int i = 0; i < 2 * kDomains; ++i) {
      shared.cluster.AddNode("node-" + std::to_string(i), "c" + std::to_string(i / 2) + ".0");
    }
    shared.cluster.Settle();
  }

  static kube::ObjectKey Domain(int i) {
    return {.ns = "train", .name = "job-" + std::to_string(i)};
  }

  // Time passes, and the cluster moves, until that holds.
  void RunUntil(const char* what, const std::function<bool(Cluster&)>& done) {
    const bool is_done = base::WaitUntil([&] {
      {
        const std::scoped_lock lock(shared.mutex);
        if (done(shared.cluster)) return true;
        for (const auto& peer : shared.cluster.peers()) (void)peer->Step(shared.cluster.now());
        shared.cluster.Advance(kTick);
        shared.clock.Advance(kTick);
      }
      shared.ticked.notify_all();
      return false;
    });
    ASSERT_TRUE(is_done) << what;
  }
  void RunFor(int ticks) {
    RunUntil("time passes", [&](Cluster&) { return ticks-- == 0; });
  }

  void StartJobs() {
    const std::scoped_lock lock(shared.mutex);
    for (int i = 0; i < kDomains; ++i) {
      const std::string channel = "channel-" + std::to_string(i);
      shared.cluster.CreateDomain(Domain(i), channel);
      const std::string node = "node-";
      jobs.push_back(&shared.cluster.AddWorkload(
          {.ns = "train", .name = "pods-" + std::to_string(i)}, channel,
          {node + std::to_string(2 * i), node + std::to_string(2 * i + 1)}));
    }
  }
  static bool AllJobsRun(Cluster& cluster) {
    int ready = 0;
    for (const auto& [key, pod] : cluster.store().Live(Kind::kPod)) {
      ready += key.ns == "train" && IsPodReady(*pod) ? 1 : 0;
    }
    return ready == 2 * kDomains;
  }
  void EndJobs() {
    const std::scoped_lock lock(shared.mutex);
    for (Workload* job : jobs) job->Finish();
    for (int i = 0; i < kDomains; ++i) EXPECT_TRUE(shared.cluster.DeleteDomain(Domain(i)).ok());
  }
  static bool NothingIsLeft(Cluster& cluster) {
    for (const Kind kind : {Kind::kComputeDomain, Kind::kDaemonSet, Kind::kClaimTemplate,
                            Kind::kClique, Kind::kPod, Kind::kClaim}) {
      if (!cluster.store().Live(kind).empty()) return false;
    }
    return std::ranges::all_of(cluster.store().Live(Kind::kNode), [](const auto& node) {
      return node.second->Label(kDomainLabel).empty();
    });
  }

  Shared shared;
  std::vector<Workload*> jobs;
};

TEST_P(ControllerThreads, T7_B34_WorkersWatchesAndTermsMeetWithoutARace) {
  StartJobs();
  {
    const Process first(shared, "controller-1", GetParam());
    RunUntil("a daemon pod is made", [](Cluster& cluster) {
      return std::ranges::any_of(cluster.store().Live(Kind::kPod),
                                 [](const auto& pod) { return pod.first.ns == kDriverNamespace; });
    });
  }  // It is shut down amid its passes.
  const Process second(shared, "controller-2", GetParam());
  for (int term = 0; term < 5; ++term) {
    shared.leads = false;
    RunFor(10);
    shared.leads = true;
    RunFor(25);
  }
  RunUntil("all jobs run", AllJobsRun);
  EndJobs();
  RunFor(10);
  shared.leads = false;
  RunFor(10);
  shared.leads = true;
  RunUntil("nothing is left", NothingIsLeft);
  EXPECT_GT(shared.most_at_once, 1) << "its workers never met";
}

INSTANTIATE_TEST_SUITE_P(Manners, ControllerThreads, testing::Bool(), [](const auto& manner) {
  return std::string(manner.param ? "ControllerWrites" : "DaemonWrites");
});

}  // namespace
}  // namespace simulation
