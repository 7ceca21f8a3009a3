#include "controller/api/events.h"

#include <gtest/gtest.h>

namespace api {
namespace {

std::string Event(const std::string& reason, const std::string& time, const std::string& note) {
  return R"({"reason": ")" + reason + R"(", "eventTime": null, "deprecatedLastTimestamp": ")" +
         time + R"(", "note": ")" + note + R"("})";
}

std::string Told(const std::string& items) {
  return DecodeCreationTrouble(R"({"kind": "EventList", "items": [)" + items + "]}", "imex");
}

TEST(DecodeCreationTrouble, REV4_K11_IsOfTheNewestEvent) {
  const std::string failed = Event("FailedCreate", "2026-01-01T00:00:05Z", "exceeded quota");
  EXPECT_EQ(Told(failed), "exceeded quota");
  EXPECT_EQ(Told(failed + "," + Event("FailedCreate", "2026-01-01T00:00:04Z", "older")),
            "exceeded quota");
  EXPECT_EQ(Told(Event("FailedCreate", "2026-01-01T00:00:04Z", "older") + "," + failed),
            "exceeded quota");
  EXPECT_EQ(Told(failed + "," + Event("SuccessfulCreate", "2026-01-01T00:00:05Z", "created")),
            "exceeded quota")
      << "one attempt creates some and fails for others";
  EXPECT_EQ(Told(failed + "," + Event("SuccessfulCreate", "2026-01-01T00:00:06Z", "created")), "")
      << "it succeeded since";
  EXPECT_EQ(Told(failed + "," + Event("SuccessfulDelete", "2026-01-01T00:00:06Z", "deleted")),
            "exceeded quota")
      << "it is about another pod";
  EXPECT_EQ(Told(""), "");
}

TEST(DecodeCreationTrouble, REV4_K11_NoteOfACountedEventReadsAsThatOfOne) {
  EXPECT_EQ(Told(Event("FailedCreate", "2026-01-01T00:00:05Z",
                       "(combined from similar events): exceeded quota.")),
            "exceeded quota");
}

TEST(DecodeCreationTrouble, REV4_K11_TimeIsReadFromEitherApi) {
  const std::string failed = R"({"reason": "FailedCreate", "note": "no", "series": {
      "lastObservedTime": "2026-01-01T00:00:09.000000Z"}, "eventTime": "2026-01-01T00:00:01.000000Z"})";
  const std::string created = R"({"reason": "SuccessfulCreate", "note": "yes",
      "eventTime": "2026-01-01T00:00:05.000000Z"})";
  EXPECT_EQ(Told(failed + "," + created), "no");
  EXPECT_EQ(Told(R"({"reason": "FailedCreate", "note": "when?"})"), "");
}

TEST(DecodeCreationTrouble, REV4_K11_EachAttemptReadsTheSame) {
  EXPECT_EQ(Told(Event("FailedCreate", "2026-01-01T00:00:05Z",
                       R"(pods \"imex-4xk2q\" is forbidden: imex-4xk2q, imex-node, imex-4xk2qq)")),
            "pods \"imex-*\" is forbidden: imex-*, imex-node, imex-4xk2qq");
}

TEST(DecodeCreationTrouble, REV4_K11_BytesFromOutsideAreBounded) {
  EXPECT_EQ(DecodeCreationTrouble("no JSON", "imex"), "");
  EXPECT_EQ(DecodeCreationTrouble(R"({"items": {"a": 1}})", "imex"), "");
  EXPECT_EQ(DecodeCreationTrouble(R"({"items": [null, 1, {"note": 3}]})", "imex"), "");
  const std::string words = Told(
      Event("FailedCreate", "2026-01-01T00:00:05Z", R"(two\nlines )" + std::string(10'000, 'x')));
  EXPECT_LE(words.size(), 410U);
  EXPECT_EQ(words.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace api
