#include "pkg/kube/runtime/watch_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/system_random.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_server.h"
#include "pkg/kube/testing/fakes.h"

namespace kube {
namespace {

using http::testing::FakeCredentials;
using http::testing::RawServer;
using http::testing::Reply;
using std::chrono::seconds;
using Connection = RawServer::Connection;

constexpr const char* kStreamHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string Node(const std::string& name, int version) {
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name +
         R"(","resourceVersion":")" + std::to_string(version) + R"("}})";
}

std::string NodeList(int version, const std::string& items) {
  return R"({"apiVersion":"v1","kind":"NodeList","metadata":{"resourceVersion":")" +
         std::to_string(version) + R"("},"items":[)" + items + "]}";
}

std::string Event(const std::string& type, const std::string& object) {
  const std::string frame = R"({"type":")" + type + R"(","object":)" + object + "}\n";
  constexpr const char* kDigits = "0123456789abcdef";
  std::string size;
  for (std::size_t rest = frame.size(); rest > 0; rest /= 16) size = kDigits[rest % 16] + size;
  return size + "\r\n" + frame + "\r\n";
}

bool IsWatch(const std::string& request) {
  return request.substr(0, request.find("\r\n")).find("watch=") != std::string::npos;
}

class Names final : public ReflectorSink {
 public:
  void BeginReplace() override { next_.clear(); }
  void ReplaceAdd(json::View object) override { next_[NameOf(object)] = VersionOf(object); }
  void EndReplace(const std::string& /*resource_version*/) override { versions_ = next_; }
  void Apply(json::View object, bool deleted) override {
    if (deleted) {
      versions_.erase(NameOf(object));
    } else {
      versions_[NameOf(object)] = VersionOf(object);
    }
  }
  void Advance(const std::string& /*resource_version*/) override {}

  std::string VersionOf(const std::string& name) const {
    const auto it = versions_.find(name);
    return it == versions_.end() ? "" : it->second;
  }

 private:
  static std::string NameOf(json::View object) {
    return std::string(object["metadata"]["name"].AsString());
  }
  static std::string VersionOf(json::View object) {
    return std::string(object["metadata"]["resourceVersion"].AsString());
  }
  std::map<std::string, std::string> versions_;
  std::map<std::string, std::string> next_;
};

class WatchLoopTest : public ::testing::Test {
 protected:
  // Runs until `condition`, which is asked at every turn. Each turn is a second.
  template <typename Condition>
  void RunUntil(WatchLoop& loop, Condition condition) {
    std::atomic<bool> is_so = false;
    std::jthread thread([&](const std::stop_token& stop) {
      loop.Run(stop, [&] {
        clock_.Advance(seconds(1));
        is_so = is_so || condition();
      });
    });
    EXPECT_TRUE(base::WaitUntil([&] { return is_so.load(); }));
  }
  std::unique_ptr<WatchLoop> LoopTo(const RawServer& server) {
    return std::make_unique<WatchLoop>(http::Endpoint{.url = server.url()}, credentials_, "test",
                                       clock_);
  }

  base::ManualClock clock_;
  base::SystemRandom random_;
  NoLog logger_;
  Names names_;
  FakeCredentials credentials_{{"old", "new"}};
  Reflector reflector_{{.resource = kNodes}, names_, random_, logger_};
};

TEST_F(WatchLoopTest, ListAndWatchReachTheStore) {
  RawServer server([](Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      if (!IsWatch(request)) {
        connection.Write(Reply(200, NodeList(10, Node("a", 5) + "," + Node("b", 6))));
        continue;
      }
      connection.Write(kStreamHead + Event("MODIFIED", Node("a", 11)));
      connection.Write(Event("DELETED", Node("b", 12)) + Event("ADDED", Node("c", 13)));
      connection.WaitForClose();
    }
  });
  const auto loop = LoopTo(server);
  loop->Add(reflector_);
  RunUntil(*loop, [&] { return names_.VersionOf("c") == "13"; });
  EXPECT_TRUE(reflector_.HasSynced());
  EXPECT_EQ(names_.VersionOf("a"), "11");
  EXPECT_EQ(names_.VersionOf("b"), "");
}

TEST_F(WatchLoopTest, WA2_StreamThatEndsIsResumedFromItsVersion) {
  std::atomic<int> watches = 0;
  RawServer server([&](Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      if (!IsWatch(request)) {
        connection.Write(Reply(200, NodeList(10, "")));
        continue;
      }
      const bool is_first = watches++ == 0;
      EXPECT_NE(request.find(is_first ? "resourceVersion=10" : "resourceVersion=11"),
                std::string::npos)
          << request;
      connection.Write(kStreamHead +
                       Event("ADDED", is_first ? Node("first", 11) : Node("second", 12)));
      if (is_first) {
        connection.Write("0\r\n\r\n");
      } else {
        connection.WaitForClose();
      }
    }
  });
  const auto loop = LoopTo(server);
  loop->Add(reflector_);
  RunUntil(*loop, [&] { return names_.VersionOf("second") == "12"; });
  EXPECT_EQ(names_.VersionOf("first"), "11");
}

TEST_F(WatchLoopTest, WA6_WatchThatIsRefusedReachesTheReflectorWithTheServersWords) {
  RawServer server([](Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      connection.Write(IsWatch(request)
                           ? Reply(403, R"({"kind":"Status","code":403,"reason":"Forbidden",)"
                                        R"("message":"nodes is forbidden for canary"})")
                           : Reply(200, NodeList(10, "")));
    }
  });
  const auto loop = LoopTo(server);
  loop->Add(reflector_);
  RunUntil(*loop, [&] { return reflector_.problem().kind == ReflectorProblem::Kind::kForbidden; });
  EXPECT_NE(reflector_.problem().message.find("canary"), std::string::npos)
      << reflector_.problem().message;
}

TEST_F(WatchLoopTest, CR2_UnauthorizedRequestGoesOutAgainWithTheNextToken) {
  RawServer server([](Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      if (request.find("Authorization: Bearer new\r\n") == std::string::npos) {
        connection.Write(Reply(401, "{}"));
      } else {
        connection.Write(Reply(200, NodeList(10, Node("a", 5))));
      }
    }
  });
  const auto loop = LoopTo(server);
  loop->Add(reflector_);
  RunUntil(*loop, [&] { return reflector_.HasSynced(); });
  EXPECT_GE(credentials_.invalidations(), 1U);
}

TEST_F(WatchLoopTest, HO3_StalledStreamIsDroppedAndOpenedAgain) {
  std::atomic<bool> is_dropped = false;
  RawServer server([&](Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      if (!IsWatch(request)) {
        connection.Write(Reply(200, NodeList(10, "")));
        continue;
      }
      connection.Write(kStreamHead);
      // The first list's connection carries the stream that stalls; a later one delivers.
      const bool stalls = connection.number == 0;
      if (!stalls) connection.Write(Event("ADDED", Node("a", 11)));
      connection.WaitForClose();
      if (stalls) is_dropped = true;
    }
  });
  const auto loop = LoopTo(server);
  loop->Add(reflector_);
  bool is_advanced = false;
  RunUntil(*loop, [&] {
    if (reflector_.HasSynced() && server.requests().size() == 2 && !is_advanced) {
      is_advanced = true;
      clock_.Advance(seconds(121));
    }
    return names_.VersionOf("a") == "11" && is_dropped;
  });
}

TEST_F(WatchLoopTest, ManyReflectorsAreDrivenSideBySide) {
  RawServer server([](Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      if (!IsWatch(request)) {
        connection.Write(Reply(200, NodeList(10, "")));
        continue;
      }
      connection.Write(kStreamHead + Event("ADDED", Node("a", 11)));
      connection.WaitForClose();
    }
  });
  constexpr std::size_t kCount = 12;
  std::vector<std::unique_ptr<Names>> names;
  std::vector<std::unique_ptr<Reflector>> reflectors;
  const auto loop = LoopTo(server);
  for (std::size_t i = 0; i < kCount; ++i) {
    names.push_back(std::make_unique<Names>());
    reflectors.push_back(std::make_unique<Reflector>(ReflectorOptions{.resource = kNodes},
                                                     *names.back(), random_, logger_));
    loop->Add(*reflectors.back());
  }
  RunUntil(*loop, [&] {
    return std::ranges::all_of(names, [](const auto& one) { return one->VersionOf("a") == "11"; });
  });
}

TEST_F(WatchLoopTest, TurnsComeWithoutAnythingToDo) {
  RawServer server([](Connection& connection) { connection.WaitForClose(); });
  const auto loop = LoopTo(server);
  int turns = 0;
  RunUntil(*loop, [&] { return ++turns == 3; });
}

TEST_F(WatchLoopTest, StopEndsTheWaitAndNotOnlyTheTurn) {
  RawServer server([](Connection& connection) { connection.WaitForClose(); });
  // It would wait for its second turn longer than this test for its end.
  WatchLoop loop({.url = server.url()}, credentials_, "test", clock_, {}, 2 * base::kHangs);
  std::atomic<int> turns = 0;
  std::atomic<bool> has_ended = false;
  std::jthread thread([&](const std::stop_token& stop) {
    loop.Run(stop, [&] { ++turns; });
    has_ended = true;
  });
  ASSERT_TRUE(base::WaitUntil([&] { return turns == 1; }));
  thread.request_stop();
  EXPECT_TRUE(base::WaitUntil([&] { return has_ended.load(); }));
  EXPECT_EQ(turns, 1);
  loop.Run(thread.get_stop_token(), {});  // Returns at once.
}

TEST_F(WatchLoopTest, LoopThatWasStoppedCanRunAgain) {
  std::atomic<int> watches = 0;
  RawServer server([&](Connection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      if (!IsWatch(request)) {
        connection.Write(Reply(200, NodeList(10, "")));
        continue;
      }
      ++watches;
      connection.Write(kStreamHead);
      connection.WaitForClose();
    }
  });
  const auto loop = LoopTo(server);
  loop->Add(reflector_);
  RunUntil(*loop, [&] { return watches == 1; });
  EXPECT_TRUE(reflector_.HasSynced());
}

}  // namespace
}  // namespace kube
