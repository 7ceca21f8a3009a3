#include "pkg/kube/events/event_recorder.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/json/value.h"
#include "pkg/kube/testing/fakes.h"

namespace kube {
namespace {

using http::Method;
using json::Value;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Reply = base::Result<http::Response>;

Reply Refusal(int status, const std::string& reason) {
  return http::Response{.status = status,
                        .body = json::Serialize(Value::Object(
                            {{"kind", "Status"}, {"code", status}, {"reason", reason}}))};
}

// A 404 whose Status names an object of this resource.
Reply Absent(const std::string& plural, const std::string& name) {
  return http::Response{.status = 404,
                        .body = json::Serialize(Value::Object(
                            {{"kind", "Status"},
                             {"code", 404},
                             {"reason", "NotFound"},
                             {"details", Value::Object({{"kind", plural}, {"name", name}})}}))};
}

Event NodeLost(const std::string& name = "train") {
  return {.type = EventType::kWarning,
          .reason = "NodeLost",
          .action = "Reconciling",
          .note = "Lost: node-7.",
          .regarding = {.api_version = "example.com/v1",
                        .kind = "Job",
                        .key = {.ns = "team-a", .name = name},
                        .uid = "uid-" + name}};
}

class EventRecorderTest : public ::testing::Test {
 protected:
  // Sends what is due now, at the server's pace, until nothing is.
  void Tell() {
    for (int i = 0; i < 5'000; ++i) {
      EventRecorder::Next next = recorder_.Poll();
      if (next.request) {
        recorder_.OnReply(Serve(*next.request));
      } else if (next.until > clock_.Now() + milliseconds(50)) {
        return;
      } else {
        clock_.Advance(next.until - clock_.Now());
      }
    }
    FAIL() << "it goes on and on";
  }

  // An API server that keeps Events, by path.
  Reply Serve(const http::Request& request) {
    ++requests_;
    if (refusal_) return *refusal_;
    if (refuse_) {
      if (const auto refused = refuse_(request.body)) return *refused;
    }
    Value body = *json::Parse(request.body);
    if (request.method == Method::kPost) {
      const std::string path = request.path + "/" + body["metadata"]["name"].AsString();
      if (stored_.contains(path)) return Refusal(409, "AlreadyExists");
      stored_[path] = std::move(body);
    } else {
      const auto it = stored_.find(request.path);
      const std::string name = request.path.substr(request.path.rfind('/') + 1);
      if (it == stored_.end()) return Absent("events", name);
      it->second["series"] = std::as_const(body)["series"];
    }
    if (lose_reply_) return base::Fail(base::ErrorCode::kUnknownOutcome, "the reply was lost");
    return http::Response{.status = 200, .body = "{}"};
  }

  const Value& Only() const {
    static const Value none;
    EXPECT_EQ(stored_.size(), 1U);
    return stored_.empty() ? none : stored_.begin()->second;
  }
  std::int64_t CountOfOnly() const { return Only()["series"]["count"].AsInt().value_or(1); }

  base::ManualClock clock_;
  SeededRandom random_{1};
  RecordingLogger logger_;
  EventRecorder recorder_{"example.com/controller", "controller-0", clock_, random_, logger_};
  std::map<std::string, Value> stored_;
  std::optional<Reply> refusal_;
  std::function<std::optional<Reply>(const std::string& body)> refuse_;
  bool lose_reply_ = false;
  int requests_ = 0;
};

TEST_F(EventRecorderTest, EV1_EventHasWhatTheApiServerAsksForAndNoDeprecatedField) {
  Event event = NodeLost();
  event.related = ObjectReference{
      .api_version = "v1", .kind = "Node", .key = {.name = "node-7"}, .uid = "uid-node"};
  recorder_.Record(event);
  Tell();
  const Value& told = Only();
  EXPECT_EQ(stored_.begin()->first.find("/apis/events.k8s.io/v1/namespaces/team-a/events/train."),
            0U);
  EXPECT_EQ(told["metadata"]["namespace"].AsString(), "team-a");
  EXPECT_EQ(told["eventTime"].AsString(), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(told["reportingController"].AsString(), "example.com/controller");
  EXPECT_EQ(told["reportingInstance"].AsString(), "controller-0");
  EXPECT_EQ(told["type"].AsString(), "Warning");
  EXPECT_EQ(told["reason"].AsString(), "NodeLost");
  EXPECT_EQ(told["action"].AsString(), "Reconciling");
  EXPECT_EQ(told["note"].AsString(), "Lost: node-7.");
  EXPECT_EQ(told["regarding"]["apiVersion"].AsString(), "example.com/v1");
  EXPECT_EQ(told["regarding"]["kind"].AsString(), "Job");
  EXPECT_EQ(told["regarding"]["namespace"].AsString(), "team-a");
  EXPECT_EQ(told["regarding"]["name"].AsString(), "train");
  EXPECT_EQ(told["regarding"]["uid"].AsString(), "uid-train");
  EXPECT_EQ(told["related"]["name"].AsString(), "node-7");
  EXPECT_EQ(told["related"].Find("namespace"), nullptr);
  EXPECT_EQ(told.Find("series"), nullptr);
  for (const auto& [name, value] : told.members()) EXPECT_NE(name.find("deprecated"), 0U) << name;
}

TEST_F(EventRecorderTest, EV1_EventOfWhatLiesInNoNamespaceGoesToDefault) {
  Event event = NodeLost();
  event.regarding.key.ns.clear();
  recorder_.Record(event);
  Tell();
  EXPECT_EQ(Only()["metadata"]["namespace"].AsString(), "default");
  EXPECT_EQ(Only()["regarding"].Find("namespace"), nullptr);
}

TEST_F(EventRecorderTest, EV1_LongTextsAreCutToTheLimitsBetweenCharacters) {
  Event event = NodeLost(std::string(250, 'a') + ".b");
  event.note = std::string(1023, 'x') + "\u00e4" + "y";
  EventRecorder recorder("example.com/c", std::string(200, 'i'), clock_, random_, logger_);
  recorder.Record(event);
  const EventRecorder::Next next = recorder.Poll();
  ASSERT_TRUE(next.request);
  const Value told = *json::Parse(next.request->body);
  EXPECT_EQ(told["note"].AsString(), std::string(1023, 'x'));
  EXPECT_EQ(told["reportingInstance"].AsString().size(), 128U);
  EXPECT_EQ(told["metadata"]["name"].AsString().size(), 253U);
}

TEST_F(EventRecorderTest, NameIsNoWorseWhenItIsCutAtADot) {
  recorder_.Record(NodeLost(std::string(235, 'a') + "." + std::string(17, 'b')));
  Tell();
  const std::string& name = Only()["metadata"]["name"].AsString();
  EXPECT_EQ(name.substr(0, 236), std::string(235, 'a') + ".");
  EXPECT_NE(name[236], '.');
}

TEST_F(EventRecorderTest, EV2_FirstRepeatIsToldAtOnceAndLaterOnesInOnePatch) {
  recorder_.Record(NodeLost());
  Tell();
  clock_.Advance(seconds(10));
  recorder_.Record(NodeLost());
  Tell();
  EXPECT_EQ(CountOfOnly(), 2);
  EXPECT_EQ(Only()["series"]["lastObservedTime"].AsString(), "2026-01-01T00:00:10.000000Z");
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(seconds(1));
    recorder_.Record(NodeLost());
    Tell();
  }
  EXPECT_EQ(requests_, 2);
  clock_.Advance(minutes(3));
  Tell();
  EXPECT_EQ(requests_, 3);
  EXPECT_EQ(CountOfOnly(), 102);
}

TEST_F(EventRecorderTest, EV2_SilenceEndsASeries) {
  recorder_.Record(NodeLost());
  Tell();
  clock_.Advance(minutes(6) + seconds(1));
  recorder_.Record(NodeLost());
  Tell();
  EXPECT_EQ(stored_.size(), 2U);
}

TEST_F(EventRecorderTest, EV2_AnotherNoteIsAnotherCause) {
  recorder_.Record(NodeLost());
  Event other = NodeLost();
  other.note = "Lost: node-8.";
  recorder_.Record(other);
  Tell();
  EXPECT_EQ(stored_.size(), 2U);
}

TEST_F(EventRecorderTest, EV2_RepeatsBeforeItCouldBeToldAreInTheFirstRequest) {
  for (int i = 0; i < 3; ++i) recorder_.Record(NodeLost());
  Tell();
  EXPECT_EQ(requests_, 1);
  EXPECT_EQ(CountOfOnly(), 3);
}

TEST_F(EventRecorderTest, EV2_RepeatDuringARequestIsToldByTheNext) {
  recorder_.Record(NodeLost());
  const EventRecorder::Next next = recorder_.Poll();
  ASSERT_TRUE(next.request);
  recorder_.Record(NodeLost());
  recorder_.OnReply(Serve(*next.request));
  Tell();
  EXPECT_EQ(CountOfOnly(), 2);
}

TEST_F(EventRecorderTest, EV2_SeriesWhoseEventExpiredBeginsAnew) {
  recorder_.Record(NodeLost());
  Tell();
  stored_.clear();
  recorder_.Record(NodeLost());
  Tell();
  EXPECT_EQ(CountOfOnly(), 2);
}

TEST_F(EventRecorderTest, NothingIsSentAtRest) {
  recorder_.Record(NodeLost());
  recorder_.Record(NodeLost());
  Tell();
  EXPECT_EQ(recorder_.Poll().until, base::Clock::TimePoint::max());
  clock_.Advance(std::chrono::hours(24));
  EXPECT_FALSE(recorder_.Poll().request);
}

TEST_F(EventRecorderTest, OneRequestIsUnderWayAtATimeAndTheyKeepTheirPace) {
  recorder_.Record(NodeLost("a"));
  recorder_.Record(NodeLost("b"));
  const EventRecorder::Next first = recorder_.Poll();
  ASSERT_TRUE(first.request);
  EXPECT_FALSE(recorder_.Poll().request);
  recorder_.OnReply(Serve(*first.request));
  const EventRecorder::Next second = recorder_.Poll();
  EXPECT_FALSE(second.request);
  EXPECT_EQ(second.until, clock_.Now() + milliseconds(50));
}

TEST_F(EventRecorderTest, LostReplyIsTriedAgainUnderTheSameName) {
  lose_reply_ = true;
  recorder_.Record(NodeLost());
  Tell();
  lose_reply_ = false;
  EXPECT_EQ(recorder_.counts().sent, 0U);
  clock_.Advance(seconds(13));
  Tell();
  EXPECT_EQ(stored_.size(), 1U);
  EXPECT_EQ(requests_, 2);
  EXPECT_EQ(recorder_.counts().sent, 1U);
  EXPECT_EQ(recorder_.counts().dropped, 0U);
}

TEST_F(EventRecorderTest, ServerThatStaysAwayIsAskedTwelveTimes) {
  refusal_ = base::Fail(base::ErrorCode::kUnavailable, "connection refused");
  recorder_.Record(NodeLost());
  for (int i = 0; i < 100; ++i) {
    Tell();
    clock_.Advance(seconds(13));
  }
  EXPECT_EQ(requests_, 12);
  EXPECT_EQ(recorder_.counts().dropped, 1U);
  EXPECT_EQ(logger_.Count("connection refused"), 1U);
}

TEST_F(EventRecorderTest, M9_EventThatFailsDelaysNoOther) {
  refuse_ = [](const std::string& body) {
    return body.find("\"bad\"") != std::string::npos ? std::optional(Refusal(500, "InternalError"))
                                                     : std::nullopt;
  };
  recorder_.Record(NodeLost("bad"));
  Tell();
  for (const char* name : {"a", "b"}) {
    recorder_.Record(NodeLost(name));
    Tell();
  }
  EXPECT_EQ(stored_.size(), 2U) << "at once";
  EXPECT_EQ(requests_, 3);
}

TEST_F(EventRecorderTest, M9_ServerThatIsAwayIsNotAskedForEachEvent) {
  refusal_ = base::Fail(base::ErrorCode::kUnavailable, "connection refused");
  for (int i = 0; i < 20; ++i) recorder_.Record(NodeLost("train-" + std::to_string(i)));
  Tell();
  EXPECT_EQ(requests_, 2);
}

TEST_F(EventRecorderTest, ServerThatAsksForTimeGetsIt) {
  refusal_ = http::Response{.status = 429, .body = "{}", .retry_after = seconds(60)};
  recorder_.Record(NodeLost());
  Tell();
  EXPECT_EQ(recorder_.Poll().until - clock_.Now(), seconds(60));
}

TEST_F(EventRecorderTest, RefusedEventIsDroppedAndTheNextOneIsTold) {
  refusal_ = Refusal(422, "Invalid");
  recorder_.Record(NodeLost());
  Tell();
  refusal_.reset();
  recorder_.Record(NodeLost("other"));
  Tell();
  EXPECT_EQ(Only()["regarding"]["name"].AsString(), "other");
  EXPECT_EQ(recorder_.counts().dropped, 1U);
}

TEST_F(EventRecorderTest, EventOfANamespaceThatIsGoneIsDropped) {
  refusal_ = Absent("namespaces", "team-a");
  recorder_.Record(NodeLost());
  Tell();
  EXPECT_EQ(requests_, 1);
  EXPECT_EQ(recorder_.counts().dropped, 1U);
}

// An API server that is being upgraded, or a proxy.
TEST_F(EventRecorderTest, REV4_K1_NotFoundThatNamesNothingIsTriedAgain) {
  recorder_.Record(NodeLost());
  for (const char* name : {"", "another"}) {
    refusal_ = Absent("namespaces", name);
    Tell();
    clock_.Advance(seconds(30));
  }
  refusal_.reset();
  clock_.Advance(minutes(1));
  Tell();
  EXPECT_EQ(Only()["reason"].AsString(), "NodeLost");
  EXPECT_EQ(recorder_.counts().dropped, 0U);
}

TEST_F(EventRecorderTest, C20_ForbiddenNamespaceIsAskedEverMoreRarelyAndNamedOnce) {
  refusal_ = Refusal(403, "Forbidden");
  for (int i = 0; i < 24 * 360; ++i) {
    recorder_.Record(NodeLost("job-" + std::to_string(i)));
    Tell();
    clock_.Advance(seconds(10));
  }
  EXPECT_EQ(requests_, 6 + 23) << "1, 2, ... 32 minutes, and then every hour of a day";
  EXPECT_EQ(recorder_.counts().dropped, 24U * 360U);
  EXPECT_EQ(logger_.Count("grant create and patch on events"), 1U);
}

TEST_F(EventRecorderTest, ForbiddenNamespaceDoesNotSilenceOthers) {
  refusal_ = Refusal(403, "Forbidden");
  recorder_.Record(NodeLost());
  Tell();
  refusal_.reset();
  Event other = NodeLost();
  other.regarding.key.ns = "team-b";
  recorder_.Record(other);
  recorder_.Record(NodeLost());
  Tell();
  EXPECT_EQ(Only()["metadata"]["namespace"].AsString(), "team-b");
}

TEST_F(EventRecorderTest, RightThatIsGrantedIsUsedWithinAMinute) {
  refusal_ = Refusal(403, "Forbidden");
  recorder_.Record(NodeLost());
  Tell();
  refusal_.reset();
  clock_.Advance(minutes(1));
  recorder_.Record(NodeLost());
  Tell();
  EXPECT_EQ(stored_.size(), 1U);
}

TEST_F(EventRecorderTest, EV3_OneObjectHasABurstAndThenOneInFiveMinutes) {
  int number = 0;
  const auto record_many = [&](int count) {
    for (int i = 0; i < count; ++i) {
      Event event = NodeLost();
      event.note = std::to_string(number++);
      recorder_.Record(event);
    }
    Tell();
  };
  record_many(40);
  EXPECT_EQ(stored_.size(), 25U);
  recorder_.Record(NodeLost("other"));
  Tell();
  EXPECT_EQ(stored_.size(), 26U);
  clock_.Advance(minutes(5));
  record_many(10);
  EXPECT_EQ(stored_.size(), 27U);
  EXPECT_EQ(recorder_.counts().dropped, 15U + 9U);
  EXPECT_EQ(logger_.Count("one object has too many"), 1U);
}

TEST_F(EventRecorderTest, NoMoreThanAThousandWait) {
  for (int i = 0; i < 1'500; ++i) recorder_.Record(NodeLost("job-" + std::to_string(i)));
  EXPECT_EQ(recorder_.counts().dropped, 500U);
  Tell();
  EXPECT_EQ(stored_.size(), 1'000U);
}

TEST_F(EventRecorderTest, SeriesThatWereToldMakeRoomForNewOnes) {
  for (int i = 0; i < 1'000; ++i) recorder_.Record(NodeLost("job-" + std::to_string(i)));
  Tell();
  recorder_.Record(NodeLost("another"));
  Tell();
  EXPECT_EQ(stored_.size(), 1'001U);
  EXPECT_EQ(recorder_.counts().dropped, 0U);
}

}  // namespace
}  // namespace kube
