#include "node/plugin/loop/metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/fixtures/metric_rows.h"
#include "test/fixtures/page_rows.h"

namespace plugin {
namespace {

TEST(PluginMetrics, PageHasEachWithTypeLabelsAndHelp) {
  std::vector<std::string> rows;
  for (const auto& family : Metrics("node-0").collectable()->Collect()) {
    // The page has it in the table of the controller.
    if (family.name != "cdom_build_info") rows.push_back(fixtures::MetricRow(family));
  }
  EXPECT_EQ(fixtures::RowsOf(CDOM_DOCS "/metrics.md", rows, "## The kubelet plugin"), rows);
}

}  // namespace
}  // namespace plugin
