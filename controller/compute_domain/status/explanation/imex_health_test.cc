#include "controller/compute_domain/status/explanation/imex_health.h"

#include <gtest/gtest.h>

#include <functional>

#include "controller/api/names.h"
#include "test/fixtures/next_memory.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using fixtures::Marked;
using Jobs = std::map<std::string, ImexOfJob>;
using Change = std::function<void(Observed&)>;

constexpr const char* kFirst = "2026-01-01T11:10:00Z";
Instant Time() { return fixtures::Now(); }

constexpr const char* kAgain = "2026-01-01T12:00:30Z";

// Daemons of ours, whose IMEX was started before the pods of the workload were.
Observed WithAJob() {
  Observed observed = Marked();
  for (api::DaemonPod& pod : observed.children.daemon_pods) {
    pod.imex = api::ImexReport{.state = "READY", .started = kFirst};
  }
  return observed;
}

api::DaemonPod& PodOf(Observed& observed) { return observed.children.daemon_pods[0]; }
api::ResourceClaim& ClaimOf(Observed& observed) { return observed.children.claims[0]; }

void StartAgain(Observed& observed) { PodOf(observed).imex->started = kAgain; }

Jobs JobsAfter(Observed observed, const Jobs& before, const Instant& now) {
  observed.memory.imex_of_jobs = before;
  return FindImexOfJobs(observed, now);
}

// What is said after passes over the world, in each of which it has changed once more.
std::string SaidAfter(const std::vector<Change>& changes,
                      std::chrono::seconds every = std::chrono::minutes(1)) {
  Observed observed = WithAJob();
  Instant now = fixtures::Now();
  Jobs jobs = JobsAfter(observed, {}, now);
  for (const Change& change : changes) {
    change(observed);
    now = {.monotonic = now.monotonic + every, .wall = now.wall + every};
    jobs = JobsAfter(observed, jobs, now);
  }
  observed.memory.imex_of_jobs = jobs;
  const std::optional<SharingIssue> issue = FindRestarted(observed);
  return issue ? std::string(issue->reason) + issue->says : "";
}

const std::string kSaid =
    "ImexRestartedUnderJob IMEX was started again under pods that use it: node-0. The memory that "
    "they shared is lost: restart their job if it does not restart by itself, and read the log of "
    "the daemon there.";

TEST(FindRestarted, B17_ImexThatIsAnotherThanTheOneThatPodsBeganWithIsNamed) {
  EXPECT_EQ(SaidAfter({StartAgain}), kSaid);
}

TEST(FindRestarted, ImexThatRunsOnIsNotNamed) {
  EXPECT_EQ(SaidAfter({}), "");
  EXPECT_EQ(SaidAfter({[](Observed& o) { PodOf(o).imex->state = "WAITING_FOR_PEERS"; }}), "");
  EXPECT_EQ(SaidAfter({[](Observed& o) { PodOf(o).imex->started.clear(); }}), "");
}

TEST(FindRestarted, ItIsSaidForAsLongAsThesePodsUseIt) {
  EXPECT_EQ(SaidAfter({StartAgain, [](Observed&) {}}), kSaid);
  const auto end_all = [](Observed& o) { o.children.claims.clear(); };
  EXPECT_EQ(SaidAfter({StartAgain, end_all}), "");
  const auto next = [](Observed& o) {
    for (auto& claim : o.children.claims) claim.meta.uid = "of the next job on " + claim.node;
  };
  EXPECT_EQ(SaidAfter({StartAgain, next}), "");
}

TEST(FindRestarted, REV4_1_ItIsSaidUntilEachPodOfThatTimeHasEnded) {
  const auto says = [](const std::vector<Change>& changes) {
    return SaidAfter(changes).starts_with("ImexRestartedUnderJob");
  };
  const auto replace = [](const char* node, const char* uid = "of the next pod") {
    return [node, uid](Observed& observed) {
      for (auto& claim : observed.children.claims) {
        if (claim.node == node && !claim.channel_domain.empty()) claim.meta.uid = uid;
      }
    };
  };
  EXPECT_TRUE(says({StartAgain, replace("node-0")})) << "the pod on node-1 lost its part, too";
  EXPECT_TRUE(says({StartAgain, replace("node-1")}));
  EXPECT_FALSE(says({StartAgain, replace("node-0"), replace("node-1")}));
  EXPECT_FALSE(
      says({StartAgain, replace("node-1"), replace("node-1", "later"), replace("node-0")}));
}

TEST(FindRestarted, REV4_1_PodThatCameAfterTheRestartOrIsInAnotherCliqueLostNothing) {
  const auto says = [](const std::vector<Change>& changes) {
    return SaidAfter(changes).starts_with("ImexRestartedUnderJob");
  };
  const Change down = [](Observed& o) { PodOf(o).ready = false; };
  const Change next_peer = [](Observed& o) {
    for (auto& claim : o.children.claims) {
      if (claim.node == "node-1") claim.meta.uid += "-next";
    }
  };
  const Change up = [](Observed& o) {
    PodOf(o).ready = true;
    StartAgain(o);
  };
  const Change next = [](Observed& o) {
    for (auto& claim : o.children.claims) {
      if (claim.node == "node-0") claim.meta.uid += "-next";
    }
  };
  // It was started again in the first minute, and the peer's next pod came in the second.
  EXPECT_TRUE(says({down, next_peer, up}));
  EXPECT_FALSE(says({down, next_peer, up, next}));
  EXPECT_TRUE(says({StartAgain, next})) << "the peer was there before";
  const Change other_clique = [](Observed& o) { o.children.daemon_pods[1].clique = "c9.0"; };
  EXPECT_FALSE(says({other_clique, StartAgain, next}));
  // What is not known may be so.
  const Change no_pod = [](Observed& o) { o.children.daemon_pods.pop_back(); };
  EXPECT_TRUE(says({no_pod, StartAgain, next}));
  const Change no_clique = [](Observed& o) { PodOf(o).clique.reset(); };
  EXPECT_TRUE(says({no_clique, StartAgain, next}));
  const Change some_time = [](Observed& o) { PodOf(o).imex->started = "some time"; };
  EXPECT_TRUE(says({some_time, next}));
}

TEST(FindRestarted, REV4_1_ReportOfAContainerThatHasEndedIsNotWhatTheNextPodsBeganWith) {
  const Change pods_arrive_while_it_starts = [](Observed& observed) {
    for (auto& claim : observed.children.claims) claim.meta.uid += "-next";
    PodOf(observed).started = kAgain;
  };
  EXPECT_EQ(SaidAfter({pods_arrive_while_it_starts, StartAgain}), "");
  const Change container_starts = [](Observed& observed) { PodOf(observed).started = kAgain; };
  EXPECT_EQ(SaidAfter({container_starts, StartAgain}), kSaid) << "the pods were there before";
}

TEST(FindRestarted, ImexThatWasStartedBeforeTheNextPodsCameIsTheirFirst) {
  EXPECT_EQ(SaidAfter({[](Observed& o) {
              StartAgain(o);
              ClaimOf(o).meta.uid = "of the next job";
            }}),
            "");
}

TEST(FindRestarted, ImexThatCameUpAtTheSecondAttemptIsTheFirstOfItsPods) {
  Observed observed = WithAJob();
  PodOf(observed).ready = false;
  Jobs jobs = JobsAfter(observed, {}, Time());
  EXPECT_FALSE(jobs.at("node-0").began);
  StartAgain(observed);
  PodOf(observed).ready = true;
  observed.memory.imex_of_jobs = JobsAfter(observed, jobs, Time());
  EXPECT_FALSE(FindRestarted(observed));
}

TEST(FindRestarted, DaemonsPodThatSomebodyDeletedIsARestartOnceItsSuccessorServes) {
  const std::vector<Change> away = {
      [](Observed& o) { PodOf(o).meta.deleting = true; },
      [](Observed& o) { o.children.daemon_pods.erase(o.children.daemon_pods.begin()); }};
  EXPECT_EQ(SaidAfter(away), "");
  std::vector<Change> back = away;
  back.emplace_back([](Observed& o) {
    o.children.daemon_pods.insert(o.children.daemon_pods.begin(),
                                  WithAJob().children.daemon_pods[0]);
    PodOf(o).meta.uid = "another";
    PodOf(o).imex.reset();
  });
  EXPECT_EQ(SaidAfter(back), "");
  back.emplace_back([](Observed& o) { PodOf(o).imex = api::ImexReport{.started = kAgain}; });
  EXPECT_EQ(SaidAfter(back), kSaid);
}

// A pod that is replaced: its claim is allocated while the daemon of the one before still serves.
// The node loses its label, and gets it again with another daemon when the pod is prepared.
TEST(FindRestarted, DaemonThatIsReplacedBeforeThePodOfANewClaimHasBegunIsNoRestart) {
  const auto label = [](Observed& o, const std::string& domain) {
    o.nodes.at(PodOf(o).node).domain = domain;
  };
  const std::vector<Change> replaced = {
      [](Observed& o) { ClaimOf(o).meta.uid = "of the next pod"; },
      [&](Observed& o) { label(o, ""); },
      [&](Observed& o) {
        label(o, o.uid);
        PodOf(o) = WithAJob().children.daemon_pods[0];
        PodOf(o).meta.uid = "another";
        StartAgain(o);
      }};
  EXPECT_EQ(SaidAfter(replaced, std::chrono::seconds(5)), "");
  EXPECT_EQ(SaidAfter(replaced, std::chrono::seconds(61)), kSaid) << "it runs by then";
  std::vector<Change> restarted = replaced;
  restarted.emplace_back([](Observed& o) { PodOf(o).imex->started = "2026-01-01T11:55:00Z"; });
  EXPECT_EQ(SaidAfter(restarted, std::chrono::seconds(5)), kSaid) << "under its label";
  restarted.emplace_back([&](Observed& o) { label(o, ""); });
  EXPECT_EQ(SaidAfter(restarted, std::chrono::seconds(5)), kSaid) << "what was lost stays lost";
}

TEST(FindRestarted, DaemonThatIsReplacedUnderThePodOfANewClaimIsARestart) {
  EXPECT_EQ(SaidAfter({[](Observed& o) { ClaimOf(o).meta.uid = "of the next pod"; },
                       [](Observed& o) {
                         PodOf(o).meta.uid = "another";
                         StartAgain(o);
                       }},
                      std::chrono::seconds(1)),
            kSaid);
}

TEST(FindRestarted, OnANodeThatIsNotKnownNothingIsSaidBeforeItIs) {
  const std::vector<Change> unknown = {[](Observed& o) { o.nodes.erase(PodOf(o).node); },
                                       StartAgain};
  EXPECT_EQ(SaidAfter(unknown), "");
  std::vector<Change> known = unknown;
  known.emplace_back([](Observed& o) { o.nodes = WithAJob().nodes; });
  EXPECT_EQ(SaidAfter(known), kSaid);
}

TEST(FindRestarted, AllDaemonsMayBeAwayMeanwhile) {
  std::vector<api::DaemonPod> away;
  EXPECT_EQ(SaidAfter({[&](Observed& o) { std::swap(o.children.daemon_pods, away); },
                       [&](Observed& o) {
                         std::swap(o.children.daemon_pods, away);
                         StartAgain(o);
                       }}),
            kSaid);
}

// Says what `issue` says, as a status write does.
void Write(Observed& observed, const std::optional<SharingIssue>& issue) {
  observed.domain->status.conditions = {{.type = std::string(api::kConditionMemoryShared),
                                         .status = issue ? "False" : "True",
                                         .reason = issue ? std::string(issue->reason) : "Shared",
                                         .message = issue ? issue->says.substr(1) : ""}};
}

// Of two leaders only one saw the first IMEX. They agree, and so neither writes for ever.
TEST(FindRestarted, REV4_K18_WhatAnotherLeaderSawIsKeptInItsWords) {
  Observed observed = WithAJob();
  const Instant now = fixtures::Now();
  const Memory saw_the_first = NextMemory(observed, now);
  StartAgain(observed);
  const Memory saw_the_second = NextMemory(observed, now);
  observed.memory = saw_the_first;
  UpdateMemory(observed, now);
  Write(observed, FindRestarted(observed));
  observed.memory = saw_the_second;
  UpdateMemory(observed, now);
  const std::optional<SharingIssue> issue = FindRestarted(observed);
  ASSERT_TRUE(issue);
  EXPECT_EQ(std::string(issue->reason) + issue->says, kSaid);

  // The claims end, and the pods of the next ones begin with the IMEX that runs.
  for (api::ResourceClaim& claim : observed.children.claims) claim.meta.uid += "-next";
  UpdateMemory(observed, now);
  EXPECT_FALSE(FindRestarted(observed));
}

// The status still says what this process wrote of claims that have ended.
TEST(FindRestarted, WhatThisProcessSaidItselfIsNotKeptForTheNextClaims) {
  Observed observed = WithAJob();
  const Instant now = fixtures::Now();
  UpdateMemory(observed, now);
  StartAgain(observed);
  UpdateMemory(observed, now);
  Write(observed, FindRestarted(observed));
  for (api::ResourceClaim& claim : observed.children.claims) claim.meta.uid += "-next";
  UpdateMemory(observed, now);
  EXPECT_FALSE(FindRestarted(observed));
}

// Another client has taken the condition away.
TEST(FindRestarted, WhatAnotherSawIsSaidInOwnWordsIfItsWordsAreGone) {
  Observed observed = WithAJob();
  Write(observed, SharingIssue{.reason = api::kReasonImexRestartedUnderJob, .says = " words"});
  UpdateMemory(observed, fixtures::Now());
  EXPECT_EQ(FindRestarted(observed)->says, " words");
  observed.domain->status.conditions.clear();
  EXPECT_TRUE(FindRestarted(observed)->says.starts_with(
      " IMEX was started again under pods that use it. "));
}

TEST(FindRestarted, AMessageThatIsTooLongIsNotKept) {
  Observed observed = WithAJob();
  Write(observed,
        SharingIssue{.reason = api::kReasonImexRestartedUnderJob, .says = std::string(1026, 'x')});
  UpdateMemory(observed, fixtures::Now());
  const std::optional<SharingIssue> issue = FindRestarted(observed);
  ASSERT_TRUE(issue);
  EXPECT_TRUE(issue->says.starts_with(" IMEX was started again under pods that use it. "));
}

TEST(FindImexOfJobs, OfDaemonsThatReportNothingAndOfADomainThatIsGoneNothingIsKept) {
  Observed observed = WithAJob();
  const Jobs jobs = JobsAfter(observed, {}, Time());
  EXPECT_EQ(jobs.size(), 2U);
  EXPECT_TRUE(JobsAfter(fixtures::Converged(), {}, Time()).empty());
  observed.domain.reset();
  EXPECT_TRUE(JobsAfter(observed, jobs, Time()).empty());
}

TEST(FindUnreachable, B17_OneThatReachesNobodyDoesNotHideWhoElseIsCutOff) {
  Observed observed = WithAJob();
  std::vector<api::Member> expected;
  for (int i = 0; i < 4; ++i) {
    expected.push_back({.node = "node-" + std::to_string(i), .clique = "c", .index = i});
  }
  const auto report = [&](std::size_t pod, const std::vector<int>& unreachable) {
    api::ImexReport& of_it = *observed.children.daemon_pods[pod].imex;
    of_it.unreachable = unreachable;
    of_it.unreachable_count = static_cast<int>(unreachable.size());
  };
  report(0, {1, 2, 3});
  report(1, {0, 3});
  const std::optional<SharingIssue> issue = FindUnreachable(PodsThatCount(observed), expected);
  ASSERT_TRUE(issue);
  EXPECT_TRUE(issue->says.starts_with(
      " IMEX has no connection from node-0 to any other, node-1 to node-0, node-1 to node-3."))
      << issue->says;
}

}  // namespace
}  // namespace compute_domain
