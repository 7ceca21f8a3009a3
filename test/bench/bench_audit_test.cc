#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "pkg/base/rfc3339.h"
#include "test/bench/audit.h"

namespace bench {
namespace {

// A file of its own for each test, taken away again.
class AuditLogTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  void Write(const std::string& text) { std::ofstream(path_, std::ios::app) << text << std::flush; }
  AuditLog Open() {
    Write("");
    return AuditLog(path_);
  }

  static std::string Line(const std::string& name, const std::string& stage = "ResponseComplete",
                          const std::string& ns = "default") {
    return R"({"stage":")" + stage +
           R"(","verb":"patch","user":{"username":"someone","extra":{)"
           R"("authentication.kubernetes.io/credential-id":["JTI=1"]}},)"
           R"("objectRef":{"resource":"computedomains","subresource":"status","namespace":")" +
           ns + R"(","name":")" + name +
           R"("},"responseStatus":{"code":200},)"
           R"("requestReceivedTimestamp":"2026-11-21T10:00:00.000100Z",)"
           R"("stageTimestamp":"2026-11-21T10:00:00.002600Z"})"
           "\n";
  }

 private:
  const std::string path_ = testing::TempDir() + "audit." + std::to_string(getpid()) + "." +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(AuditLogTest, EventSaysWhoDidWhatAndWhen) {
  AuditLog log = Open();
  Write(Line("a"));
  ASSERT_TRUE(log.Read());
  ASSERT_EQ(log.Since(0).size(), 1U);
  const AuditEvent& event = log.Since(0).front();
  EXPECT_EQ(event.user, "someone");
  EXPECT_EQ(event.credential, "JTI=1");
  EXPECT_EQ(event.name, "a");
  EXPECT_TRUE(event.IsOn("computedomains/status"));
  EXPECT_FALSE(event.IsOn("computedomains"));
  EXPECT_TRUE(event.Succeeded());
  EXPECT_TRUE(event.IsWrite());
  EXPECT_EQ(event.completed - event.received, std::chrono::microseconds(2500));
}

TEST_F(AuditLogTest, LineThatIsHalfWrittenIsTakenOnceItIsWhole) {
  AuditLog log = Open();
  const std::string line = Line("a");
  Write(line.substr(0, 40));
  ASSERT_TRUE(log.Read());
  EXPECT_EQ(log.Since(0).size(), 0U);
  Write(line.substr(40) + Line("b"));
  ASSERT_TRUE(log.Read());
  ASSERT_EQ(log.Since(0).size(), 2U);
  EXPECT_EQ(log.Since(1).front().name, "b");
}

TEST_F(AuditLogTest, MarkPartsWhatCameBeforeFromWhatCameAfter) {
  AuditLog log = Open();
  Write(Line("a"));
  ASSERT_TRUE(log.Read());
  const std::size_t mark = log.Mark();
  Write(Line("b"));
  ASSERT_TRUE(log.Read());
  ASSERT_EQ(log.Since(mark).size(), 1U);
  EXPECT_EQ(log.Since(mark).front().name, "b");
}

TEST_F(AuditLogTest, BeginningOfAWatchAndLeasesOfKubeletsAreLeftOut) {
  AuditLog log = Open();
  Write(Line("a", "ResponseStarted") + Line("b", "ResponseComplete", "kube-node-lease"));
  ASSERT_TRUE(log.Read());
  EXPECT_EQ(log.Since(0).size(), 0U);
}

TEST_F(AuditLogTest, LineThatIsNoEventIsAnErrorAndNotSkipped) {
  AuditLog log = Open();
  Write("{}x\n");
  EXPECT_FALSE(log.Read());
}

}  // namespace
}  // namespace bench
