#include "controller/api/imex_report.h"

#include <gtest/gtest.h>

namespace api {
namespace {

ImexReport Full() {
  return {.index = 3,
          .state = "WAITING_FOR_RECOVERY",
          .version = "580.95.05",
          .started = "2026-01-01T12:00:00Z",
          .restarts = 2,
          .in_use = true,
          .unreachable = {0, 17},
          .unreachable_count = 2,
          .peers_known = true};
}

TEST(ImexReport, IsReadAsItWasWritten) {
  for (const ImexReport& report : {Full(), ImexReport{.state = "READY"}}) {
    EXPECT_EQ(DecodeImexReport(Encode(report)), report) << Encode(report);
  }
}

TEST(ImexReport, REV3_N4_PeersThatWereNotAnsweredOfAreTold) {
  ImexReport report = Full();
  EXPECT_EQ(Encode(report).find("peersUnanswered"), std::string::npos);
  report.peers_unanswered = true;
  EXPECT_EQ(DecodeImexReport(Encode(report)), report);
}

TEST(ImexReport, OfManyPeersTheFirstAreNamedAndAllAreCounted) {
  ImexReport report = Full();
  report.unreachable.clear();
  for (int index = 0; index < 1000; ++index) report.unreachable.push_back(index + 9000);
  report.unreachable_count = 1000;
  EXPECT_LE(Encode(report).size(), 1024U);
  const auto read = DecodeImexReport(Encode(report));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->unreachable.size(), kUnreachableMax);
  EXPECT_EQ(read->unreachable_count, 1000);
}

TEST(ImexReport, WhatNoDaemonOfOursWritesIsNone) {
  for (const std::string& text :
       {std::string(""), std::string("READY"), std::string("{}"), std::string("[]"),
        std::string(R"({"state":""})"), std::string(R"({"state":7})"), std::string(600, '['),
        R"({"state":"READY","version":")" + std::string(2000, 'x') + R"("})"}) {
    EXPECT_EQ(DecodeImexReport(text), std::nullopt) << text;
  }
}

TEST(ImexReport, HostilePartsAreLeftOutAndBoundsHold) {
  const auto report = DecodeImexReport(
      R"({"state":"READY","index":-7,"version":"\u001b[31m","started":"a b","restarts":-1,
          "unreachable":["x",-1,99999,5,1e9,{}],"unreachableCount":99999999999})");
  EXPECT_EQ(
      report,
      (ImexReport{
          .state = "READY", .unreachable = {5}, .unreachable_count = 1, .peers_known = true}));
}

}  // namespace
}  // namespace api
