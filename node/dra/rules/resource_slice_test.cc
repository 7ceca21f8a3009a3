#include "node/dra/rules/resource_slice.h"

#include <gtest/gtest.h>

namespace dra {
namespace {

using json::Value;

constexpr SliceApi kApis[] = {SliceApi::kV1, SliceApi::kV1Beta2, SliceApi::kV1Beta1};

Value Quantity(const char* value) { return Value::Object({{"value", value}}); }

ResourceSlice SliceWith(SliceDevice device) {
  return {.driver = "driver.example", .node = "a", .node_uid = "u", .devices = {std::move(device)}};
}

const SliceDevice kDevice = {
    .name = "d-0",
    .attributes = Value::Object({{"type", Value::Object({{"string", "d"}})}}),
    .capacity = Value::Object({{"memory", Quantity("80Gi")}, {"cores", Quantity("100")}})};

bool HasContent(const Value& object, const SliceDevice& device, SliceApi api) {
  json::Parser parser;
  const std::string text = json::Serialize(object);
  return HasContentOf(*parser.Parse(text), SliceWith(device), api);
}

std::string DeviceOf(const SliceDevice& device, SliceApi api) {
  return json::Serialize(Render(SliceWith(device), api)["spec"]["devices"].items().at(0));
}

TEST(SliceCapacity, IsRenderedInEachVersion) {
  const std::string expected =
      R"("attributes":{"type":{"string":"d"}},"capacity":{"memory":{"value":"80Gi"},"cores":{"value":"100"}}})";
  EXPECT_EQ(DeviceOf(kDevice, SliceApi::kV1), R"({"name":"d-0",)" + expected);
  EXPECT_EQ(DeviceOf(kDevice, SliceApi::kV1Beta2), R"({"name":"d-0",)" + expected);
  EXPECT_EQ(DeviceOf(kDevice, SliceApi::kV1Beta1), R"({"name":"d-0","basic":{)" + expected + "}");
}

TEST(SliceCapacity, WithoutAny_IsNotRendered) {
  SliceDevice device = kDevice;
  device.capacity = Value::Object();
  for (const SliceApi api : kApis) {
    EXPECT_EQ(DeviceOf(device, api).find("capacity"), std::string::npos);
  }
}

TEST(SliceCapacity, AnotherOne_IsADifference) {
  for (const SliceApi api : kApis) {
    const Value published = Render(SliceWith(kDevice), api);
    EXPECT_TRUE(HasContent(published, kDevice, api));
    SliceDevice device = kDevice;
    device.capacity["memory"] = Quantity("81Gi");
    EXPECT_FALSE(HasContent(published, device, api));
    device = kDevice;
    device.capacity.Erase("cores");
    EXPECT_FALSE(HasContent(published, device, api));
    device = kDevice;
    device.capacity["more"] = Quantity("1");
    EXPECT_FALSE(HasContent(published, device, api));
    device.capacity = Value::Object();
    EXPECT_FALSE(HasContent(published, device, api));
  }
}

TEST(SliceLimits, DevicesOfASlice_AreBounded) {
  ResourceSlice slice = SliceWith(kDevice);
  slice.devices.resize(kDevicesMax, kDevice);
  EXPECT_TRUE(CheckLimits(slice));
  slice.devices.push_back(kDevice);
  const auto over = CheckLimits(slice);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, base::ErrorCode::kTooLarge);
  EXPECT_EQ(over.error().message, "a ResourceSlice may have 128 devices, the node has 129");
}

TEST(SliceLimits, DevicesOfASliceWithATaint_AreFewer) {
  ResourceSlice slice = SliceWith(kDevice);
  slice.devices.resize(kDevicesWithTaintsMax, kDevice);
  slice.devices[3].taint = Taint{.key = "a"};
  EXPECT_TRUE(CheckLimits(slice));
  slice.devices.push_back(kDevice);
  EXPECT_FALSE(CheckLimits(slice));
}

TEST(SliceLimits, AttributesAndCapacities_AreBoundedTogether) {
  SliceDevice device = kDevice;
  for (std::size_t i = 3; i < kAttributesAndCapacitiesMax; ++i) {
    device.capacity["c" + std::to_string(i)] = Quantity("1");
  }
  EXPECT_TRUE(CheckLimits(SliceWith(device)));
  device.attributes["more"] = Value::Object({{"bool", true}});
  const auto over = CheckLimits(SliceWith(device));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().message, "device d-0 has 33 attributes and capacities, but may have 32");
}

}  // namespace
}  // namespace dra
