#include "node/plugin/rules/claim.h"

#include <gtest/gtest.h>

namespace plugin {
namespace {

constexpr const char* kDomain = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10";
const std::string kVersion = R"("apiVersion":"resource.nvidia.com/v1beta1",)";
const std::string kChannelKind = R"("kind":"ComputeDomainChannelConfig",)";
const std::string kDaemonKind = R"("kind":"ComputeDomainDaemonConfig",)";
const std::string kDomainId = R"("domainID":"0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10")";

using dra::Decoding;

base::Result<std::string> OwnPartOf(const std::string& status) {
  return dra::OwnPart(status, api::kDriver);
}

base::Result<OpaqueConfig> Decode(const std::string& text, Decoding decoding = Decoding::kStrict) {
  json::Parser parser;
  const auto view = parser.Parse(text);
  EXPECT_TRUE(view) << text;
  return DecodeConfig(*view, decoding);
}
std::string WhyNot(const std::string& text) {
  const auto decoded = Decode(text);
  return decoded ? "" : decoded.error().message;
}

TEST(ClaimConfig, SaysTypeDomainAndMode) {
  EXPECT_EQ(Decode("{" + kVersion + kChannelKind + kDomainId + "}"),
            (OpaqueConfig{.type = DeviceType::kChannel, .domain = kDomain}));
  EXPECT_EQ(Decode("{" + kVersion + kChannelKind + kDomainId + R"(,"allocationMode":"All"})"),
            (OpaqueConfig{.type = DeviceType::kChannel, .domain = kDomain, .all_channels = true}));
  EXPECT_EQ(Decode("{" + kVersion + kChannelKind + kDomainId + R"(,"allocationMode":"Single"})"),
            (OpaqueConfig{.type = DeviceType::kChannel, .domain = kDomain}));
  EXPECT_EQ(Decode("{" + kVersion + kDaemonKind + kDomainId + "}"),
            (OpaqueConfig{.type = DeviceType::kDaemon, .domain = kDomain}));
}

TEST(ClaimConfig, AFieldThatIsUnknownIsNamed) {
  const std::string message = "error decoding config parameters: strict decoding error: ";
  EXPECT_EQ(WhyNot("{" + kVersion + kChannelKind + kDomainId + R"(,"x":1})"),
            message + "unknown field \"x\"");
  EXPECT_EQ(WhyNot("{" + kVersion + kDaemonKind + kDomainId + R"(,"allocationMode":"All"})"),
            message + "unknown field \"allocationMode\"");
  EXPECT_EQ(WhyNot("{" + kVersion + kDaemonKind + kDomainId + R"(,"DomainID":"x"})"),
            message + "unknown field \"DomainID\"");
  EXPECT_EQ(WhyNot("{" + kVersion + kDaemonKind + kDomainId + R"(,"metadata":{}})"),
            message + "unknown field \"metadata\"");
}

TEST(ClaimConfig, AFieldThatIsThereTwiceIsNamed) {
  EXPECT_NE(WhyNot("{" + kVersion + kDaemonKind + kDomainId + "," + kDomainId + "}")
                .find("duplicate field \"domainID\""),
            std::string::npos);
}

TEST(ClaimConfig, ToTakeBackUnknownFieldsAreLeftOut) {
  EXPECT_TRUE(Decode("{" + kVersion + kDaemonKind + kDomainId + R"(,"x":1})", Decoding::kLenient));
}

TEST(ClaimConfig, WhatIsNoneOfOursIsRefused) {
  for (const std::string& text : std::vector<std::string>{
           "[]", "null", "7", "{}", "{" + kVersion + kDomainId + "}",
           "{" + kChannelKind + kDomainId + "}",
           "{" + kVersion + R"("kind":"GpuConfig",)" + kDomainId + "}",
           R"({"apiVersion":"resource.nvidia.com/v1",)" + kChannelKind + kDomainId + "}",
           R"({"apiVersion":7,)" + kChannelKind + kDomainId + "}",
           "{" + kVersion + kChannelKind + kDomainId + R"(,"allocationMode":7})"}) {
    EXPECT_NE(WhyNot(text), "") << text;
    EXPECT_LT(WhyNot(text).size(), 300U);
  }
}

TEST(ClaimConfig, H1_ADomainThatIsNoUidIsRefused) {
  for (const char* domain :
       {"", "..", "../../etc", "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e1",
        "0c6b2f0e/7b1d/4f39/8a55/3f3d0a4a9e10", "0C6B2F0E-7B1D-4F39-8A55-3F3D0A4A9E10",
        "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10x"}) {
    EXPECT_NE(WhyNot("{" + kVersion + kDaemonKind + R"("domainID":")" + domain + "\"}"), "")
        << domain;
    EXPECT_FALSE(IsUid(domain)) << domain;
  }
  EXPECT_NE(WhyNot("{" + kVersion + kDaemonKind + R"("domainID":7})"), "");
}

TEST(ClaimConfig, WordsOfAUserReachNobodyAsTheyAre) {
  const std::string why = WhyNot("{" + kVersion + kDaemonKind + kDomainId + R"(,"\u001b[31m\nx)" +
                                 std::string(1000, 'y') + R"(":1})");
  EXPECT_EQ(why.find('\n'), std::string::npos);
  EXPECT_EQ(why.find('\x1b'), std::string::npos);
  EXPECT_LT(why.size(), 300U);
}

TEST(DeviceName, IsAChannelOfTheDriverOrTheDaemon) {
  EXPECT_EQ(ParseDeviceName("channel-0"), (DeviceName{.type = DeviceType::kChannel, .id = 0}));
  EXPECT_EQ(ParseDeviceName("channel-2047"),
            (DeviceName{.type = DeviceType::kChannel, .id = 2047}));
  EXPECT_EQ(ParseDeviceName("daemon-0"), (DeviceName{.type = DeviceType::kDaemon, .id = 0}));
  for (const char* other :
       {"", "channel-", "channel-2048", "channel--1", "channel-00", "channel-+1", "channel-1x",
        "daemon-1", "gpu-0", "channel-99999999999999999999"}) {
    EXPECT_EQ(ParseDeviceName(other), std::nullopt) << other;
  }
}

// A claim with these entries of `results` and `config`.
std::string ClaimText(const std::string& results, const std::string& configs) {
  return R"({"metadata":{"name":"c","namespace":"ns","uid":"u","resourceVersion":"1"},"status":{"allocation":{"devices":{"results":[)" +
         results + R"(],"config":[)" + configs + "]}}}}";
}
std::string ResultOf(const std::string& request, const std::string& device,
                     const std::string& driver = "compute-domain.nvidia.com") {
  return R"({"request":")" + request + R"(","driver":")" + driver +
         R"(","pool":"node-a","device":")" + device + "\"}";
}
std::string ConfigOf(const std::string& source, const std::string& requests,
                     const std::string& kind, const std::string& domain = kDomain) {
  return R"({"source":")" + source + R"(","requests":[)" + requests +
         R"(],"opaque":{"driver":"compute-domain.nvidia.com","parameters":{)" + kVersion + kind +
         R"("domainID":")" + domain + "\"}}}";
}
base::Result<Wanted> WantedOf(const std::string& results, const std::string& configs) {
  auto claim = DecodeResourceClaim(ClaimText(results, configs));
  EXPECT_TRUE(claim) << claim.error().message;
  return claim->wanted;
}

constexpr const char* kClassDomain = "11111111-7b1d-4f39-8a55-3f3d0a4a9e10";

TEST(Claim, IsReadWithWhatItWants) {
  const auto claim = DecodeResourceClaim(ClaimText(
      ResultOf("channel", "channel-0"), ConfigOf("FromClaim", R"("channel")", kChannelKind)));
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->uid, "u");
  EXPECT_EQ(claim->name, "c");
  EXPECT_EQ(claim->ns, "ns");
  EXPECT_TRUE(claim->is_allocated);
  EXPECT_EQ(claim->wanted,
            (Wanted{.device = {.request = "channel", .pool = "node-a", .device = "channel-0"},
                    .name = {.type = DeviceType::kChannel, .id = 0},
                    .config = {.type = DeviceType::kChannel, .domain = kDomain}}));
  EXPECT_EQ(claim->status.wanted(), *claim->wanted);
}

TEST(Claim, OneThatIsNotAllocatedIsToldByThat) {
  const auto claim = DecodeResourceClaim(
      R"({"metadata":{"name":"c","namespace":"ns","uid":"u","resourceVersion":"1"}})");
  ASSERT_TRUE(claim);
  EXPECT_FALSE(claim->is_allocated);
}

TEST(Claim, H1_AUidThatIsAPathIsNone) {
  EXPECT_FALSE(DecodeResourceClaim(
      R"({"metadata":{"name":"c","namespace":"ns","uid":"../x","resourceVersion":"1"}})"));
}

TEST(Claim, TheLastConfigurationOfTheClaimCounts) {
  EXPECT_EQ(WantedOf(ResultOf("channel", "channel-0"),
                     ConfigOf("FromClaim", "", kChannelKind) + "," +
                         ConfigOf("FromClass", "", kChannelKind, kClassDomain))
                ->config.domain,
            kDomain);
  EXPECT_EQ(WantedOf(ResultOf("channel", "channel-0"),
                     ConfigOf("FromClaim", "", kChannelKind) + "," +
                         ConfigOf("FromClaim", "", kChannelKind, kClassDomain))
                ->config.domain,
            kClassDomain);
}

TEST(Claim, ARequestMayBeOneOfSeveralAlternatives) {
  const auto wanted =
      WantedOf(ResultOf("any/first", "channel-0"), ConfigOf("FromClaim", R"("any")", kChannelKind));
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->device.request, "any");
}

TEST(Claim, DevicesAndConfigurationsOfOtherDriversAreNotOurs) {
  EXPECT_TRUE(WantedOf(
      ResultOf("gpu", "gpu-0", "gpu.nvidia.com") + "," + ResultOf("channel", "channel-0"),
      R"({"source":"FromClaim","opaque":{"driver":"gpu.nvidia.com","parameters":{"x":1}}},)" +
          ConfigOf("FromClaim", R"("channel")", kChannelKind)));
}

TEST(Claim, WhatThisDriverCannotGiveIsSaid) {
  const std::string channel = ResultOf("channel", "channel-0");
  const std::string config = ConfigOf("FromClaim", "", kChannelKind);
  const auto why = [](const std::string& results, const std::string& configs) {
    const auto wanted = WantedOf(results, configs);
    return wanted ? "" : wanted.error().message;
  };
  EXPECT_NE(why("", config).find("holds 0 devices"), std::string::npos);
  EXPECT_NE(why(channel + "," + channel, config).find("holds 2 devices"), std::string::npos);
  EXPECT_NE(why(ResultOf("x", "gpu-0"), config).find("called gpu-0"), std::string::npos);
  EXPECT_NE(why(channel, "").find("names a ComputeDomain"), std::string::npos);
  EXPECT_NE(why(channel, ConfigOf("FromClaim", R"("other")", kChannelKind)), "");
  EXPECT_NE(why(channel, ConfigOf("FromClaim", R"("channel")", kDaemonKind)).find("of a daemon"),
            std::string::npos);
  EXPECT_NE(why(channel, ConfigOf("FromMars", "", kChannelKind)).find("FromMars"),
            std::string::npos);
  EXPECT_NE(why(channel, R"({"source":"FromClaim"})"), "");
}

TEST(Claim, AFieldThatIsThereTwiceIsSeenInTheWholeObject) {
  std::string text =
      ClaimText(ResultOf("channel", "channel-0"), ConfigOf("FromClaim", "", kChannelKind));
  const std::string twice = kDomainId + "," + kDomainId;
  text.replace(text.find(kDomainId), kDomainId.size(), twice);
  const auto claim = DecodeResourceClaim(text);
  ASSERT_TRUE(claim);
  ASSERT_FALSE(claim->wanted);
  EXPECT_NE(claim->wanted.error().message.find("duplicate field"), std::string::npos);
  EXPECT_TRUE(claim->status.wanted());
}

// --- Hostile claims

std::string Nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}
std::string ConfigOfOther(const std::string& parameters) {
  return R"({"source":"FromClaim","opaque":{"driver":"x.example.com","parameters":)" + parameters +
         "}}";
}

TEST(ClaimStatus, REV4_Y2_PartOfAnotherDriver_IsNotKept) {
  const std::string channel = ResultOf("channel", "channel-0");
  const std::string config = ConfigOf("FromClaim", "", kChannelKind);
  const auto plain = DecodeResourceClaim(ClaimText(channel, config));
  // No parser takes the last two.
  for (const std::string& other : {std::string("{}"), Nested(504), Nested(5000),
                                   std::string(R"("\ud800")"), std::string(R"({"a":nope})")}) {
    std::string text = ClaimText(ResultOf("gpu", "gpu-0", "x.example.com") + "," + channel,
                                 ConfigOfOther(other) + "," + config + "," + ConfigOfOther(other));
    text.insert(text.rfind("}}"), R"(,"devices":[{"driver":"x","data":)" + other + "}]");
    const auto claim = DecodeResourceClaim(text);
    ASSERT_TRUE(claim) << other << claim.error().message;
    EXPECT_EQ(claim->wanted, *plain->wanted);
    EXPECT_EQ(claim->status.text(), plain->status.text());
  }
}

TEST(ClaimStatus, REV4_Y2_OwnPartBeyondABound_IsRefusedInASentence) {
  const std::string kRemedy =
      " and the pods that use it. Remove configurations of this driver from the claim, or use it "
      "with fewer pods";
  const auto claim_with = [](const std::string& mode) {
    std::string config = ConfigOf("FromClaim", "", kChannelKind);
    config.insert(config.rfind("}}}") + 1, R"(,"later":)" + mode);
    auto claim = DecodeResourceClaim(ClaimText(ResultOf("channel", "channel-0"), config));
    EXPECT_TRUE(claim) << claim.error().message;
    EXPECT_TRUE(claim->is_allocated);
    EXPECT_TRUE(claim->wanted || claim->status == ClaimStatus());
    return claim->wanted ? "" : claim->wanted.error().message;
  };
  EXPECT_EQ(claim_with("0"), "");
  EXPECT_EQ(claim_with(Nested(90)), "");
  EXPECT_EQ(claim_with(Nested(100)),
            "the claim's status has more than 100 levels for compute-domain.nvidia.com" + kRemedy);
  EXPECT_EQ(claim_with("\"" + std::string(60'000, 'x') + "\""), "");
  EXPECT_EQ(
      claim_with("\"" + std::string(70'000, 'x') + "\""),
      "the claim's status has more than 65,536 bytes for compute-domain.nvidia.com" + kRemedy);
}

// Else a checkpoint that was written would be read as another one.
TEST(ClaimStatus, REV4_Y2_TextOfAStatus_IsItsOwnPart) {
  const std::string channel = ResultOf("channel", "channel-0");
  for (const std::string config :
       {R"({"source":"FromClaim"})", R"({"opaque":7})", R"({"opaque":{"driver":7}})",
        R"({"opaque":{"parameters":"<&>\u2028"}})", R"([])", R"("x")",
        R"({"opaque":{"driver":"compute\u002ddomain.nvidia.com","parameters":{"b":1,"b":2}}})"}) {
    for (const std::string more : {"", R"(,"reservedFor":"x")", R"(,"reservedFor":[{}])"}) {
      const auto own =
          OwnPartOf(R"({"allocation":{"devices":{"results":[)" + channel + R"(],"config":[)" +
                    config + R"(]},"nodeSelector":7})" + more + "}");
      const auto first = ClaimStatus::Decode(own.value());
      ASSERT_TRUE(first) << config;
      EXPECT_EQ(ClaimStatus::Decode(OwnPartOf(first->text()).value()), *first) << config;
    }
  }
  const auto escaped =
      OwnPartOf(R"({"reservedFor":[{"name":")" + std::string(30'000, '<') + "\"}]}");
  const auto status = ClaimStatus::Decode(escaped.value());
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("more than 65,536 bytes"), std::string::npos);
}

}  // namespace
}  // namespace plugin
