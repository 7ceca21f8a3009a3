#include "pkg/kube/runtime/api_session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_server.h"
#include "pkg/kube/testing/fakes.h"

namespace kube {
namespace {

using http::testing::FakeCredentials;
using http::testing::RawServer;
using http::testing::Reply;
using std::chrono::minutes;
using std::chrono::seconds;

ClientConfig ConfigOf(const std::string& url) {
  return {.endpoint = {.url = url}, .credentials = std::make_unique<FakeCredentials>()};
}

class ConfigLoaderTest : public ::testing::Test {
 protected:
  base::Result<ClientConfig> Load() {
    ++loads_;
    if (!wrong_.empty()) return base::Fail(base::ErrorCode::kInvalid, wrong_);
    return ConfigOf("http://127.0.0.1:1");
  }

  int loads_ = 0;
  std::string wrong_ = {};
  base::ManualClock clock_;
  RecordingLogger logger_;
  ConfigLoader loader_{[this] { return Load(); }, clock_, logger_};
};

TEST_F(ConfigLoaderTest, ErrorIsLoggedOnce_AndItIsLoadedAgainEvery5Seconds) {
  wrong_ = "no file";
  EXPECT_FALSE(loader_.Poll(minutes(1)));
  EXPECT_FALSE(loader_.Poll(minutes(1)));
  EXPECT_EQ(loads_, 1) << "it is not time";
  EXPECT_EQ(loader_.next(), clock_.Now() + seconds(5));
  EXPECT_EQ(loader_.error(), "no file");
  clock_.Advance(seconds(5));
  EXPECT_FALSE(loader_.Poll(minutes(1)));
  EXPECT_EQ(loads_, 2);
  EXPECT_EQ(logger_.Count("No API server found"), 1U);
  wrong_ = "no user";
  clock_.Advance(seconds(5));
  EXPECT_FALSE(loader_.Poll(minutes(1)));
  EXPECT_EQ(logger_.Count("No API server found"), 2U) << "another error is news";
}

TEST_F(ConfigLoaderTest, GoodOneIsLoadedAgainWhenTheCallerSaid) {
  EXPECT_TRUE(loader_.Poll(minutes(1)));
  clock_.Advance(seconds(59));
  EXPECT_FALSE(loader_.Poll(minutes(1)));
  clock_.Advance(seconds(1));
  EXPECT_TRUE(loader_.Poll(minutes(1)));
  EXPECT_TRUE(loader_.error().empty());
}

TEST(ApiSession, EachQueueSendsOneRequestAfterTheOther_AndQueuesDoNotWaitForEachOther) {
  std::latch both(2);
  RawServer server([&](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    both.arrive_and_wait();  // Passes only if two requests are under way at once.
    connection.Write(Reply(200, "{}"));
  });
  const base::ManualClock clock;
  NoLog logger;
  std::atomic<int> done = 0;
  std::latch all(2);
  ThreadedApiSession session(ConfigOf(server.url()), "test", clock, logger, 2);
  for (std::size_t queue = 0; queue < 2; ++queue) {
    session.Post(queue, [&](http::Transport& transport) {
      if (transport.Send({.path = "/version"})) ++done;
      all.count_down();
    });
  }
  all.wait();
  EXPECT_EQ(done, 2);
}

TEST(ApiSession, DestructorGivesUpARequestThatHangs_AndBeginsNoOther) {
  std::latch asked(1);
  RawServer server([&](RawServer::Connection& connection) {
    static_cast<void>(connection.ReadRequest());
    asked.count_down();
    connection.WaitForClose();
  });
  const base::ManualClock clock;
  NoLog logger;
  std::atomic<int> begun = 0;
  std::atomic<bool> failed = false;
  {
    ThreadedApiSession session(ConfigOf(server.url()), "test", clock, logger, 1);
    session.Post(0, [&](http::Transport& transport) {
      ++begun;
      failed = !transport.Send({.path = "/version", .timeout = minutes(10)});
    });
    session.Post(0, [&](http::Transport& /*transport*/) { ++begun; });
    asked.wait();
  }
  EXPECT_EQ(begun, 1);
  EXPECT_TRUE(failed);
}

}  // namespace
}  // namespace kube
