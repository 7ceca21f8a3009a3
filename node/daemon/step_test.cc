#include "node/daemon/step.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"

namespace imex_daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class HalfRandom final : public base::Random {
 public:
  std::uint64_t Next() override { return std::uint64_t{1} << 63; }
};

// One daemon in time that stands still until it is moved; what a step says is done at once.
class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest() { observed_.now = TimePoint(std::chrono::hours(1)); }

  void Labelled(MembershipWriter writer) {
    OnLabelled(memory_, writer, observed_.now, random_);
    observed_.now += seconds(1);
  }

  // The clique is read, with these daemons in it.
  void CliqueHas(std::vector<api::Member> daemons, std::optional<int> joining = {}) {
    api::Clique clique;
    clique.joining = joining;
    clique.meta.resource_version = std::to_string(++version_);
    clique.meta.owners = {{.uid = self_.pod_uid}};
    clique.daemons = std::move(daemons);
    observed_.clique_read = true;
    observed_.clique = std::make_shared<const api::Clique>(std::move(clique));
  }
  // The same, and so it stays until IMEX runs.
  void Forms(std::vector<api::Member> daemons) {
    CliqueHas(std::move(daemons));
    Pass(seconds(1));
  }
  void NoClique() {
    observed_.clique_read = true;
    observed_.clique = nullptr;
  }
  api::Member Own(int index, bool ready = false) const {
    return {
        .node = self_.node, .ip = self_.ip, .clique = self_.clique, .index = index, .ready = ready};
  }
  api::Member Peer(int index) const {
    return {.node = "peer-" + std::to_string(index),
            .ip = "10.0.1." + std::to_string(index),
            .clique = self_.clique,
            .index = index};
  }

  // So many that there is no room for this daemon.
  std::vector<api::Member> AllOthers() const {
    std::vector<api::Member> daemons;
    daemons.reserve(static_cast<std::size_t>(self_.nodes_max));
    for (int index = 0; index < self_.nodes_max; ++index) daemons.push_back(Peer(index));
    return daemons;
  }

  void IsToldToStop() {
    observed_.stopping = true;
    OnStopping(memory_, observed_.now);
  }

  // Decides, and does what it says, until there is nothing more to do now; returns the last step
  // that did anything, or else what it decided.
  DaemonStep Settle() {
    DaemonStep did;
    for (int i = 0; i < 100; ++i) {
      DaemonStep step = Decide(self_, observed_, memory_);
      if (!Execute(step)) return i == 0 ? step : did;
      did = step;
    }
    ADD_FAILURE() << "it never comes to rest";
    return did;
  }

  // Runs for so long.
  void Pass(std::chrono::nanoseconds time) {
    const TimePoint end = observed_.now + time;
    while (true) {
      Settle();
      const TimePoint next = Decide(self_, observed_, memory_).requeue_at;
      ASSERT_GT(next, observed_.now);
      if (next > end) break;
      observed_.now = next;
    }
    observed_.now = end;
    Settle();
  }

  // IMEX says that it runs with `index`, is ready and connected with `peers`.
  void ImexSays(int index, std::set<int> peers, const std::string& state = "READY") {
    observed_.imex.index = index;
    answers_ = {.state = state,
                .asks_peers = true,
                .own = imex::OwnView{.version = "580", .connected = std::move(peers)}};
    observed_.answers = answers_;
  }

  void ImexEnds() {
    const auto lived = observed_.now - observed_.imex.since;
    observed_.imex.runs = false;
    ++observed_.imex.ends;
    observed_.imex.index.reset();
    observed_.answers.reset();
    OnEnded(memory_, lived, observed_.now, random_);
  }

  DaemonIdentity self_ = {.domain = "0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a",
                          .clique = "f0e1.7",
                          .node = "node-a",
                          .ip = "10.0.0.7",
                          .pod = {.ns = "driver", .name = "pod"},
                          .pod_uid = "pod-uid",
                          .nodes_max = 18};
  DaemonObservation observed_;
  DaemonMemory memory_;
  HalfRandom random_;
  ImexAnswers answers_;
  int version_ = 10;
  bool fails_ = false;  // All writes of files and processes.

  // What happened.
  std::vector<Write> writes_;
  std::vector<api::ImexReport> reports_;
  std::vector<TimePoint> starts_;
  std::vector<TimePoint> signals_;
  int asks_ = 0;

 private:
  bool Execute(const DaemonStep& step) {
    const TimePoint now = observed_.now;
    bool did = false;
    if (step.hosts) {
      did = true;
      if (fails_) {
        OnHostsFailed(memory_, "the file cannot be written", now, random_);
      } else {
        OnHostsWritten(memory_, *step.hosts, observed_.imex.runs, now);
      }
    }
    if (step.start) {
      did = true;
      if (fails_) {
        OnStartFailed(memory_, "it cannot be started", now, random_);
      } else {
        starts_.push_back(now);
        observed_.imex.runs = true;
        observed_.imex.since = now;
        observed_.imex.started = "t" + std::to_string(starts_.size());
        OnStarted(memory_, now);
      }
    }
    if (step.signal) {
      did = true;
      signals_.push_back(now);
      OnSignalled(memory_, now);
    }
    if (step.ask) {
      did = true;
      ++asks_;
      observed_.answers = answers_;
      OnAnswered(memory_, answers_, now);
    }
    if (step.stop && observed_.imex.runs) {
      did = true;
      observed_.imex.runs = false;
    }
    if (step.write) {
      did = true;
      writes_.push_back(*step.write);
      if (*step.write == Write::kReport) {
        reports_.push_back(step.report);
        OnReported(memory_, step.report, now);
      } else if (*step.write == Write::kLabel) {
        OnLabelled(memory_, MembershipWriter::kController, now, random_);
      } else {
        OnWritten(memory_, *step.write, std::to_string(version_ + 1), now);
      }
    }
    return did;
  }
};

// Of pods that carry the controller's marker.
class ControllerWrites : public DaemonTest {
 protected:
  ControllerWrites() { Labelled(MembershipWriter::kController); }
};
// Of all others.
class DaemonWrites : public DaemonTest {
 protected:
  DaemonWrites() { Labelled(MembershipWriter::kDaemon); }
};

TEST_F(DaemonTest, LabelsItsPodBeforeAnythingElse) {
  CliqueHas({Own(0)});
  const DaemonStep step = Decide(self_, observed_, memory_);
  EXPECT_EQ(step.write, Write::kLabel);
  EXPECT_FALSE(step.hosts);
  EXPECT_FALSE(step.start);
}

TEST_F(DaemonTest, LabelThatIsRefusedEndsTheProcessWithTheReason) {
  OnWriteFailed(memory_, Write::kLabel,
                {.code = base::ErrorCode::kForbidden, .message = "no right"}, observed_.now,
                random_);
  EXPECT_EQ(Decide(self_, observed_, memory_).fatal, "no right");
}

// Its pod may be gone, or an API server of another version has answered. The kubelet knows.
TEST_F(DaemonTest, REV4_K1_LabelOfWhichA404SaysThatThePodIsGoneIsTriedAgain) {
  OnWriteFailed(memory_, Write::kLabel, {.code = base::ErrorCode::kNotFound}, observed_.now,
                random_);
  EXPECT_EQ(Decide(self_, observed_, memory_).fatal, "");
}

TEST_F(DaemonTest, LabelThatDidNotArriveIsTriedAgainAfterAWhile) {
  OnWriteFailed(memory_, Write::kLabel, {.code = base::ErrorCode::kUnavailable}, observed_.now,
                random_);
  const DaemonStep step = Decide(self_, observed_, memory_);
  EXPECT_EQ(step.fatal, "");
  EXPECT_EQ(step.write, std::nullopt);
  observed_.now = step.requeue_at;
  EXPECT_EQ(Decide(self_, observed_, memory_).write, Write::kLabel);
}

TEST_F(DaemonTest, WithoutFabricNothingRunsAndNothingIsWrittenButTheLabel) {
  self_.clique.clear();
  CliqueHas({Own(0)});
  Pass(minutes(30));
  EXPECT_EQ(writes_, (std::vector<Write>{Write::kLabel}));
  EXPECT_TRUE(starts_.empty());
  IsToldToStop();
  EXPECT_TRUE(Settle().over);
}

TEST_F(ControllerWrites, StartsImexOnceTheControllerHasGivenItAnIndex) {
  NoClique();
  Pass(seconds(10));
  CliqueHas({Peer(0)});
  Pass(seconds(10));
  EXPECT_TRUE(starts_.empty());
  Forms({Peer(0), Own(1)});
  EXPECT_EQ(starts_.size(), 1U);
  EXPECT_EQ(memory_.hosts, (std::vector<imex::HostsEntry>{{0, "10.0.1.0"}, {1, "10.0.0.7"}}));
}

TEST_F(ControllerWrites, ImexIsStartedWhenNoMorePeersComeAndKnowsThemAllWithoutASignal) {
  std::vector<api::Member> daemons = {Own(0)};
  for (int i = 1; i <= 4; ++i) {
    CliqueHas(daemons);
    Pass(milliseconds(400));
    EXPECT_TRUE(starts_.empty());
    daemons.push_back(Peer(i));
  }
  Pass(milliseconds(100));
  EXPECT_EQ(starts_.size(), 1U);
  Pass(minutes(1));
  EXPECT_TRUE(signals_.empty());
}

TEST_F(ControllerWrites, ImexIsStartedAfterTwoSecondsHoweverManyPeersStillCome) {
  std::vector<api::Member> daemons = {Own(0)};
  const TimePoint begin = observed_.now;
  for (int i = 1; starts_.empty() && i < 20; ++i) {
    CliqueHas(daemons);
    Pass(milliseconds(300));
    daemons.push_back(Peer(i));
  }
  ASSERT_EQ(starts_.size(), 1U);
  EXPECT_EQ(starts_[0], begin + seconds(2));
}

TEST_F(ControllerWrites, ImexIsStartedAtOnceWhenNobodyElseIsOnTheWay) {
  const TimePoint begin = observed_.now;
  CliqueHas({Own(0)}, 2);
  Pass(milliseconds(1'200));
  EXPECT_TRUE(starts_.empty()) << "however quiet it is";
  CliqueHas({Own(0), Peer(1), Peer(2)}, 0);
  Pass(milliseconds(100));
  ASSERT_EQ(starts_.size(), 1U);
  EXPECT_EQ(starts_[0], begin + milliseconds(1'200));
  Pass(minutes(1));
  EXPECT_TRUE(signals_.empty());
}

TEST_F(ControllerWrites, ImexIsStartedAfterTwoSecondsWithoutThoseWhoDoNotCome) {
  const TimePoint begin = observed_.now;
  CliqueHas({Own(0), Peer(1)}, 1);
  Pass(seconds(10));
  ASSERT_EQ(starts_.size(), 1U);
  EXPECT_EQ(starts_[0], begin + seconds(2));
}

TEST_F(ControllerWrites, SignalWaitsForThoseOnTheWay) {
  Forms({Own(0)});
  const TimePoint begin = observed_.now;
  CliqueHas({Own(0), Peer(1)}, 1);
  Pass(seconds(1));
  EXPECT_TRUE(signals_.empty());
  CliqueHas({Own(0), Peer(1), Peer(2)}, 0);
  Pass(seconds(10));
  ASSERT_EQ(signals_.size(), 1U);
  EXPECT_LE(signals_[0], begin + milliseconds(1'500));
}

TEST_F(ControllerWrites, NeverWritesTheClique) {
  NoClique();
  Pass(minutes(1));
  CliqueHas({Peer(0)});
  Pass(minutes(1));
  CliqueHas({Own(1)});
  observed_.pod_ready = true;
  ImexSays(1, {});
  Pass(minutes(1));
  IsToldToStop();
  Settle();
  for (const Write write : writes_) EXPECT_EQ(write, Write::kReport);
}

TEST_F(ControllerWrites, H11_EntryWithTheAddressOfAnEarlierPodStartsNothing) {
  api::Member stale = Own(1);
  stale.ip = "10.0.0.6";
  CliqueHas({stale});
  Pass(minutes(1));
  EXPECT_TRUE(starts_.empty());
}

TEST_F(ControllerWrites, PeersThatJoinTogetherAreOneSignalAndLaterOnesOneMore) {
  Forms({Own(0)});
  observed_.imex.index = 0;
  for (int peers = 1; peers <= 5; ++peers) {
    std::vector<api::Member> daemons = {Own(0)};
    for (int i = 1; i <= peers; ++i) daemons.push_back(Peer(i));
    CliqueHas(daemons);
    Pass(milliseconds(30));
  }
  Pass(seconds(1));
  EXPECT_EQ(signals_.size(), 1U);
  CliqueHas({Own(0), Peer(1)});
  Pass(seconds(1));
  CliqueHas({Own(0), Peer(1), Peer(2)});
  Pass(seconds(20));
  ASSERT_EQ(signals_.size(), 2U);
  EXPECT_GT(signals_[1] - signals_[0], seconds(5));  // IMEX hears no other within these.
}

TEST_F(ControllerWrites, CliqueThatOnlyChangesReadinessIsNoNews) {
  Forms({Own(0), Peer(1)});
  CliqueHas({Own(0, true), Peer(1)});
  Pass(minutes(1));
  EXPECT_TRUE(signals_.empty());
}

TEST_F(ControllerWrites, SwappedIndicesAmongTheSameAddressesAreNews) {
  Forms({Own(0), Peer(1), Peer(2)});
  observed_.imex.index = 0;
  std::vector<api::Member> swapped = {Own(0), Peer(1), Peer(2)};
  std::swap(swapped[1].index, swapped[2].index);
  CliqueHas(swapped);
  Pass(seconds(1));
  EXPECT_EQ(signals_.size(), 1U);
  EXPECT_EQ(memory_.hosts->at(1).ip, "10.0.1.2");
}

TEST_F(ControllerWrites, CliqueThatIsGoneChangesNothing) {
  Forms({Own(0), Peer(1)});
  NoClique();
  Pass(minutes(1));
  EXPECT_EQ(memory_.hosts->size(), 2U);
  EXPECT_TRUE(signals_.empty());
  EXPECT_EQ(starts_.size(), 1U);
}

TEST_F(ControllerWrites, ImexRunsOnWhateverTheCliqueSaysNext) {
  CliqueHas({Own(0), Peer(1)});
  ImexSays(0, {1});
  Pass(minutes(1));
  for (const int index : {5, -1, 99}) {
    CliqueHas({Own(index), Peer(1)});
    Pass(minutes(1));
  }
  CliqueHas({Peer(1)});
  Pass(minutes(1));
  EXPECT_EQ(starts_.size(), 1U);
  EXPECT_TRUE(observed_.imex.runs);
}

TEST_F(ControllerWrites, B2_ReportsTheIndexThatImexRunsWithNotThatOfTheClique) {
  CliqueHas({Own(0), Peer(1)});
  ImexSays(0, {1});
  Pass(minutes(1));
  CliqueHas({Own(5), Peer(1)});
  Pass(minutes(1));
  ASSERT_FALSE(reports_.empty());
  EXPECT_EQ(reports_.back().index, 0);
  EXPECT_EQ(Decide(self_, observed_, memory_).state,
            "IMEX runs as 0 and the clique says 5: delete this pod when no job needs it");
}

TEST_F(ControllerWrites, B2_OwnNameUnderAnotherIndexIsNoPeerThatCannotBeReached) {
  CliqueHas({Own(0), Peer(1)});
  ImexSays(0, {1});
  Pass(minutes(1));
  CliqueHas({Own(5), Peer(1)});
  Pass(minutes(1));
  ASSERT_FALSE(reports_.empty());
  EXPECT_TRUE(reports_.back().unreachable.empty());
}

TEST_F(ControllerWrites, B17_ReportsPeersThatHaveAnAddressAndNoConnection) {
  CliqueHas({Own(0), Peer(1), Peer(2)});
  ImexSays(0, {2});
  Pass(minutes(1));
  ASSERT_FALSE(reports_.empty());
  EXPECT_TRUE(reports_.back().peers_known);
  EXPECT_EQ(reports_.back().unreachable, (std::vector<int>{1}));
  ImexSays(0, {1, 2});
  Pass(minutes(1));
  EXPECT_TRUE(reports_.back().unreachable.empty());
}

TEST_F(ControllerWrites, PeerThatIsBackAfterAnHourIsReportedWithin20Seconds) {
  Forms({Own(0), Peer(1)});
  ImexSays(0, {});
  for (int offset = 0; offset < 30; offset += 3) {  // Wherever it is between two asks.
    answers_.own->connected = {};
    Pass(minutes(60) + seconds(offset));
    ASSERT_EQ(reports_.back().unreachable, (std::vector<int>{1}));
    answers_.own->connected = {1};  // To be seen when it is asked next.
    Pass(seconds(20));
    EXPECT_TRUE(reports_.back().unreachable.empty()) << offset;
  }
}

TEST_F(ControllerWrites, PeerThatHasJustComeIsNotYetCalledUnreachable) {
  CliqueHas({Own(0)});
  ImexSays(0, {});
  Pass(minutes(1));
  CliqueHas({Own(0), Peer(1)});
  Pass(seconds(14));
  EXPECT_TRUE(reports_.back().unreachable.empty());
  Pass(seconds(2));
  EXPECT_EQ(reports_.back().unreachable, (std::vector<int>{1}));
}

TEST_F(ControllerWrites, B17_PeersThatCannotBeLearnedOfAreNotCalledReached) {
  CliqueHas({Own(0), Peer(1)});
  ImexSays(0, {});
  answers_.own.reset();
  observed_.answers = answers_;
  Pass(minutes(1));
  EXPECT_FALSE(reports_.back().peers_known);
}

TEST_F(ControllerWrites, REV3_N4_ImexThatSaysNothingOfItsPeersThreeTimesIsReported) {
  CliqueHas({Own(0), Peer(1)});
  ImexSays(0, {1});
  Pass(minutes(2));
  EXPECT_FALSE(reports_.back().peers_unanswered);
  answers_.own.reset();
  const int asked = asks_;
  while (asks_ < asked + 2) Pass(milliseconds(100));
  EXPECT_FALSE(Decide(self_, observed_, memory_).report.peers_unanswered) << "two may be chance";
  Pass(seconds(15));
  EXPECT_TRUE(reports_.back().peers_unanswered);
  EXPECT_FALSE(reports_.back().peers_known);
  answers_.own = imex::OwnView{.version = "580", .connected = {1}};
  Pass(minutes(1));
  EXPECT_FALSE(reports_.back().peers_unanswered);
}

TEST_F(ControllerWrites, REV3_N4_ImexThatIsNotAskedOfItsPeersIsNotCalledSilent) {
  CliqueHas({Own(0), Peer(1)});
  answers_ = {.state = "READY"};
  Pass(minutes(10));
  EXPECT_FALSE(reports_.back().peers_unanswered);
}

TEST_F(ControllerWrites, REV3_N4_ImexThatIsStartedAgainIsAskedAfresh) {
  CliqueHas({Own(0), Peer(1)});
  ImexSays(0, {1});
  answers_.own.reset();
  Pass(minutes(5));
  ASSERT_TRUE(reports_.back().peers_unanswered);
  ImexEnds();
  answers_.asks_peers = false;
  Pass(minutes(5));
  EXPECT_FALSE(reports_.back().peers_unanswered);
}

TEST_F(ControllerWrites, NamesOfTheNodesFileWithoutAnAddressAreNoFault) {
  CliqueHas({Own(3)});
  ImexSays(3, {});
  Pass(minutes(1));
  EXPECT_EQ(reports_.back().unreachable_count, 0);
}

TEST_F(ControllerWrites, ReportsAtChangeAndAtMostEveryTenSeconds) {
  CliqueHas({Own(0), Peer(1)});
  ImexSays(0, {1});
  Pass(milliseconds(500));
  ASSERT_EQ(starts_.size(), 1U);
  ASSERT_EQ(reports_.size(), 1U);  // That it is ready is told at once.
  for (int i = 0; i < 100; ++i) {
    ImexSays(0, i % 2 == 0 ? std::set<int>{} : std::set<int>{1});
    Pass(seconds(1));
  }
  EXPECT_LE(reports_.size(), 11U);
  ImexSays(0, {1});
  Pass(minutes(1));
  const std::size_t at_rest = reports_.size();
  Pass(minutes(60));
  EXPECT_EQ(reports_.size(), at_rest);
}

TEST_F(ControllerWrites, OneThatDoesNotBecomeReadySaysSoAfterAWhile) {
  CliqueHas({Own(0)});
  ImexSays(0, {}, "WAITING_FOR_RECOVERY");
  Pass(seconds(4));
  EXPECT_TRUE(reports_.empty());
  Pass(seconds(2));
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].state, "WAITING_FOR_RECOVERY");
}

TEST_F(ControllerWrites, WaitingForAQuorumIsNoReasonToRestartIt) {
  CliqueHas({Own(0)});
  ImexSays(0, {}, "WAITING_FOR_RECOVERY");
  Pass(std::chrono::hours(2));
  EXPECT_EQ(starts_.size(), 1U);
  EXPECT_LT(asks_, 300);
}

TEST_F(ControllerWrites, ImexThatEndsByItselfIsStartedAgainInPlaceAndTold) {
  CliqueHas({Own(0)});
  ImexSays(0, {});
  Pass(minutes(5));
  ImexEnds();
  Pass(seconds(30));
  EXPECT_EQ(starts_.size(), 2U);
  EXPECT_EQ(reports_.back().restarts, 1);
  EXPECT_EQ(reports_.back().started, "t2");
}

TEST_F(ControllerWrites, REV3_N8_ImexThatEndsBeforeItWasEverReadyEndsTheProcess) {
  Forms({Own(0)});
  ImexSays(0, {}, "INIT_GPU");
  Pass(minutes(1));
  ImexEnds();
  EXPECT_TRUE(Decide(self_, observed_, memory_)
                  .fatal.starts_with("IMEX ended before it was ready once in this container"));
}

TEST_F(ControllerWrites, REV3_N8_ImexThatWasReadyOnceIsStartedAgainInPlace) {
  Forms({Own(0)});
  ImexSays(0, {});
  Pass(minutes(1));
  ImexEnds();
  answers_.state = "INIT_GPU";
  Pass(minutes(1));
  ASSERT_EQ(starts_.size(), 2U);
  ImexEnds();
  EXPECT_EQ(Decide(self_, observed_, memory_).fatal, "");
}

TEST_F(ControllerWrites, REV3_N8_StopEndsItWithoutAComplaint) {
  Forms({Own(0)});
  ImexEnds();
  IsToldToStop();
  EXPECT_EQ(Decide(self_, observed_, memory_).fatal, "");
  EXPECT_TRUE(Settle().over);
}

TEST_F(ControllerWrites, REV3_N22_ImexIsNotSignalledBeforeItCanHear) {
  Forms({Own(0)});
  const TimePoint started = starts_.back();
  CliqueHas({Own(0), Peer(1)});
  Pass(seconds(20));
  ASSERT_EQ(signals_.size(), 1U);
  EXPECT_EQ(signals_[0], started + seconds(2));
}

TEST_F(ControllerWrites, REV3_N22_ImexThatHasSaidWhoItIsIsSignalledAtOnce) {
  Forms({Own(0)});
  const TimePoint started = starts_.back();
  observed_.imex.index = 0;
  CliqueHas({Own(0), Peer(1)});
  Pass(seconds(20));
  ASSERT_EQ(signals_.size(), 1U);
  EXPECT_LT(signals_[0], started + seconds(2));
}

TEST_F(ControllerWrites, REV4_P6_PeerThatOnlyLeft_CausesNoSignal) {
  Forms({Own(0), Peer(1), Peer(2)});
  observed_.imex.index = 0;
  Pass(minutes(5));
  signals_.clear();
  CliqueHas({Own(0), Peer(1)});
  Pass(minutes(1));
  EXPECT_EQ(memory_.hosts->size(), 2U);
  EXPECT_TRUE(signals_.empty());
}

TEST_F(ControllerWrites, REV4_P6_SuccessorOfAPeer_IsSignalledWithoutTheWaitAfterASignal) {
  Forms({Own(0), Peer(1), Peer(2)});
  observed_.imex.index = 0;
  Pass(minutes(5));
  signals_.clear();
  CliqueHas({Own(0), Peer(1)});
  Pass(std::chrono::milliseconds(800));
  const TimePoint joined = observed_.now;
  CliqueHas({Own(0), Peer(1), Peer(3)});
  Pass(seconds(20));
  ASSERT_EQ(signals_.size(), 1U);
  EXPECT_EQ(signals_[0], joined + std::chrono::milliseconds(300));
}

TEST_F(ControllerWrites, REV4_P6_PeerWithANewAddress_CausesASignal) {
  Forms({Own(0), Peer(1)});
  observed_.imex.index = 0;
  Pass(minutes(5));
  signals_.clear();
  api::Member moved = Peer(1);
  moved.ip = "10.0.9.9";
  CliqueHas({Own(0), moved});
  Pass(seconds(20));
  EXPECT_EQ(signals_.size(), 1U);
}

TEST_F(ControllerWrites, H11_ImexThatCrashesAgainAndAgainIsStartedEverMoreRarely) {
  Forms({Own(0)});
  ImexSays(0, {});
  Pass(seconds(1));
  const TimePoint end = observed_.now + std::chrono::hours(1);
  while (observed_.now < end) {
    ImexEnds();
    const std::size_t before = starts_.size();
    while (starts_.size() == before) Pass(seconds(1));
  }
  EXPECT_LT(starts_.size(), 130U);
  EXPECT_GT(starts_.size(), 55U);
}

TEST_F(ControllerWrites, HostsFileThatCannotBeWrittenEndsTheProcessBeforeImexRuns) {
  fails_ = true;
  CliqueHas({Own(0)});
  EXPECT_TRUE(Settle().hosts);
  EXPECT_EQ(Decide(self_, observed_, memory_).fatal, "the file cannot be written");
}

TEST_F(ControllerWrites, HostsFileThatCannotBeWrittenLaterIsTriedAgainAndImexIsKept) {
  Forms({Own(0)});
  fails_ = true;
  CliqueHas({Own(0), Peer(1)});
  Pass(minutes(1));
  EXPECT_EQ(Decide(self_, observed_, memory_).fatal, "");
  EXPECT_EQ(memory_.hosts->size(), 1U);
  fails_ = false;
  Pass(minutes(1));
  EXPECT_EQ(memory_.hosts->size(), 2U);
  EXPECT_EQ(starts_.size(), 1U);
}

TEST_F(ControllerWrites, ImexThatCannotBeStartedEndsTheProcess) {
  CliqueHas({Own(0)});
  const DaemonStep hosts = Decide(self_, observed_, memory_);
  OnHostsWritten(memory_, *hosts.hosts, false, observed_.now);
  fails_ = true;
  observed_.now = Decide(self_, observed_, memory_).requeue_at;
  EXPECT_TRUE(Settle().start);
  EXPECT_EQ(Decide(self_, observed_, memory_).fatal, "it cannot be started");
}

TEST_F(ControllerWrites, LabelRightThatIsLostLaterDoesNotEndIt) {
  CliqueHas({Own(0)});
  ImexSays(0, {});
  Pass(minutes(1));
  CliqueHas({Own(0), Peer(1)});
  OnWriteFailed(memory_, Write::kReport, {.code = base::ErrorCode::kForbidden, .message = "no"},
                observed_.now, random_);
  EXPECT_EQ(Decide(self_, observed_, memory_).fatal, "");
}

TEST_F(ControllerWrites, RightThatIsMissingIsTriedOnceAMinute) {
  CliqueHas({Own(0)});
  ImexSays(0, {});
  int tried = 0;
  const TimePoint end = observed_.now + minutes(10);
  while (observed_.now < end) {
    Settle();
    OnWriteFailed(memory_, Write::kReport, {.code = base::ErrorCode::kForbidden}, observed_.now,
                  random_);
    memory_.reported.reset();
    ++tried;
    observed_.now = memory_.writes.next;
  }
  EXPECT_LE(tried, 10);
}

TEST_F(ControllerWrites, AtRestItDoesNextToNothing) {
  CliqueHas({Own(0), Peer(1)});
  ImexSays(0, {1});
  Pass(minutes(1));
  const int before = asks_;
  writes_.clear();
  Pass(minutes(10));
  EXPECT_LE(asks_ - before, 21);
  EXPECT_TRUE(writes_.empty());
}

TEST_F(ControllerWrites, StopsImexAndIsOverOnceThatHasEnded) {
  Forms({Own(0)});
  IsToldToStop();
  const DaemonStep step = Decide(self_, observed_, memory_);
  EXPECT_TRUE(step.stop);
  EXPECT_FALSE(step.over);
  observed_.imex.runs = false;
  EXPECT_TRUE(Decide(self_, observed_, memory_).over);
  EXPECT_FALSE(Decide(self_, observed_, memory_).start);
}

TEST_F(DaemonTest, ThoseThatWriteTheCliqueDoNotAllBeginAtOnce) {
  OnLabelled(memory_, MembershipWriter::kDaemon, observed_.now, random_);
  NoClique();
  EXPECT_EQ(Decide(self_, observed_, memory_).write, std::nullopt);
  const TimePoint begins = Decide(self_, observed_, memory_).requeue_at;
  EXPECT_EQ(begins, observed_.now + milliseconds(250));  // Half of the most.
  observed_.now = begins;
  EXPECT_EQ(Decide(self_, observed_, memory_).write, Write::kCreate);
}

TEST_F(DaemonWrites, MakesACliqueThatIsNotThereAndJoinsOneThatIs) {
  EXPECT_EQ(Decide(self_, observed_, memory_).write, std::nullopt);  // It is not known yet.
  NoClique();
  EXPECT_EQ(Decide(self_, observed_, memory_).write, Write::kCreate);
  CliqueHas({Peer(0)});
  EXPECT_EQ(Decide(self_, observed_, memory_).write, Write::kEntry);
}

TEST_F(DaemonWrites, B38_CliqueThatSomebodyDeletesIsMadeAgainAndImexRunsOn) {
  Forms({Own(0)});
  observed_.now += minutes(1);
  NoClique();
  Settle();
  EXPECT_EQ(writes_, (std::vector<Write>{Write::kCreate}));
  EXPECT_EQ(starts_.size(), 1U);
}

TEST_F(DaemonWrites, SaysInItsEntryWhenThePodIsReadyAndWhenItIsNotAnyMore) {
  Forms({Own(0)});
  EXPECT_TRUE(writes_.empty());
  observed_.pod_ready = true;
  EXPECT_EQ(Decide(self_, observed_, memory_).write, Write::kEntry);
  CliqueHas({Own(0, true)});
  EXPECT_EQ(Decide(self_, observed_, memory_).write, std::nullopt);
  observed_.pod_ready = false;
  EXPECT_EQ(Decide(self_, observed_, memory_).write, Write::kEntry);
}

TEST_F(DaemonWrites, H11_AddressOfAnEarlierPodInItsEntryIsPutRight) {
  api::Member stale = Own(0, true);
  stale.ip = "10.0.0.6";
  CliqueHas({stale});
  EXPECT_EQ(Decide(self_, observed_, memory_).write, Write::kEntry);
}

TEST_F(DaemonWrites, DoesNotWriteAgainBeforeItHasSeenItsWrite) {
  CliqueHas({Peer(0)});
  EXPECT_EQ(Settle().write, Write::kEntry);
  EXPECT_EQ(writes_.size(), 1U);
  observed_.now += seconds(3);  // But an event may be lost.
  EXPECT_EQ(Decide(self_, observed_, memory_).write, Write::kEntry);
}

TEST_F(DaemonWrites, ConflictsAreTriedAgainEverMoreRarelyAndNotInStep) {
  CliqueHas({Peer(0)});
  std::chrono::nanoseconds last{0};
  for (int i = 0; i < 12; ++i) {
    OnWriteFailed(memory_, Write::kEntry, {.code = base::ErrorCode::kConflict}, observed_.now,
                  random_);
    const auto wait = memory_.writes.next - observed_.now;
    EXPECT_GE(wait, last);
    EXPECT_LE(wait, seconds(6));
    last = wait;
    EXPECT_EQ(Decide(self_, observed_, memory_).write, std::nullopt);
    observed_.now = memory_.writes.next;
    EXPECT_EQ(Decide(self_, observed_, memory_).write, Write::kEntry);
  }
}

TEST_F(DaemonWrites, DaemonWithoutRoomWaitsForAChangeOfTheClique) {
  std::vector<api::Member> daemons = AllOthers();
  CliqueHas(daemons);
  const base::Error full = {.code = base::ErrorCode::kInvalid, .message = "it is full"};
  ASSERT_EQ(Decide(self_, observed_, memory_).write, Write::kEntry);
  OnWriteFailed(memory_, Write::kEntry, full, observed_.now, random_);
  Pass(minutes(4));
  EXPECT_TRUE(writes_.empty()) << "nothing has changed";
  EXPECT_EQ(Decide(self_, observed_, memory_).state,
            "Waiting for room in the clique, which is full");
  daemons.pop_back();
  CliqueHas(daemons);
  Settle();
  EXPECT_EQ(writes_, (std::vector<Write>{Write::kEntry}));
}

TEST_F(DaemonWrites, DaemonWithoutRoomAsksAgainAfterFiveMinutes) {
  CliqueHas(AllOthers());
  const base::Error full = {.code = base::ErrorCode::kInvalid, .message = "it is full"};
  const TimePoint refused = observed_.now;
  OnWriteFailed(memory_, Write::kEntry, full, refused, random_);
  while (!Decide(self_, observed_, memory_).write && observed_.now < refused + minutes(9)) {
    observed_.now = Decide(self_, observed_, memory_).requeue_at;
  }
  EXPECT_EQ(observed_.now, refused + minutes(5));
}

TEST_F(DaemonWrites, ServerThatAsksForPatienceGetsIt) {
  CliqueHas({Peer(0)});
  OnWriteFailed(memory_, Write::kEntry,
                {.code = base::ErrorCode::kTooManyRequests, .retry_after = seconds(30)},
                observed_.now, random_);
  observed_.now += seconds(29);
  EXPECT_EQ(Decide(self_, observed_, memory_).write, std::nullopt);
  observed_.now += seconds(2);
  EXPECT_EQ(Decide(self_, observed_, memory_).write, Write::kEntry);
}

TEST_F(DaemonWrites, WritesNoAnnotationWhichNvidiasControllerDoesNotKnow) {
  CliqueHas({Own(0)});
  ImexSays(0, {});
  Pass(minutes(1));
  EXPECT_TRUE(writes_.empty());
}

TEST_F(DaemonWrites, LeavesItsCliqueWhileImexEnds) {
  Forms({Own(0)});
  IsToldToStop();
  const DaemonStep step = Decide(self_, observed_, memory_);
  EXPECT_TRUE(step.stop);
  EXPECT_EQ(step.write, Write::kLeave);
  EXPECT_TRUE(Settle().stop);
  EXPECT_TRUE(Decide(self_, observed_, memory_).over);
}

TEST_F(DaemonWrites, H11_GivesUpLeavingAfterTenSeconds) {
  CliqueHas({Own(0)});
  IsToldToStop();
  const TimePoint end = observed_.now + seconds(10);
  while (!Decide(self_, observed_, memory_).over) {
    ASSERT_LT(observed_.now, end);
    OnWriteFailed(memory_, Write::kLeave, {.code = base::ErrorCode::kUnavailable}, observed_.now,
                  random_);
    observed_.now = Decide(self_, observed_, memory_).requeue_at;
  }
  EXPECT_EQ(observed_.now, end);
}

TEST_F(DaemonTest, StopBeforeThePodIsLabelledIsOverAtOnce) {
  IsToldToStop();
  EXPECT_TRUE(Decide(self_, observed_, memory_).over);
}

}  // namespace
}  // namespace imex_daemon
