#include "node/dra/loop/slice_publisher.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "node/plugin/api/plugin_api.h"
#include "node/plugin/rules/resource_slice.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_server.h"
#include "pkg/json/value.h"
#include "pkg/kube/testing/fakes.h"

namespace plugin {
namespace {

using TimePoint = base::Clock::TimePoint;

using http::testing::RawServer;
using http::testing::Reply;

// An API server that holds one ResourceSlice, and tells watches of each change of it.
class OneSlice {
 public:
  // Ends all watches.
  void End() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

  // As another client would.
  void Change() {
    const std::lock_guard lock(mutex_);
    slice_["spec"]["pool"]["generation"] = 7;
    Stored();
  }
  int writes() {
    const std::lock_guard lock(mutex_);
    return writes_;
  }

  void Serve(RawServer::Connection& connection) {
    for (auto request = connection.ReadRequest(); !request.empty();
         request = connection.ReadRequest()) {
      const bool is_watch = request.find("watch=") != std::string::npos;
      if (request.find("/resourceslices") == std::string::npos) {
        if (is_watch) return connection.WaitForClose();
        connection.Write(ListOf("List", ""));
      } else if (is_watch) {
        return Watch(connection);
      } else if (request.starts_with("GET") && request.find("/made") == std::string::npos) {
        const std::lock_guard lock(mutex_);
        connection.Write(ListOf("ResourceSliceList", version_ == 0 ? "" : json::Serialize(slice_)));
      } else {
        connection.Write(Reply(200, Store(request)));
      }
    }
  }

 private:
  static std::string ListOf(const std::string& kind, const std::string& items) {
    return Reply(200, R"({"kind": ")" + kind +
                          R"(", "metadata": {"resourceVersion": "1"}, "items": [)" + items + "]}");
  }
  std::string Store(const std::string& request) {
    const std::lock_guard lock(mutex_);
    if (!request.starts_with("GET")) {
      slice_ = *json::Parse(request.substr(request.find("\r\n\r\n") + 4));
      slice_["metadata"]["name"] = "made";
      slice_["metadata"]["uid"] = "slice-uid";
      ++writes_;
      Stored();
    }
    return json::Serialize(slice_);
  }
  void Stored() {
    slice_["metadata"]["resourceVersion"] = std::to_string(++version_ + 1);
    changed_.notify_all();
  }
  void Watch(RawServer::Connection& connection) {
    connection.Write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
    std::unique_lock lock(mutex_);
    for (int seen = 0; !is_over_;) {
      changed_.wait(lock, [&] { return is_over_ || version_ > seen; });
      if (is_over_) return;
      seen = version_;
      connection.Write(R"({"type": "MODIFIED", "object": )" + json::Serialize(slice_) + "}\n");
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  int version_ = 0;
  int writes_ = 0;
  json::Value slice_ = json::Value::Object();
};

class SlicePublisherTest : public testing::Test {
 protected:
  SlicePublisherTest() {
    kube::ClientConfig config = {.endpoint = {.url = server_.url()},
                                 .credentials = std::make_unique<http::testing::FakeCredentials>()};
    api_ = PluginApi::Connect(std::move(config), "node-a", clock_, log_, tasks_,
                              [this] { tasks_.Wake(); });
  }
  ~SlicePublisherTest() override {
    api_.reset();
    slice_.End();
  }
  // Whether it becomes so.
  bool RunUntil(const std::function<bool(TimePoint next)>& is_so) {
    const dra::ResourceSlice slice = SliceOf({.node = "node-a", .node_uid = "node-uid"});
    return base::WaitUntil([&] {
      for (const auto& task : tasks_.Wait(std::chrono::milliseconds(10))) task();
      return is_so(publisher_.Turn(*api_, slice, ""));
    });
  }

  base::ManualClock clock_;  // Of the connection.
  base::ManualClock time_;   // Of what is decided.
  kube::NoLog log_;
  base::TaskQueue tasks_;
  OneSlice slice_;
  RawServer server_{[this](RawServer::Connection& connection) { slice_.Serve(connection); }};
  bool is_superseded_ = false;
  std::unique_ptr<PluginApi> api_;
  dra::SlicePublisher publisher_{time_, log_, [this] { return is_superseded_; }};
};

TEST_F(SlicePublisherTest, REV3_N3_SliceThatAnotherChangesIsRewrittenEverMoreRarely) {
  ASSERT_TRUE(RunUntil([&](TimePoint /*next*/) { return slice_.writes() == 1; }));
  slice_.Change();
  ASSERT_TRUE(RunUntil([&](TimePoint /*next*/) { return slice_.writes() == 2; }))
      << "the first time it is put back at once";
  for (const int pause : {5, 10, 20}) {
    const int before = slice_.writes();
    const TimePoint again = time_.Now() + std::chrono::seconds(pause);
    slice_.Change();
    ASSERT_TRUE(RunUntil([&](TimePoint next) { return next == again; })) << pause;
    EXPECT_EQ(slice_.writes(), before);
    time_.Advance(std::chrono::seconds(pause));
    ASSERT_TRUE(RunUntil([&](TimePoint /*next*/) { return slice_.writes() == before + 1; }));
  }
}

TEST_F(SlicePublisherTest, REV3_N3_SupersededInstanceWritesNothing) {
  ASSERT_TRUE(RunUntil([&](TimePoint /*next*/) { return slice_.writes() == 1; }));
  is_superseded_ = true;
  slice_.Change();
  const TimePoint again = time_.Now() + std::chrono::seconds(5);
  ASSERT_TRUE(RunUntil([&](TimePoint next) { return next == again; }));
  EXPECT_EQ(slice_.writes(), 1);
  is_superseded_ = false;
  ASSERT_TRUE(RunUntil([&](TimePoint /*next*/) { return slice_.writes() == 2; }));
}

}  // namespace
}  // namespace plugin
