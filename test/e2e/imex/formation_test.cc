// Cliques of daemons in virtual time: the step of the product's daemon, as many of it as a clique
// has, over an API server whose watches are late, and an IMEX that looks addresses up at its start
// and at a signal, of which it hears one in 5 s. Everything is drawn from a seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/api/names.h"
#include "node/daemon/clique.h"
#include "node/daemon/step.h"
#include "pkg/json/reader.h"
#include "pkg/kube/api/meta.h"
#include "test/cluster/nodesim/seeded_random.h"

namespace imex_daemon {
namespace {

using nodesim::SeededRandom;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kDeaf = seconds(5);
constexpr auto kOver = minutes(10);

struct Size {
  int daemons = 18;
  int clique = 18;
};

// One daemon, its pod and its IMEX.
struct Daemon {
  Daemon(std::uint64_t seed, const std::string& node) : random(seed, node) {}

  DaemonIdentity self = {};
  DaemonObservation observed = {};
  DaemonMemory memory = {};
  SeededRandom random;
  std::optional<TimePoint> wakes = {};
  // What IMEX has looked up, by index, and until when it hears no signal.
  std::map<int, std::string> knows = {};
  TimePoint deaf_until = {};
  int starts = 0;
  bool has_begun = false;
};

class World {
 public:
  World(Size size, MembershipWriter writer, std::uint64_t seed)
      : writer_(writer), random_(seed, "world"), now_(std::chrono::hours(1)) {
    for (int i = 0; i < size.daemons; ++i) {
      const std::string number = std::to_string(i);
      auto daemon = std::make_unique<Daemon>(seed, "node-" + number);
      daemon->self = {.domain = "0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a",
                      .clique = "f0e1." + std::to_string(i / size.clique),
                      .node = "node-" + number,
                      .ip = NewAddress(),
                      .pod = {.ns = "driver", .name = "pod-" + number},
                      .pod_uid = "uid-" + number,
                      .nodes_max = size.clique};
      daemons_.push_back(std::move(daemon));
    }
    // Pods start as their images and sandboxes come.
    for (const auto& daemon : daemons_)
      In(Drawn(0, 2'000), [this, d = daemon.get()] { Begins(*d); });
  }

  // How long it takes until all are connected, from when the last daemon began.
  std::optional<milliseconds> UntilConnected() {
    const TimePoint end = now_ + kOver;
    while (!events_.empty() && events_.begin()->first <= end) {
      TakeEvent();
      if (begun_ == daemons_.size() && std::exchange(looked_up_, false) && AllConnected()) {
        return std::chrono::duration_cast<milliseconds>(now_ - last_begun_);
      }
    }
    return {};
  }
  void Pass(std::chrono::nanoseconds time) {
    const TimePoint end = now_ + time;
    while (!events_.empty() && events_.begin()->first <= end) TakeEvent();
    now_ = end;
  }

  // The pod is replaced by one with another address, on the same node.
  void Replace(std::size_t number) {
    Daemon& old = *daemons_[number];
    auto next = std::make_unique<Daemon>(number, old.self.node + " again");
    next->self = old.self;
    next->self.ip = NewAddress();
    next->self.pod_uid += "-again";
    retired_.push_back(std::exchange(daemons_[number], std::move(next)));
    retired_.back()->observed.stopping = true;  // It takes no more turns.
    --begun_;
    Begins(*daemons_[number]);
  }

  // Each daemon of a clique reaches each other, and under the right index.
  bool AllConnected() const {
    return std::ranges::all_of(daemons_, [&](const auto& daemon) {
      return std::ranges::all_of(daemons_, [&](const auto& peer) {
        return peer->self.clique != daemon->self.clique || Reaches(*daemon, *peer);
      });
    });
  }
  const std::vector<std::unique_ptr<Daemon>>& daemons() const { return daemons_; }
  std::set<int> Indices(const std::string& clique) const {
    std::set<int> indices;
    for (const auto& daemon : daemons_) {
      if (daemon->self.clique == clique) indices.insert(daemon->observed.imex.index.value_or(-1));
    }
    return indices;
  }
  int conflicts() const { return conflicts_; }
  int writes() const { return writes_; }
  int signals() const { return signals_; }
  const std::string& log() const { return log_; }

 private:
  struct Stored {
    json::Value object = {};
    int version = 0;
  };

  std::string NewAddress() {
    const int number = addresses_++;
    return "10.0." + std::to_string(number / 250) + "." + std::to_string(1 + number % 250);
  }
  milliseconds Drawn(int least, int most) {
    return milliseconds(least + static_cast<int>(random_.Fraction() * (most - least)));
  }
  void In(std::chrono::nanoseconds time, std::function<void()> what) {
    events_.emplace(now_ + time, std::move(what));
  }
  void TakeEvent() {
    auto event = events_.extract(events_.begin());
    now_ = event.key();
    event.mapped()();
  }

  void Begins(Daemon& daemon) {
    ++begun_;
    last_begun_ = now_;
    daemon.has_begun = true;
    Turn(daemon);
    if (!cliques_.contains(daemon.self.clique)) return Tell(daemon, nullptr);
    Tell(daemon, Decoded(daemon.self.clique));
  }

  // IMEX of `daemon` looks for `peer` where it is, and means it.
  static bool Reaches(const Daemon& daemon, const Daemon& peer) {
    if (!daemon.observed.imex.runs || !peer.observed.imex.runs) return false;
    const auto known = daemon.knows.find(*peer.observed.imex.index);
    return known != daemon.knows.end() && known->second == peer.self.ip;
  }
  void LookUp(Daemon& daemon) {
    looked_up_ = true;
    daemon.knows.clear();
    for (const imex::HostsEntry& host : *daemon.memory.hosts) daemon.knows[host.index] = host.ip;
  }

  // Does what the step says, until it says nothing more.
  void Turn(Daemon& daemon) {
    while (true) {
      daemon.observed.now = now_;
      if (daemon.observed.stopping) return;
      const DaemonStep step = Decide(daemon.self, daemon.observed, daemon.memory);
      ASSERT_EQ(step.fatal, "");
      if (!Do(daemon, step)) return WakeAt(daemon, step.requeue_at);
    }
  }
  void WakeAt(Daemon& daemon, TimePoint when) {
    if (daemon.wakes && *daemon.wakes <= when && *daemon.wakes > now_) return;
    daemon.wakes = when;
    events_.emplace(when, [this, &daemon, when] {
      if (daemon.wakes == when) Turn(daemon);
    });
  }
  bool Do(Daemon& daemon, const DaemonStep& step) {
    const bool does = step.hosts || step.start || step.signal || step.ask || step.write;
    if (step.hosts) OnHostsWritten(daemon.memory, *step.hosts, daemon.observed.imex.runs, now_);
    if (step.start) Start(daemon);
    if (step.signal) Signal(daemon);
    if (step.ask) Ask(daemon);
    if (step.write) Write(daemon, *step.write, step.report);
    return does;
  }

  void Start(Daemon& daemon) {
    LookUp(daemon);
    Note(daemon, "starts IMEX");
    ++daemon.starts;
    int index = -1;
    for (const auto& [number, ip] : daemon.knows) {
      if (ip == daemon.self.ip) index = number;
    }
    daemon.observed.imex = {.runs = true, .since = now_, .started = "t", .index = index};
    OnStarted(daemon.memory, now_);
    In(seconds(1), [this, &daemon] {  // The kubelet's probe.
      daemon.observed.pod_ready = true;
      Turn(daemon);
    });
  }
  void Signal(Daemon& daemon) {
    ++signals_;
    OnSignalled(daemon.memory, now_);
    In(milliseconds(20), [this, &daemon] {
      if (now_ < daemon.deaf_until) return;
      daemon.deaf_until = now_ + kDeaf;
      LookUp(daemon);
    });
  }
  void Ask(Daemon& daemon) {
    daemon.observed.asking = true;
    In(Drawn(10, 40), [this, &daemon] {
      std::set<int> connected;
      for (const auto& peer : daemons_) {
        const bool is_peer = peer.get() != &daemon && peer->self.clique == daemon.self.clique;
        if (is_peer && Reaches(daemon, *peer)) connected.insert(*peer->observed.imex.index);
      }
      daemon.observed.asking = false;
      daemon.observed.answers =
          ImexAnswers{.state = "READY", .own = imex::OwnView{.connected = connected}};
      OnAnswered(daemon.memory, *daemon.observed.answers, now_);
      Turn(daemon);
    });
  }

  void Write(Daemon& daemon, imex_daemon::Write write, const api::ImexReport& report) {
    daemon.observed.writing = true;
    const auto takes = Drawn(5, 40);
    if (write == Write::kLabel || write == Write::kReport) {
      return In(takes, [this, &daemon, write, report] {
        daemon.observed.writing = false;
        if (write == Write::kReport) {
          OnReported(daemon.memory, report, now_);
        } else {
          OnLabelled(daemon.memory, writer_, now_, daemon.random);
          if (writer_ == MembershipWriter::kController) Admit(daemon.self);
        }
        Turn(daemon);
      });
    }
    // It is read, changed, and written as it was read.
    const auto stored = cliques_.find(daemon.self.clique);
    const bool is_there = stored != cliques_.end();
    json::Value object = is_there ? stored->second.object : json::Value();
    In(takes,
       [this, &daemon, write, is_there, object, read = is_there ? stored->second.version : 0] {
         daemon.observed.writing = false;
         const auto outcome = Commit(daemon, write, is_there, object, read);
         if (outcome) {
           OnWritten(daemon.memory, write, *outcome, now_);
         } else {
           ++conflicts_;
           OnWriteFailed(daemon.memory, write, outcome.error(), now_, daemon.random);
         }
         Turn(daemon);
       });
  }
  base::Result<std::string> Commit(const Daemon& daemon, imex_daemon::Write write, bool was_there,
                                   json::Value object, int read) {
    const std::string& clique = daemon.self.clique;
    const auto stored = cliques_.find(clique);
    if (write == Write::kCreate) {
      if (stored != cliques_.end()) return base::Fail(base::ErrorCode::kAlreadyExists, "is there");
      Note(daemon, "makes the clique");
      return Store(clique, NewClique(daemon.self, daemon.observed.pod_ready));
    }
    if (!was_there) return base::Fail(base::ErrorCode::kNotFound, "is not there");
    if (stored->second.version != read) return base::Fail(base::ErrorCode::kConflict, "changed");
    const auto changed = PutOwnEntry(object, daemon.self, daemon.observed.pod_ready);
    if (!changed) return base::Fail(changed.error().code, changed.error().message);
    if (!*changed) return std::string();
    Note(daemon, "writes its entry");
    return Store(clique, std::move(object));
  }

  // The clique is written, and each of its daemons sees it in its own time.
  std::string Store(const std::string& clique, json::Value object) {
    ++writes_;
    Stored& stored = cliques_[clique];
    stored.version = ++version_;
    object["metadata"]["resourceVersion"] = std::to_string(version_);
    object["metadata"]["namespace"] = "driver";
    object["metadata"]["uid"] = "uid-of-" + clique;
    stored.object = std::move(object);
    const auto decoded = Decoded(clique);
    for (const auto& daemon : daemons_) {
      if (daemon->self.clique != clique) continue;
      In(Drawn(2, 60), [this, d = daemon.get(), decoded] { Tell(*d, decoded); });
    }
    return std::to_string(version_);
  }
  std::shared_ptr<const api::Clique> Decoded(const std::string& clique) {
    json::Parser parser;
    const auto parsed = parser.Parse(json::Serialize(cliques_.at(clique).object));
    return std::make_shared<const api::Clique>(api::DecodeClique(*parsed).value());
  }
  void Tell(Daemon& daemon, const std::shared_ptr<const api::Clique>& clique) {
    if (!daemon.has_begun) return;
    // A watch is late, but never goes back.
    const auto& before = daemon.observed.clique;
    const bool is_older = before && (!clique || kube::IsOlder(clique->meta.resource_version,
                                                              before->meta.resource_version));
    if (is_older) return;
    daemon.observed.clique_read = true;
    daemon.observed.clique = clique;
    Turn(daemon);
  }

  // A controller: who has labelled its pod is let in, in windows that grow.
  void Admit(const DaemonIdentity& self) {
    auto& waiting = waiting_[self.clique];
    waiting.push_back(self);
    if (waiting.size() > 1) return;
    milliseconds& window = windows_[self.clique];
    In(Drawn(5, 40) + window, [this, clique = self.clique] {
      json::Value object;
      if (const auto stored = cliques_.find(clique); stored != cliques_.end()) {
        object = stored->second.object;
      }
      for (const DaemonIdentity& one : std::exchange(waiting_[clique], {})) {
        if (object.IsNull()) {
          object = NewClique(one, false);
        } else {
          ASSERT_TRUE(PutOwnEntry(object, one, false));
        }
      }
      const auto in_it = static_cast<std::ptrdiff_t>(object["daemons"].items().size());
      const auto all = std::ranges::count_if(
          daemons_, [&](const auto& daemon) { return daemon->self.clique == clique; });
      object["metadata"]["annotations"][api::kJoiningAnnotation] = std::to_string(all - in_it);
      Store(clique, std::move(object));
    });
    window = std::clamp(4 * window, milliseconds(100), milliseconds(3'200));
  }

  void Note(const Daemon& daemon, const char* what) {
    log_ += std::to_string((now_.time_since_epoch()).count()) + " " + daemon.self.node + " " +
            what + "\n";
  }

  const MembershipWriter writer_;
  SeededRandom random_;
  TimePoint now_;
  std::multimap<TimePoint, std::function<void()>> events_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
  std::vector<std::unique_ptr<Daemon>> retired_;  // Events may still name them.
  std::map<std::string, Stored> cliques_;
  std::map<std::string, std::vector<DaemonIdentity>> waiting_;
  std::map<std::string, milliseconds> windows_;
  std::size_t begun_ = 0;
  bool looked_up_ = false;  // Somebody did, and nobody has asked since whether all are connected.
  TimePoint last_begun_ = {};
  int version_ = 0;
  int addresses_ = 0;
  int writes_ = 0;
  int conflicts_ = 0;
  int signals_ = 0;
  std::string log_;
};

std::set<int> UpTo(int count) {
  std::set<int> numbers;
  for (int i = 0; i < count; ++i) numbers.insert(i);
  return numbers;
}

class Formation : public ::testing::TestWithParam<std::pair<MembershipWriter, Size>> {};

TEST_P(Formation, AllAreConnectedUnderIndicesOfTheirOwnAndNoImexIsStartedTwice) {
  const auto [writer, size] = GetParam();
  for (std::uint64_t seed = 1; seed <= (size.daemons > 100 ? 1U : 20U); ++seed) {
    World world(size, writer, seed);
    const auto took = world.UntilConnected();
    ASSERT_TRUE(took) << "seed " << seed << ": not in ten minutes";
    world.Pass(minutes(2));
    EXPECT_TRUE(world.AllConnected()) << "seed " << seed;
    for (const auto& daemon : world.daemons()) EXPECT_EQ(daemon->starts, 1) << daemon->self.node;
    for (int first = 0; first < size.daemons; first += size.clique) {
      EXPECT_EQ(world.Indices(world.daemons()[static_cast<std::size_t>(first)]->self.clique),
                UpTo(std::min(size.clique, size.daemons - first)))
          << "seed " << seed;
    }
    if (writer == MembershipWriter::kController) {
      EXPECT_EQ(world.conflicts(), 0);
    }
    RecordProperty("connected_ms", static_cast<int>(took->count()));
    RecordProperty("writes", world.writes());
    RecordProperty("conflicts", world.conflicts());
    RecordProperty("signals", world.signals());
  }
}

std::string NameOf(const ::testing::TestParamInfo<std::pair<MembershipWriter, Size>>& info) {
  const auto [writer, size] = info.param;
  return std::string(writer == MembershipWriter::kController ? "ByTheController" : "ByThemselves") +
         "_" + std::to_string(size.daemons) + "InCliquesOf" + std::to_string(size.clique);
}

constexpr Size kRack = {18, 18};
constexpr Size kEightRacks = {144, 18};
constexpr Size kTwoPods = {144, 72};
constexpr Size kAHall = {1000, 18};

INSTANTIATE_TEST_SUITE_P(Sizes, Formation,
                         ::testing::Values(std::pair(MembershipWriter::kController, kRack),
                                           std::pair(MembershipWriter::kController, kEightRacks),
                                           std::pair(MembershipWriter::kController, kTwoPods),
                                           std::pair(MembershipWriter::kController, kAHall),
                                           std::pair(MembershipWriter::kDaemon, kRack),
                                           std::pair(MembershipWriter::kDaemon, kEightRacks),
                                           std::pair(MembershipWriter::kDaemon, kTwoPods)),
                         NameOf);

TEST(FormationOfOne, DaemonWhosePodIsReplacedIsReachedAtItsNewAddressAndNobodyElseIsStartedAgain) {
  for (const MembershipWriter writer : {MembershipWriter::kController, MembershipWriter::kDaemon}) {
    World world({}, writer, 7);
    ASSERT_TRUE(world.UntilConnected());
    world.Pass(minutes(1));
    world.Replace(3);
    EXPECT_FALSE(world.AllConnected());
    world.Pass(minutes(1));
    EXPECT_TRUE(world.AllConnected());
    for (const auto& daemon : world.daemons()) EXPECT_EQ(daemon->starts, 1) << daemon->self.node;
  }
}

TEST(FormationOfOne, SameSeedIsTheSameRun) {
  World one({}, MembershipWriter::kDaemon, 5);
  World again({}, MembershipWriter::kDaemon, 5);
  World other({}, MembershipWriter::kDaemon, 6);
  EXPECT_EQ(one.UntilConnected(), again.UntilConnected());
  ASSERT_TRUE(other.UntilConnected());
  EXPECT_EQ(one.log(), again.log());
  EXPECT_NE(one.log(), other.log());
}

}  // namespace
}  // namespace imex_daemon
