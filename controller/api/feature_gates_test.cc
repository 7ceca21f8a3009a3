#include "controller/api/feature_gates.h"

#include <gtest/gtest.h>

namespace api {
namespace {

using Gates = std::map<std::string, bool>;

TEST(FeatureGates, TheLastCountsAndWhatIsEmptyIsPassedOver) {
  EXPECT_EQ(ReadFeatureGates("", "plugin"), Gates());
  EXPECT_EQ(ReadFeatureGates("AllAlpha=true,,DynamicMIG=false,AllAlpha=false,", "plugin"),
            (Gates{{"AllAlpha", false}, {"DynamicMIG", false}}));
}

TEST(FeatureGates, WhatIsWrongIsNamedInOneLine) {
  for (const char* wrong : {"Ne\nw=true", "AllAlpha", "AllAlpha=1", "AllAlpha=true ", "=true"}) {
    const auto read = ReadFeatureGates(wrong, "plugin");
    ASSERT_FALSE(read) << wrong;
    EXPECT_TRUE(read.error().message.starts_with("feature gate \"")) << read.error().message;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

TEST(FeatureGates, UnknownGate_IsNamed_WithTheNearestOne) {
  const auto refusal = [](const char* gate, std::string_view program) {
    const auto read = ReadFeatureGates(gate, program);
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(refusal("ComputeDomainClique=true", "daemon"),
            "feature gate \"ComputeDomainClique\" is not known to this daemon; did you mean "
            "ComputeDomainCliques?");
  EXPECT_EQ(refusal("Foo=true", kController),
            "feature gate \"Foo\" is not known to this controller: take it out");
}

}  // namespace
}  // namespace api
