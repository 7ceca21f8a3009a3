#include "pkg/http/exchange_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace http {
namespace {

class Lines final : public base::Logger {
 public:
  void Log(base::LogLevel level, std::string_view message,
           std::initializer_list<base::LogField> fields) override {
    EXPECT_EQ(level, base::LogLevel::kRequests);
    std::string line(message);
    for (const base::LogField& field : fields) {
      line.append(" ").append(field.key).append("=").append(field.value);
    }
    all.push_back(line);
  }
  bool Writes(base::LogLevel /*level*/) const override { return writes; }

  bool writes = true;
  std::vector<std::string> all;
};

TEST(ExchangeLog, LineHasVerbPathStatusAndTime) {
  Lines logger;
  LogExchange({.method = Method::kPatch,
               .path = "/api/v1/nodes/a?fieldManager=cdom",
               .status = 409,
               .took = std::chrono::microseconds(12999)},
              logger);
  LogExchange({.path = "/version"}, logger);
  EXPECT_EQ(logger.all, (std::vector<std::string>{
                            "Response verb=PATCH path=/api/v1/nodes/a?fieldManager=cdom status=409 "
                            "milliseconds=12",
                            "Response verb=GET path=/version status=none milliseconds=0"}));
}

TEST(ExchangeLog, LoggerThatDropsRequestsGetsNone) {
  Lines logger;
  logger.writes = false;
  LogExchange({.path = "/version"}, logger);
  EXPECT_TRUE(logger.all.empty());
}

}  // namespace
}  // namespace http
