#include "node/plugin/rules/checkpoint.h"

#include <gtest/gtest.h>

#include "node/dra/rules/go_json.h"

namespace plugin {
namespace {

constexpr const char* kBoot = "6f1c2b5e-0f6a-4d53-9f1e-0c8f2a1b3c4d";
constexpr const char* kOtherBoot = "11111111-0f6a-4d53-9f1e-0c8f2a1b3c4d";
constexpr const char* kClaim = "73de0384-716f-480e-8caa-00bce7016114";
constexpr const char* kDomain = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10";
constexpr const char* kEmpty =
    R"({"checksum":1083090442,"v1":{},"v2":{"checksum":1089322561,"nodeBootID":"6f1c2b5e-0f6a-4d53-9f1e-0c8f2a1b3c4d"}})";
// As the API server hands it out.
constexpr const char* kStatus =
    R"({"allocation":{"devices":{"results":[{"request":"channel","driver":"compute-domain.nvidia.com","pool":"node-a","device":"channel-0"}],"config":[{"source":"FromClaim","requests":["channel"],"opaque":{"driver":"compute-domain.nvidia.com","parameters":{"allocationMode":"Single","apiVersion":"resource.nvidia.com/v1beta1","domainID":"0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10","kind":"ComputeDomainChannelConfig"}}}]}},"reservedFor":[{"resource":"pods","name":"p0","uid":"9a7bd1ce-6d44-4f2a-8b1c-0a5b8b6f7f01"}]})";

base::Result<std::string> OwnPartOf(const std::string& status) {
  return dra::OwnPart(status, api::kDriver);
}

ClaimStatus StatusOf(const std::string& text) {
  return ClaimStatus::Decode(OwnPartOf(text).value()).value();
}

Checkpoint OneChannel() {
  const PreparedDevice device = {
      .type = DeviceType::kChannel,
      .id = 0,
      .requests = {"channel"},
      .pool = "node-a",
      .name = "channel-0",
      .cdi_ids = {"k8s.compute-domain.nvidia.com/claim=" + std::string(kClaim) + "-channel-0"}};
  Checkpoint checkpoint = {.boot_id = kBoot};
  checkpoint.claims[kClaim] = {
      .state = ClaimState::kCompleted,
      .status = StatusOf(kStatus),
      .groups = {{.devices = {device}, .type = DeviceType::kChannel, .domain = kDomain}},
      .name = "p0-imex-x2x2x",
      .ns = "default"};
  return checkpoint;
}

// With both checksums as they have to be, whatever the text.
std::string Sealed(const std::string& v1, const std::string& v2) {
  const std::string first = R"({"checksum":0,"v1":)" + v1;
  std::string text =
      R"({"checksum":)" + std::to_string(dra::Checksum(first + "}")) + R"(,"v1":)" + v1;
  if (!v2.empty()) {
    const std::string rest = v2.substr(std::string(R"({"checksum":0)").size());
    text += R"(,"v2":{"checksum":)" + std::to_string(dra::Checksum(v2)) + rest;
  }
  return text + "}";
}

TEST(Checkpoint, ChecksumsAreTheReferences) { EXPECT_EQ(dra::Checksum("{}"), 1558789936U); }

TEST(Checkpoint, AnEmptyOneIsWrittenAsTheReferenceDoes) {
  EXPECT_EQ(Encode({.boot_id = kBoot}), kEmpty);
}

TEST(Checkpoint, OneWithAClaimIsWrittenAsTheReferenceDoes) {
  const std::string text = Encode(OneChannel());
  EXPECT_TRUE(text.starts_with(R"({"checksum":3799249014,"v1":{"preparedClaims":{")")) << text;
  EXPECT_NE(text.find(R"("v2":{"checksum":1799764278,)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"({"checkpointState":"PrepareCompleted","status":{"allocation":)"),
            std::string::npos);
}

TEST(Checkpoint, WhatWasWrittenIsReadAgain) {
  EXPECT_EQ(DecodeCheckpoint(Encode(OneChannel())), OneChannel());
  EXPECT_EQ(DecodeCheckpoint(kEmpty), Checkpoint{.boot_id = kBoot});
}

TEST(Checkpoint, ClaimsOfEveryStateAreReadAgain) {
  Checkpoint checkpoint = {.boot_id = kBoot};
  const ClaimStatus status = StatusOf(kStatus);
  checkpoint.claims["a"] = {
      .state = ClaimState::kStarted, .status = status, .name = "x", .ns = "y"};
  checkpoint.claims["b"] = {.state = ClaimState::kAborted,
                            .status = status,
                            .name = "x",
                            .ns = "y",
                            .aborted_at = "2026-11-23T03:00:00Z"};
  EXPECT_EQ(DecodeCheckpoint(Encode(checkpoint)), checkpoint);
}

TEST(Checkpoint, OlderPluginsAreShownCompletedClaimsAlone) {
  Checkpoint checkpoint = OneChannel();
  checkpoint.claims["other"] = {.state = ClaimState::kStarted};
  const std::string text = Encode(checkpoint);
  const std::string v1 = text.substr(0, text.find(R"("v2":)"));
  EXPECT_NE(v1.find(kClaim), std::string::npos);
  EXPECT_EQ(v1.find("other"), std::string::npos);
}

TEST(Checkpoint, H8_EveryPieceOfATornOneIsTold) {
  const std::string text = Encode(OneChannel());
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto found = DecodeCheckpoint(text.substr(0, size));
    ASSERT_FALSE(found) << size;
    ASSERT_EQ(found.error().code, base::ErrorCode::kInvalid);
  }
}

TEST(Checkpoint, H8_EveryByteThatChangedIsTold) {
  const std::string text = Encode(OneChannel());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == '1' ? '2' : '1';
    ASSERT_FALSE(DecodeCheckpoint(changed)) << at;
  }
}

TEST(Checkpoint, FieldsOfANewerPluginDoNotMakeItUnreadable) {
  const std::string text = Sealed(
      "{}",
      R"({"checksum":0,"preparedClaims":{"a":{"checkpointState":"PrepareStarted","status":{},"later":7}},"soon":{"x":[1]}})");
  const auto found = DecodeCheckpoint(text);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->claims.contains("a"));
}

TEST(Checkpoint, OneThatSaysItsVersionIsRead) {
  const std::string text = Encode(OneChannel());
  EXPECT_EQ(DecodeCheckpoint(R"({"version":"v2",)" + text.substr(1)), OneChannel());
  for (const char* wrong :
       {R"({"version":2,)", R"({"version":"v2")", R"({"version":"v2","later":1,)",
        R"({"version":"123456789",)", R"({"version":)"}) {
    EXPECT_FALSE(DecodeCheckpoint(wrong + text.substr(1))) << wrong;
  }
}

TEST(Checkpoint, AClaimThatPlugins04TookBackIsOver) {
  const auto found = DecodeCheckpoint(Sealed(
      "{}",
      R"({"checksum":0,"preparedClaims":{"a":{"checkpointState":"UnprepareCompleted","status":{},"name":"x","namespace":"y","unpreparedAt":"2026-11-23T03:00:00Z"}}})"));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->claims.at("a").state, ClaimState::kAborted);
  EXPECT_EQ(found->claims.at("a").aborted_at, "2026-11-23T03:00:00Z");
}

TEST(Checkpoint, AStateThatNobodyKnowsIsRefused) {
  EXPECT_FALSE(DecodeCheckpoint(Sealed(
      "{}", R"({"checksum":0,"preparedClaims":{"a":{"checkpointState":"Later","status":{}}}})")));
}

TEST(Checkpoint, OneWithoutTheSecondViewHasCompletedClaims) {
  const auto found = DecodeCheckpoint(Sealed(R"({"preparedClaims":{"a":{"status":{}}}})", ""));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->claims.at("a").state, ClaimState::kCompleted);
}

TEST(Checkpoint, H5_EntriesOfBefore253HaveDevicesAndNoAllocation) {
  const auto found = DecodeCheckpoint(Sealed(
      R"({"preparedClaims":{"a":[{"devices":[{"channel":null,"daemon":{"info":{"id":0},"device":{"request_names":["daemon"],"pool_name":"n","device_name":"daemon-0","cdi_device_ids":["x"]}}}],"configState":{"Type":"daemon","ComputeDomain":"d"}}]}})",
      ""));
  ASSERT_TRUE(found) << found.error().message;
  const CheckpointClaim& claim = found->claims.at("a");
  EXPECT_EQ(claim.status, ClaimStatus());
  EXPECT_EQ(claim.groups, (std::vector<PreparedGroup>{{.devices = {{.type = DeviceType::kDaemon,
                                                                    .id = 0,
                                                                    .requests = {"daemon"},
                                                                    .pool = "n",
                                                                    .name = "daemon-0",
                                                                    .cdi_ids = {"x"}}},
                                                       .type = DeviceType::kDaemon,
                                                       .domain = "d"}}));
}

TEST(Resume, GoesOnWhereThePluginWasInThisBoot) {
  const Resumed resumed = Resume(Encode(OneChannel()), kBoot);
  EXPECT_EQ(resumed.from, Resumed::From::kThisBoot);
  EXPECT_EQ(resumed.checkpoint, OneChannel());
}

TEST(Resume, OfAnotherBootNothingIsLeft) {
  const Resumed resumed = Resume(Encode(OneChannel()), kOtherBoot);
  EXPECT_EQ(resumed.from, Resumed::From::kOtherBoot);
  EXPECT_EQ(resumed.checkpoint, Checkpoint{.boot_id = kOtherBoot});
}

TEST(Resume, OneThatNotesNoBootIsOfThisOne) {
  Checkpoint old = OneChannel();
  old.boot_id.clear();
  EXPECT_EQ(Resume(Encode(old), kBoot).checkpoint, OneChannel());
}

TEST(Resume, H8_ATornOneStartsEmptyAndSaysWhy) {
  const Resumed resumed = Resume(std::string("{\"checksum\":108"), kBoot);
  EXPECT_EQ(resumed.from, Resumed::From::kUnreadable);
  EXPECT_EQ(resumed.checkpoint, Checkpoint{.boot_id = kBoot});
  EXPECT_FALSE(resumed.why.empty());
}

// Y2: what a decoder of claims takes, a decoder of checkpoints must take.
TEST(Resume, REV4_Y2_ClaimThatIsTaken_IsReadAgain) {
  const std::string before = R"("config":[)";
  for (const std::string driver : {"x.example.com", "compute-domain.nvidia.com"}) {
    int taken = 0;
    for (std::size_t levels = 1; levels <= 600; ++levels) {
      std::string status = kStatus;
      status.insert(status.find(before) + before.size(),
                    R"({"source":"FromClaim","opaque":{"driver":")" + driver +
                        R"(","parameters":{"a":)" + std::string(levels, '[') +
                        std::string(levels, ']') + "}}},");
      const auto own = OwnPartOf(status);
      if (!own) continue;
      ++taken;
      Checkpoint checkpoint = OneChannel();
      checkpoint.claims[kClaim].status = ClaimStatus::Decode(*own).value();
      const std::string text = Encode(checkpoint);
      ASSERT_EQ(Resume(text, kBoot).checkpoint, checkpoint) << levels;
      ASSERT_TRUE(dra::CheckReadable<CheckpointClaim>(text, checkpoint)) << levels;
      ASSERT_EQ(Resume(text, kOtherBoot).from, Resumed::From::kOtherBoot) << levels;
    }
    EXPECT_EQ(taken, driver == "x.example.com" ? 600 : 93);
  }
}

// A file of a release that kept what claims have for other drivers.
TEST(Resume, REV4_Y3_FileOfBefore_IsReadAndWhatIsOfOtherDriversIsLeftOut) {
  std::string v2 = Encode(OneChannel());
  v2 = v2.substr(v2.find(R"("v2":)") + 5);
  v2.pop_back();
  const std::string checksum = R"("checksum":)";
  const std::size_t at = v2.find(checksum) + checksum.size();
  v2.replace(at, v2.find(',', at) - at, "0");
  const std::string deep = std::string(504, '[') + std::string(504, ']');
  const std::string large = "[" + std::string(10'000, '1') + "]";
  for (const std::string& parameters : {deep, large}) {
    const std::string before = R"("config":[)";
    std::string hostile = v2;
    const std::string foreign = R"({"source":"FromClaim","opaque":{"driver":"x.example.com",)"
                                R"("parameters":{"a":)" +
                                parameters + "}}},";
    for (int i = 0; i < 31; ++i) hostile.insert(hostile.find(before) + before.size(), foreign);
    const Resumed resumed = Resume(Sealed("{}", hostile), kBoot);
    EXPECT_EQ(resumed.from, Resumed::From::kThisBoot) << resumed.why;
    EXPECT_TRUE(resumed.damaged.empty());
    EXPECT_EQ(resumed.checkpoint, OneChannel());
    EXPECT_EQ(Encode(resumed.checkpoint), Encode(OneChannel()));
  }
}

TEST(Resume, REV4_Y2_DamagedEntry_LeavesTheOthers) {
  const std::string fine = R"("fine":{"checkpointState":"PrepareStarted","status":{},"name":"f"})";
  const std::string large =
      R"({"allocation":{"devices":{"results":[{"driver":"compute-domain.nvidia.com","device":")" +
      std::string(70'000, 'x') + R"("}]}}})";
  for (
      const std::string& damaged :
      {std::string(R"({"checkpointState":"Later","status":{},"name":"c","namespace":"ns"})"),
       std::string(
           R"({"checkpointState":"PrepareCompleted","status":{},"preparedDevices":[{"devices":[{"channel":{}}]}],"name":"c","namespace":"ns"})"),
       R"({"checkpointState":"PrepareStarted","status":)" + large +
           R"(,"name":"c","namespace":"ns"})"}) {
    const std::string text = Sealed("{}", R"({"checksum":0,"preparedClaims":{)" + fine +
                                              R"(,"uid-1":)" + damaged + R"(},"nodeBootID":"b"})");
    const Resumed resumed = Resume(text, "b");
    ASSERT_EQ(resumed.from, Resumed::From::kThisBoot) << resumed.why;
    EXPECT_EQ(resumed.checkpoint.claims.at("fine").name, "f");
    ASSERT_EQ(resumed.damaged.size(), 1U);
    EXPECT_TRUE(resumed.damaged[0].starts_with("uid-1: ")) << resumed.damaged[0];
    // Its use is unknown, so the node keeps its label; its name is known, so it is looked up.
    EXPECT_EQ(resumed.checkpoint.claims.at("uid-1"), (CheckpointClaim{.name = "c", .ns = "ns"}));
    EXPECT_FALSE(DecodeCheckpoint(text));
  }
}

TEST(Resume, REV4_Y2_DevicesOfADamagedStatus_AreKept) {
  const std::string text = Sealed(
      "{}",
      R"({"checksum":0,"preparedClaims":{"a":{"checkpointState":"PrepareCompleted","status":{"reservedFor":[nope]},"preparedDevices":[{"devices":[{"channel":{"info":{"id":0},"device":{"DeviceName":"channel-0"}},"daemon":null}],"configState":{"Type":"channel","ComputeDomain":"d"}}]}}})");
  const Resumed resumed = Resume(text, kBoot);
  ASSERT_EQ(resumed.damaged.size(), 1U);
  EXPECT_EQ(resumed.checkpoint.claims.at("a").state, ClaimState::kCompleted);
  EXPECT_EQ(resumed.checkpoint.claims.at("a").groups.at(0).domain, "d");
}

TEST(Resume, REV4_Y2_FileOfAnotherBoot_IsDroppedHoweverDamaged) {
  std::string text = Encode(OneChannel());
  text.replace(text.find("PrepareCompleted"), 4, "Xxxx");  // So the checksum is wrong, too.
  EXPECT_EQ(Resume(text, kBoot).from, Resumed::From::kUnreadable);
  EXPECT_EQ(Resume(text, kOtherBoot).from, Resumed::From::kOtherBoot);
}

TEST(Checkpoint, REV4_Y2_CheckReadable_RefusesWhatIsReadOtherwise) {
  Checkpoint checkpoint = OneChannel();
  EXPECT_TRUE(dra::CheckReadable<CheckpointClaim>(Encode(checkpoint), checkpoint));
  EXPECT_FALSE(dra::CheckReadable<CheckpointClaim>(Encode(checkpoint), {.boot_id = kBoot}));
  EXPECT_FALSE(dra::CheckReadable<CheckpointClaim>(Encode({.boot_id = kBoot}), checkpoint));
  checkpoint.boot_id = kOtherBoot;
  EXPECT_FALSE(dra::CheckReadable<CheckpointClaim>(Encode(OneChannel()), checkpoint));
  checkpoint = OneChannel();
  checkpoint.claims[kClaim].groups[0].devices[0].name.clear();
  const auto readable = dra::CheckReadable<CheckpointClaim>(Encode(checkpoint), checkpoint);
  ASSERT_FALSE(readable);
  EXPECT_EQ(readable.error().message,
            "the checkpoint would not be read as it is: claim " + std::string(kClaim));
}

TEST(Resume, WithoutAFileThereIsNothing) {
  EXPECT_EQ(Resume({}, kBoot).from, Resumed::From::kNothing);
}

TEST(GoJson, EscapesWhatGoEscapes) {
  EXPECT_EQ(dra::GoJson(json::Value("<a&b> \xE2\x80\xA8 \t\r\n\b\f\x01 \\u0009 \"")),
            R"("\u003ca\u0026b\u003e \u2028 \t\r\n\b\f\u0001 \\u0009 \"")");
}

TEST(ClaimStatus, HasTheOrderOfGosTypesAndNothingThatTheyDoNotKnow) {
  const auto status = OwnPartOf(
      R"({"devices":[],"reservedFor":[{"uid":"u","name":"p","resource":"pods","later":1}],
          "allocation":{"later":{},"devices":{"config":[],"results":[{"device":"d","pool":"p","driver":"compute-domain.nvidia.com","request":"r","adminAccess":null}]}}})");
  EXPECT_EQ(
      ClaimStatus::Decode(*status)->text(),
      R"({"allocation":{"devices":{"results":[{"request":"r","driver":"compute-domain.nvidia.com","pool":"p","device":"d"}]}},"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]})");
}

}  // namespace
}  // namespace plugin
