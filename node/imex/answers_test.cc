#include "node/imex/answers.h"

#include <gtest/gtest.h>

namespace imex {
namespace {

TEST(SaysReady, H10_OnlyTheWholeWordOnALineOfItsOwnIsReady) {
  EXPECT_TRUE(SaysReady("READY\n"));
  for (const char* other : {"", "READY", "NOT_READY\n", "READY\nREADY\n", " READY\n", "READY\r\n",
                            "warning\nREADY\n"}) {
    EXPECT_FALSE(SaysReady(other)) << other;
  }
}

TEST(StateIn, IsOneWordOfCapitalsOrUnknown) {
  EXPECT_EQ(StateIn("READY\n"), "READY");
  EXPECT_EQ(StateIn("WAITING_FOR_RECOVERY\n"), "WAITING_FOR_RECOVERY");
  for (const char* other : {"", "\n", "Ready\n", "READY NOW\n", "\x1b[31mREADY\n", "A\nB\n",
                            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}) {
    EXPECT_EQ(StateIn(other), "UNKNOWN") << other;
  }
}

// In the form that the reference's tools read. It is made up: no output of a real nvidia-imex-ctl
// is public that we know of, and test/hardware/verify.sh compares a real one with this form.
constexpr const char* kTwoOfThree = R"({
  "nodes": {
    "0": {"status": "READY", "host": "compute-domain-daemon-0000", "version": "580.95.05", "changed": true,
          "connections": {"0": {"host": "compute-domain-daemon-0000", "status": "CONNECTED", "changed": true},
                          "1": {"host": "compute-domain-daemon-0001", "status": "CONNECTED", "changed": true},
                          "2": {"host": "compute-domain-daemon-0002", "status": "DISCONNECTED", "changed": true}}},
    "1": {"status": "READY", "version": "580.95.05", "connections": {"0": {"status": "CONNECTED"}}},
    "2": {"status": "UNAVAILABLE", "connections": {"0": {"status": "INVALID"}}}
  },
  "timestamp": "9/4/2026 00:37:39.905", "status": "DEGRADED"
})";

TEST(ParseOwnView, B17_SaysWithWhichPeersThisDaemonIsConnected) {
  EXPECT_EQ(ParseOwnView(kTwoOfThree, 0), (OwnView{.version = "580.95.05", .connected = {1}}));
}

TEST(ParseOwnView, OneThatIsNotThereIsNotFound) {
  EXPECT_EQ(ParseOwnView(kTwoOfThree, 7).error().code, base::ErrorCode::kNotFound);
}

TEST(ParseOwnView, WhatIsNoSuchJsonIsRefused) {
  for (const char* other :
       {"", "READY\n", "[]", "{}", R"({"nodes":[]})", R"({"nodes":"0"})", "{"}) {
    EXPECT_EQ(ParseOwnView(other, 0).error().code, base::ErrorCode::kInvalid) << other;
  }
}

TEST(ParseOwnView, TakesNothingThatIsNoIndexAndNoLongWords) {
  const std::string long_version(500, 'x');
  const auto view =
      ParseOwnView(R"({"nodes":{"0":{"status":7,"version":")" + long_version + R"(","connections":{
        "-1":{"status":"CONNECTED"},"99999999999":{"status":"CONNECTED"},"10000":{"status":"CONNECTED"},
        "":{"status":"CONNECTED"},"1x":{"status":"CONNECTED"},"2":"CONNECTED","3":{"status":"CONNECTED\n"},
        "4":{"status":"CONNECTED"}}}}})",
                   0);
  EXPECT_EQ(view, (OwnView{.version = long_version.substr(0, 32), .connected = {4}}));
}

TEST(IndexInLine, B2_IsWhatImexSaysThatItRunsWith) {
  EXPECT_EQ(
      IndexInLine("[Mar 27 2025 15:47:10] [INFO] [tid 39] Identified this node as ID 12, using "
                  "bind address of 'compute-domain-daemon-0012'"),
      12);
  for (const char* other : {"", "Identified this node as ID", "Identified this node as ID x",
                            "Identified this node as ID -1", "Identified this node as ID 99999",
                            "Identified this node as ID 99999999999999999999"}) {
    EXPECT_EQ(IndexInLine(other), std::nullopt) << other;
  }
}

TEST(SaysInUse, B47_KnowsThatSomebodyElseHasIt) {
  EXPECT_TRUE(SaysInUse("[ERROR] Failed to allocate Imex: NV_ERR_IN_USE"));
  EXPECT_FALSE(SaysInUse("[INFO] Started processing of incoming messages."));
}

}  // namespace
}  // namespace imex
