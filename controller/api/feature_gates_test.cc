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

}  // namespace
}  // namespace api
