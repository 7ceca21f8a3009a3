// Goal: however much work one domain, one tenant or one rollout makes, the status of an unrelated
// domain is written soon after it has to change.
// Method: the product's own controller, passes, queue and slots, with as many workers, in virtual
// time over a server that answers each request after 10 ms. Under each load, daemons of unrelated
// domains fail at random moments; what is measured is the time until the status says so. The same
// once more with a queue that is first in, first out shows that the load is one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/compute_domain/controller.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/http/slots.h"
#include "pkg/kube/testing/fakes.h"
#include "pkg/kube/workqueue/work_queue.h"
#include "test/fixtures/domain_maker.h"
#include "test/fixtures/map_server.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using fixtures::DomainMaker;
using fixtures::Stored;
using kube::WorkQueue;
using std::chrono::milliseconds;
using std::chrono::seconds;
using TimePoint = base::Clock::TimePoint;

constexpr milliseconds kAnswer{10};
constexpr milliseconds kPromised{250};
// As controller/process has them.
constexpr int kWorkers = 32;
constexpr int kInFlight = 16;
constexpr int kKeptBack = 4;

enum class Order { kFair, kFifo };

// As Converged(), with so many nodes, 18 to a clique, and no job.
Observed Idle(int nodes) {
  Observed observed = fixtures::Converged();
  Children& children = observed.children;
  children.daemon_pods.clear();
  children.claims.clear();
  children.labelled_nodes.clear();
  children.cliques.clear();
  observed.domain->status = {};
  for (int i = 0; i < nodes; ++i) {
    const std::string node = "node-" + std::to_string(i);
    children.daemon_pods.push_back(fixtures::MakePod(node, i));
    children.claims.push_back(fixtures::MakeDaemonClaim(node));
    children.labelled_nodes.push_back(fixtures::MakeNode(node));
    if (i % 18 == 0) {
      children.cliques.push_back(fixtures::MakeClique());
      children.cliques.back().id += std::to_string(i);
      children.cliques.back().meta.key.name += std::to_string(i);
      children.cliques.back().daemons.clear();
    }
    children.daemon_pods.back().clique = children.cliques.back().id;
    children.cliques.back().daemons.push_back(fixtures::MakeMember(node, i % 18));
  }
  return observed;
}

class World {
 public:
  explicit World(Order order)
      : order_(order), queue_(order == Order::kFair ? LargestShare(kWorkers) : kWorkers) {
    controller_.Start();
    for (int i = 0; i < kWorkers; ++i) workers_.emplace_back();
  }

  fixtures::MapServer& server() { return server_; }
  Controller& controller() { return controller_; }
  TimePoint now() const { return clock_.Now(); }

  // What is on the server now is old news.
  void Begin() {
    server_.ShowAll(controller_.cache());
    server_.Follow(controller_.cache());
    works_ = true;
  }
  void At(TimePoint when, std::function<void()> what) { events_.emplace(when, std::move(what)); }
  void RunFor(milliseconds time) {
    const TimePoint end = now() + time;
    for (;;) {
      Dispatch();
      TimePoint next = end;
      if (!events_.empty()) next = std::min(next, events_.begin()->first);
      const auto due = queue_.NextDue();
      if (due && *due > now()) next = std::min(next, *due);  // Else every worker has a pass.
      clock_.Advance(next - now());
      if (!events_.empty() && events_.begin()->first <= now()) {
        const auto what = std::move(events_.extract(events_.begin()).mapped());
        what();
        continue;
      }
      if (now() >= end) return;
    }
  }
  // `listen` is called with each request as its answer leaves the server.
  void Listen(std::function<void(const http::Request&)> listen) {
    listeners_.push_back(std::move(listen));
  }

 private:
  struct Worker {
    kube::Uid uid = {};
    std::optional<ReconcilePass> pass = {};
    std::vector<http::Request> requests = {};
    std::vector<std::optional<base::Result<http::Response>>> replies = {};
    std::size_t next = 0;
    int held = 0;
    std::size_t missing = 0;
    std::optional<std::uint64_t> place = {};
  };

  void Enqueue(const kube::Uid& uid, const WorkQueue::AddOptions& options) {
    if (!works_) return;
    queue_.Add(uid, now(), order_ == Order::kFair ? options : WorkQueue::AddOptions());
  }

  // Whatever may move now moves.
  void Dispatch() {
    for (auto worker_at = workers_.begin(); worker_at != workers_.end();) {
      Worker& worker = *worker_at;
      if (worker.pass) {  // Else it is free, or free again: some passes send nothing.
        ++worker_at;
        continue;
      }
      const std::optional<std::string> uid = queue_.Get(now());
      if (!uid) break;
      worker.uid = *uid;
      worker.pass.emplace(controller_.shared(), *uid);
      GoOn(worker);
    }
    for (Worker& worker : workers_) {
      if (worker.pass) Send(worker);
    }
  }

  void GoOn(Worker& worker) {
    worker.requests = worker.pass->Next();
    worker.replies.assign(worker.requests.size(), std::nullopt);
    worker.next = 0;
    worker.missing = worker.requests.size();
    if (worker.missing > 0) {
      slots_.Join();
    } else {
      End(worker);
    }
  }

  // As CurlTransport::SendAll does.
  void Send(Worker& worker) {
    while (worker.next < worker.requests.size()) {
      if (worker.held > 0) {
        if (!slots_.TryTake(worker.held)) return;
      } else {
        if (!worker.place) worker.place = slots_.StartWait();
        if (!slots_.TakeWaiting(*worker.place)) return;
        worker.place.reset();
      }
      ++worker.held;
      const std::size_t i = worker.next++;
      At(now() + kAnswer, [this, &worker, i] { Answer(worker, i); });
    }
  }

  void Answer(Worker& worker, std::size_t i) {
    worker.replies[i] = server_.Serve(worker.requests[i]);
    server_.ForgetLines();
    for (const auto& listen : listeners_) listen(worker.requests[i]);
    slots_.GiveBack();
    --worker.held;
    if (--worker.missing > 0) return;
    slots_.Leave();
    std::vector<base::Result<http::Response>> replies;
    replies.reserve(worker.replies.size());
    for (auto& reply : worker.replies) replies.push_back(*std::move(reply));
    worker.pass->HandleReplies(std::move(replies));
    GoOn(worker);
  }

  void End(Worker& worker) {
    const Outcome outcome = worker.pass->outcome();
    worker.pass.reset();
    WorkQueue::Ended ended = controller_.Finish(worker.uid, outcome);
    if (order_ == Order::kFifo) ended.priority = WorkQueue::Priority::kNormal;
    queue_.Done(worker.uid, now(), ended);
  }

  const Order order_;
  bool works_ = false;
  base::ManualClock clock_{fixtures::Now().wall};
  kube::NoLog logger_;
  kube::FixedRandom random_{kube::FixedRandom::Side::kLow};
  fixtures::MapServer server_;
  WorkQueue queue_;
  http::Slots slots_{kInFlight, kKeptBack};
  Controller controller_{
      fixtures::MakeFacts(),
      {.enqueue = [this](const kube::Uid& uid, const auto& options) { Enqueue(uid, options); },
       .record = [](const auto&) {}},
      clock_,
      random_,
      logger_};
  std::multimap<TimePoint, std::function<void()>> events_;
  std::deque<Worker> workers_;
  std::vector<std::function<void(const http::Request&)>> listeners_;
};

// A user asks for the deletion of the domain.
void Delete(World& world, const kube::ObjectKey& key) {
  json::Value domain = world.server().Get(Kind::kComputeDomain, key);
  if (domain.IsNull() || !domain["metadata"]["deletionTimestamp"].IsNull()) return;
  domain["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
  world.server().Put({.kind = Kind::kComputeDomain, .object = std::move(domain)});
}

// Domains of other tenants, of each of which a daemon fails once.
class Victims {
 public:
  static constexpr int kCount = 100;

  // Before the world begins.
  explicit Victims(World& world) : world_(world) {
    for (int i = 0; i < kCount; ++i) {
      victims_.push_back({.maker = DomainMaker(i, "victim-" + std::to_string(i)), .failed = {}});
      world.server().PutAll(victims_.back().maker.All(fixtures::Converged()));
    }
    world.Listen([this](const http::Request& request) { OnAnswer(request); });
  }

  // At random moments from now on.
  void FailWithin(milliseconds time) {
    std::mt19937 random(1);
    for (std::size_t i = 0; i < victims_.size(); ++i) {
      world_.At(world_.now() + milliseconds(random() % static_cast<unsigned>(time.count())),
                [this, i] { Fail(victims_[i]); });
    }
  }

  // Of the times until the status said so.
  milliseconds Percentile99() {
    EXPECT_EQ(static_cast<int>(took_.size()), kCount) << "a status was never written";
    std::ranges::sort(took_);
    return took_.empty() ? milliseconds::max() : took_[took_.size() * 99 / 100 - 1];
  }

 private:
  struct Victim {
    DomainMaker maker;
    std::optional<TimePoint> failed;
  };

  void Fail(Victim& victim) {
    api::DaemonPod pod = fixtures::MakePod("node-1", 1);
    pod.ready = false;
    victim.failed = world_.now();
    world_.server().Put(victim.maker.Of(fixtures::Store(pod)));
  }

  void OnAnswer(const http::Request& request) {
    if (request.method == http::Method::kGet || request.path.find("/status") == std::string::npos) {
      return;
    }
    for (Victim& victim : victims_) {
      if (!victim.failed ||
          request.path.find("/" + victim.maker.key().name + "/") == std::string::npos) {
        continue;
      }
      const json::Value domain = world_.server().Get(Kind::kComputeDomain, victim.maker.key());
      if (domain["status"]["status"].AsString() == "Ready") continue;
      took_.push_back(std::chrono::duration_cast<milliseconds>(world_.now() - *victim.failed));
      victim.failed.reset();
    }
  }

  World& world_;
  std::vector<Victim> victims_;
  std::vector<milliseconds> took_;
};

milliseconds Measure(Order order, milliseconds time, const std::function<void(World&)>& make,
                     const std::function<void(World&)>& load) {
  World world(order);
  Victims victims(world);
  make(world);
  world.Begin();
  load(world);
  victims.FailWithin(time);
  world.RunFor(time + seconds(2));
  const milliseconds p99 = victims.Percentile99();
  std::printf("%s: p99 %d ms\n", order == Order::kFair ? "fair" : "first in, first out",
              static_cast<int>(p99.count()));
  return p99;
}

void Nothing(World& /*world*/) {}

TEST(Fairness, UnrelatedDomain_WaitsForItsOwnRequests_WhereThereIsNoLoad) {
  EXPECT_LE(Measure(Order::kFair, seconds(5), Nothing, Nothing), 4 * kAnswer);
}

template <int count>
void MakeDomainsToRepair(World& world) {
  for (int i = 0; i < count; ++i) {
    Observed observed = fixtures::Converged();
    observed.children.daemon_sets.front().template_hash = "old";
    world.server().PutAll(DomainMaker(1000 + i, "tenant-" + std::to_string(i % 300)).All(observed));
  }
}
void EnqueueAll(World& world) { world.controller().Start(); }

TEST(Fairness, UnrelatedDomain_IsServed_WhileAThousandAreRolledOut) {
  EXPECT_LT(Measure(Order::kFair, seconds(2), MakeDomainsToRepair<1000>, EnqueueAll), kPromised);
  EXPECT_GT(Measure(Order::kFifo, seconds(2), MakeDomainsToRepair<500>, EnqueueAll), kPromised);
}

// A daemon of the domain becomes ready, or not, every 5 ms.
void Flap(World& world, const DomainMaker& maker, int nodes, int turn) {
  const int number = turn % nodes;
  api::DaemonPod pod = fixtures::MakePod("node-" + std::to_string(number), number);
  pod.ready = turn / nodes % 2 == 1;
  world.server().Put(maker.Of(fixtures::Store(pod)));
  world.At(world.now() + milliseconds(5),
           [&world, maker, nodes, turn] { Flap(world, maker, nodes, turn + 1); });
}

constexpr int kLarge = 1000;
DomainMaker LargeDomain() { return DomainMaker(1000, "large"); }

void MakeLargeDomain(World& world) { world.server().PutAll(LargeDomain().All(Idle(kLarge))); }
void FlapAndDelete(World& world) {
  Flap(world, LargeDomain(), kLarge, 0);
  world.At(world.now() + milliseconds(500), [&world] { Delete(world, LargeDomain().key()); });
}

// It is one key, and takes one worker: no queue could do wrong. Its requests are a thousand.
TEST(Fairness, UnrelatedDomain_IsServed_BesideOneOfAThousandNodes) {
  EXPECT_LT(Measure(Order::kFair, seconds(1), MakeLargeDomain, FlapAndDelete), kPromised);
}

TEST(LiveReads, REV3_Q1_DomainThatIsDeletedWhileItForms_IsReadEvery50Milliseconds) {
  constexpr milliseconds kForms{125};
  World world(Order::kFair);
  const DomainMaker maker(1, "team");
  world.server().PutAll(maker.All(Idle(4)));
  std::vector<milliseconds> reads;
  const TimePoint begin = world.now();
  world.Listen([&](const http::Request& request) {
    const bool is_domain = request.path.ends_with("/" + maker.key().name);
    if (request.method != http::Method::kGet || !is_domain) return;
    reads.push_back(std::chrono::duration_cast<milliseconds>(world.now() - begin));
  });
  world.Begin();
  Flap(world, maker, 4, 0);
  Delete(world, maker.key());
  world.RunFor(kForms);
  ASSERT_FALSE(reads.empty());
  EXPECT_EQ(reads.front(), kAnswer) << "the first is not put off";
  EXPECT_LE(reads.size(), 3U);
}

constexpr int kLargeOnes = 40;
DomainMaker LargeOne(int i) { return DomainMaker(1000 + i, "tenant"); }

void MakeLargeDomains(World& world) {
  for (int i = 0; i < kLargeOnes; ++i) world.server().PutAll(LargeOne(i).All(Idle(100)));
}
void DeleteThem(World& world) {
  for (int i = 0; i < kLargeOnes; ++i) Delete(world, LargeOne(i).key());
}

TEST(Fairness, UnrelatedDomain_IsServed_WhileATenantDeletesManyLargeOnes) {
  EXPECT_LT(Measure(Order::kFair, seconds(1), MakeLargeDomains, DeleteThem), kPromised);
  EXPECT_GT(Measure(Order::kFifo, seconds(1), MakeLargeDomains, DeleteThem), kPromised);
}

// Creates a domain, deletes it as soon as it has a status, creates the next, and so on.
class Loop {
 public:
  static constexpr int kAtOnce = 200;

  void Begin(World& world) {
    world.Listen([this, &world](const http::Request& request) {
      if (request.method != http::Method::kPatch) return;
      const std::size_t at = request.path.find("/namespaces/loop/computedomains/train");
      if (at == std::string::npos) return;
      const std::string name = Name(request.path);
      if (request.path.find("/status") != std::string::npos) {
        Delete(world, {.ns = "loop", .name = name});
      } else if (world.server().Get(Kind::kComputeDomain, {.ns = "loop", .name = name}).IsNull()) {
        Create(world);
      }
    });
    for (int i = 0; i < kAtOnce; ++i) Create(world);
  }
  int created() const { return created_; }

 private:
  static std::string Name(const std::string& path) {
    const std::string before = "/computedomains/";
    const std::size_t at = path.find(before) + before.size();
    return path.substr(at, path.find_first_of("/?", at) - at);
  }
  void Create(World& world) {
    Observed fresh = fixtures::Converged();
    fresh.domain->meta.finalizers.clear();
    fresh.domain->status = {};
    world.server().Put(DomainMaker(1000 + created_++, "loop").Of(fixtures::Store(*fresh.domain)));
  }

  int created_ = 0;
};

milliseconds MeasureLoop(Order order) {
  Loop loop;
  const milliseconds p99 =
      Measure(order, seconds(2), Nothing, [&loop](World& world) { loop.Begin(world); });
  EXPECT_GT(loop.created(), 3 * Loop::kAtOnce / 2) << "it does not go round";
  return p99;
}

TEST(Fairness, UnrelatedDomain_IsServed_WhileATenantCreatesAndDeletes) {
  EXPECT_LT(MeasureLoop(Order::kFair), kPromised);
  EXPECT_GT(MeasureLoop(Order::kFifo), kPromised);
}

}  // namespace
}  // namespace compute_domain
