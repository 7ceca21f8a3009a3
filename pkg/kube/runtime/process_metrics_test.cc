#include "pkg/kube/runtime/process_metrics.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "test/fixtures/metric_rows.h"
#include "test/fixtures/page_rows.h"

namespace kube {
namespace {

std::map<std::string, double> Values(const ProcessMetrics& metrics) {
  std::map<std::string, double> values;
  for (const prometheus::MetricFamily& family : metrics.Collect()) {
    const prometheus::ClientMetric& metric = family.metric.at(0);
    values[family.name] =
        family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value;
  }
  return values;
}

TEST(ProcessMetrics, ValuesFollowTheProcess) {
  const base::ManualClock clock;
  const ProcessMetrics metrics(clock);
  const std::map<std::string, double> before = Values(metrics);
  const int fd = ::dup(STDERR_FILENO);
  const std::map<std::string, double> after = Values(metrics);
  ::close(fd);
  ASSERT_EQ(before.size(), 5U);
  EXPECT_EQ(after.at("process_open_fds"), before.at("process_open_fds") + 1);
  EXPECT_GT(after.at("process_max_fds"), after.at("process_open_fds"));
  EXPECT_TRUE(base::WaitUntil([&] {  // The kernel counts in steps.
    return Values(metrics).at("process_cpu_seconds_total") > before.at("process_cpu_seconds_total");
  }));
  EXPECT_GT(after.at("process_resident_memory_bytes"), 1e6);
  EXPECT_EQ(after.at("process_start_time_seconds"), 1'767'225'600);  // 2026-01-01T00:00:00Z
}

TEST(ProcessMetrics, PageHasEachWithTypeAndHelp) {
  std::vector<std::string> rows;
  for (const auto& family : ProcessMetrics(base::ManualClock()).Collect()) {
    rows.push_back(fixtures::MetricRow(family));
  }
  EXPECT_EQ(fixtures::RowsOf(CDOM_DOCS "/metrics.md", rows, "## The process"), rows);
}

}  // namespace
}  // namespace kube
