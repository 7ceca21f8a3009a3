#include "pkg/kube/lease/leader_elector.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/kube/testing/fakes.h"

namespace kube {
namespace {

using base::ErrorCode;
using http::Method;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using Reply = base::Result<http::Response>;
using TimePoint = base::Clock::TimePoint;

const ObjectKey kLease = {.ns = "ns", .name = "lease"};
constexpr const char* kPath = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/lease";

Reply Refusal(int status, const std::string& reason) {
  json::Value body =
      json::Value::Object({{"kind", "Status"}, {"code", status}, {"reason", reason}});
  body["details"] = json::Value::Object({{"kind", "leases"}, {"name", kLease.name}});
  return http::Response{.status = status, .body = json::Serialize(body)};
}

// An API server with at most one Lease, which checks versions as the real one does.
class LeaseServer {
 public:
  Reply Handle(const http::Request& request) {
    ++requests;
    if (request.method == Method::kGet) {
      return exists() ? Stored(200) : Refusal(404, "NotFound");
    }
    json::Value object = *json::Parse(request.body);
    if (request.method == Method::kPost) {
      if (exists()) return Refusal(409, "AlreadyExists");
      object["metadata"]["uid"] = "uid-" + std::to_string(++incarnation_);
    } else {
      if (!exists()) return Refusal(404, "NotFound");
      if (!(object["metadata"]["resourceVersion"] == lease["metadata"]["resourceVersion"])) {
        return Refusal(409, "Conflict");
      }
    }
    ++writes;
    Store(std::move(object));
    return Stored(request.method == Method::kPost ? 201 : 200);
  }

  void Store(json::Value object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease = std::move(object);
  }
  // A person with kubectl.
  void Edit(const std::string& member, json::Value value) {
    json::Value object = lease;
    object["spec"][member] = std::move(value);
    Store(std::move(object));
  }
  void Delete() { lease = json::Value(); }

  bool exists() const { return !lease.IsNull(); }
  const json::Value& spec() const { return std::as_const(lease)["spec"]; }
  const std::string& holder() const { return spec()["holderIdentity"].AsString(); }

  json::Value lease = {};
  int requests = 0;
  int writes = 0;

 private:
  Reply Stored(int status) const {
    return http::Response{.status = status, .body = json::Serialize(lease)};
  }
  int version_ = 10;
  int incarnation_ = 0;
};

struct Replica {
  Replica(std::string name, const base::Clock& clock, LeaseTiming timing = {},
          std::uint64_t seed = 1)
      : identity(std::move(name)),
        random(seed),
        elector(kLease, identity, timing, clock, random, logger) {}

  std::string identity;
  SeededRandom random;
  RecordingLogger logger;
  LeaderElector elector;
};

class LeaderElectorTest : public testing::Test {
 protected:
  // Lets `replica` do all it wants to do now.
  void Turn(Replica& replica) {
    for (int i = 0; i < 10; ++i) {
      const LeaderElector::Next next = replica.elector.Poll();
      if (!next.request) {
        EXPECT_GT(next.until, clock_.Now());
        return;
      }
      replica.elector.OnReply(server_.Handle(*next.request));
    }
    FAIL() << "asks without end";
  }
  // The same while time passes.
  void Run(std::initializer_list<Replica*> replicas, milliseconds time) {
    const TimePoint end = clock_.Now() + time;
    while (clock_.Now() < end) {
      clock_.Advance(milliseconds(100));
      for (Replica* replica : replicas) Turn(*replica);
    }
  }
  // The next request of `replica`, which is not answered.
  http::Request NextRequest(Replica& replica) {
    for (int i = 0; i < 100; ++i) {
      const LeaderElector::Next next = replica.elector.Poll();
      if (next.request) return *next.request;
      clock_.Advance(milliseconds(100));
    }
    ADD_FAILURE() << "asks for nothing";
    return {};
  }

  base::ManualClock clock_;
  LeaseServer server_;
  Replica a_{"a", clock_};
  Replica b_{"b", clock_, {}, 2};
};

TEST_F(LeaderElectorTest, M5_AnotherThreadMayAskWhetherTheTermEndedWhileItBegins) {
  // Often, for the sanitizer sees a race only if both come close.
  for (int i = 0; i < 50; ++i) {
    server_.Delete();
    Replica replica("a", clock_);
    const std::jthread lease([&] { Turn(replica); });
    while (!replica.elector.IsLeader()) ASSERT_FALSE(replica.elector.TermEnded());
    ASSERT_FALSE(replica.elector.TermEnded());
  }
}

// ---- Timing.

TEST(ValidateLeaseTiming, LE1_UsualValuesAreFine) { EXPECT_TRUE(Validate({})); }

TEST(ValidateLeaseTiming, LE1_RefusalNamesTheFlagsAndTheCure) {
  const auto error = [](milliseconds lease, milliseconds renew, milliseconds retry) {
    const auto result =
        Validate({.lease_duration = lease, .renew_deadline = renew, .retry_period = retry});
    EXPECT_FALSE(result);
    if (!result) {
      EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
    }
    return result ? "" : result.error().message;
  };
  EXPECT_EQ(error(seconds(10), seconds(10), seconds(2)),
            "--leader-election-lease-duration (10.0s) must be longer than "
            "--leader-election-renew-deadline (10.0s): raise the first, or another replica takes "
            "over while this one still acts");
  EXPECT_EQ(error(seconds(15), milliseconds(2400), seconds(2)),
            "--leader-election-renew-deadline (2.4s) must be longer than 1.2 times "
            "--leader-election-retry-period (2.0s): lower the second, or one lost request ends a "
            "term");
  EXPECT_NE(error(milliseconds(900), milliseconds(500), milliseconds(100)).find("at least 1s"),
            std::string::npos);
  EXPECT_NE(error(seconds(15), seconds(10), seconds(0)).find("more than 0"), std::string::npos);
  EXPECT_TRUE(Validate({.lease_duration = seconds(1),
                        .renew_deadline = milliseconds(500),
                        .retry_period = milliseconds(400)}));
}

// ---- Acquiring.

TEST_F(LeaderElectorTest, LE2_AbsentLeaseIsCreatedAtOnce) {
  EXPECT_FALSE(a_.elector.IsLeader());
  EXPECT_FALSE(a_.elector.TermEnded());
  Turn(a_);
  EXPECT_TRUE(a_.elector.IsLeader());
  EXPECT_TRUE(a_.elector.term_began());
  EXPECT_EQ(server_.requests, 2);
  EXPECT_EQ(
      json::Serialize(server_.lease),
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":)"
      R"({"name":"lease","namespace":"ns","uid":"uid-1","resourceVersion":"11"},)"
      R"("spec":{"holderIdentity":"a","leaseDurationSeconds":15,)"
      R"("acquireTime":"2026-01-01T00:00:00.000000Z","renewTime":"2026-01-01T00:00:00.000000Z",)"
      R"("leaseTransitions":0}})");
}

TEST_F(LeaderElectorTest, LE5_RequestsAreShortAndGoToTheLease) {
  const http::Request read = NextRequest(a_);
  EXPECT_EQ(read.path, kPath);
  EXPECT_EQ(read.timeout, seconds(2));
  EXPECT_FALSE(a_.elector.Poll().request) << "one is under way";
  a_.elector.OnReply(server_.Handle(read));
  const http::Request create = NextRequest(a_);
  EXPECT_EQ(create.method, Method::kPost);
  EXPECT_EQ(create.timeout, seconds(2));
}

TEST_F(LeaderElectorTest, LE2_RenewalKeepsTheTermsBeginAndEverythingThatOthersWrote) {
  Turn(a_);
  json::Value lease = server_.lease;
  lease["metadata"]["annotations"]["note"] = "keep";
  lease["spec"]["strategy"] = "OldestEmulationVersion";
  server_.lease = lease;  // Without a new version: a renewal must write back what it read.
  Run({&a_}, milliseconds(2500));
  a_.elector.OnReply(server_.Handle(NextRequest(a_)));
  Run({&a_}, seconds(5));
  EXPECT_EQ(server_.spec()["acquireTime"].AsString(), "2026-01-01T00:00:00.000000Z");
  EXPECT_GT(server_.spec()["renewTime"].AsString(), "2026-01-01T00:00:05");
  EXPECT_EQ(server_.spec()["leaseTransitions"].AsInt(), 0);

  json::Value edited = server_.lease;
  edited["metadata"]["annotations"]["note"] = "keep";
  edited["spec"]["strategy"] = "OldestEmulationVersion";
  server_.Store(edited);
  const int writes = server_.writes;
  Run({&a_}, seconds(5));
  EXPECT_GT(server_.writes, writes);
  EXPECT_EQ(std::as_const(server_.lease)["metadata"]["annotations"]["note"].AsString(), "keep");
  EXPECT_EQ(server_.spec()["strategy"].AsString(), "OldestEmulationVersion");
  EXPECT_TRUE(a_.elector.IsLeader());
}

TEST_F(LeaderElectorTest, LE2_RenewalIsOneRequest) {
  Turn(a_);
  const int before = server_.requests;
  Run({&a_}, seconds(60));
  EXPECT_GE(server_.requests - before, 60 / 2.5 - 1);
  EXPECT_LE(server_.requests - before, 30);
  EXPECT_TRUE(a_.elector.IsLeader());
}

TEST_F(LeaderElectorTest, LE2_StandbyTakesOverOnlyAfterTheRecordStayedTheSameForItsDuration) {
  Turn(a_);
  Turn(b_);
  const TimePoint seen = clock_.Now();  // `a` does nothing from here on.
  while (!b_.elector.IsLeader()) {
    ASSERT_LE(clock_.Now() - seen, seconds(16));
    Run({&b_}, milliseconds(100));
  }
  EXPECT_GE(clock_.Now() - seen, seconds(15));
  EXPECT_FALSE(a_.elector.IsLeader());
  EXPECT_TRUE(a_.elector.TermEnded());
  EXPECT_EQ(server_.holder(), "b");
  EXPECT_EQ(server_.spec()["leaseTransitions"].AsInt(), 1);
  EXPECT_GT(server_.spec()["acquireTime"].AsString(), "2026-01-01T00:00:14");
}

TEST_F(LeaderElectorTest, L8_CrashedLeaderIsReplacedWithinItsDurationAndTwoSeconds) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    base::ManualClock clock;
    LeaseServer server;
    Replica leader("leader", clock, {}, seed);
    Replica standby("standby", clock, {}, seed + 1000);
    const auto turn = [&](Replica& replica) {
      while (const auto request = replica.elector.Poll().request) {
        replica.elector.OnReply(server.Handle(*request));
      }
    };
    TimePoint last_renewal = clock.Now();
    for (int i = 0; i < 6000; ++i) {
      const int writes = server.writes;
      turn(leader);
      if (server.writes != writes) last_renewal = clock.Now();
      turn(standby);
      clock.Advance(milliseconds(10));
    }
    while (!standby.elector.IsLeader()) {
      clock.Advance(milliseconds(10));
      turn(standby);
    }
    EXPECT_GT(clock.Now() - last_renewal, seconds(15)) << "seed " << seed;
    EXPECT_LE(clock.Now() - last_renewal, milliseconds(17'050)) << "seed " << seed;
  }
}

TEST_F(LeaderElectorTest, LE2_ClocksOfTwoMachinesAreNeverCompared) {
  base::ManualClock other(std::chrono::sys_days(std::chrono::year(2036) / 1 / 1));
  Replica far("far", other, {}, 3);
  Turn(a_);  // Renews at a time that is ten years old for `far`.
  Turn(far);
  EXPECT_FALSE(far.elector.IsLeader());
  for (int i = 0; i < 600; ++i) {
    clock_.Advance(milliseconds(100));
    other.Advance(milliseconds(100));
    Turn(a_);
    Turn(far);
    ASSERT_FALSE(far.elector.IsLeader());
  }
}

TEST_F(LeaderElectorTest, LE2_HoldersLongerDurationCounts) {
  Turn(a_);
  server_.Edit("leaseDurationSeconds", 40);
  Turn(b_);
  Run({&b_}, seconds(39));
  EXPECT_FALSE(b_.elector.IsLeader());
  Run({&b_}, seconds(2));
  EXPECT_TRUE(b_.elector.IsLeader());
}

TEST_F(LeaderElectorTest, F17_ShorterDurationByAnEditDoesNotShortenTheLeadersTerm) {
  for (const int duration : {1, 0, -7}) {
    base::ManualClock clock;
    LeaseServer server;
    Replica leader("leader", clock);
    Replica standby("standby", clock, {}, 2);
    const auto turn = [&](Replica& replica) {
      while (const auto request = replica.elector.Poll().request) {
        replica.elector.OnReply(server.Handle(*request));
      }
    };
    turn(leader);
    server.Edit("leaseDurationSeconds", duration);
    while (leader.elector.IsLeader()) {
      turn(standby);
      ASSERT_FALSE(standby.elector.IsLeader());
      clock.Advance(milliseconds(100));
    }
  }
}

TEST_F(LeaderElectorTest, HugeDurationDoesNotOverflow) {
  Turn(a_);
  server_.Edit("leaseDurationSeconds", json::Value::RawNumber("9223372036854775807"));
  Turn(b_);
  Run({&b_}, seconds(60));
  EXPECT_FALSE(b_.elector.IsLeader());
}

TEST_F(LeaderElectorTest, LE2_LosersOfACreateRaceWait) {
  const http::Request read_a = NextRequest(a_);
  const http::Request read_b = NextRequest(b_);
  a_.elector.OnReply(server_.Handle(read_a));
  b_.elector.OnReply(server_.Handle(read_b));
  Turn(a_);
  Turn(b_);
  EXPECT_TRUE(a_.elector.IsLeader());
  EXPECT_FALSE(b_.elector.IsLeader());
  EXPECT_FALSE(b_.elector.term_began());
  EXPECT_EQ(server_.holder(), "a");
}

TEST_F(LeaderElectorTest, LE2_OneOfTwoStandbysTakesOver) {
  Replica c("c", clock_, {}, 3);
  Turn(a_);
  Run({&b_, &c}, seconds(20));
  EXPECT_NE(b_.elector.IsLeader(), c.elector.IsLeader());
  EXPECT_EQ(server_.spec()["leaseTransitions"].AsInt(), 1);
}

TEST_F(LeaderElectorTest, ServerThatOnlySaysConflictIsNotAskedInALoop) {
  Turn(a_);
  int requests = 0;
  const TimePoint start = clock_.Now();
  while (clock_.Now() - start < seconds(60)) {
    const LeaderElector::Next next = b_.elector.Poll();
    if (!next.request) {
      clock_.Advance(next.until - clock_.Now());
      continue;
    }
    ++requests;
    const bool read = next.request->method == Method::kGet;
    b_.elector.OnReply(read ? server_.Handle(*next.request) : Refusal(409, "Conflict"));
  }
  EXPECT_LT(requests, 60 * 3);
  EXPECT_FALSE(b_.elector.IsLeader());
}

// ---- Keeping.

TEST_F(LeaderElectorTest, LE4_TermIsCountedFromTheTimeOfSending) {
  const http::Request read = NextRequest(a_);
  a_.elector.OnReply(server_.Handle(read));
  const http::Request create = NextRequest(a_);
  const TimePoint sent = clock_.Now();
  clock_.Advance(seconds(2));
  a_.elector.OnReply(server_.Handle(create));
  EXPECT_TRUE(a_.elector.IsLeader());
  clock_.Advance(sent + seconds(10) - clock_.Now() - nanoseconds(1));
  EXPECT_TRUE(a_.elector.IsLeader());
  clock_.Advance(nanoseconds(1));
  EXPECT_FALSE(a_.elector.IsLeader());
}

TEST_F(LeaderElectorTest, LE4_TermEndsByTheClockAloneAndStaysOver) {
  Turn(a_);
  const http::Request renew = NextRequest(a_);
  clock_.Advance(seconds(11));  // The thread hangs.
  EXPECT_FALSE(a_.elector.IsLeader());
  EXPECT_TRUE(a_.elector.TermEnded());
  a_.elector.OnReply(server_.Handle(renew));
  EXPECT_FALSE(a_.elector.IsLeader()) << "a process leads once";
  const int requests = server_.requests;
  Run({&a_}, seconds(60));
  EXPECT_EQ(server_.requests, requests);
  EXPECT_TRUE(a_.elector.TermEnded());
  EXPECT_EQ(a_.logger.Count("The term is over"), 1U);
}

TEST_F(LeaderElectorTest, LE4_RenewalWhoseReplyComesAfterTheTermDoesNotReviveIt) {
  Turn(a_);
  const TimePoint end = clock_.Now() + seconds(10);
  while (clock_.Now() < end - seconds(3)) {  // One failure after the other.
    if (a_.elector.Poll().request) a_.elector.OnReply(Refusal(503, "ServiceUnavailable"));
    clock_.Advance(milliseconds(100));
  }
  a_.elector.OnReply(server_.Handle(NextRequest(a_)));
  const http::Request last = NextRequest(a_);
  ASSERT_EQ(last.method, Method::kPut);
  ASSERT_TRUE(a_.elector.IsLeader());
  clock_.Advance(end + milliseconds(500) - clock_.Now());
  ASSERT_FALSE(a_.elector.IsLeader());
  a_.elector.OnReply(server_.Handle(last));
  EXPECT_EQ(server_.holder(), "a");
  EXPECT_FALSE(a_.elector.IsLeader());
  EXPECT_TRUE(a_.elector.TermEnded());
}

TEST_F(LeaderElectorTest, FirstReplyThatComesTooLateBeginsNoTerm) {
  const http::Request read = NextRequest(a_);
  a_.elector.OnReply(server_.Handle(read));
  const http::Request create = NextRequest(a_);
  clock_.Advance(seconds(10));
  a_.elector.OnReply(server_.Handle(create));
  EXPECT_FALSE(a_.elector.IsLeader());
  EXPECT_FALSE(a_.elector.TermEnded());
  Turn(a_);
  EXPECT_TRUE(a_.elector.IsLeader()) << "by a renewal";
}

TEST_F(LeaderElectorTest, F3_LostReplyOfARenewalDoesNotEndTheTerm) {
  Turn(a_);
  for (int i = 0; i < 20; ++i) {
    const http::Request renew = NextRequest(a_);
    ASSERT_EQ(renew.method, Method::kPut);
    (void)server_.Handle(renew);
    clock_.Advance(seconds(2));
    a_.elector.OnReply(base::Fail(ErrorCode::kUnknownOutcome, "lost"));
    Run({&a_}, milliseconds(500));
    ASSERT_TRUE(a_.elector.IsLeader()) << i;
  }
  EXPECT_EQ(server_.spec()["leaseTransitions"].AsInt(), 0);
}

TEST_F(LeaderElectorTest, F3_LostReplyOfACreateIsFoundOutByReading) {
  a_.elector.OnReply(server_.Handle(NextRequest(a_)));
  (void)server_.Handle(NextRequest(a_));
  a_.elector.OnReply(base::Fail(ErrorCode::kUnknownOutcome, "lost"));
  EXPECT_FALSE(a_.elector.IsLeader());
  Run({&a_}, seconds(3));
  EXPECT_TRUE(a_.elector.IsLeader());
  EXPECT_EQ(server_.spec()["leaseTransitions"].AsInt(), 0);
}

TEST_F(LeaderElectorTest, LE5_FailuresAreRetriedEachPeriodUntilTheDeadline) {
  Turn(a_);
  const TimePoint start = clock_.Now();
  int tries = 0;
  while (a_.elector.IsLeader()) {
    const LeaderElector::Next next = a_.elector.Poll();
    if (next.request) {
      ++tries;
      a_.elector.OnReply(base::Fail(ErrorCode::kUnavailable, "refused"));
    } else {
      clock_.Advance(milliseconds(10));
    }
  }
  EXPECT_GE(tries, 4);
  EXPECT_LE(tries, 5);
  EXPECT_EQ(clock_.Now() - start, seconds(10));
}

TEST_F(LeaderElectorTest, L8_ShortOutageDoesNotEndATerm) {
  Turn(a_);
  const TimePoint end = clock_.Now() + seconds(7);
  while (clock_.Now() < end) {
    const LeaderElector::Next next = a_.elector.Poll();
    if (next.request) a_.elector.OnReply(Refusal(503, "ServiceUnavailable"));
    clock_.Advance(milliseconds(100));
  }
  Run({&a_}, seconds(30));
  EXPECT_TRUE(a_.elector.IsLeader());
  EXPECT_EQ(a_.logger.Count("Cannot read or write the Lease"), 1U);
  EXPECT_EQ(a_.logger.Count("Lease can be read and written again"), 1U);
}

// ---- People.

TEST_F(LeaderElectorTest, F17_DeletedLeaseIsMadeAgainByItsHolderAndNobodyElse) {
  Turn(a_);
  Turn(b_);
  for (int i = 0; i < 10; ++i) {
    server_.Delete();
    Run({&b_, &a_}, seconds(5));
    EXPECT_TRUE(a_.elector.IsLeader());
    EXPECT_FALSE(b_.elector.IsLeader());
    EXPECT_EQ(server_.holder(), "a");
  }
}

TEST_F(LeaderElectorTest, F17_StandbyWaitsForTheHolderOfADeletedLease) {
  Turn(a_);
  Turn(b_);
  server_.Delete();
  while (a_.elector.IsLeader()) {  // It acts on, cut off from the server.
    ASSERT_FALSE(b_.elector.IsLeader());
    Run({&b_}, milliseconds(100));
  }
  Run({&b_}, seconds(10));
  EXPECT_TRUE(b_.elector.IsLeader());
}

TEST_F(LeaderElectorTest, F17_LeaseThatNamesAnotherEndsTheTermAtOnce) {
  for (const char* holder : {"somebody", ""}) {
    base::ManualClock clock;
    LeaseServer server;
    Replica replica("a", clock);
    const auto turn = [&] {
      while (const auto request = replica.elector.Poll().request) {
        replica.elector.OnReply(server.Handle(*request));
      }
    };
    turn();
    server.Edit("holderIdentity", holder);
    clock.Advance(milliseconds(2400));
    turn();
    EXPECT_FALSE(replica.elector.IsLeader()) << holder;
    EXPECT_TRUE(replica.elector.TermEnded()) << holder;
    EXPECT_EQ(server.holder(), holder);
    EXPECT_EQ(replica.logger.Count("The term is over"), 1U);
  }
}

TEST_F(LeaderElectorTest, F17_EditThatLeavesTheHolderDoesNotEndTheTerm) {
  Turn(a_);
  server_.Edit("renewTime", "1999-01-01T00:00:00.000000Z");
  Run({&a_}, seconds(5));
  EXPECT_TRUE(a_.elector.IsLeader());
  server_.Edit("leaseDurationSeconds", 1);
  Run({&a_}, seconds(5));
  EXPECT_EQ(server_.spec()["leaseDurationSeconds"].AsInt(), 15);
}

TEST_F(LeaderElectorTest, LeaseWithoutASpecIsTaken) {
  server_.Store(*json::Parse(R"({"metadata":{"name":"lease","uid":"u"}})"));
  Turn(a_);
  EXPECT_TRUE(a_.elector.IsLeader());
}

TEST_F(LeaderElectorTest, F6_MissingRightIsLoggedOnceWithTheCureAndRetried) {
  const auto refuse = [&](Method method) {
    const TimePoint end = clock_.Now() + seconds(30);
    int refused = 0;
    while (clock_.Now() < end) {
      const LeaderElector::Next next = b_.elector.Poll();
      if (!next.request) {
        clock_.Advance(milliseconds(100));
      } else if (next.request->method == method) {
        ++refused;
        b_.elector.OnReply(Refusal(403, "Forbidden"));
      } else {
        b_.elector.OnReply(server_.Handle(*next.request));
      }
    }
    EXPECT_GE(refused, 10);
    EXPECT_LE(refused, 20);
  };
  refuse(Method::kPost);
  EXPECT_EQ(b_.logger.Count("grant create on leases.coordination.k8s.io in namespace ns to this "
                            "identity (403 Forbidden"),
            1U);
  refuse(Method::kGet);
  EXPECT_EQ(b_.logger.Count("Cannot read or write the Lease"), 1U);
  EXPECT_FALSE(b_.elector.IsLeader());
  Run({&b_}, seconds(3));
  EXPECT_TRUE(b_.elector.IsLeader());
  EXPECT_EQ(b_.logger.Count("Lease can be read and written again"), 1U);
}

TEST_F(LeaderElectorTest, RT2_StandbyWaitsAsTheServerAsks) {
  (void)NextRequest(b_);
  b_.elector.OnReply(http::Response{.status = 429, .retry_after = seconds(30)});
  EXPECT_EQ(b_.elector.Poll().until, clock_.Now() + seconds(30));
}

TEST_F(LeaderElectorTest, F37_GarbageIsAFailureAndNoCrash) {
  for (const char* body : {"", "null", "[]", "{}", "<html>", R"({"spec":5,"metadata":[]})"}) {
    Replica replica("r", clock_);
    (void)NextRequest(replica);
    replica.elector.OnReply(http::Response{.status = 200, .body = body});
    EXPECT_FALSE(replica.elector.IsLeader()) << body;
    EXPECT_EQ(replica.logger.Count("Cannot read or write the Lease"), 1U) << body;
    EXPECT_FALSE(replica.elector.Poll().request) << body;
  }
}

// ---- Release.

TEST_F(LeaderElectorTest, LE3_ReleaseHandsOverWithoutTheWait) {
  Turn(a_);
  Turn(b_);
  Run({&a_, &b_}, seconds(5));
  const auto release = a_.elector.Release();
  EXPECT_FALSE(a_.elector.IsLeader());
  EXPECT_TRUE(a_.elector.TermEnded());
  ASSERT_TRUE(release);
  EXPECT_EQ(release->timeout, seconds(2));
  EXPECT_TRUE(server_.Handle(*release));
  EXPECT_EQ(server_.holder(), "");
  EXPECT_EQ(server_.spec()["leaseDurationSeconds"].AsInt(), 1);
  Run({&b_}, seconds(2));
  EXPECT_TRUE(b_.elector.IsLeader());
  EXPECT_EQ(server_.spec()["leaseTransitions"].AsInt(), 1);
}

TEST_F(LeaderElectorTest, LE3_NothingIsSentAfterARelease) {
  Turn(a_);
  const http::Request renew = NextRequest(a_);
  (void)a_.elector.Release();
  a_.elector.OnReply(server_.Handle(renew));
  EXPECT_FALSE(a_.elector.IsLeader());
  const int requests = server_.requests;
  Run({&a_}, seconds(30));
  EXPECT_EQ(server_.requests, requests);
}

TEST_F(LeaderElectorTest, LE3_ReplyAfterAReleaseBeginsNoTerm) {
  a_.elector.OnReply(server_.Handle(NextRequest(a_)));
  const http::Request create = NextRequest(a_);
  EXPECT_FALSE(a_.elector.Release());
  a_.elector.OnReply(server_.Handle(create));
  EXPECT_FALSE(a_.elector.IsLeader());
  EXPECT_FALSE(a_.elector.term_began());
  EXPECT_FALSE(a_.elector.Poll().request);
}

TEST_F(LeaderElectorTest, LE3_WhoDoesNotHoldTheLeaseReleasesNothing) {
  EXPECT_FALSE(b_.elector.Release());
  Turn(a_);
  Replica standby("standby", clock_);
  Turn(standby);
  EXPECT_FALSE(standby.elector.Release());
  EXPECT_FALSE(standby.elector.TermEnded());
  EXPECT_EQ(server_.holder(), "a");
}

TEST_F(LeaderElectorTest, LE3_LateReleaseDoesNotTakeTheLeaseFromItsNewHolder) {
  Turn(a_);
  Run({&b_}, seconds(16));
  ASSERT_TRUE(b_.elector.IsLeader());
  const auto release = a_.elector.Release();
  ASSERT_TRUE(release);
  EXPECT_EQ(server_.Handle(*release)->status, 409);
  EXPECT_EQ(server_.holder(), "b");
}

// ---- The promise itself.

// A network that is slow, and loses requests and replies.
class World {
 public:
  explicit World(unsigned seed) : seed_(seed), random_(seed) {
    for (int i = 0; i < 3; ++i) Start();
  }

  // 100 ms pass.
  void Step(bool faults) {
    clock_.Advance(milliseconds(100));
    for (auto& process : processes_) Advance(*process, faults);
    for (auto& process : processes_) {
      // A frozen one is woken late; whatever ended its term ends the process.
      const bool crashes = faults && random_() % 2000 == 0;
      if (crashes || process->replica.elector.TermEnded()) process = NewProcess();
    }
    if (faults && server_.exists() && random_() % 500 == 0) {
      server_.Edit("leaseDurationSeconds", static_cast<int>(random_() % 20));
    }
  }
  int Leaders() const {
    int leaders = 0;
    for (const auto& process : processes_) leaders += process->replica.elector.IsLeader() ? 1 : 0;
    return leaders;
  }
  int started() const { return started_; }

 private:
  struct Process {
    Process(std::string name, const base::Clock& clock, std::uint64_t seed)
        : replica(std::move(name), clock, {}, seed) {}
    Replica replica;
    std::optional<http::Request> under_way = {};
    TimePoint arrives = {};
    TimePoint answered = {};
    TimePoint wakes = {};
    Reply reply = base::Fail(ErrorCode::kUnavailable, "not sent");
    bool arrived = false;
  };

  std::unique_ptr<Process> NewProcess() {
    ++started_;
    return std::make_unique<Process>("process-" + std::to_string(started_), clock_,
                                     seed_ * 1000 + static_cast<unsigned>(started_));
  }
  void Start() { processes_.push_back(NewProcess()); }

  void Advance(Process& process, bool faults) {
    const TimePoint now = clock_.Now();
    if (faults && random_() % 500 == 0) process.wakes = now + milliseconds(random_() % 30'000);
    // What was sent arrives, whether its sender is awake or not.
    if (process.under_way && !process.arrived && now >= process.arrives) {
      process.arrived = true;
      process.reply = server_.Handle(*process.under_way);
      if (faults && random_() % 6 == 0) {
        process.reply = base::Fail(ErrorCode::kUnknownOutcome, "lost");
      }
    }
    if (now < process.wakes) return;
    if (process.under_way && now >= process.answered) {
      process.under_way.reset();
      process.replica.elector.OnReply(
          process.arrived ? process.reply : base::Fail(ErrorCode::kUnknownOutcome, "timeout"));
    }
    if (process.under_way) return;
    LeaderElector::Next next = process.replica.elector.Poll();
    if (!next.request) return;
    process.under_way = std::move(next.request);
    process.arrived = false;
    const auto most = faults ? 1900U : 100U;
    process.arrives = now + milliseconds(random_() % most);
    process.answered = std::min<TimePoint>(process.arrives + milliseconds(random_() % most),
                                           now + process.under_way->timeout);
    // A request may still arrive long after its sender has given up.
    if (faults && random_() % 10 == 0) process.arrives = now + milliseconds(random_() % 4000);
  }

  const unsigned seed_;
  std::mt19937 random_;
  base::ManualClock clock_;
  LeaseServer server_;
  std::vector<std::unique_ptr<Process>> processes_;
  int started_ = 0;
};

TEST(LeaderElectorProperty, LE4_TermsNeverOverlapWhateverTheNetworkAndTheProcessesDo) {
  int started = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    World world(seed);
    for (int step = 0; step < 6000; ++step) {
      world.Step(true);
      ASSERT_LE(world.Leaders(), 1) << "seed " << seed << ", step " << step;
    }
    int led = 0;
    for (int step = 0; step < 600; ++step) {
      world.Step(false);
      ASSERT_LE(world.Leaders(), 1) << "seed " << seed;
      if (step >= 400) led += world.Leaders();
    }
    EXPECT_EQ(led, 200) << "seed " << seed << ": nobody leads although all is well";
    started += world.started();
  }
  EXPECT_GT(started, 60 * 10) << "without trouble nothing is proven";
}

}  // namespace
}  // namespace kube
