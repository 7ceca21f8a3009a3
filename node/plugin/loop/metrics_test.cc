#include "node/dra/loop/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "node/plugin/loop/plugin_state.h"
#include "test/fixtures/metric_rows.h"
#include "test/fixtures/page_rows.h"

namespace plugin {
namespace {

TEST(PluginMetrics, PageHasEachWithTypeLabelsAndHelp) {
  std::vector<std::string> rows;
  for (const auto& family : Metrics(MetricsOf("node-0")).collectable()->Collect()) {
    // The page has those in the table of the controller.
    if (!family.name.starts_with("cdom_")) rows.push_back(fixtures::MetricRow(family));
  }
  EXPECT_EQ(fixtures::RowsOf(CDOM_DOCS "/metrics.md", rows, "## The kubelet plugin"), rows);
}

TEST(PluginMetrics, FeatureGatesWithoutEffectAreThere) {
  const Metrics metrics(MetricsOf("node-0", {{.name = "Later", .value = true}}));
  const auto families = metrics.collectable()->Collect();
  const auto ignored =
      std::ranges::find(families, "cdom_feature_gates_ignored", &prometheus::MetricFamily::name);
  ASSERT_NE(ignored, families.end());
  ASSERT_EQ(ignored->metric.size(), 1U);
  EXPECT_EQ(ignored->metric[0].gauge.value, 1);
  EXPECT_EQ(ignored->metric[0].label[0].value, "Later");
}

}  // namespace
}  // namespace plugin
