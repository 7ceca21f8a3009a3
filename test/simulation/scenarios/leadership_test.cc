// Replicas that elect a leader while ComputeDomains cannot be read now and then.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "test/simulation/apiserver/contract.h"
#include "test/simulation/cluster/peers.h"
#include "test/simulation/scenarios/replica.h"

namespace simulation {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr seconds kGivesUpWithin{75};

// Two replicas of cdom and, if asked for, a stand-in for NVIDIA's controller, which keeps the Lease
// whatever it can read.
class Electorate {
 public:
  // If `never_read` is not null, each read of that kind fails, from the start and for ever.
  explicit Electorate(std::uint64_t seed, std::optional<Kind> never_read = {})
      : random_(seed),
        is_out_(never_read.has_value()),
        refused_(never_read.value_or(Kind::kComputeDomain)) {
    for (std::size_t slot = 0; slot < 2; ++slot) {
      replicas_.emplace_back();
      Start(slot, {});
    }
  }

  void AddNvidias() {
    nvidias_.emplace(
        kube::ObjectKey{.ns = std::string(kDriverNamespace), .name = std::string(kLeaseName)},
        "nvidias", kube::LeaseTiming(), clock_, nvidias_random_, logger_);
  }

  // Lets ComputeDomains answer 500 for minutes, again and again.
  void RunWithOutages(minutes time) {
    const Time end = cluster_.now() + time;
    while (cluster_.now() < end) {
      RunFor(DrawMinutes());
      RunOutage(DrawMinutes());
    }
  }
  void RunOutage(seconds time) {
    is_out_ = true;
    out_since_ = cluster_.now();
    for (const auto& replica : replicas_) replica->ExpireWatches();
    RunFor(time);
    is_out_ = false;
  }
  void RunFor(seconds time) {
    const Time end = cluster_.now() + time;
    while (cluster_.now() < end) {
      while (Step()) CheckLeader();
      CheckLeader();
      cluster_.Advance(std::max<std::chrono::microseconds>(NextDue(end) - cluster_.now(), kTick));
    }
  }

  // Returns the holder of the Lease. Empty if there is none.
  std::string Holder() const {
    const ObjectPtr lease = cluster_.store().Get(
        Kind::kLease, {.ns = std::string(kDriverNamespace), .name = std::string(kLeaseName)});
    return lease ? (*lease)["spec"]["holderIdentity"].AsString() : "";
  }
  int changes() const { return changes_; }
  Cluster& cluster() { return cluster_; }
  // Returns how long one of ours led at most without a ComputeDomain that it could read.
  std::chrono::microseconds led_blind() const { return led_blind_; }

 private:
  static constexpr std::chrono::microseconds kTick{1'000};

  void Start(std::size_t slot, const kube::Fitness& fitness) {
    const std::string client = "controller-" + std::to_string(++processes_);
    const ReplicaOptions options = {
        .client = client, .seed = random_() % 1'000, .fitness = fitness};
    replicas_[slot] = std::make_unique<Replica>(
        cluster_.server(), options,
        [this, client](const http::Request& request) -> base::Result<http::Response> {
          return IsRefused(request) ? http::Response{.status = 500}
                                    : cluster_.server().Handle(client, request);
        },
        [this, client](const http::Request& request) -> base::Result<WatchStream> {
          return IsRefused(request) ? WatchStream(http::Response{.status = 500})
                                    : cluster_.server().OpenWatch(client, request);
        });
  }
  bool IsRefused(const http::Request& request) const {
    const KindInfo* kind = ParseTarget(request.method, request.path).kind;
    return is_out_ && request.method == http::Method::kGet && kind != nullptr &&
           kind->kind == refused_;
  }
  seconds DrawMinutes() { return seconds(60 + random_() % 180); }

  bool Step() {
    bool moved = false;
    for (std::size_t slot = 0; slot < replicas_.size(); ++slot) {
      if (replicas_[slot]->HasEnded()) {
        const kube::Fitness fitness = replicas_[slot]->fitness();
        replicas_[slot].reset();
        Start(slot, fitness);
      }
      moved = replicas_[slot]->Step() || moved;
    }
    if (!nvidias_) return moved;
    const kube::LeaderElector::Next next = nvidias_->Poll();
    nvidias_until_ = next.until;
    if (next.request) nvidias_->OnReply(cluster_.server().Handle("nvidias", *next.request));
    return moved || next.request;
  }
  Time NextDue(Time end) const {
    Time due = end;
    for (const auto& replica : replicas_) due = std::min(due, replica->NextDue().value_or(end));
    if (nvidias_) due = std::min(due, clock_.ToWall(nvidias_until_));
    return due;
  }
  void CheckLeader() {
    const std::string holder = Holder();
    if (!holder.empty() && holder != leader_) {
      changes_ += leader_.empty() ? 0 : 1;
      leader_ = holder;
    }
    const bool is_ours = holder.starts_with("controller-");
    if (is_out_ && is_ours) led_blind_ = std::max(led_blind_, cluster_.now() - out_since_);
  }

  Cluster cluster_;
  std::mt19937_64 random_;
  int processes_ = 0;
  std::vector<std::unique_ptr<Replica>> replicas_;
  StoreClock clock_{cluster_.store()};
  kube::SeededRandom nvidias_random_{1};
  RingLogger logger_;
  std::optional<kube::LeaderElector> nvidias_;
  base::Clock::TimePoint nvidias_until_ = {};
  bool is_out_ = false;
  Kind refused_ = Kind::kComputeDomain;  // Cannot be read while `is_out_`.
  Time out_since_ = {};
  std::string leader_;
  int changes_ = 0;
  std::chrono::microseconds led_blind_{0};
};

TEST(Leadership, REV4_K8_BesideNvidias_ChangesThreeTimesAtMost) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Electorate electorate(seed);
    electorate.RunFor(seconds(10));
    EXPECT_TRUE(electorate.Holder().starts_with("controller-"));
    electorate.AddNvidias();
    electorate.RunWithOutages(minutes(30));
    EXPECT_LE(electorate.changes(), 3) << "seed " << seed;
    EXPECT_LE(electorate.led_blind(), kGivesUpWithin) << "seed " << seed;
    EXPECT_EQ(electorate.Holder(), "nvidias") << "it serves what cdom could not";
  }
}

// Where nobody else can lead, nobody leads while domains cannot be read.
TEST(Leadership, REV4_K8_AmongOurs_NobodyLeadsBlindly) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Electorate electorate(seed);
    electorate.RunWithOutages(minutes(30));
    EXPECT_LE(electorate.led_blind(), kGivesUpWithin) << "seed " << seed;
    EXPECT_LE(electorate.changes(), 5) << "seed " << seed << ": each gives up ever more rarely";
    electorate.RunFor(minutes(11));
    EXPECT_NE(electorate.Holder(), "") << "the longest wait is ten minutes";
  }
}

// What needs the kind waits, and all else is done. Nobody gives the Lease up.
TEST(Leadership, REV4_K8_KindThatIsNeverRead_HoldsUpWhatNeedsIt) {
  const kube::ObjectKey key = {.ns = "train", .name = "job"};
  for (const Kind kind : {Kind::kDaemonSet, Kind::kClaimTemplate, Kind::kClique, Kind::kPod,
                          Kind::kClaim, Kind::kNode, Kind::kSlice}) {
    SCOPED_TRACE(Describe(kind).resource.plural);
    Electorate electorate(1, kind);
    electorate.cluster().AddNamespace(key.ns);
    electorate.cluster().CreateDomain(key, "channel");
    electorate.RunFor(minutes(30));
    EXPECT_TRUE(electorate.Holder().starts_with("controller-"));
    EXPECT_EQ(electorate.changes(), 0);
    const ObjectStore& store = electorate.cluster().store();
    const bool is_child = kind == Kind::kDaemonSet || kind == Kind::kClaimTemplate;
    EXPECT_EQ(store.Live(Kind::kDaemonSet).size(), is_child ? 0U : 1U);
    EXPECT_EQ(store.Live(Kind::kClaimTemplate).size(), is_child ? 0U : 2U);
    const json::Value& status = store.Get(Kind::kComputeDomain, key)->value()["status"];
    EXPECT_EQ(status["status"].AsString(), is_child ? "NotReady" : "Ready");
  }
}

// Each replica has given up once, and then none can serve for a minute without a break.
TEST(Leadership, REV4_K8_ShortRecovery_IsNoReasonToLead) {
  Electorate electorate(1);
  electorate.RunFor(seconds(10));
  for (int outage = 0; outage < 10; ++outage) {
    electorate.RunOutage(minutes(2));
    electorate.RunFor(seconds(40));
  }
  EXPECT_EQ(electorate.changes(), 1);
  EXPECT_EQ(electorate.Holder(), "");
}

}  // namespace
}  // namespace simulation
