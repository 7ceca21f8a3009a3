#include "controller/process/domain_metrics.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "controller/api/names.h"
#include "pkg/base/rfc3339.h"
#include "pkg/base/testing/manual_clock.h"
#include "test/fixtures/observed.h"

namespace process {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// "namespace,name" of the domain of the fixtures, as labels.
const std::string kOfTrain = R"({namespace="team-a",name="train"})";

class DomainMetricsTest : public ::testing::Test {
 protected:
  DomainMetricsTest() { Show(fixtures::MakeDomain(), {"node-0", "node-1"}); }

  void Show(api::ComputeDomain domain, const std::vector<std::string>& nodes) {
    domain_ = std::move(domain);
    Change([](api::ComputeDomain&) {});
    nodes_.clear();
    for (const std::string& node : nodes) {
      nodes_.push_back(std::make_shared<api::Node>(fixtures::MakeNode(node)));
    }
  }
  void Change(const std::function<void(api::ComputeDomain&)>& change) {
    change(*domain_);
    domain_->meta.resource_version = std::to_string(++version_);
  }

  std::string Text() const {
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, metrics_.Collect());
    return text.str();
  }
  // Of the series with this name and these labels; none: it is not there.
  std::optional<double> ValueOf(const std::string& series) const {
    const std::string text = "\n" + Text();
    const std::size_t at = text.find("\n" + series + " ");
    if (at == std::string::npos) return std::nullopt;
    return std::stod(text.substr(at + series.size() + 2));
  }
  std::uint64_t FormationsCounted() const {
    return time_to_ready_.Collect().histogram.sample_count;
  }

  base::ManualClock clock_{fixtures::Now().wall};
  // The only domain there is, or none.
  std::optional<api::ComputeDomain> domain_;
  int version_ = 0;
  std::vector<std::shared_ptr<const api::Node>> nodes_;
  std::vector<std::shared_ptr<const api::DaemonPod>> daemons_;
  std::vector<std::shared_ptr<const api::ResourceClaim>> waiting_;
  prometheus::Histogram time_to_ready_{prometheus::Histogram::BucketBoundaries{10, 100}};
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Histogram>& phases_ =
      prometheus::BuildHistogram().Name("phases").Register(registry_);
  prometheus::Histogram wait_{prometheus::Histogram::BucketBoundaries{10, 100}};
  std::shared_ptr<const compute_domain::CliqueCapacities> capacity_;
  std::string memory_shared_ = "True";
  DomainMetrics metrics_{
      {.versions =
           [this](const auto& visit) {
             if (domain_) visit(domain_->meta);
           },
       .domain =
           [this](const auto&) { return std::make_shared<const api::ComputeDomain>(*domain_); },
       .count_nodes = [this](const auto&) { return nodes_.size(); },
       .views =
           [this](const auto& visit) {
             if (!domain_) return;
             visit({.domain = *domain_, .nodes = nodes_, .daemons = daemons_, .waiting = waiting_});
           },
       .capacity = [this] { return capacity_; },
       .memory_shared = [this](const auto&) { return memory_shared_; },
       .leaving_taints = {"example.com/spot"}},
      clock_,
      time_to_ready_,
      phases_,
      wait_};
};

TEST_F(DomainMetricsTest, P2_EachDomainSaysHowItIs) {
  Change([](api::ComputeDomain& domain) {
    domain.num_nodes = 4;
    domain.status.nodes[1].ready = false;
  });
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_ready" + kOfTrain), 1);
  EXPECT_EQ(ValueOf("cdom_domain_members_expected" + kOfTrain), 4);
  EXPECT_EQ(ValueOf("cdom_domain_members" + kOfTrain), 2);
  EXPECT_EQ(ValueOf("cdom_domain_members_ready" + kOfTrain), 1);
  EXPECT_EQ(ValueOf("cdom_domain_nodes_held" + kOfTrain), 2);
  EXPECT_EQ(ValueOf("cdom_domain_in_use" + kOfTrain), 1);
  EXPECT_EQ(ValueOf("cdom_domain_deletion_blocked" + kOfTrain), 0);
  EXPECT_EQ(ValueOf("cdom_domain_deletion_age_seconds" + kOfTrain), std::nullopt);
  const std::string clique =
      R"({namespace="team-a",name="train",clique=")" + fixtures::kCliqueId + "\"}";
  EXPECT_EQ(ValueOf("cdom_clique_members" + clique), 2);
  EXPECT_EQ(ValueOf("cdom_clique_members_ready" + clique), 1);
}

TEST_F(DomainMetricsTest, REV4_1_WhetherPodsShareMemoryIsAbsentWhileItIsUnknown) {
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_memory_shared" + kOfTrain), 1);
  memory_shared_ = "False";
  EXPECT_EQ(ValueOf("cdom_domain_memory_shared" + kOfTrain), 0);
  for (const char* unknown : {"Unknown", ""}) {
    memory_shared_ = unknown;
    EXPECT_EQ(ValueOf("cdom_domain_memory_shared" + kOfTrain), std::nullopt) << unknown;
  }
}

TEST_F(DomainMetricsTest, DomainThatAnotherControllerWritesIsCounted) {
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_conflicted" + kOfTrain), 0);
  Change([](api::ComputeDomain& domain) {
    domain.status.conditions.push_back({.type = "Conflicted", .status = "True"});
  });
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_conflicted" + kOfTrain), 1);
}

TEST_F(DomainMetricsTest, DomainThatAsksForNoNumberExpectsTheNodesItWasGiven) {
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_members_expected" + kOfTrain), 2);
}

TEST_F(DomainMetricsTest, DeletionHasAnAgeAndSaysWhetherItWaits) {
  Change([](api::ComputeDomain& domain) {
    fixtures::Delete(domain.meta, {});
    domain.status.conditions.push_back({.type = "DeletionBlocked", .status = "True"});
  });
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_deletion_age_seconds" + kOfTrain), 60);
  EXPECT_EQ(ValueOf("cdom_domain_deletion_blocked" + kOfTrain), 1);
}

TEST_F(DomainMetricsTest, REV3_X2_DomainWithAStrangersDaemonIsCounted) {
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_members_without_claim" + kOfTrain), 0);
  Change([](api::ComputeDomain& domain) {
    domain.status.conditions = {
        {.type = "MembersReady", .status = "True", .reason = "MemberWithoutClaim"}};
  });
  EXPECT_EQ(ValueOf("cdom_members_without_claim" + kOfTrain), 1);
}

TEST_F(DomainMetricsTest, G11_ReadyMembersWhoseNodeIsAboutToGoAreCounted) {
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_members_leaving" + kOfTrain), 0);
  api::Node cordoned = fixtures::MakeNode("node-0");
  cordoned.unschedulable = true;
  api::Node tainted = fixtures::MakeNode("node-1");
  tainted.taints = {"example.com/gpu", "example.com/spot"};
  nodes_ = {std::make_shared<api::Node>(cordoned), std::make_shared<api::Node>(tainted)};
  EXPECT_EQ(ValueOf("cdom_domain_members_leaving" + kOfTrain), 2);
  Change([](api::ComputeDomain& domain) { domain.status.nodes[0].ready = false; });
  EXPECT_EQ(ValueOf("cdom_domain_members_leaving" + kOfTrain), 1) << "one is lost already";
}

TEST_F(DomainMetricsTest, P2_WhatDaemonsReportOfImexIsCountedByAFewStates) {
  metrics_.Sample(true);
  const auto report = [&](const std::string& node, const api::ImexReport& imex) {
    api::DaemonPod pod = fixtures::MakePod(node, 0);
    pod.imex = imex;
    return pod;
  };
  api::DaemonPod silent = fixtures::MakePod("node-8", 0);
  api::DaemonPod ending = report("node-9", {.state = "READY", .restarts = 100});
  ending.meta.deleting = true;
  api::DaemonPod ended = ending;
  ended.meta.deleting = false;
  ended.terminal = true;
  for (const api::DaemonPod& pod :
       {report("node-0", {.state = "READY", .restarts = 2, .unreachable_count = 17}),
        report("node-1", {.state = "READY", .unreachable_count = 1}),
        report("node-2", {.state = "WAITING_FOR_RECOVERY", .restarts = 1}),
        report("node-3", {.state = "WAITING_FOR_PEERS"}), report("node-4", {.state = "ENDED"}),
        report("node-5", {.state = "UNKNOWN", .in_use = true}),
        report("node-6", {.state = "ANYTHING"}), report("node-7", {.state = "ELSE"}), silent,
        ending, ended}) {
    daemons_.push_back(std::make_shared<api::DaemonPod>(pod));
  }
  const auto count = [&](const std::string& state) {
    return ValueOf(R"(cdom_domain_imex_daemons{namespace="team-a",name="train",state=")" + state +
                   "\"}");
  };
  EXPECT_EQ(count("ready"), 2);
  EXPECT_EQ(count("waiting"), 2);
  EXPECT_EQ(count("ended"), 1);
  EXPECT_EQ(count("on_host"), 1);
  EXPECT_EQ(count("other"), 2);
  EXPECT_EQ(count("ANYTHING"), std::nullopt);
  EXPECT_EQ(ValueOf("cdom_domain_imex_unreachable_peers" + kOfTrain), 18);
  EXPECT_EQ(ValueOf("cdom_domain_imex_restarts" + kOfTrain), 3);
  const auto of_node = [&](const std::string& metric, const std::string& node) {
    return ValueOf(metric + R"({namespace="team-a",name="train",node=")" + node + "\"}");
  };
  EXPECT_EQ(of_node("cdom_node_imex_ready", "node-0"), 1);
  EXPECT_EQ(of_node("cdom_node_imex_ready", "node-2"), 0);
  EXPECT_EQ(of_node("cdom_node_imex_ready", "node-8"), std::nullopt) << "it reports nothing";
  EXPECT_EQ(of_node("cdom_node_imex_unreachable_peers", "node-0"), 17);
  EXPECT_EQ(of_node("cdom_node_imex_unreachable_peers", "node-9"), std::nullopt) << "it has ended";
}

TEST_F(DomainMetricsTest, DaemonsThatReportNothingHaveNoSeriesOfImex) {
  daemons_ = {std::make_shared<api::DaemonPod>(fixtures::MakePod("node-0", 0))};
  metrics_.Sample(true);
  EXPECT_EQ(Text().find("cdom_domain_imex"), std::string::npos);
  EXPECT_EQ(Text().find("cdom_node_imex_ready"), std::string::npos);
}

TEST_F(DomainMetricsTest, B60_ImexIsExpectedOnLabelledNodesAndNowhereElse) {
  metrics_.Sample(true);
  const auto of_node = [](const std::string& node) {
    return R"(cdom_node_imex_expected{namespace="team-a",name="train",node=")" + node +
           "\",clique=\"\"}";
  };
  EXPECT_EQ(ValueOf(of_node("node-0")), 1);
  EXPECT_EQ(ValueOf(of_node("node-1")), 1);
  Show(fixtures::MakeDomain(), {"node-1"});
  EXPECT_EQ(ValueOf(of_node("node-0")), std::nullopt);
}

TEST_F(DomainMetricsTest, G20_NodeOfADomainSaysItsClique) {
  metrics_.Sample(true);
  api::Node node = fixtures::MakeNode("node-0");
  node.clique = fixtures::kCliqueId;
  nodes_ = {std::make_shared<api::Node>(node)};
  EXPECT_EQ(
      ValueOf(R"(cdom_node_imex_expected{namespace="team-a",name="train",node="node-0",clique=")" +
              fixtures::kCliqueId + "\"}"),
      1);
}

TEST_F(DomainMetricsTest, G21_NodesOfEachCliqueAreCountedByWhatBecameOfThem) {
  capacity_ =
      std::make_shared<const compute_domain::CliqueCapacities>(compute_domain::CliqueCapacities{
          {"", {.free = 1}}, {"c1.0", {.free = 2, .reserved = 3, .held = 16}}});
  EXPECT_EQ(Text(), "") << "who does not lead counts nothing";
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf(R"(cdom_clique_nodes{clique="",state="free"})"), 1);
  EXPECT_EQ(ValueOf(R"(cdom_clique_nodes{clique="c1.0",state="free"})"), 2);
  EXPECT_EQ(ValueOf(R"(cdom_clique_nodes{clique="c1.0",state="reserved"})"), 3);
  EXPECT_EQ(ValueOf(R"(cdom_clique_nodes{clique="c1.0",state="held"})"), 16);
  EXPECT_EQ(ValueOf(R"(cdom_clique_nodes{clique="c1.0",state="unusable"})"), 0);
  capacity_ = std::make_shared<const compute_domain::CliqueCapacities>();
  EXPECT_EQ(ValueOf(R"(cdom_clique_nodes{clique="c1.0",state="held"})"), std::nullopt)
      << "nothing is left of a clique that is gone";
}

TEST_F(DomainMetricsTest, G23_PodsThatWaitAreCountedAndHowLongTheFirstHasWaited) {
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_pods_waiting" + kOfTrain), 0);
  EXPECT_EQ(ValueOf("cdom_domain_wait_age_seconds" + kOfTrain), std::nullopt);
  const auto claim = [](const char* pod, const char* created) {
    api::ResourceClaim made = fixtures::MakeWaitingClaim(pod);
    made.meta.creation_timestamp = created;
    return made;
  };
  api::ResourceClaim elsewhere = claim("a", "2026-01-01T01:00:00Z");
  elsewhere.meta.key.ns = "team-b";
  api::ResourceClaim administrators = claim("b", "2026-01-01T01:00:00Z");
  administrators.admin_access = true;
  for (const api::ResourceClaim& made :
       {claim("c", "2026-01-01T11:59:30Z"), elsewhere, administrators,
        claim("d", "2026-01-01T11:59:00Z"), claim("e", "unknown")}) {
    waiting_.push_back(std::make_shared<api::ResourceClaim>(made));
  }
  EXPECT_EQ(ValueOf("cdom_domain_pods_waiting" + kOfTrain), 3);
  EXPECT_EQ(ValueOf("cdom_domain_wait_age_seconds" + kOfTrain), 60);
}

TEST_F(DomainMetricsTest, G23_ClaimThatWaitedIsCountedByHowLongWhileThisReplicaLeads) {
  api::ResourceClaim claim = fixtures::MakeWaitingClaim("a");
  claim.meta.creation_timestamp = "2026-01-01T11:59:30Z";
  metrics_.Waited(claim);
  EXPECT_EQ(wait_.Collect().histogram.sample_count, 0U);
  metrics_.Sample(true);
  metrics_.Waited(claim);
  claim.meta.creation_timestamp.clear();
  metrics_.Waited(claim);
  EXPECT_EQ(wait_.Collect().histogram.sample_count, 1U);
  EXPECT_EQ(wait_.Collect().histogram.sample_sum, 30);
}

TEST_F(DomainMetricsTest, G20_CliquesOfADomainAreCountedWithoutNodesThatHaveNoFabric) {
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_cliques" + kOfTrain), 1);
  Change([](api::ComputeDomain& domain) { domain.status.nodes[0].clique.clear(); });
  EXPECT_EQ(ValueOf("cdom_domain_cliques" + kOfTrain), 1);
  Change([](api::ComputeDomain& domain) { domain.status.nodes[0].clique = "c9.9"; });
  EXPECT_EQ(ValueOf("cdom_domain_cliques" + kOfTrain), 2);
}

TEST_F(DomainMetricsTest, HeldNodesAddUpAndIdleOnesAreThoseThatNobodyUses) {
  metrics_.Sample(true);
  clock_.Advance(seconds(10));
  metrics_.Sample(true);
  Change([](api::ComputeDomain& domain) {
    fixtures::ConditionOf(domain.status, "InUse").status = "False";
  });
  clock_.Advance(seconds(5));
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_held_node_seconds_total" + kOfTrain), 2 * (10 + 5));
  EXPECT_EQ(ValueOf("cdom_domain_idle_node_seconds_total" + kOfTrain), 2 * 5);
}

TEST_F(DomainMetricsTest, NothingIsLeftOfADomainThatIsGone) {
  metrics_.Sample(true);
  domain_.reset();
  metrics_.Sample(true);
  EXPECT_EQ(Text(), "");
}

TEST_F(DomainMetricsTest, DomainOfTheSameNameBeginsAtNothing) {
  metrics_.Sample(true);
  clock_.Advance(seconds(10));
  metrics_.Sample(true);
  Change([](api::ComputeDomain& domain) { domain.meta.uid = fixtures::kOtherUid; });
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_held_node_seconds_total" + kOfTrain), 0);
}

TEST_F(DomainMetricsTest, StandbySaysNothingAndStartsAfreshWhenItLeads) {
  metrics_.Sample(true);
  clock_.Advance(seconds(10));
  metrics_.Sample(false);
  EXPECT_EQ(Text(), "");
  metrics_.Sample(true);
  EXPECT_EQ(ValueOf("cdom_domain_held_node_seconds_total" + kOfTrain), 0);
}

class FormationTest : public DomainMetricsTest {
 protected:
  FormationTest() {
    SayMembers("Unknown", "NoMembers");
    metrics_.Sample(true);
  }
  // As the controller does now.
  void SayMembers(const char* status, const char* reason) {
    Change([&](api::ComputeDomain& domain) {
      kube::Condition& members = fixtures::ConditionOf(domain.status, "MembersReady");
      members.status = status;
      members.reason = reason;
      members.last_transition_time = base::FormatSeconds(clock_.Wall());
    });
  }
  // A pod's claim that was made now gets a node.
  void Claim() {
    api::ResourceClaim claim = fixtures::MakeWaitingClaim("a");
    claim.meta.creation_timestamp = base::FormatSeconds(clock_.Wall());
    metrics_.Waited(claim);
  }
  void Wait(seconds time) {
    clock_.Advance(time);
    metrics_.Sample(true);
  }
  double SecondsCounted() const { return time_to_ready_.Collect().histogram.sample_sum; }
  void SayShared() {
    Change([&](api::ComputeDomain& domain) {
      kube::Condition& shared = fixtures::ConditionOf(domain.status, "MemoryShared");
      shared.status = "True";
      shared.last_transition_time = base::FormatSeconds(clock_.Wall());
    });
  }
  std::map<std::string, double> SecondsOfPhases() const {
    std::map<std::string, double> took;
    for (const prometheus::MetricFamily& family : registry_.Collect()) {
      for (const prometheus::ClientMetric& metric : family.metric) {
        if (metric.histogram.sample_count == 0) continue;
        took[metric.label.front().value] = metric.histogram.sample_sum;
      }
    }
    return took;
  }
};

TEST_F(FormationTest, IsCountedFromTheFirstClaimUntilAllMembersAreReady) {
  Wait(minutes(10));
  EXPECT_EQ(FormationsCounted(), 0U) << "it is idle, and Ready";
  Claim();
  Wait(seconds(5));
  Claim();
  SayMembers("False", "MembersStarting");
  Wait(seconds(35));
  EXPECT_EQ(FormationsCounted(), 0U);
  SayMembers("True", "AllMembersReady");
  Wait(seconds(5));
  EXPECT_EQ(FormationsCounted(), 1U);
  EXPECT_EQ(SecondsCounted(), 40);
}

TEST_F(FormationTest, IsCountedOnceUntilTheDomainIsIdleAgain) {
  Claim();
  Wait(seconds(10));
  SayMembers("True", "AllMembersReady");
  Wait(seconds(5));
  SayMembers("False", "NodeLost");
  Wait(minutes(5));
  Claim();
  SayMembers("True", "AllMembersReady");
  Wait(seconds(5));
  EXPECT_EQ(SecondsCounted(), 10) << "a member came back";
  SayMembers("Unknown", "NoMembers");
  Wait(minutes(5));
  Claim();
  Wait(seconds(20));
  SayMembers("True", "AllMembersReady");
  Wait(seconds(5));
  EXPECT_EQ(FormationsCounted(), 2U);
  EXPECT_EQ(SecondsCounted(), 10 + 20);
}

TEST_F(FormationTest, OfPodsThatEndBeforeTheirMembersAreReadyIsNotCounted) {
  Claim();
  Wait(seconds(1));
  SayMembers("False", "MembersStarting");
  Wait(minutes(5));
  SayMembers("Unknown", "NoMembers");
  Wait(minutes(5));
  Claim();
  Wait(seconds(30));
  SayMembers("True", "AllMembersReady");
  Wait(seconds(5));
  EXPECT_EQ(SecondsCounted(), 30);
}

TEST_F(FormationTest, REV4_5_PodThatEndsBeforeItsNodeIsLabelledBeginsNoFormation) {
  const auto say_use = [&](const char* reason) {
    Change([&](api::ComputeDomain& domain) {
      fixtures::ConditionOf(domain.status, "InUse").reason = reason;
    });
  };
  say_use("NoClaims");
  Claim();
  Wait(seconds(5));  // The status may be older than the claim.
  say_use("ClaimsReserved");
  Wait(seconds(5));
  say_use("NoClaims");
  Wait(minutes(5));
  Claim();
  Wait(seconds(1));
  say_use("ClaimsReserved");
  Wait(seconds(29));
  SayMembers("True", "AllMembersReady");
  Wait(seconds(5));
  EXPECT_EQ(FormationsCounted(), 1U);
  EXPECT_EQ(SecondsCounted(), 30);
}

TEST_F(FormationTest, REV4_5_EachPhaseHasItsTime) {
  using Progress = compute_domain::Cache::Progress;
  Claim();
  Wait(seconds(3));
  Claim();  // The second pod has to wait for a node.
  Wait(seconds(1));
  metrics_.Progressed(fixtures::kUid, Progress::kLabelled);
  Wait(seconds(9));
  for (int daemon = 0; daemon < 2; ++daemon) {
    metrics_.Progressed(fixtures::kUid, Progress::kDaemonReady);
    Wait(seconds(1));
  }
  SayMembers("True", "AllMembersReady");
  Wait(seconds(2));
  using Phases = std::map<std::string, double>;
  EXPECT_EQ(
      SecondsOfPhases(),
      (Phases{{"scheduled", 3}, {"labelled", 1}, {"daemons_ready", 10}, {"members_ready", 1}}));
  EXPECT_EQ(SecondsCounted(), 15);
  SayShared();
  metrics_.Progressed(fixtures::kUid, Progress::kDaemonReady);  // One that was restarted.
  Wait(seconds(1));
  SayShared();
  Wait(seconds(1));
  EXPECT_EQ(SecondsOfPhases().at("shared"), 2) << "once";
  EXPECT_EQ(SecondsOfPhases().at("daemons_ready"), 10);
}

TEST_F(FormationTest, REV4_5_PhaseWhoseEndWasNotSeenCountsToTheNext) {
  Claim();
  Wait(seconds(4));
  SayMembers("True", "AllMembersReady");
  Wait(seconds(1));
  EXPECT_EQ(SecondsOfPhases(),
            (std::map<std::string, double>{{"scheduled", 0}, {"members_ready", 4}}));
}

TEST_F(FormationTest, REV4_5_IdleDomainHasNoPhases) {
  metrics_.Progressed(fixtures::kUid, compute_domain::Cache::Progress::kLabelled);
  SayShared();
  Wait(seconds(1));
  EXPECT_TRUE(SecondsOfPhases().empty());
}

TEST_F(FormationTest, OfADomainThatWasCreatedSinceTheLastSampleIsCounted) {
  domain_.reset();
  metrics_.Sample(true);
  Claim();
  Show(fixtures::MakeDomain(), {});
  SayMembers("False", "MembersStarting");
  Wait(seconds(25));
  SayMembers("True", "AllMembersReady");
  Wait(seconds(5));
  EXPECT_EQ(SecondsCounted(), 25);
}

TEST_F(FormationTest, ThatBeganBeforeThisReplicaLedIsNotCounted) {
  SayMembers("False", "MembersStarting");
  metrics_.Sample(false);
  metrics_.Sample(true);
  Claim();  // Not the first.
  Wait(seconds(5));
  SayMembers("True", "AllMembersReady");
  Wait(seconds(5));
  EXPECT_EQ(FormationsCounted(), 0U);
}

TEST_F(FormationTest, OfADomainWhoseStatusKeepsNoConditionsIsNotCounted) {
  Change([](api::ComputeDomain& domain) { domain.status.conditions.clear(); });
  Claim();
  Wait(seconds(5));
  EXPECT_EQ(FormationsCounted(), 0U);
}

}  // namespace
}  // namespace process
