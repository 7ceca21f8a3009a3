#include "controller/compute_domain/rules/membership/membership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <span>

#include "controller/api/names.h"
#include "controller/compute_domain/rules/membership/clique_batching.h"
#include "controller/compute_domain/rules/membership/clique_spec.h"
#include "pkg/base/rfc3339.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using api::DaemonPod;
using api::Member;
using fixtures::Actions;
using fixtures::Converged;
using fixtures::kCliqueId;
using fixtures::kDriverNs;
using fixtures::kOtherCliqueId;
using fixtures::kUid;
using fixtures::MakeMember;
using fixtures::Marked;
using fixtures::Now;
using Change = std::function<void(Observed&)>;
using Members = std::vector<Member>;
using Names = std::vector<std::string>;

// The view of the domain is the newest, as a live read showed, and its job is on all nodes.
Membership Plan(Observed observed) {
  observed.evidence.owner.emplace(observed.domain->meta);
  fixtures::AddMissingClaims(observed);
  return PlanMembership(observed, Now());
}

Membership PlanFor(Observed observed, const Change& change) {
  observed.evidence.owner.emplace(observed.domain->meta);
  change(observed);
  fixtures::AddMissingClaims(observed);
  return PlanMembership(observed, Now());
}

// What the one write of the plan makes the clique hold; the members of no clique if there is none.
Members Written(const Membership& membership) {
  const auto writes = Actions<WriteClique>(membership.actions);
  EXPECT_EQ(writes.size(), 1U);
  return writes.empty() ? Members() : writes[0].clique.daemons;
}

std::map<std::string, int> IndexByNode(const Members& members) {
  std::map<std::string, int> indices;
  for (const Member& member : members) indices[member.node] = member.index;
  return indices;
}

DaemonPod MakeMarkedPod(const std::string& node, int number) {
  DaemonPod pod = fixtures::MakePod(node, number);
  pod.controller_writes = true;
  return pod;
}

// Adds a node with a pod whose entry is ours to write.
void AddNode(Observed& observed, const std::string& node, int number) {
  observed.children.daemon_pods.push_back(MakeMarkedPod(node, number));
  observed.nodes[node] = fixtures::MakeNode(node);
}

void RemovePod(Observed& observed, const std::string& node) {
  std::erase_if(observed.children.daemon_pods,
                [&](const DaemonPod& pod) { return pod.node == node; });
}

// A live read shows these pods.
void ShowPods(Observed& observed, std::vector<DaemonPod> pods) {
  observed.evidence.daemon_pods = std::move(pods);
}

// Node-0's daemon writes its entry into status: NVIDIA's does with their feature gate
// ComputeDomainCliques off. Node-1's is in the clique, unless there is none.
Observed WithALegacyDaemon(bool has_clique) {
  Observed observed = Converged();
  if (!has_clique) observed.children.cliques.clear();
  observed.domain->status.nodes[0].clique = kOtherCliqueId;
  observed.children.daemon_pods[0].clique = kOtherCliqueId;
  for (api::Clique& clique : observed.children.cliques)
    std::erase_if(clique.daemons, [](auto& e) { return e.node == "node-0"; });
  return observed;
}

TEST(PlanMembership, B57_EntryOfADaemonThatKeepsNoCliqueCountsBesideThoseOfCliques) {
  for (const bool has_clique : {true, false}) {
    const Observed observed = WithALegacyDaemon(has_clique);
    const Membership membership = Plan(observed);
    EXPECT_FALSE(membership.needs_daemons) << "each change would be read live";
    EXPECT_TRUE(membership.actions.empty()) << "no clique is made for it";
    const Members& shown = observed.domain->status.nodes;
    EXPECT_EQ(membership.members, (Members{shown[1], shown[0]})) << "by clique";
  }
}

TEST(PlanMembership, B57_ItIsAsReadyAsItsPodWhateverStatusSaid) {
  for (const bool serves : {true, false}) {
    Observed observed = WithALegacyDaemon(true);
    observed.domain->status.nodes[0].ready = !serves;
    observed.children.daemon_pods[0].ready = serves;
    EXPECT_EQ(Plan(observed).members[1].ready, serves);
  }
  Observed lost = WithALegacyDaemon(true);
  lost.nodes["node-0"].ready = false;
  EXPECT_FALSE(Plan(lost).members[1].ready);
}

// A deletion that waits for the job would else take the entry out, its daemon put it in, and so on.
TEST(PlanMembership, B57_ItStaysWhileItsDomainIsBeingDeletedAndGoesWithItsPod) {
  Observed observed = WithALegacyDaemon(true);
  fixtures::Delete(observed.domain->meta, {std::string(api::kFinalizer)});
  EXPECT_EQ(Plan(observed).members.size(), 2U);
  fixtures::EndWorkload(observed.children.claims);
  for (const bool deleting : {true, false}) {
    Observed going = observed;
    if (deleting) {
      fixtures::Delete(going.children.daemon_pods[0].meta, {});
    } else {
      RemovePod(going, "node-0");
    }
    EXPECT_EQ(PlanMembership(going, Now()).members, (Members{MakeMember("node-1", 1)}));
  }
}

TEST(PlanMembership, B57_OnlyAnEntryThatItsOwnDaemonMayHaveWrittenCounts) {
  const std::vector<Change> changes = {
      [](Observed& o) { o.children.daemon_pods[0].controller_writes = true; },
      [](Observed& o) { o.children.daemon_pods[0].clique = "c0000000-0000-4000-8000-0.7"; },
      [](Observed& o) { o.children.daemon_pods[0].ip = "10.9.9.9"; },
      [](Observed& o) { o.children.daemon_pods[0].node = "node-7"; }};
  for (const Change& change : changes) {
    const Membership membership = PlanFor(WithALegacyDaemon(true), [&](Observed& o) {
      o.domain->status.nodes[0].ready = false;
      change(o);
    });
    const auto entry = std::ranges::find(membership.members, "node-0", &Member::node);
    EXPECT_TRUE(entry == membership.members.end() || !entry->ready);
  }
}

TEST(PlanMembership, B57_CliqueOfThatIdInAnotherNamespaceIsNotItsDaemons) {
  Observed observed = WithALegacyDaemon(true);
  api::Clique other = fixtures::MakeClique();
  other.meta.key = {.ns = fixtures::kOldDriverNs, .name = kUid + "." + kOtherCliqueId};
  other.id = kOtherCliqueId;
  other.daemons.clear();
  observed.children.cliques.push_back(other);
  EXPECT_EQ(Plan(observed).members.size(), 2U);
}

TEST(PlanMembership, Q2_CliqueThatIsAsItShouldBeIsNotWritten) {
  for (const Observed& observed : {Converged(), Marked()}) {
    const Membership membership = Plan(observed);
    EXPECT_TRUE(membership.actions.empty());
    EXPECT_FALSE(membership.needs_daemons);
    EXPECT_EQ(membership.members, (Members{MakeMember("node-0", 0), MakeMember("node-1", 1)}));
  }
}

// ---- Two cliques of one id.

TEST(PlanMembership, C16_CliquesOfOneIdInTwoNamespacesKeepTheirMembers) {
  for (const Observed& observed :
       {fixtures::InTwoNamespaces(), Marked(fixtures::InTwoNamespaces())}) {
    const Membership membership = Plan(observed);
    EXPECT_EQ(membership.members, (Members{MakeMember("node-0", 0), MakeMember("node-1", 1)}));
    EXPECT_TRUE(membership.actions.empty());
    EXPECT_FALSE(membership.needs_daemons);
  }
}

TEST(PlanMembership, C16_CliqueIsMadeWhereItsPodsAreAndOwnedByTheDaemonSetThere) {
  Observed observed = Marked(fixtures::InTwoNamespaces());
  observed.children.cliques.pop_back();
  const auto creates = Actions<Create>(Plan(observed).actions);
  ASSERT_EQ(creates.size(), 1U);
  EXPECT_EQ(creates[0].key.ns, fixtures::kOldDriverNs);
  const json::Value& owner = creates[0].object["metadata"]["ownerReferences"].items().at(0);
  EXPECT_EQ(owner["uid"].AsString(), "old-daemon-set");
}

TEST(PlanMembership, C16_EntryOfANodeIsTheOneInItsPodsNamespace) {
  Observed observed = fixtures::InTwoNamespaces();
  for (const std::size_t other : {0U, 1U}) {
    SCOPED_TRACE(other);
    Observed both = observed;
    Member stale = MakeMember(other == 0 ? "node-1" : "node-0", 7);
    both.children.cliques[other].daemons.push_back(stale);
    EXPECT_EQ(Plan(both).members, (Members{MakeMember("node-0", 0), MakeMember("node-1", 1)}));
  }
}

// The creator of a pod writes the field that says whose it is.
TEST(PlanMembership, C16_PodOfADaemonSetInAnotherNamespaceCountsForNothing) {
  Observed observed = Marked();
  AddNode(observed, "node-2", 2);
  observed.children.daemon_pods.back().meta.key.ns = fixtures::kOldDriverNs;
  const Membership membership = Plan(observed);
  EXPECT_TRUE(membership.actions.empty());
  EXPECT_EQ(membership.members.size(), 2U);
}

TEST(PlanMembership, C16_DaemonThatLeavesTheOneCliqueDoesNotHoldUpTheOther) {
  Observed observed = fixtures::InTwoNamespaces();
  observed.children.cliques[0].daemons.push_back(MakeMember("node-9", 5));
  observed.children.daemon_pods[1].meta.deleting = true;
  ShowPods(observed, observed.children.daemon_pods);
  EXPECT_EQ(Written(Plan(observed)), Members{MakeMember("node-0", 0)});
}

// Nobody there could own it.
TEST(PlanMembership, C16_CliqueThatNoDaemonSetIsBesideIsGivenNoOwner) {
  Observed observed = Marked(fixtures::InTwoNamespaces());
  observed.children.daemon_sets.pop_back();
  const Member stale = MakeMember("node-0", 7);
  observed.children.cliques[1].daemons = {stale, MakeMember("node-1", 1)};
  DaemonPod other = fixtures::MakePod("node-0", 0);
  other.meta.key.ns = fixtures::kOldDriverNs;
  ShowPods(observed, {observed.children.daemon_pods[0], other});
  const auto writes = Actions<WriteClique>(Plan(observed).actions);
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].clique.daemons, Members{stale});
  EXPECT_TRUE(writes[0].owners.IsNull());
}

TEST(PlanMembership, C3_NodeThatStatusNeverShowedIsAsItsEntryAndItsPodSay) {
  Observed observed = Converged();
  observed.facts.views.freshness[Kind::kNode] = Freshness::kUnknown;
  observed.nodes.clear();
  observed.domain->status.nodes.clear();
  EXPECT_EQ(Plan(observed).members, (Members{MakeMember("node-0", 0), MakeMember("node-1", 1)}));
}

// ---- The pace of a clique that is written.

using std::chrono::milliseconds;

const std::string kCliqueName = api::CliqueName(kUid, kCliqueId);

// The clique was written so long ago, with such a window behind it.
Change WrittenBefore(milliseconds ago, milliseconds window = milliseconds(500)) {
  return [=](Observed& observed) {
    observed.memory.clique_batching[kCliqueName] = {.last = Now().monotonic - ago,
                                                    .window = window};
  };
}

Observed WithANodeThatJoins() {
  Observed observed = Marked();
  AddNode(observed, "node-2", 2);
  return observed;
}

// Of one that waits for two more.
Observed Forming() {
  Observed observed = WithANodeThatJoins();
  AddNode(observed, "node-3", 3);
  observed.children.daemon_pods.back().ip.clear();
  return observed;
}

TEST(PlanMembership, Q3_FirstChangeOfACliqueIsWrittenAtOnce) {
  const Membership membership = Plan(WithANodeThatJoins());
  EXPECT_EQ(Written(membership).size(), 3U);
  EXPECT_FALSE(membership.requeue_after);
}

TEST(PlanMembership, Q3_ChangeSoonAfterAWriteWaitsForOthersAndStatusSaysWhatTheCliqueDoes) {
  const Membership waits = PlanFor(WithANodeThatJoins(), WrittenBefore(milliseconds(50)));
  EXPECT_TRUE(waits.actions.empty());
  EXPECT_EQ(waits.requeue_after, milliseconds(53));
  EXPECT_EQ(waits.members.size(), 2U);
  const Membership later = PlanFor(WithANodeThatJoins(), WrittenBefore(milliseconds(103)));
  EXPECT_EQ(Written(later).size(), 3U);
  EXPECT_FALSE(later.requeue_after);
}

TEST(PlanMembership, Q3_WindowOfAnotherCliqueIsNoReasonToWait) {
  Observed observed = WithANodeThatJoins();
  observed.memory.clique_batching["another"] = {.last = Now().monotonic,
                                                .window = milliseconds(500)};
  EXPECT_EQ(Written(Plan(observed)).size(), 3U);
}

TEST(PlanMembership, C10_LossesOfAFlappingCliqueFollowOneAnotherAtAPace) {
  const Membership membership = PlanFor(fixtures::Marked(), [](Observed& observed) {
    WrittenBefore(milliseconds(101))(observed);
    observed.children.daemon_pods[0].ready = false;
  });
  EXPECT_TRUE(membership.actions.empty());
  EXPECT_EQ(membership.requeue_after, milliseconds(1));
}

TEST(PlanMembership, Q3_ReadinessThatIsLostIsWrittenAtOnce) {
  for (const bool leaves : {false, true}) {
    const Membership membership = PlanFor(WithANodeThatJoins(), [&](Observed& observed) {
      WrittenBefore(milliseconds(103))(observed);
      observed.children.daemon_pods[0].ready = false;
      if (!leaves) return;
      RemovePod(observed, "node-0");
      ShowPods(observed, observed.children.daemon_pods);
    });
    EXPECT_EQ(Written(membership).size(), leaves ? 2U : 3U) << "and what else there is with it";
  }
}

// What a live read of the DaemonSet that a clique is to belong to has found.
void FindDaemonSet(Observed& observed, const kube::Uid& uid) {
  kube::ObjectMeta meta = observed.children.daemon_sets.at(0).meta;
  const kube::ObjectKey key = meta.key;
  meta.uid = uid;
  observed.evidence.names[{Kind::kDaemonSet, key}] = Found({.meta = std::move(meta)});
}

TEST(PlanMembership, Q3_CliqueThatIsMadeAnewWaitsForNothing) {
  const Membership membership = PlanFor(WithANodeThatJoins(), [](Observed& observed) {
    WrittenBefore(milliseconds(0))(observed);
    observed.children.cliques.clear();
    FindDaemonSet(observed, observed.children.daemon_sets.at(0).meta.uid);
  });
  EXPECT_EQ(Actions<Create>(membership.actions).size(), 1U);
}

TEST(PlanMembership, S3_CliqueIsMadeOnlyFromTheNewestViewOfItsDomain) {
  const auto plan = [](const Change& find) {
    return PlanFor(WithANodeThatJoins(), [&](Observed& observed) {
      observed.children.cliques.clear();
      find(observed);
    });
  };
  EXPECT_EQ(Actions<Create>(plan([](Observed&) {}).actions).size(), 1U);
  const Membership unread = plan([](Observed& observed) { observed.evidence.owner.reset(); });
  EXPECT_TRUE(unread.needs_owner);
  EXPECT_TRUE(unread.actions.empty());
  const std::vector<Change> others = {
      [](Observed& observed) { observed.evidence.owner.emplace(std::nullopt); },
      [](Observed& observed) { (*observed.evidence.owner)->resource_version = "another"; }};
  for (const Change& other : others) {
    const Membership membership = plan(other);
    EXPECT_FALSE(membership.needs_owner);
    EXPECT_TRUE(membership.actions.empty());
  }
}

// An old view shows a DaemonSet that is gone: the garbage collector takes away what belongs to it.
TEST(PlanMembership, R2_CliqueThatIsGoneSoonAfterAWriteIsNotMadeForADaemonSetThatIsGone) {
  const auto plan = [](const Change& find) {
    return PlanFor(WithANodeThatJoins(), [&](Observed& observed) {
      WrittenBefore(milliseconds(0))(observed);
      observed.children.cliques.clear();
      find(observed);
    });
  };
  const Membership unread = plan([](Observed&) {});
  EXPECT_EQ(Actions<Create>(unread.actions).size(), 0U);
  ASSERT_EQ(Actions<ReadTaken>(unread.actions).size(), 1U);
  EXPECT_EQ(Actions<ReadTaken>(unread.actions)[0].kind, Kind::kDaemonSet);
  const Membership another = plan([](Observed& observed) { FindDaemonSet(observed, "another"); });
  EXPECT_TRUE(another.actions.empty());
  const Membership gone = plan([](Observed& observed) {
    observed.evidence.names[{Kind::kDaemonSet, observed.children.daemon_sets.at(0).meta.key}] = {
        NameCheck::Is::kFree};
  });
  EXPECT_TRUE(gone.actions.empty());
}

TEST(PlanMembership, Q3_GrownWindowIsForACliqueThatStillForms) {
  const Change written = WrittenBefore(milliseconds(600), milliseconds(4000));
  EXPECT_EQ(PlanFor(Forming(), written).requeue_after, milliseconds(3400));
  EXPECT_EQ(Written(PlanFor(WithANodeThatJoins(), written)).size(), 3U)
      << "nobody else is on the way";
}

TEST(PlanMembership, Q3_WhoIsOnTheWayMakesACliqueOneThatForms) {
  const auto waits = [](const Change& change) {
    const Membership membership = PlanFor(WithANodeThatJoins(), [&](Observed& observed) {
      WrittenBefore(milliseconds(600), milliseconds(4000))(observed);
      AddNode(observed, "node-3", 3);
      change(observed);
    });
    return membership.requeue_after;
  };
  const auto pod = [](Observed& observed) -> DaemonPod& {
    return observed.children.daemon_pods.back();
  };
  EXPECT_FALSE(waits([](Observed&) {})) << "it is there";
  EXPECT_TRUE(waits([&](Observed& observed) { pod(observed).ready = false; }));
  EXPECT_TRUE(waits([&](Observed& observed) { pod(observed).ip.clear(); }));
  EXPECT_TRUE(waits([&](Observed& observed) { pod(observed).clique.reset(); }));
  EXPECT_FALSE(waits([&](Observed& observed) { pod(observed).clique = kOtherCliqueId; }));
  EXPECT_FALSE(waits([&](Observed& observed) { pod(observed).meta.deleting = true; }));
  EXPECT_FALSE(waits([&](Observed& observed) {
    pod(observed).controller_writes = false;
    pod(observed).ready = false;
  })) << "its daemon writes for itself";
  const auto with_label = [](bool ready) {
    return [ready](Observed& observed) {
      observed.children.labelled_nodes.push_back(fixtures::MakeNode("node-4"));
      observed.children.labelled_nodes.back().ready = ready;
    };
  };
  EXPECT_TRUE(waits(with_label(true))) << "its pod will come";
  EXPECT_FALSE(waits(with_label(false))) << "nothing comes of a node that is lost";
  EXPECT_FALSE(waits([&](Observed& observed) {
    pod(observed).ready = false;
    observed.nodes["node-3"].ready = false;
  }));
  EXPECT_FALSE(waits([&](Observed& observed) {
    pod(observed).ip.clear();
    observed.nodes["node-3"].ready = false;
  }));
}

TEST(PlanMembership, Q3_WhoJoinsWaitsAQuarterOfTheTimeIfNobodyElseIsToJoin) {
  const auto wait = [](milliseconds window) {
    const Membership membership = PlanFor(WithANodeThatJoins(), [&](Observed& observed) {
      WrittenBefore(milliseconds(100), window)(observed);
      observed.children.daemon_pods.back().ready = false;
    });
    return membership.requeue_after;
  };
  EXPECT_EQ(wait(milliseconds(4000)), milliseconds(900));
  EXPECT_EQ(wait(milliseconds(300)), milliseconds(3)) << "but as long as what is urgent";
}

TEST(PlanMembership, Q3_ReadinessOfAllHardlyWaitsInACliqueThatHasJustBegunToForm) {
  const auto wait = [](milliseconds window) {
    const Membership membership = PlanFor(Marked(), [&](Observed& observed) {
      WrittenBefore(milliseconds(50), window)(observed);
      for (api::Member& entry : observed.children.cliques[0].daemons) entry.ready = false;
    });
    return membership.requeue_after;
  };
  EXPECT_EQ(wait(milliseconds(500)), milliseconds(52));
  EXPECT_EQ(wait(milliseconds(2000)), milliseconds(75));
  EXPECT_EQ(wait(milliseconds(16'000)), milliseconds(450)) << "one that was written often";
}

TEST(PlanMembership, Q3_ReadinessIsWrittenTogetherWithThatOfOthersWhoAreAboutToBeReady) {
  const auto waits = [](bool other_is_ready) {
    const Membership membership = PlanFor(Marked(), [&](Observed& observed) {
      WrittenBefore(milliseconds(600), milliseconds(4000))(observed);
      for (api::Member& entry : observed.children.cliques[0].daemons) entry.ready = false;
      observed.children.daemon_pods[1].ready = other_is_ready;
    });
    return membership.requeue_after;
  };
  EXPECT_TRUE(waits(false));
  EXPECT_FALSE(waits(true));
}

TEST(PlanMembership, Q3_ReadinessIsWrittenTogetherWhileOtherCliquesOfTheDomainForm) {
  const auto waits = [](bool other_is_ready) {
    const Membership membership = PlanFor(Marked(), [&](Observed& observed) {
      WrittenBefore(milliseconds(600), milliseconds(4000))(observed);
      for (api::Member& entry : observed.children.cliques[0].daemons) entry.ready = false;
      AddNode(observed, "node-3", 3);
      observed.children.daemon_pods.back().clique = kOtherCliqueId;
      observed.children.daemon_pods.back().ready = other_is_ready;
    });
    const auto writes = Actions<WriteClique>(membership.actions);
    return writes.empty();
  };
  EXPECT_TRUE(waits(false));
  EXPECT_FALSE(waits(true));
}

TEST(PlanMembership, Q3_OfSeveralCliquesTheFirstThatIsDueSaysWhenToLookAgain) {
  const Membership membership = PlanFor(WithANodeThatJoins(), [](Observed& observed) {
    WrittenBefore(milliseconds(20))(observed);
    api::Clique other = observed.children.cliques[0];
    other.id = kOtherCliqueId;
    other.meta.key.name = api::CliqueName(kUid, kOtherCliqueId);
    other.daemons = {};
    observed.children.cliques.push_back(other);
    AddNode(observed, "node-3", 3);
    observed.children.daemon_pods.back().clique = kOtherCliqueId;
    observed.memory.clique_batching[other.meta.key.name] = {
        .last = Now().monotonic - milliseconds(50), .window = milliseconds(500)};
  });
  EXPECT_EQ(membership.requeue_after, milliseconds(51));
}

TEST(NextPace, Q3_WindowGrowsWhileWritesFollowOneAnother) {
  CliqueBatching batching;
  std::vector<int> windows;
  for (int i = 0; i < 6; ++i) {
    batching = NextBatching(batching, Now().monotonic, milliseconds(500));
    windows.push_back(static_cast<int>(batching.window.count()));
  }
  EXPECT_EQ(windows, (std::vector<int>{500, 2000, 4000, 4000, 4000, 4000}));
  EXPECT_FALSE(IsAtRest(batching, Now().monotonic + milliseconds(7'999)));
  EXPECT_TRUE(IsAtRest(batching, Now().monotonic + milliseconds(8'000)));
  EXPECT_TRUE(IsAtRest(NextBatching({}, Now().monotonic, milliseconds(0)), Now().monotonic));
}

// ---- Leaving.

TEST(PlanMembership, B1_MemberWhosePodTheCacheLacksStaysAndIsLookedFor) {
  for (const Observed& observed : {Converged(), Marked()}) {
    const Membership membership = PlanFor(observed, [](Observed& o) { RemovePod(o, "node-1"); });
    EXPECT_TRUE(membership.actions.empty());
    EXPECT_TRUE(membership.needs_daemons);
    EXPECT_EQ(membership.members.size(), 2U);
    EXPECT_TRUE(membership.members[1].ready);
  }
}

TEST(PlanMembership, S1_MemberWhosePodTheCacheLacksDoesNotBecomeReady) {
  for (const Observed& observed : {Converged(), Marked()}) {
    const Membership unready = PlanFor(observed, [](Observed& o) {
      o.domain->status.nodes[1].ready = false;
      RemovePod(o, "node-1");
    });
    EXPECT_EQ(unready.members.size(), 2U);
    EXPECT_FALSE(unready.members[1].ready);
    const Membership new_here = PlanFor(observed, [](Observed& o) {
      o.domain->status.nodes.clear();
      RemovePod(o, "node-1");
    });
    EXPECT_EQ(new_here.members.size(), 2U);
    EXPECT_FALSE(new_here.members[1].ready);
  }
}

TEST(PlanMembership, S1_MemberUnderAnotherAddressThanStatusShowsIsNotReadyWithoutItsPod) {
  const Membership membership = PlanFor(Converged(), [](Observed& o) {
    o.domain->status.nodes[1].ip = "10.9.9.9";
    RemovePod(o, "node-1");
  });
  EXPECT_FALSE(membership.members[1].ready);
}

TEST(PlanMembership, B1_S5_MemberLeavesOnlyIfALiveReadShowsItsPodGoneTerminalOrElsewhere) {
  struct Row {
    const char* what;
    std::function<void(DaemonPod&)> change;
    bool leaves;
  };
  const std::vector<Row> rows = {
      {"there", [](DaemonPod&) {}, false},
      {"not ready", [](DaemonPod& pod) { pod.ready = false; }, false},
      {"ending", [](DaemonPod& pod) { pod.meta.deleting = true; }, false},
      {"another incarnation that only starts", [](DaemonPod& pod) { pod.clique.reset(); }, false},
      {"ended", [](DaemonPod& pod) { pod.terminal = true; }, true},
      {"in another clique", [](DaemonPod& pod) { pod.clique = kOtherCliqueId; }, true},
      {"on a node without fabric", [](DaemonPod& pod) { pod.clique = ""; }, true},
      {"on another node", [](DaemonPod& pod) { pod.node = "node-7"; }, true},
  };
  for (const Observed& base : {Converged(), Marked()}) {
    Observed gone = base;
    RemovePod(gone, "node-1");
    ShowPods(gone, gone.children.daemon_pods);
    EXPECT_EQ(Written(Plan(gone)), (Members{MakeMember("node-0", 0)})) << "gone";
    for (const Row& row : rows) {
      SCOPED_TRACE(row.what);
      Observed observed = base;
      DaemonPod live = observed.children.daemon_pods[1];
      row.change(live);
      RemovePod(observed, "node-1");
      ShowPods(observed, {live});
      const Membership membership = Plan(observed);
      EXPECT_FALSE(membership.needs_daemons);
      EXPECT_EQ(membership.members.size(), row.leaves ? 1U : 2U);
      if (row.leaves) {
        EXPECT_EQ(Written(membership), (Members{MakeMember("node-0", 0)}));
      } else {
        EXPECT_TRUE(membership.actions.empty());
      }
    }
  }
}

TEST(PlanMembership, S5_CachedPodThatEndedIsNoProofEither) {
  const Membership membership =
      PlanFor(Marked(), [](Observed& o) { o.children.daemon_pods[1].terminal = true; });
  EXPECT_TRUE(membership.actions.empty());
  EXPECT_TRUE(membership.needs_daemons);
}

TEST(PlanMembership, S5_PodThatACacheShowsElsewhereDoesNotRemoveAMember) {
  const Membership membership =
      PlanFor(Marked(), [](Observed& o) { o.children.daemon_pods[1].clique = kOtherCliqueId; });
  EXPECT_TRUE(Actions<WriteClique>(membership.actions).empty());
  EXPECT_TRUE(membership.needs_daemons);
}

TEST(PlanMembership, B4_B50_NodeThatMovedLeavesItsOldCliqueAndIsInTheNewOne) {
  Observed observed = Marked();
  observed.children.daemon_pods[1].clique = kOtherCliqueId;
  ShowPods(observed, observed.children.daemon_pods);
  const Membership membership = Plan(observed);
  EXPECT_EQ(Written(membership), (Members{MakeMember("node-0", 0)}));
  const auto creates = Actions<Create>(membership.actions);
  ASSERT_EQ(creates.size(), 1U);
  EXPECT_EQ(creates[0].key.name, kUid + "." + kOtherCliqueId);
  EXPECT_EQ(creates[0].object["daemons"].items()[0]["nodeName"].AsString(), "node-1");
}

TEST(PlanMembership, B5_NodeInTwoCliquesStandsInStatusOnceWhereItsPodIs) {
  for (const std::string& where : {kCliqueId, kOtherCliqueId}) {
    SCOPED_TRACE(where);
    Observed observed = Converged();
    observed.children.daemon_pods[1].clique = where;
    api::Clique other = fixtures::MakeClique();
    other.id = kOtherCliqueId;
    other.meta.key.name = kUid + "." + kOtherCliqueId;
    other.daemons = {MakeMember("node-1", 4)};
    other.daemons[0].clique = kOtherCliqueId;
    observed.children.cliques.push_back(other);
    for (const bool was_read : {false, true}) {
      if (was_read) {
        ShowPods(observed, {fixtures::MakePod("node-1", 1), observed.children.daemon_pods[1]});
      }
      const Membership membership = Plan(observed);
      ASSERT_EQ(membership.members.size(), 2U);
      EXPECT_EQ(membership.members[1].node, "node-1");
      EXPECT_EQ(membership.members[1].clique, where);
    }
  }
}

// ---- Entries that the daemons write themselves.

TEST(PlanMembership, B3_EntryOfADaemonThatWritesItselfIsNeverChanged) {
  const std::vector<std::pair<const char*, Change>> rows = {
      {"pod not ready", [](Observed& o) { o.children.daemon_pods[1].ready = false; }},
      {"another address", [](Observed& o) { o.children.daemon_pods[1].ip = "10.9.9.9"; }},
      {"index out of range", [](Observed& o) { o.children.cliques[0].daemons[1].index = 99; }},
      {"index held twice", [](Observed& o) { o.children.cliques[0].daemons[1].index = 0; }},
      {"pod that only starts", [](Observed& o) { o.children.daemon_pods[1].clique.reset(); }},
      {"no entry yet", [](Observed& o) { o.children.cliques[0].daemons.pop_back(); }},
      {"no clique yet", [](Observed& o) { o.children.cliques.clear(); }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    EXPECT_TRUE(PlanFor(Converged(), change).actions.empty());
  }
}

TEST(PlanMembership, B10_CliqueIsNotWrittenWhileADaemonThatWritesItselfLeaves) {
  Observed observed = Converged();
  RemovePod(observed, "node-1");
  ShowPods(observed, {});  // So that the entry of node-1 may go.
  ASSERT_EQ(Written(Plan(observed)).size(), 1U);

  observed.children.daemon_pods[0].meta.deleting = true;
  EXPECT_TRUE(Plan(observed).actions.empty());
  // Its entry is its own until the container has ended; and it leaves this clique, no other.
  observed.children.daemon_pods[0].terminal = true;
  EXPECT_EQ(Actions<WriteClique>(Plan(observed).actions).size(), 1U);
  observed.children.daemon_pods[0].terminal = false;
  observed.children.daemon_pods[0].clique = kOtherCliqueId;
  EXPECT_EQ(Actions<WriteClique>(Plan(observed).actions).size(), 1U);
}

TEST(PlanMembership, BothKindsOfDaemonsShareACliqueAndNoIndex) {
  const Membership membership = PlanFor(Converged(), [](Observed& o) { AddNode(o, "node-2", 2); });
  EXPECT_EQ(Written(membership),
            (Members{MakeMember("node-0", 0), MakeMember("node-1", 1), MakeMember("node-2", 2)}));
}

// ---- Entries that the controller writes.

TEST(PlanMembership, FirstMemberBringsTheCliqueWithIt) {
  const Membership membership = PlanFor(Marked(), [](Observed& o) {
    o.children.cliques.clear();
    o.domain->status.nodes.clear();
    RemovePod(o, "node-0");
  });
  const auto creates = Actions<Create>(membership.actions);
  ASSERT_EQ(creates.size(), 1U);
  EXPECT_EQ(creates[0].kind, Kind::kClique);
  EXPECT_EQ(creates[0].key, (kube::ObjectKey{kDriverNs, kUid + "." + kCliqueId}));
  const auto expected = json::Parse(R"({
    "apiVersion": "resource.nvidia.com/v1beta1",
    "kind": "ComputeDomainClique",
    "metadata": {
      "name": "d0000000-0000-4000-8000-000000000001.c0000000-0000-4000-8000-000000000001.1",
      "namespace": "cdom-system",
      "labels": {
        "resource.nvidia.com/computeDomain": "d0000000-0000-4000-8000-000000000001",
        "resource.nvidia.com/computeDomain.cliqueID": "c0000000-0000-4000-8000-000000000001.1"
      },
      "annotations": {"cdom.dev/joining": "1"},
      "ownerReferences": [{
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "name": "computedomain-daemon-d0000000-0000-4000-8000-000000000001",
        "uid": "daemon-set"
      }]
    },
    "daemons": [{
      "nodeName": "node-1",
      "ipAddress": "10.0.0.2",
      "cliqueID": "c0000000-0000-4000-8000-000000000001.1",
      "index": 0,
      "status": "Ready"
    }]
  })");
  ASSERT_TRUE(expected);
  EXPECT_EQ(creates[0].object, *expected);
}

TEST(PlanMembership, CliqueIsNotMadeBeforeAPodJoinsIt) {
  Observed observed = Marked();
  observed.children.cliques.clear();
  observed.domain->status.nodes.clear();
  for (DaemonPod& pod : observed.children.daemon_pods) pod.ip.clear();
  EXPECT_TRUE(Plan(observed).actions.empty());
}

TEST(PlanMembership, ManyNodesJoinInOneWriteInOrderOfName) {
  const Membership membership = PlanFor(Marked(), [](Observed& o) {
    for (const int number : {4, 3, 2}) AddNode(o, "node-" + std::to_string(number), number);
  });
  EXPECT_EQ(IndexByNode(Written(membership)),
            (std::map<std::string, int>{
                {"node-0", 0}, {"node-1", 1}, {"node-2", 2}, {"node-3", 3}, {"node-4", 4}}));
}

TEST(PlanMembership, CliqueSaysHowManyAreStillOnTheirWayIntoIt) {
  const auto joining = [](const Change& change) {
    const Membership membership = PlanFor(WithANodeThatJoins(), [&](Observed& observed) {
      AddNode(observed, "node-3", 3);
      AddNode(observed, "node-4", 4);
      change(observed);
    });
    const auto writes = Actions<WriteClique>(membership.actions);
    return writes.size() == 1 ? writes[0].clique.joining.value_or(-2) : -1;
  };
  const auto pods = [](Observed& observed) {
    return std::span(observed.children.daemon_pods).last(2);
  };
  EXPECT_EQ(joining([](Observed&) {}), 0) << "all are let in by this write";
  EXPECT_EQ(joining([&](Observed& observed) {
              pods(observed)[0].clique.reset();
              pods(observed)[1].ip.clear();
            }),
            2);
  EXPECT_EQ(joining([&](Observed& observed) { pods(observed)[0].clique = kOtherCliqueId; }), 0);
  EXPECT_EQ(joining([](Observed& observed) {
              observed.children.labelled_nodes.push_back(fixtures::MakeNode("node-5"));
            }),
            1)
      << "its pod will come";
}

TEST(PlanMembership, B2_S4_IndexStaysWhenANodeWithAnEarlierNameJoins) {
  const Membership membership = PlanFor(Marked(), [](Observed& o) { AddNode(o, "a-node", 2); });
  EXPECT_EQ(IndexByNode(Written(membership)),
            (std::map<std::string, int>{{"node-0", 0}, {"node-1", 1}, {"a-node", 2}}));
}

TEST(PlanMembership, S3_IndexOfAMemberThatOnlySeemsGoneIsNotGivenAway) {
  const Membership membership = PlanFor(Marked(), [](Observed& o) {
    RemovePod(o, "node-0");
    AddNode(o, "node-2", 2);
  });
  EXPECT_TRUE(membership.needs_daemons);
  EXPECT_EQ(IndexByNode(Written(membership)),
            (std::map<std::string, int>{{"node-0", 0}, {"node-1", 1}, {"node-2", 2}}));
}

TEST(PlanMembership, IndexOfAMemberThatIsProvenGoneIsTheNextOnesIfNoneIsKept) {
  const Membership membership = PlanFor(Marked(), [](Observed& o) {
    o.facts.settings.Edit().index_hold = std::chrono::seconds(0);
    RemovePod(o, "node-0");
    AddNode(o, "node-2", 2);
    ShowPods(o, o.children.daemon_pods);
  });
  EXPECT_EQ(IndexByNode(Written(membership)),
            (std::map<std::string, int>{{"node-1", 1}, {"node-2", 0}}));
}

TEST(PlanMembership, C3_OfWhoHasNoPodAndWhoseNodeIsNotKnownStatusStaysAsItIs) {
  for (const bool shown_ready : {true, false}) {
    Observed observed = Converged();
    RemovePod(observed, "node-1");
    observed.nodes.clear();
    observed.facts.views.freshness[Kind::kNode] = Freshness::kUnknown;
    observed.domain->status.nodes[1].ready = shown_ready;
    const Membership membership = Plan(observed);
    ASSERT_EQ(membership.members.size(), 2U);
    EXPECT_EQ(membership.members[1].ready, shown_ready);
    EXPECT_TRUE(membership.members[0].ready) << "its pod serves";
  }
}

TEST(PlanMembership, C5_IndexOfAPodThatLivesIsRespectedBeyondABoundThatWasLowered) {
  Observed observed = Marked();
  observed.children.cliques[0].daemons[1].index = 17;
  observed.domain->status.nodes[1].index = 17;
  observed.facts.settings.Edit().daemons.nodes_per_imex_domain_max = 2;
  const Membership membership = Plan(observed);
  EXPECT_TRUE(membership.actions.empty());
  EXPECT_EQ(membership.members.size(), 2U);
}

void LeavesSince(Observed& observed, std::chrono::seconds ago) {
  observed.memory.leaving_since[observed.children.daemon_pods[0].meta.uid] = Now().monotonic - ago;
}

TEST(PlanMembership, L5_ReadyMemberWithoutAPodIsLookedUpThoughTheCliqueIsNotToBeWrittenYet) {
  Observed observed = Converged();
  fixtures::Delete(observed.children.daemon_pods[0].meta, {});  // It takes its own entry out.
  RemovePod(observed, "node-1");                                // By force: its entry stays.
  const Membership unseen = Plan(observed);
  EXPECT_TRUE(unseen.needs_daemons);
  EXPECT_TRUE(unseen.members[1].ready);
  ShowPods(observed, observed.children.daemon_pods);
  const Membership seen = Plan(observed);
  EXPECT_FALSE(seen.needs_daemons);
  EXPECT_FALSE(seen.members[1].ready);
}

TEST(PlanMembership, REV3_F16_ClockThatIsBehindKeepsNoCliqueFromBeingWritten) {
  const Membership membership = PlanFor(Converged(), [](Observed& o) {
    fixtures::Delete(o.children.daemon_pods[0].meta, {});
    // By our wall clock it ends in an hour.
    o.children.daemon_pods[0].meta.deletion_timestamp =
        base::FormatSeconds(Now().wall + std::chrono::hours(1));
    LeavesSince(o, std::chrono::seconds(60));
    RemovePod(o, "node-1");
    ShowPods(o, o.children.daemon_pods);
  });
  EXPECT_EQ(Actions<WriteClique>(membership.actions).size(), 1U);
}

TEST(PlanMembership, C1_PodThatHangsOnADeadNodeDoesNotKeepTheCliqueFromBeingWritten) {
  struct Row {
    const char* what;
    void (*change)(Observed&);
    bool writes;
  };
  const std::vector<Row> rows = {
      {"its node is lost", [](Observed& o) { o.nodes["node-0"].ready = false; }, true},
      {"its node is gone", [](Observed& o) { o.nodes.erase("node-0"); }, true},
      {"it has been ending for a minute",
       [](Observed& o) { LeavesSince(o, std::chrono::seconds(60)); }, true},
      {"it may be ending", [](Observed& o) { LeavesSince(o, std::chrono::seconds(59)); }, false},
  };
  for (const Row& row : rows) {
    const Membership membership = PlanFor(Converged(), [&](Observed& o) {
      fixtures::Delete(o.children.daemon_pods[0].meta, {});
      row.change(o);
      RemovePod(o, "node-1");  // By force, with an entry that says Ready.
      ShowPods(o, o.children.daemon_pods);
    });
    EXPECT_EQ(Actions<WriteClique>(membership.actions).size(), row.writes ? 1U : 0U) << row.what;
    if (row.writes) continue;
    EXPECT_EQ(membership.requeue_after, std::chrono::seconds(1)) << row.what;
  }
}

TEST(PlanMembership, S3_IndexThatIsHeldTwiceOrNoneIsGivenAnew) {
  for (const int index : {0, -1}) {
    SCOPED_TRACE(index);
    Observed observed = Marked();
    observed.children.cliques[0].daemons[1].index = index;
    observed.domain->status.nodes[1].index = index;
    EXPECT_EQ(IndexByNode(Written(Plan(observed))),
              (std::map<std::string, int>{{"node-0", 0}, {"node-1", 1}}));
  }
}

TEST(PlanMembership, B7_FullCliqueIsNoReasonToRefuseANodeOfAnother) {
  Observed observed = Marked();
  observed.facts.settings.Edit().daemons.nodes_per_imex_domain_max = 2;
  AddNode(observed, "node-2", 2);
  observed.children.daemon_pods.back().clique = kOtherCliqueId;
  const Membership membership = Plan(observed);
  EXPECT_TRUE(membership.without_index.empty());
  ASSERT_EQ(Actions<Create>(membership.actions).size(), 1U);
  EXPECT_EQ(Actions<Create>(membership.actions)[0].key.name, kUid + "." + kOtherCliqueId);
}

TEST(PlanMembership, B7_NodeWithoutRoomIsNamedAndNobodyElseMoves) {
  const Membership membership = PlanFor(Marked(), [](Observed& o) {
    o.facts.settings.Edit().daemons.nodes_per_imex_domain_max = 2;
    AddNode(o, "a-node", 2);
  });
  EXPECT_TRUE(membership.actions.empty());
  EXPECT_EQ(membership.without_index, (Names{"a-node in clique " + kCliqueId}));
  EXPECT_EQ(membership.members.size(), 2U);
}

TEST(PlanMembership, S1_EntryOfAPodThatEndsIsNotReadyFromThatMoment) {
  const Membership membership =
      PlanFor(Marked(), [](Observed& o) { o.children.daemon_pods[1].meta.deleting = true; });
  EXPECT_EQ(Written(membership),
            (Members{MakeMember("node-0", 0), MakeMember("node-1", 1, false)}));
  EXPECT_FALSE(membership.members[1].ready);
}

TEST(PlanMembership, B11_EntryFollowsItsPod) {
  Observed observed = Marked();
  DaemonPod& pod = observed.children.daemon_pods[1];
  pod.ip = "10.9.9.9";
  pod.ready = false;
  Member changed = MakeMember("node-1", 1, false);
  changed.ip = "10.9.9.9";
  EXPECT_EQ(Written(Plan(observed)), (Members{MakeMember("node-0", 0), changed}));
  // The next incarnation, before it has an address or says where it is: the last address stays.
  pod.ip.clear();
  pod.ready = true;
  pod.clique.reset();
  EXPECT_EQ(Written(Plan(observed)),
            (Members{MakeMember("node-0", 0), MakeMember("node-1", 1, false)}));
}

TEST(PlanMembership, B11_MemberWhoseEntryHasAnotherAddressThanItsPodIsNotReady) {
  struct Row {
    const char* what;
    std::function<void(DaemonPod& pod, Member& entry)> change;
    bool ready;
  };
  const std::vector<Row> rows = {
      {"of the pod before", [](DaemonPod&, Member& entry) { entry.ip = "10.9.9.9"; }, false},
      {"none", [](DaemonPod&, Member& entry) { entry.ip.clear(); }, false},
      {"that of its pod", [](DaemonPod&, Member&) {}, true},
      {"the pod's is not known", [](DaemonPod& pod, Member&) { pod.ip.clear(); }, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Observed observed = Converged();
    row.change(observed.children.daemon_pods[1], observed.children.cliques[0].daemons[1]);
    const Membership membership = Plan(observed);
    ASSERT_EQ(membership.members.size(), 2U);
    EXPECT_EQ(membership.members[1].ip, observed.children.cliques[0].daemons[1].ip);
    EXPECT_EQ(membership.members[1].ready, row.ready);
    EXPECT_TRUE(membership.actions.empty());
  }
}

TEST(PlanMembership, B11_AddressInACliqueThatANodeHasLeftIsNotComparedWithItsPod) {
  Observed observed = Converged();
  observed.children.daemon_pods[1].ip = "10.9.9.9";
  observed.children.daemon_pods[1].clique = kOtherCliqueId;
  EXPECT_TRUE(Plan(observed).members[1].ready);
}

TEST(PlanMembership, OnlyAPodThatStaysAndHasAnAddressJoins) {
  const std::vector<std::pair<const char*, std::function<void(DaemonPod&)>>> rows = {
      {"without an address", [](DaemonPod& pod) { pod.ip.clear(); }},
      {"without a clique", [](DaemonPod& pod) { pod.clique.reset(); }},
      {"ending", [](DaemonPod& pod) { pod.meta.deleting = true; }},
      {"ended", [](DaemonPod& pod) { pod.terminal = true; }},
      {"not placed", [](DaemonPod& pod) { pod.node.clear(); }},
      {"of another DaemonSet", [](DaemonPod& pod) { pod.meta.owners[0].uid = "theirs"; }},
      {"of nobody", [](DaemonPod& pod) { pod.meta.owners.clear(); }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = Marked();
    AddNode(observed, "node-2", 2);
    change(observed.children.daemon_pods.back());
    const Membership membership = Plan(observed);
    EXPECT_TRUE(membership.actions.empty());
    EXPECT_EQ(membership.members.size(), 2U);
  }
}

TEST(PlanMembership, B38_S4_CliqueThatSomebodyDeletedIsMadeAgainAsItWas) {
  Observed observed = Marked();
  observed.children.cliques.clear();
  observed.domain->status.nodes = {MakeMember("node-0", 5), MakeMember("node-1", 0)};
  AddNode(observed, "a-node", 2);
  const auto creates = Actions<Create>(Plan(observed).actions);
  ASSERT_EQ(creates.size(), 1U);
  std::map<std::string, std::int64_t> indices;
  for (const json::Value& daemon : creates[0].object["daemons"].items()) {
    indices[daemon["nodeName"].AsString()] = daemon["index"].AsInt().value_or(-1);
  }
  EXPECT_EQ(indices,
            (std::map<std::string, std::int64_t>{{"node-0", 5}, {"node-1", 0}, {"a-node", 1}}));
}

// As where a user deletes the DaemonSet and the node falls silent, so that its pod never ends.
TEST(PlanMembership, S10_MemberWhosePodCountsNoMoreIsReadyOnlyWhileALiveReadShowsOneThatServes) {
  Observed observed = Converged();
  DaemonPod& pod = observed.children.daemon_pods[1];
  pod.meta.owners[0].uid = "deleted";
  const auto is_ready = [&] { return Plan(observed).members[1].ready; };
  EXPECT_TRUE(is_ready());
  EXPECT_TRUE(Plan(observed).needs_daemons);
  ShowPods(observed, observed.children.daemon_pods);
  EXPECT_TRUE(is_ready());
  (*observed.evidence.daemon_pods)[1].meta.deleting = true;
  EXPECT_FALSE(is_ready());
}

// As where a user deletes the DaemonSet, and with it the clique: the pods of before, which count no
// more, may still run under their indices.
// Else status forgets whose index it is, and a clique that is created again gives it to another.
TEST(PlanMembership, S3_MemberThatOnlyStatusKnowsStaysWhileAJobHoldsItsDomainThatIsBeingDeleted) {
  Observed observed = Marked();
  fixtures::Delete(observed.domain->meta, {std::string(api::kFinalizer)});
  observed.children.cliques.clear();
  RemovePod(observed, "node-1");
  const Membership held = Plan(observed);
  EXPECT_EQ(held.members.size(), 2U);
  EXPECT_TRUE(held.needs_daemons);
  fixtures::EndWorkload(observed.children.claims);
  EXPECT_EQ(PlanMembership(observed, Now()).members.size(), 0U) << "they go";
}

TEST(PlanMembership, S3_IndexThatOnlyStatusKnowsIsNobodyElsesUntilALiveReadShowsNoPod) {
  Observed observed = Marked();
  observed.children.cliques.clear();
  const std::vector<DaemonPod> before = observed.children.daemon_pods;
  observed.children.daemon_pods.clear();
  AddNode(observed, "node-2", 2);
  const auto index_given = [](const Membership& membership) {
    const auto creates = Actions<Create>(membership.actions);
    return creates.empty() ? std::nullopt
                           : creates[0].object["daemons"].items()[0]["index"].AsInt();
  };
  const Membership not_read = Plan(observed);
  EXPECT_EQ(index_given(not_read), 2);
  EXPECT_TRUE(not_read.needs_daemons);

  ShowPods(observed, {before[0], observed.children.daemon_pods[0]});
  EXPECT_EQ(index_given(Plan(observed)), 1) << "node-1 is gone";

  observed.facts.settings.Edit().daemons.nodes_per_imex_domain_max = 1;
  const Membership full = Plan(observed);
  EXPECT_EQ(index_given(full), std::nullopt) << "node-0 lives";
  EXPECT_EQ(full.without_index.size(), 1U);
  ShowPods(observed, observed.children.daemon_pods);
  EXPECT_EQ(index_given(Plan(observed)), 0);
}

// Nor where it is kept for a third: the clique was deleted, made again without it, and all is full.
TEST(PlanMembership, S3_LastIndexIsNotTakenFromWhoOnlyStatusKnowsThoughItIsKeptToo) {
  Observed observed = Marked();
  observed.children.cliques[0].daemons = {MakeMember("node-1", 1)};
  observed.children.cliques[0].held = {
      {.node = "node-9", .index = 0, .until = "2099-01-01T00:00:00Z"}};
  observed.facts.settings.Edit().daemons.nodes_per_imex_domain_max = 2;
  RemovePod(observed, "node-0");
  AddNode(observed, "node-2", 2);
  EXPECT_EQ(Plan(observed).without_index.size(), 1U);
}

TEST(PlanMembership, IndexThatStatusRemembersIsNotTakenFromWhoHoldsIt) {
  Observed observed = Marked();
  observed.children.cliques[0].daemons = {MakeMember("node-1", 0)};
  EXPECT_EQ(IndexByNode(Written(Plan(observed))),
            (std::map<std::string, int>{{"node-0", 1}, {"node-1", 0}}));
}

TEST(PlanMembership, CliqueIsNotWrittenWhenThatCannotHelp) {
  const std::vector<std::pair<const char*, Change>> rows = {
      {"it is being deleted", [](Observed& o) { o.children.cliques[0].meta.deleting = true; }},
      {"the cache is behind, for the name is taken",
       [](Observed& o) {
         o.children.cliques.clear();
         o.evidence.names[{Kind::kClique, {kDriverNs, kUid + "." + kCliqueId}}] = {
             NameCheck::Is::kTaken};
       }},
      {"it would have no owner", [](Observed& o) { o.children.daemon_sets.clear(); }},
      {"its name does not say what it is", [](Observed& o) { o.children.cliques[0].id.clear(); }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = Marked();
    AddNode(observed, "node-2", 2);
    change(observed);
    EXPECT_TRUE(Actions<WriteClique>(Plan(observed).actions).empty());
  }
}

// ---- What status says.

TEST(PlanMembership, S10_NodeThatTheCliqueDoesNotHoldYetIsNoMember) {
  Observed observed = Marked();
  AddNode(observed, "node-2", 2);
  EXPECT_EQ(Plan(observed).members.size(), 2U);
  observed.children.cliques[0].daemons = Written(Plan(observed));
  EXPECT_EQ(Plan(observed).members.size(), 3U);
}

TEST(PlanMembership, S5_MemberStaysInStatusWhileOnlyACacheLacksWhatMakesItOne) {
  const auto without_fabric = [](Observed& o) {
    o.children.cliques.clear();
    for (DaemonPod& pod : o.children.daemon_pods) pod.clique = "";
    for (Member& member : o.domain->status.nodes) {
      member.clique.clear();
      member.index = -1;
    }
  };
  const std::vector<std::pair<const char*, Change>> rows = {
      {"the clique",
       [](Observed& o) {
         o.children.cliques.clear();
         o.evidence.names[{Kind::kClique, {kDriverNs, kUid + "." + kCliqueId}}] = {
             NameCheck::Is::kTaken};
       }},
      {"its entry", [](Observed& o) { o.children.cliques[0].daemons.pop_back(); }},
      {"its pod, without fabric",
       [&](Observed& o) {
         without_fabric(o);
         RemovePod(o, "node-1");
       }},
      {"the DaemonSet, without fabric",
       [&](Observed& o) {
         without_fabric(o);
         o.children.daemon_sets.clear();
       }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    Observed observed = Converged();
    std::vector<DaemonPod> pods = observed.children.daemon_pods;
    change(observed);
    for (DaemonPod& pod : pods) pod.clique = observed.domain->status.nodes[0].clique;
    Membership membership = Plan(observed);
    // Without one its daemon may be one of those that keep none (B57).
    EXPECT_EQ(membership.needs_daemons, std::string_view(what) != "the clique");
    EXPECT_EQ(membership.members, observed.domain->status.nodes);
    ShowPods(observed, pods);
    EXPECT_EQ(Plan(observed).members.size(), 2U) << "a live read shows both pods";
    ShowPods(observed, {});
    EXPECT_FALSE(Plan(observed).needs_daemons);
    EXPECT_LT(Plan(observed).members.size(), 2U) << "a live read shows no pod";
  }
}

// The entry of a daemon that took another index than its fixture has.
Member UnderIndex(const DaemonPod& pod, int index) {
  Member entry = MakeMember(pod.node, index);
  entry.ip = pod.ip;
  return entry;
}

TEST(PlanMembership, S3_S5_WhoseIndexAnotherHasLeavesStatusOnceALiveReadShowsNoPodOfIts) {
  Observed observed = Converged();
  const Members shown = observed.domain->status.nodes;
  const std::vector<DaemonPod> pods = observed.children.daemon_pods;
  const Member other = UnderIndex(pods[0], 1);
  observed.children.cliques[0].daemons = {other};
  const Membership unproven = Plan(observed);
  EXPECT_TRUE(unproven.needs_daemons);
  EXPECT_EQ(unproven.members, shown);
  ShowPods(observed, pods);
  EXPECT_EQ(Plan(observed).members, shown) << "the view of the clique is old";
  ShowPods(observed, {pods[0]});
  EXPECT_EQ(Plan(observed).members, (Members{other}));
}

// On a node that died: it ends for ever, and takes nothing out.
TEST(PlanMembership, S5_DaemonThatEndsHasNotLeftWhileALiveReadShowsItsEntry) {
  Observed observed = Converged();
  const Members shown = observed.domain->status.nodes;
  api::Clique& clique = observed.children.cliques[0];
  observed.evidence.cliques = {clique};
  clique.daemons = {MakeMember("node-0", 0)};  // The cache is behind.
  observed.children.daemon_pods[1].meta.deleting = true;
  ShowPods(observed, observed.children.daemon_pods);
  const auto is_node_1 = [](const Member& member) { return member.node == "node-1"; };
  EXPECT_TRUE(std::ranges::any_of(Plan(observed).members, is_node_1));
  observed.evidence.cliques = {clique};
  EXPECT_FALSE(std::ranges::any_of(Plan(observed).members, is_node_1));
}

// Its daemon crashes again and again, and another has taken the index meanwhile.
TEST(PlanMembership, C6_WhoTookItselfOutOfItsCliqueHoldsUpNobodyElse) {
  Observed observed = Converged();
  const Members shown = observed.domain->status.nodes;
  api::Clique& clique = observed.children.cliques[0];
  const Member other = UnderIndex(observed.children.daemon_pods[0], 1);
  clique.daemons = {other};
  ShowPods(observed, observed.children.daemon_pods);
  observed.evidence.cliques = {clique};
  EXPECT_EQ(Plan(observed).members, (Members{other}));

  observed.evidence.cliques[0].daemons = shown;
  EXPECT_EQ(Plan(observed).members, shown) << "the cache is behind";
  observed.evidence.cliques[0].id = kOtherCliqueId;
  EXPECT_EQ(Plan(observed).members, shown) << "nothing is known of the clique";
}

TEST(PlanMembership, S5_WhoHasLeftIsNotKeptBecauseTheViewOfItsCliqueIsOld) {
  Observed observed = Converged();
  AddNode(observed, "node-2", 2);
  const std::vector<DaemonPod> pods = observed.children.daemon_pods;
  observed.domain->status.nodes.push_back(MakeMember("node-2", 2));
  observed.children.cliques[0].daemons = {MakeMember("node-0", 1)};
  ShowPods(observed, {pods[0], pods[1]});
  EXPECT_EQ(Plan(observed).members, (Members{MakeMember("node-0", 0), MakeMember("node-1", 1)}));
}

TEST(PlanMembership, S5_SameIndexInAnotherCliqueTakesNobodysPlace) {
  Observed observed = Converged();
  api::Clique& clique = observed.children.cliques[0];
  clique.id = kOtherCliqueId;
  clique.daemons = {MakeMember("node-0", 1)};
  observed.children.daemon_pods[0].clique = kOtherCliqueId;
  RemovePod(observed, "node-1");
  const Membership membership = Plan(observed);
  EXPECT_EQ(membership.members.size(), 2U);
  EXPECT_TRUE(membership.needs_daemons) << "nobody knows yet whether node-1 has left";
}

// Another replica, whose caches are ahead, has put it back into status.
TEST(PlanMembership, S5_DaemonThatACacheShowsEndingDoesNotRemoveItsMember) {
  Observed observed = Converged();
  std::erase_if(observed.children.cliques[0].daemons,
                [](const Member& entry) { return entry.node == "node-1"; });
  const DaemonPod next = observed.children.daemon_pods[1];
  DaemonPod& ending = observed.children.daemon_pods[1];
  ending.meta.deleting = true;
  const Membership unproven = Plan(observed);
  EXPECT_TRUE(unproven.needs_daemons);
  EXPECT_EQ(unproven.members.size(), 2U);
  ShowPods(observed, {observed.children.daemon_pods[0], ending});
  EXPECT_EQ(Plan(observed).members.size(), 1U) << "it is ending";
  ShowPods(observed, {observed.children.daemon_pods[0], next});
  EXPECT_EQ(Plan(observed).members.size(), 2U) << "the next one is there";
}

TEST(PlanMembership, S5_DaemonThatKeepsNoEntryOfItsOwnHasNotLeftBeforeItsPodHas) {
  Observed observed = Marked();
  observed.children.cliques[0].daemons.pop_back();
  DaemonPod& ending = observed.children.daemon_pods[1];
  ending.meta.deleting = true;
  ShowPods(observed, observed.children.daemon_pods);
  EXPECT_EQ(Plan(observed).members.size(), 2U);
  ending.terminal = true;
  ShowPods(observed, observed.children.daemon_pods);
  EXPECT_EQ(Plan(observed).members.size(), 1U);
}

TEST(PlanMembership, S5_NodeWithoutFabricIsAMemberUntilItsPodHasGone) {
  Observed observed = Converged();
  observed.domain->status.nodes = {{.node = "node-2", .ip = "10.0.0.3"}};
  DaemonPod ending = fixtures::MakePod("node-2", 2);
  ending.clique = "";
  ending.meta.deleting = true;
  ShowPods(observed, {ending});
  EXPECT_EQ(Plan(observed).members[0].node, "node-2") << "it has no entry to take";
  ending.terminal = true;
  ShowPods(observed, {ending});
  EXPECT_EQ(Plan(observed).members[0].node, "node-0");
}

TEST(PlanMembership, B28_CliqueBelongsToTheDaemonSetThatStays) {
  const auto owner_with = [](const Change& change) {
    Observed observed = Marked();
    observed.children.cliques.clear();
    api::DaemonSet second = observed.children.daemon_sets[0];
    second.meta.key.name = "computedomain-daemon-x2b4";
    second.meta.uid = "second";
    observed.children.daemon_sets.insert(observed.children.daemon_sets.begin(), second);
    change(observed);
    const auto creates = Actions<Create>(Plan(observed).actions);
    return std::string(
        creates.at(0).object["metadata"]["ownerReferences"].items()[0]["uid"].AsString());
  };
  const std::string ours = fixtures::MakeDaemonSet().meta.uid;
  EXPECT_EQ(owner_with([](Observed&) {}), ours);
  EXPECT_EQ(owner_with([](Observed& o) { o.children.daemon_sets[1].meta.deleting = true; }),
            "second");
}

TEST(PlanMembership, B58_CliqueThatDaemonsMadeOutlivesTheirPodsOnceAnEntryIsOurs) {
  const kube::OwnerReference pod = {
      .api_version = "v1", .kind = "Pod", .name = "pod-0", .uid = "pod-uid"};
  const std::string set = fixtures::MakeDaemonSet().meta.uid;
  const auto owners_with = [&](const Change& change) {
    Observed observed = Converged();
    observed.children.cliques[0].meta.owners = {pod};
    AddNode(observed, "node-2", 2);
    change(observed);
    Names uids;
    const auto writes = Actions<WriteClique>(Plan(observed).actions);
    for (const json::Value& owner : writes.at(0).owners.items()) {
      uids.emplace_back(owner["uid"].AsString());
    }
    return uids;
  };
  EXPECT_EQ(owners_with([](Observed&) {}), (Names{pod.uid, set}));
  EXPECT_EQ(owners_with([&](Observed& observed) {
              observed.children.cliques[0].meta.owners.push_back({.uid = set});
            }),
            Names());
  EXPECT_EQ(
      owners_with([](Observed& observed) { observed.children.cliques[0].meta.is_whole = false; }),
      Names())
      << "owners that are not kept would be lost";
  // Among daemons that all write themselves, it is left to them.
  EXPECT_EQ(owners_with([](Observed& observed) {
              observed.children.daemon_pods.back().controller_writes = false;
              RemovePod(observed, "node-1");
              ShowPods(observed, observed.children.daemon_pods);
            }),
            Names());
}

TEST(PlanMembership, MembersOfACliqueThatWasJustMadeAreMembers) {
  Observed observed = Marked();
  observed.domain->status.nodes.clear();
  observed.children.cliques.clear();
  EXPECT_TRUE(Plan(observed).members.empty());
  observed.evidence.names[{Kind::kClique, {kDriverNs, kUid + "." + kCliqueId}}] =
      Found(NameHolder{.domain = kUid});
  EXPECT_EQ(Plan(observed).members.size(), 2U);
}

TEST(PlanMembership, B9_B16_S1_MemberIsReadyOnlyWhileItsNodeLivesAndItsPodIsReadyAndStays) {
  const std::vector<std::pair<const char*, Change>> rows = {
      {"the daemon says no", [](Observed& o) { o.children.cliques[0].daemons[1].ready = false; }},
      {"the pod is not ready", [](Observed& o) { o.children.daemon_pods[1].ready = false; }},
      {"the pod ends", [](Observed& o) { o.children.daemon_pods[1].meta.deleting = true; }},
      {"the node is lost", [](Observed& o) { o.nodes["node-1"].ready = false; }},
      {"the node is gone", [](Observed& o) { o.nodes.erase("node-1"); }},
  };
  for (const auto& [what, change] : rows) {
    SCOPED_TRACE(what);
    const Membership membership = PlanFor(Converged(), change);
    ASSERT_EQ(membership.members.size(), 2U);
    EXPECT_TRUE(membership.members[0].ready);
    EXPECT_FALSE(membership.members[1].ready);
  }
}

TEST(PlanMembership, B8_NodeWithoutFabricIsAMemberByItsPodAlone) {
  Observed observed = Converged();
  DaemonPod pod = fixtures::MakePod("node-2", 2);
  pod.clique = "";
  observed.children.daemon_pods.push_back(pod);
  observed.nodes["node-2"] = fixtures::MakeNode("node-2");
  const Membership membership = Plan(observed);
  ASSERT_EQ(membership.members.size(), 3U);
  EXPECT_EQ(membership.members[0],
            (Member{.node = "node-2", .ip = "10.0.0.3", .clique = "", .index = -1, .ready = true}));
  EXPECT_TRUE(membership.actions.empty());

  observed.children.daemon_pods[2].ready = false;
  EXPECT_FALSE(Plan(observed).members[0].ready);
  observed.children.daemon_pods[2].ip.clear();
  EXPECT_EQ(Plan(observed).members.size(), 2U);
}

TEST(PlanMembership, B6_OfSeveralPodsOnANodeTheOneThatStaysAndThenTheNewestCounts) {
  struct Row {
    const char* what;
    std::function<void(DaemonPod& counts, DaemonPod& other)> change;
  };
  const std::vector<Row> rows = {
      {"the other ends",
       [](DaemonPod& counts, DaemonPod& other) {
         other.meta.deleting = true;
         counts.meta.creation_timestamp = "2026-01-01T10:00:00Z";
       }},
      {"it is newer", [](DaemonPod& counts,
                         DaemonPod&) { counts.meta.creation_timestamp = "2026-01-01T11:30:00Z"; }},
      {"equally old: the later UID", [](DaemonPod& counts, DaemonPod&) { counts.meta.uid = "z"; }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    DaemonPod counts = fixtures::MakePod("node-2", 2);
    counts.clique = "";
    DaemonPod other = counts;
    counts.ip = "10.0.0.99";
    row.change(counts, other);
    for (const auto& pods : {std::vector{counts, other}, std::vector{other, counts}}) {
      Observed observed = Converged();
      for (const DaemonPod& pod : pods) observed.children.daemon_pods.push_back(pod);
      EXPECT_EQ(Plan(observed).members[0].ip, "10.0.0.99");
    }
  }
}

TEST(LowestFreeIndex, P4_GapsAreFilledAndTheLimitHolds) {
  EXPECT_EQ(LowestFreeIndex({}, 18), 0);
  EXPECT_EQ(LowestFreeIndex({0, 1, 3}, 18), 2);
  EXPECT_EQ(LowestFreeIndex({0, 1}, 2), -1);
  EXPECT_EQ(LowestFreeIndex({-1, 99}, 2), 0);
  EXPECT_EQ(LowestFreeIndex({}, 0), -1);
}

// ---- The promise itself, under random churn and a pod cache that lags.

class Churn {
 public:
  explicit Churn(unsigned seed) : random_(seed), observed_(Marked()) {
    observed_.children.daemon_pods.clear();
    observed_.children.cliques.clear();
    observed_.domain->status.nodes.clear();
    observed_.facts.settings.Edit().daemons.nodes_per_imex_domain_max = 6;
    for (int i = 0; i < kNodes; ++i) observed_.nodes[NodeName(i)] = fixtures::MakeNode(NodeName(i));
  }

  // A node comes or goes; the cache may or may not see it; one pass runs. Sometimes somebody
  // deletes the clique, and the next passes make it again.
  void Step() {
    const std::string node = NodeName(static_cast<int>(random_() % kNodes));
    if (pods_.erase(node) == 0) {
      pods_[node] = MakeMarkedPod(node, static_cast<int>(random_() % 200));
      pods_[node].meta.uid = "pod-" + std::to_string(++incarnations_);
    }
    if (random_() % 3 != 0) observed_.children.daemon_pods = Pods();
    if (random_() % 20 == 0) {
      observed_.children.daemon_pods = Pods();
      observed_.children.cliques.clear();
    }
    observed_.evidence = {};
    before_ = Daemons();
    RunPass();
  }

  // S3: one pod for each index, within the limit. S4: a pod keeps its index. S5: who was a member
  // and has a pod still is one.
  void Check() {
    std::set<int> used;
    for (const Member& member : Daemons()) {
      EXPECT_TRUE(used.insert(member.index).second) << "held twice: " << member.index;
      EXPECT_TRUE(member.index >= 0 && member.index < 6) << member.index;
      const auto pod = pods_.find(member.node);
      if (pod == pods_.end()) continue;
      const auto [held, is_new] = index_of_.emplace(pod->second.meta.uid, member.index);
      EXPECT_EQ(held->second, member.index) << member.node << " moved";
    }
    const std::map<std::string, int> now = IndexByNode(Daemons());
    for (const Member& member : before_) {
      EXPECT_TRUE(!pods_.contains(member.node) || now.contains(member.node)) << member.node;
    }
  }

 private:
  static constexpr int kNodes = 9;

  static std::string NodeName(int number) { return "node-" + std::to_string(number); }

  Members Daemons() const {
    return observed_.children.cliques.empty() ? Members() : observed_.children.cliques[0].daemons;
  }

  std::vector<DaemonPod> Pods() const {
    std::vector<DaemonPod> pods;
    for (const auto& [node, pod] : pods_) pods.push_back(pod);
    return pods;
  }

  void RunPass() {
    for (int round = 0; round < 2; ++round) {
      const Membership membership = Plan(observed_);
      for (const WriteClique& write : Actions<WriteClique>(membership.actions)) {
        observed_.children.cliques[0].daemons = write.clique.daemons;
      }
      for (const Create& create : Actions<Create>(membership.actions)) {
        api::Clique made = fixtures::MakeClique();
        made.daemons.clear();
        for (const json::Value& daemon : create.object["daemons"].items()) {
          made.daemons.push_back({.node = daemon["nodeName"].AsString(),
                                  .ip = daemon["ipAddress"].AsString(),
                                  .clique = kCliqueId,
                                  .index = static_cast<int>(*daemon["index"].AsInt()),
                                  .ready = daemon["status"].AsString() == "Ready"});
        }
        observed_.children.cliques = {made};
      }
      if (!membership.needs_daemons) break;
      observed_.evidence.daemon_pods = Pods();
    }
    observed_.domain->status.nodes = Plan(observed_).members;
  }

  std::mt19937 random_;
  Observed observed_;
  std::map<std::string, DaemonPod> pods_;  // As they are.
  std::map<std::string, int> index_of_;    // By pod UID.
  Members before_;                         // Of the clique, before the last pass.
  int incarnations_ = 0;
};

TEST(PlanMembership, B1_B2_S3_S4_S5_ChurnMovesDoublesAndLosesNobody) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Churn churn(seed);
    for (int step = 0; step < 60 && !testing::Test::HasFailure(); ++step) {
      churn.Step();
      churn.Check();
    }
  }
}

// ---- Reboots.

TEST(PlanMembership, T5_RebootedNodesAreWrittenWithTheEntries_AndOnceMore) {
  Observed observed = Marked();
  observed.rebooted = {"node-0"};
  DaemonPod& pod = observed.children.daemon_pods[0];
  pod.ready = false;
  const auto named = [&] {
    return Actions<WriteClique>(Plan(observed).actions).at(0).clique.rebooted;
  };
  EXPECT_EQ(named(), std::set<std::string>{"node-0"});
  api::Clique& clique = observed.children.cliques[0];
  clique.daemons[0].ready = false;
  EXPECT_EQ(named(), std::set<std::string>{"node-0"}) << "it was not ready before";
  clique.rebooted = {"node-0"};
  EXPECT_TRUE(Plan(observed).actions.empty());
  observed.rebooted.clear();
  EXPECT_TRUE(Plan(observed).actions.empty()) << "another leader saw it";
  pod.ready = true;
  EXPECT_EQ(named(), std::set<std::string>());
}

TEST(PlanMembership, EndOfARebootIsWrittenOnlyWithAnEntry) {
  Observed observed = Marked();
  observed.children.cliques[0].rebooted = {"node-0"};
  EXPECT_TRUE(Plan(observed).actions.empty());
}

TEST(PlanMembership, DaemonsThatWriteTheirOwnEntriesAreNotNamedAsRebooted) {
  Observed observed = Converged();
  observed.rebooted = {"node-0"};
  observed.children.daemon_pods[0].ready = false;
  EXPECT_TRUE(Actions<WriteClique>(Plan(observed).actions).empty());
}

// ---- Indices that are kept.

// node-0's daemon is gone, as a live read shows.
Observed WithoutNode0() {
  Observed observed = Marked();
  RemovePod(observed, "node-0");
  ShowPods(observed, observed.children.daemon_pods);
  return observed;
}

TEST(PlanMembership, B2_S4_IndexOfANodeWhoseDaemonWentIsKeptForIt) {
  const Membership membership = Plan(WithoutNode0());
  const auto writes = Actions<WriteClique>(membership.actions);
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(IndexByNode(writes[0].clique.daemons), (std::map<std::string, int>{{"node-1", 1}}));
  EXPECT_EQ(writes[0].clique.held,
            (std::vector<api::HeldIndex>{
                {.node = "node-0", .index = 0, .until = "2026-01-01T12:01:00Z"}}));
}

TEST(PlanMembership, DaemonsThatChooseForThemselvesGetNoIndexKept) {
  Observed observed = WithoutNode0();
  observed.facts.settings.Edit().daemons.controller_writes = false;
  EXPECT_TRUE(Actions<WriteClique>(Plan(observed).actions).at(0).clique.held.empty());
}

// node-0 left a while ago, and its index is kept until `until`.
Observed Held(const std::string& until) {
  Observed observed = Marked();
  RemovePod(observed, "node-0");
  api::Clique& clique = observed.children.cliques[0];
  clique.daemons = {MakeMember("node-1", 1)};
  clique.held = {{.node = "node-0", .index = 0, .until = until}};
  observed.domain->status.nodes = clique.daemons;
  return observed;
}

TEST(PlanMembership, B2_S4_NodeThatComesBackFindsItsIndexAndOthersDoNotTakeIt) {
  Observed observed = Held("2026-01-01T12:00:01Z");
  AddNode(observed, "node-2", 2);
  const Membership other = Plan(observed);
  EXPECT_EQ(IndexByNode(Written(other)),
            (std::map<std::string, int>{{"node-1", 1}, {"node-2", 2}}));
  EXPECT_EQ(Actions<WriteClique>(other.actions)[0].clique.held, observed.children.cliques[0].held);
  AddNode(observed, "node-0", 0);
  const Membership both = Plan(observed);
  EXPECT_EQ(IndexByNode(Written(both)),
            (std::map<std::string, int>{{"node-0", 0}, {"node-1", 1}, {"node-2", 2}}));
  EXPECT_TRUE(Actions<WriteClique>(both.actions)[0].clique.held.empty());
}

TEST(PlanMembership, IndexIsKeptNoLongerThanItsTime) {
  Observed observed = Held("2026-01-01T12:00:00Z");
  EXPECT_TRUE(Plan(observed).actions.empty()) << "no write of its own";
  AddNode(observed, "node-2", 2);
  const Membership membership = Plan(observed);
  EXPECT_EQ(IndexByNode(Written(membership)),
            (std::map<std::string, int>{{"node-1", 1}, {"node-2", 0}}));
  EXPECT_TRUE(Actions<WriteClique>(membership.actions)[0].clique.held.empty());
}

TEST(PlanMembership, IndexThatWasNotItsOwnOrDoesNotExistIsNotKept) {
  for (const int index : {-1, 1, 18}) {
    SCOPED_TRACE(index);
    Observed observed = WithoutNode0();
    Members& daemons = observed.children.cliques[0].daemons;
    daemons = {MakeMember("node-1", 1), MakeMember("node-0", index)};
    const auto writes = Actions<WriteClique>(Plan(observed).actions);
    ASSERT_EQ(writes.size(), 1U);
    EXPECT_TRUE(writes[0].clique.held.empty());
  }
}

TEST(PlanMembership, IndexIsNotKeptUntilATimeThatNobodyCanRead) {
  Observed observed = Held("tomorrow");
  AddNode(observed, "node-2", 2);
  EXPECT_EQ(IndexByNode(Written(Plan(observed))),
            (std::map<std::string, int>{{"node-1", 1}, {"node-2", 0}}));
}

TEST(PlanMembership, S3_IndexThatIsKeptBeyondALowerLimitIsGivenToNobody) {
  Observed observed = Held("2026-01-01T12:00:30Z");
  observed.facts.settings.Edit().daemons.nodes_per_imex_domain_max = 2;
  observed.children.cliques[0].held.push_back(
      {.node = "node-2", .index = 7, .until = "2026-01-01T12:00:10Z"});
  AddNode(observed, "node-2", 2);
  EXPECT_EQ(IndexByNode(Written(Plan(observed))),
            (std::map<std::string, int>{{"node-1", 1}, {"node-2", 0}}));
  observed.children.daemon_pods.back() = MakeMarkedPod("node-3", 3);
  EXPECT_EQ(IndexByNode(Written(Plan(observed))),
            (std::map<std::string, int>{{"node-1", 1}, {"node-3", 0}}));
}

TEST(PlanMembership, IndexThatIsKeptIsGivenUpWhenTheCliqueIsFull) {
  Observed observed = Held("2026-01-01T12:00:30Z");
  observed.facts.settings.Edit().daemons.nodes_per_imex_domain_max = 3;
  // Index 2 has been kept for longer than index 0.
  observed.children.cliques[0].held.push_back(
      {.node = "node-9", .index = 2, .until = "2026-01-01T12:00:10Z"});
  AddNode(observed, "node-3", 3);
  const Membership one = Plan(observed);
  EXPECT_EQ(IndexByNode(Written(one)), (std::map<std::string, int>{{"node-1", 1}, {"node-3", 2}}));
  AddNode(observed, "node-4", 4);
  const Membership two = Plan(observed);
  EXPECT_EQ(IndexByNode(Written(two)),
            (std::map<std::string, int>{{"node-1", 1}, {"node-3", 2}, {"node-4", 0}}));
  EXPECT_TRUE(two.without_index.empty());
}

// The view froze while the node was not ready: it makes the member neither lost nor ready.
TEST(PlanMembership, REV3_F3_NodeThatAnOldViewShowsAsNotReadyChangesNothing) {
  Observed observed = Converged();
  observed.nodes["node-0"].ready = false;
  observed.facts.views.freshness[Kind::kNode] = Freshness::kStale;
  const auto is_ready = [&] { return PlanMembership(observed, fixtures::Now()).members[0].ready; };
  EXPECT_TRUE(is_ready()) << "status shows it so";
  observed.domain->status.nodes[0].ready = false;
  EXPECT_FALSE(is_ready());
  observed.domain->status.nodes.clear();
  EXPECT_FALSE(is_ready());
}

// Root on a node has given it the label of a domain of others, so a daemon runs there. No pod of
// the domain does.
Observed WithALiar(bool controller_writes, const std::string& clique) {
  Observed observed = controller_writes ? Marked() : Converged();
  AddNode(observed, "node-9", 9);
  DaemonPod& pod = observed.children.daemon_pods.back();
  pod.controller_writes = controller_writes;
  pod.clique = clique;
  observed.children.labelled_nodes.push_back(fixtures::MakeNode("node-9"));
  if (!controller_writes) {
    observed.children.cliques[0].daemons.push_back(MakeMember("node-9", 2));
  }
  return observed;
}

TEST(PlanMembership, REV3_X2_NodeOnWhichNoPodOfTheDomainIsBecomesNoMember) {
  for (const bool controller_writes : {false, true}) {
    for (const std::string& clique : {kCliqueId, std::string()}) {
      if (clique.empty() && !controller_writes) continue;
      const Observed observed = WithALiar(controller_writes, clique);
      const Membership membership = PlanMembership(observed, Now());
      EXPECT_EQ(membership.members.size(), 2U) << controller_writes << clique;
      EXPECT_TRUE(membership.actions.empty());
      EXPECT_TRUE(membership.without_index.empty());
      Observed used = observed;
      fixtures::AddMissingClaims(used);
      const Membership joined = PlanMembership(used, Now());
      EXPECT_EQ(joined.members.size() + joined.actions.size(), 3U);
    }
  }
}

TEST(PlanMembership, REV3_X2_ClaimElsewhereMakesNoMember) {
  Observed observed = WithALiar(true, kCliqueId);
  observed.children.claims.push_back(fixtures::MakeChannelClaim("node-9", "train-9"));
  observed.children.claims.back().meta.key.ns = "another";
  EXPECT_TRUE(PlanMembership(observed, Now()).actions.empty());
}

// Nobody can tell then: who may not read claims hears it from a condition.
TEST(PlanMembership, REV3_X2_WhereClaimsMayNotBeReadTheNodesWordCounts) {
  const Observed observed = WithALiar(true, kCliqueId);
  EXPECT_EQ(PlanMembership(fixtures::WithoutClaims(observed), Now()).actions.size(), 1U);
}

TEST(PlanMembership, REV3_X2_WhileClaimsCannotBeReadNobodyNewJoins) {
  Observed observed = WithALiar(true, kCliqueId);
  for (const Freshness freshness : {Freshness::kStale, Freshness::kUnknown}) {
    observed.facts.views.freshness[Kind::kClaim] = freshness;
    EXPECT_TRUE(PlanMembership(observed, Now()).actions.empty());
  }
}

// The job has ended, and the label stays for a while.
TEST(PlanMembership, REV3_X2_MemberWhosePodsHaveEndedStaysUntilItLeaves) {
  for (const bool controller_writes : {false, true}) {
    Observed observed = controller_writes ? Marked() : Converged();
    fixtures::EndWorkload(observed.children.claims);
    const Membership membership = PlanMembership(observed, Now());
    EXPECT_EQ(membership.members.size(), 2U);
    EXPECT_TRUE(membership.actions.empty());
  }
}

// Two members. The job on node-0 has ended, as claims show that were read live. Its label stays for
// a while.
Observed WithAnUnusedMember(std::chrono::milliseconds for_so_long) {
  Observed observed = Marked();
  std::erase_if(observed.children.claims, [](const api::ResourceClaim& claim) {
    return !claim.channel_domain.empty() && claim.node == "node-0";
  });
  observed.evidence.claims = observed.children.claims;
  observed.memory.idle_since["node-0"] = Now().monotonic - for_so_long;
  return observed;
}

TEST(PlanMembership, UnusedMember_AfterASecondLeavesStatusButNotItsClique) {
  const Membership soon = PlanMembership(WithAnUnusedMember(std::chrono::milliseconds(400)), Now());
  EXPECT_EQ(soon.members.size(), 2U);
  EXPECT_EQ(soon.requeue_after, std::chrono::milliseconds(600));
  Observed unused = WithAnUnusedMember(std::chrono::seconds(1));
  for (const bool controller_writes : {true, false}) {
    for (DaemonPod& pod : unused.children.daemon_pods) pod.controller_writes = controller_writes;
    const Membership membership = PlanMembership(unused, Now());
    EXPECT_EQ(membership.members, (Members{MakeMember("node-1", 1)}));
    EXPECT_TRUE(membership.actions.empty()) << "its entry stays";
    EXPECT_FALSE(membership.needs_daemons) << "its daemon serves, as everybody knows";
    EXPECT_FALSE(membership.needs_claims);
    EXPECT_FALSE(membership.requeue_after);
  }
}

TEST(PlanMembership, R2_UnusedMember_StaysUntilClaimsAreReadLive) {
  Observed observed = WithAnUnusedMember(std::chrono::seconds(1));
  observed.evidence.claims.reset();
  Membership membership = PlanMembership(observed, Now());
  EXPECT_EQ(membership.members.size(), 2U);
  EXPECT_TRUE(membership.needs_claims);
  observed.memory.claims_read = Now().monotonic - std::chrono::milliseconds(300);
  membership = PlanMembership(observed, Now());
  EXPECT_FALSE(membership.needs_claims) << "nodes that become idle in turn share a read";
  EXPECT_EQ(membership.requeue_after, std::chrono::milliseconds(700));
  observed.memory.claims_read = Now().monotonic - std::chrono::seconds(1);
  EXPECT_TRUE(PlanMembership(observed, Now()).needs_claims);
  observed.evidence.claims = {fixtures::MakeChannelClaim("node-0", "next")};
  EXPECT_EQ(PlanMembership(observed, Now()).members.size(), 2U) << "the cache is behind";
}

TEST(PlanMembership, UnusedMember_IsSeenAgainFromTheFirstPassOn) {
  Observed observed = WithAnUnusedMember(std::chrono::seconds(1));
  observed.memory.idle_since.clear();
  const Membership membership = PlanMembership(observed, Now());
  EXPECT_EQ(membership.members.size(), 2U);
  EXPECT_EQ(membership.requeue_after, std::chrono::seconds(1));
}

TEST(PlanMembership, UnusedMember_WithoutALabelLeavesAtOnce) {
  Observed observed = WithAnUnusedMember(std::chrono::seconds(0));
  observed.memory.idle_since.clear();
  observed.children.labelled_nodes.erase(observed.children.labelled_nodes.begin());
  observed.nodes.at("node-0").domain.clear();
  EXPECT_EQ(PlanMembership(observed, Now()).members.size(), 1U);
  observed.nodes.erase("node-0");
  EXPECT_EQ(PlanMembership(observed, Now()).members.size(), 1U) << "the node is deleted";
}

TEST(PlanMembership, UnusedMember_ThatLeftStatusIsBackWithItsIndexWhenAPodReturns) {
  Observed observed = WithAnUnusedMember(std::chrono::seconds(3));
  observed.domain->status.nodes.erase(observed.domain->status.nodes.begin());
  EXPECT_EQ(PlanMembership(observed, Now()).members.size(), 1U);
  observed.children.claims.push_back(fixtures::MakeChannelClaim("node-0", "next"));
  const Membership membership = PlanMembership(observed, Now());
  EXPECT_EQ(membership.members, (Members{MakeMember("node-0", 0), MakeMember("node-1", 1)}));
  EXPECT_TRUE(membership.actions.empty()) << "daemon and entry never went";
}

TEST(PlanMembership, UnusedMember_StaysWhileItMayBeUsedOrOnlyStatusHasIt) {
  const std::vector<Change> keeps = {
      [](Observed& o) { o.children.claims.push_back(fixtures::MakeChannelClaim("node-0", "two")); },
      [](Observed& o) { o.facts.views.freshness[Kind::kClaim] = Freshness::kStale; },
      [](Observed& o) { o.facts.views.freshness[Kind::kNode] = Freshness::kStale; },
      [](Observed& o) { o.facts.views.claims_are_read = false; },
      [](Observed& o) { fixtures::Delete(o.domain->meta, {std::string(api::kFinalizer)}); },
      [](Observed& o) {
        o.children.cliques[0].daemons.erase(o.children.cliques[0].daemons.begin());
      },
      [](Observed& o) { o.children.cliques[0].meta.key.ns = fixtures::kOldDriverNs; },
      // A node without fabric has no clique.
      [](Observed& o) {
        o.children.cliques[0].daemons.erase(o.children.cliques[0].daemons.begin());
        o.children.daemon_pods[0].clique = "";
        o.domain->status.nodes[0].clique = "";
      }};
  for (const Change& change : keeps) {
    Observed observed = WithAnUnusedMember(std::chrono::seconds(2));
    change(observed);
    const Members members = PlanMembership(observed, Now()).members;
    EXPECT_TRUE(std::ranges::any_of(members, [](const Member& m) { return m.node == "node-0"; }))
        << &change - keeps.data();
  }
}

TEST(PlanMembership, REV4_K8_PodsMakeNoCliqueWhereCliquesAreNotServed) {
  Observed observed = fixtures::Marked();
  observed.children.cliques.clear();
  const auto makes_or_reads = [&] {
    const Membership membership = PlanMembership(observed, fixtures::Now());
    return membership.needs_daemons || !membership.actions.empty();
  };
  EXPECT_TRUE(makes_or_reads());
  observed.facts.views.cliques_are_served = false;
  observed.domain->status = {};
  EXPECT_FALSE(makes_or_reads());
}

}  // namespace
}  // namespace compute_domain
