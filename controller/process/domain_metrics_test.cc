#include "controller/process/domain_metrics.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "controller/api/names.h"
#include "pkg/base/manual_clock.h"
#include "pkg/base/rfc3339.h"
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
    DomainView view = {.domain = std::make_shared<api::ComputeDomain>(std::move(domain))};
    for (const std::string& node : nodes) {
      view.nodes.push_back(std::make_shared<api::Node>(fixtures::MakeNode(node)));
    }
    views_ = {std::move(view)};
  }
  void Change(const std::function<void(api::ComputeDomain&)>& change) {
    api::ComputeDomain domain = *views_[0].domain;
    change(domain);
    views_[0].domain = std::make_shared<api::ComputeDomain>(std::move(domain));
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
  std::vector<DomainView> views_;
  prometheus::Histogram time_to_ready_{prometheus::Histogram::BucketBoundaries{10, 100}};
  DomainMetrics metrics_{[this] { return views_; }, clock_, time_to_ready_};
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

TEST_F(DomainMetricsTest, B60_ImexIsExpectedOnLabelledNodesAndNowhereElse) {
  metrics_.Sample(true);
  const auto of_node = [](const std::string& node) {
    return R"(cdom_node_imex_expected{namespace="team-a",name="train",node=")" + node + "\"}";
  };
  EXPECT_EQ(ValueOf(of_node("node-0")), 1);
  EXPECT_EQ(ValueOf(of_node("node-1")), 1);
  Show(fixtures::MakeDomain(), {"node-1"});
  EXPECT_EQ(ValueOf(of_node("node-0")), std::nullopt);
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
  views_.clear();
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

// The domain was created now, and its condition Ready is as it says since `took` later.
void Form(api::ComputeDomain& domain, base::Clock::WallTime now, const std::string& ready,
          seconds took) {
  domain.meta.creation_timestamp = base::FormatSeconds(now);
  kube::Condition& condition = fixtures::ConditionOf(domain.status, "Ready");
  condition.status = ready;
  condition.last_transition_time = base::FormatSeconds(now + took);
}

TEST_F(DomainMetricsTest, FormationIsCountedOnceFromCreationToTheFirstReady) {
  views_.clear();
  metrics_.Sample(true);
  clock_.Advance(minutes(1));
  api::ComputeDomain domain = fixtures::MakeDomain();
  Form(domain, clock_.Wall(), "False", seconds(0));
  Show(domain, {});
  metrics_.Sample(true);
  EXPECT_EQ(FormationsCounted(), 0U);
  Change([&](api::ComputeDomain& now) { Form(now, clock_.Wall(), "True", seconds(40)); });
  metrics_.Sample(true);
  EXPECT_EQ(FormationsCounted(), 1U);
  EXPECT_EQ(time_to_ready_.Collect().histogram.sample_sum, 40);
  Change([&](api::ComputeDomain& now) { Form(now, clock_.Wall(), "False", seconds(50)); });
  metrics_.Sample(true);
  Change([&](api::ComputeDomain& now) { Form(now, clock_.Wall(), "True", seconds(90)); });
  metrics_.Sample(true);
  EXPECT_EQ(FormationsCounted(), 1U);
}

TEST_F(DomainMetricsTest, DomainThatIsOlderThanTheTermIsNotCountedAsFormed) {
  metrics_.Sample(true);  // Created an hour before, and Ready.
  EXPECT_EQ(FormationsCounted(), 0U);
}

}  // namespace
}  // namespace process
