#include "pkg/http/retry_after.h"

#include <gtest/gtest.h>

#include <vector>

namespace http {
namespace {

using std::chrono::seconds;

// Mon, 10 Nov 2025 08:00:00 GMT.
constexpr std::time_t kNow = 1'762'761'600;

TEST(RetryAfter, RT3_SecondsAndDatesAreReadAndClamped) {
  struct Row {
    std::string value;
    std::optional<seconds> want;
  };
  const std::vector<Row> rows = {
      {"5", seconds(5)},
      {" 5 \r\n", seconds(5)},
      {"0", seconds(0)},
      {"-3", seconds(0)},
      {"121", seconds(120)},
      {"99999999999999999999999", seconds(120)},
      {"-99999999999999999999999", seconds(0)},
      {"Mon, 10 Nov 2025 08:00:07 GMT", seconds(7)},
      {"Mon, 10 Nov 2025 09:00:00 GMT", seconds(120)},
      {"Mon, 10 Nov 2025 07:59:59 GMT", seconds(0)},
      {"", std::nullopt},
      {"soon", std::nullopt},
      {"1.5", std::nullopt},
      {"5 minutes", std::nullopt},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ParseRetryAfter(row.value, kNow), row.want) << '"' << row.value << '"';
  }
}

}  // namespace
}  // namespace http
