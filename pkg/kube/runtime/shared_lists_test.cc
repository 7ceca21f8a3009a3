#include "pkg/kube/runtime/shared_lists.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "pkg/base/testing/manual_clock.h"

namespace kube {
namespace {

using http::Request;
using http::Response;
using Replies = std::vector<base::Result<Response>>;

Request List(const std::string& kind, const std::string& value) {
  return {.path = "/api/v1/" + kind + "?labelSelector=domain%3D" + value};
}

// Answers each request by its path; the first one only once it may.
class Server final : public http::Transport {
 public:
  Replies SendAll(const std::vector<Request>& requests) override {
    Replies replies;
    {
      const base::MutexLock lock(mutex_);
      for (const Request& request : requests) {
        paths_.push_back(request.path);
        replies.emplace_back(Response{.status = 200, .body = request.path});
      }
      has_begun_.notify_all();
      while (!may_answer_) may_answer_cv_.wait(mutex_);
    }
    return replies;
  }
  void AwaitRequests(std::size_t count) {
    const base::MutexLock lock(mutex_);
    while (paths_.size() < count) has_begun_.wait(mutex_);
  }
  void Answer() {
    const base::MutexLock lock(mutex_);
    may_answer_ = true;
    may_answer_cv_.notify_all();
  }
  std::vector<std::string> paths() {
    const base::MutexLock lock(mutex_);
    return paths_;
  }

 private:
  base::Mutex mutex_;
  std::condition_variable_any has_begun_;
  std::condition_variable_any may_answer_cv_;
  std::vector<std::string> paths_ GUARDED_BY(mutex_);
  bool may_answer_ GUARDED_BY(mutex_) = false;
};

TEST(SharedLists, ListThatNobodyElseWants_IsSentAsItIs) {
  Server server;
  server.Answer();
  const base::ManualClock clock;
  SharedLists lists(clock);
  const Replies replies =
      lists.SendAll({List("pods", "a"), List("nodes", "a"), {.path = "/api/v1/nodes/n"}}, server)
          .replies;
  ASSERT_EQ(replies.size(), 3U);
  EXPECT_EQ(replies[0]->body, "/api/v1/pods?labelSelector=domain%3Da");
  EXPECT_EQ(replies[1]->body, "/api/v1/nodes?labelSelector=domain%3Da");
  EXPECT_EQ(replies[2]->body, "/api/v1/nodes/n");
  EXPECT_EQ(server.paths().size(), 3U);
}

// While one LIST is under way others ask.
class Asked : public testing::Test {
 protected:
  // Each on a thread of its own, after the LIST of "first" has begun. Replies in their order.
  std::vector<Replies> Ask(const std::vector<std::vector<Request>>& asked) {
    std::jthread first([&] { (void)lists.SendAll({List("pods", "first")}, server); });
    server.AwaitRequests(1);
    std::vector<Replies> replies(asked.size());
    std::vector<std::jthread> askers;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      askers.emplace_back([&, i] { replies[i] = lists.SendAll(asked[i], server).replies; });
    }
    while (lists.askers() < asked.size() + 1) std::this_thread::yield();
    server.Answer();
    askers.clear();
    return replies;
  }

  Server server;
  base::ManualClock clock;
  SharedLists lists{clock, std::chrono::hours(1)};  // However long the threads take to ask.
};

TEST_F(Asked, OneListAnswersAllWhoAskedBeforeItBegan) {
  const std::vector<Replies> replies =
      Ask({{List("pods", "a")}, {List("pods", "b")}, {List("pods", "a")}});
  const std::string both = "/api/v1/pods?labelSelector=domain%20in%20%28a%2Cb%29";
  for (const Replies& each : replies) EXPECT_EQ(each.front()->body, both);
  ASSERT_EQ(server.paths().size(), 2U);
  EXPECT_EQ(server.paths()[1], both);
}

TEST_F(Asked, REV3_X11_TenWhoAskForTheSameAtOnceCostThreeListsAtMost) {
  const Request all = {.path = "/api/v1/things?limit=500"};
  const std::vector<Replies> replies = Ask(std::vector<std::vector<Request>>(10, {all}));
  for (const Replies& each : replies) EXPECT_EQ(each.front()->body, all.path);
  EXPECT_LE(server.paths().size(), 3U);
}

TEST_F(Asked, ListThatIsUnderWayAnswersNobodyWhoAskedLater) {
  (void)Ask({{List("pods", "first")}});
  EXPECT_EQ(server.paths().size(), 2U);
}

TEST(SharedLists, NextListWaitsForTheGap_AndMoreCallersShareIt) {
  Server server;
  server.Answer();
  base::ManualClock clock;
  SharedLists lists(clock, std::chrono::hours(1), std::chrono::minutes(1));
  (void)lists.SendAll({List("pods", "first")}, server);
  (void)lists.SendAll({List("nodes", "first")}, server);
  EXPECT_EQ(server.paths().size(), 2U) << "a LIST of another kind waits for none";
  std::vector<std::jthread> askers;
  for (const char* value : {"a", "b"}) {
    askers.emplace_back([&, value] { (void)lists.SendAll({List("pods", value)}, server); });
  }
  while (lists.askers() < 2) std::this_thread::yield();
  (void)lists.SendAll({{.path = "/api/v1/nodes/n"}}, server);
  EXPECT_EQ(server.paths().size(), 3U);
  clock.Advance(std::chrono::minutes(1));
  (void)lists.SendAll({{.path = "/api/v1/nodes/n"}}, server);  // Wakes them.
  askers.clear();
  ASSERT_EQ(server.paths().size(), 5U);
  EXPECT_EQ(server.paths().back(), "/api/v1/pods?labelSelector=domain%20in%20%28a%2Cb%29");
}

TEST_F(Asked, AskerOfSeveralKindsGetsEachInItsPlace) {
  const Request first_page = {.path = "/api/v1/namespaces/n/claims?limit=400"};
  const std::vector<Replies> replies =
      Ask({{first_page, List("pods", "a"), {.method = http::Method::kPost, .path = "/x"}}});
  EXPECT_EQ(replies[0][0]->body, first_page.path);
  EXPECT_EQ(replies[0][1]->body, "/api/v1/pods?labelSelector=domain%3Da");
  EXPECT_EQ(replies[0][2]->body, "/x");
}

TEST_F(Asked, ListsOfSeveralKindsThatAreAskedForTogetherAnswerTheSameAskers) {
  server.Answer();
  (void)lists.SendAll({List("pods", "a"), List("nodes", "a")}, server);
  const std::vector<Request> begun = {List("pods", "first"), List("nodes", "first")};
  Server slow;
  std::jthread first([&] { (void)lists.SendAll(begun, slow); });
  slow.AwaitRequests(2);
  std::vector<std::jthread> askers;
  for (const char* value : {"b", "c"}) {
    askers.emplace_back([&, value] {
      const Replies replies =
          lists.SendAll({List("pods", value), List("nodes", value)}, slow).replies;
      EXPECT_EQ(replies[0]->body, "/api/v1/pods?labelSelector=domain%20in%20%28b%2Cc%29");
      EXPECT_EQ(replies[1]->body, "/api/v1/nodes?labelSelector=domain%20in%20%28b%2Cc%29");
    });
  }
  while (lists.askers() < 3) std::this_thread::yield();
  slow.Answer();
  askers.clear();
  EXPECT_EQ(slow.paths().size(), 4U);
}

TEST_F(Asked, ListsOfDifferentKindsFormsAndPagesStayApart) {
  Request metadata = List("pods", "a");
  metadata.accept = "metadata";
  (void)Ask({{List("pods", "a")},
             {metadata},
             {{.path = "/api/v1/pods?labelSelector=domain%3Db&limit=100"}},
             {{.path = "/api/v1/pods?fieldSelector=metadata.name%3Db"}}});
  EXPECT_EQ(server.paths().size(), 5U);
}

// Answers at once, except for what names `slow`.
class PartlySlow final : public http::Transport {
 public:
  explicit PartlySlow(http::Transport& slow) : slow_(slow) {}
  Replies SendAll(const std::vector<Request>& requests) override {
    if (requests.front().path.ends_with("slow")) return slow_.SendAll(requests);
    return Replies(requests.size(), Response{.status = 200, .body = "own"});
  }

 private:
  http::Transport& slow_;
};

TEST(SharedLists, SlowListHoldsNobodyUpForLong) {
  Server slow;
  PartlySlow transport(slow);
  const base::ManualClock clock({}, std::chrono::milliseconds(1));
  SharedLists lists{clock, std::chrono::milliseconds(1)};
  std::jthread first([&] { (void)lists.SendAll({List("pods", "slow")}, transport); });
  slow.AwaitRequests(1);
  EXPECT_EQ(lists.SendAll({List("pods", "a")}, transport).replies.front()->body, "own");
  EXPECT_EQ(lists.askers(), 1U) << "who asked first still waits";
  slow.Answer();
}

TEST_F(Asked, MoreThan32ValuesAreSeveralLists) {
  std::vector<Request> all;
  for (int i = 0; i < 33; ++i) all.push_back(List("pods", "v" + std::to_string(i)));
  server.Answer();
  const Replies replies = lists.SendAll(all, server).replies;
  EXPECT_EQ(replies.size(), 33U);
  EXPECT_EQ(server.paths().size(), 2U);
}

// Each of `count` asks for a LIST that nobody else wants, and holds the answers until it may go on.
class Holding : public testing::Test {
 protected:
  static constexpr std::size_t kTurns = 8;

  void AskAlone(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      askers_.emplace_back([this, i] {
        const std::string kind = "kind" + std::to_string(i);
        const SharedLists::Answers answers = lists.SendAll({List(kind, "a")}, server);
        ++answered;
        while (!may_let_go) std::this_thread::yield();
      });
    }
  }
  void TearDown() override {
    server.Answer();
    may_let_go = true;
    askers_.clear();
    EXPECT_EQ(lists.askers(), 0U);
  }

  Server server;
  base::ManualClock clock{{}, std::chrono::milliseconds(1)};
  SharedLists lists{clock, std::chrono::milliseconds(1)};
  std::atomic<std::size_t> answered = 0;
  std::atomic<bool> may_let_go = false;

 private:
  std::vector<std::jthread> askers_;
};

TEST_F(Holding, REV3_X1_AnswersOfEightSendersAreInMemoryAndTheNextOneWaits) {
  AskAlone(kTurns + 1);
  server.Answer();
  while (answered < kTurns || answered + lists.askers() <= kTurns) std::this_thread::yield();
  EXPECT_EQ(lists.askers(), 1U);
  EXPECT_EQ(server.paths().size(), kTurns);
  may_let_go = true;
  while (answered < kTurns + 1) std::this_thread::yield();
  EXPECT_EQ(server.paths().size(), kTurns + 1);
}

TEST_F(Holding, WhoAsksForOneObjectOrWritesWaitsForNobody) {
  AskAlone(kTurns);
  server.Answer();
  while (answered < kTurns) std::this_thread::yield();
  EXPECT_TRUE(lists.SendAll({{.path = "/api/v1/nodes/n"}}, server).replies.front());
  EXPECT_TRUE(lists.SendAll({{.method = http::Method::kPost, .path = "/x"}}, server).replies[0]);
}

// All that are given out belong to askers that want something else, too, and which others began.
TEST_F(Holding, WhoHasATurnWaitsForNoOther) {
  std::vector<std::jthread> askers;
  for (std::size_t i = 0; i < 4 * kTurns; ++i) {
    askers.emplace_back([this, i] {
      for (std::size_t turn = 0; turn < 50; ++turn) {
        const std::string value = "v" + std::to_string(i);
        const std::string kind = "kind" + std::to_string((i + turn) % 3);
        EXPECT_EQ(lists
                      .SendAll({List("pods", value),
                                {.path = "/api/v1/" + kind + "?limit=4"},
                                {.path = "/api/v1/" + kind + "?limit=4&continue=" + value}},
                               server)
                      .replies.size(),
                  3U);
      }
    });
  }
  server.Answer();
}

}  // namespace
}  // namespace kube
