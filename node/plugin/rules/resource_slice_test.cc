#include "node/plugin/rules/resource_slice.h"

#include <gtest/gtest.h>

namespace plugin {
namespace {

using dra::SliceApi;

const NodeDevices kSlice = {.node = "node-a", .node_uid = "n-1", .clique = "f.1"};

bool HasItsContent(const json::Value& object, const NodeDevices& slice,
                   SliceApi api = SliceApi::kV1) {
  json::Parser parser;
  const std::string text = json::Serialize(object);
  return HasContentOf(*parser.Parse(text), SliceOf(slice), api);
}

TEST(Slice, IsTheReferencesAndHasTheClique) {
  EXPECT_EQ(
      json::Serialize(Render(SliceOf(kSlice), SliceApi::kV1)),
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice",)"
      R"("metadata":{"generateName":"00000-compute-domain.nvidia.com-node-a-","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"node-a","uid":"n-1","controller":true}]},)"
      R"("spec":{"driver":"compute-domain.nvidia.com","nodeName":"node-a","pool":{"name":"node-a","generation":1,"resourceSliceCount":1},)"
      R"("devices":[{"name":"channel-0","attributes":{"type":{"string":"channel"},"id":{"int":0},"clique":{"string":"f.1"}}},)"
      R"({"name":"daemon-0","attributes":{"type":{"string":"daemon"},"id":{"int":0},"clique":{"string":"f.1"}}}]}})");
}

TEST(Slice, OlderServersHaveItInTheirForm) {
  const json::Value beta2 = Render(SliceOf(kSlice), SliceApi::kV1Beta2);
  EXPECT_EQ(beta2["apiVersion"].AsString(), "resource.k8s.io/v1beta2");
  EXPECT_TRUE(beta2["spec"]["devices"].items()[0]["attributes"].IsObject());
  const json::Value beta1 = Render(SliceOf(kSlice), SliceApi::kV1Beta1);
  EXPECT_EQ(beta1["apiVersion"].AsString(), "resource.k8s.io/v1beta1");
  EXPECT_TRUE(beta1["spec"]["devices"].items()[0]["attributes"].IsNull());
  EXPECT_EQ(beta1["spec"]["devices"].items()[0]["basic"]["attributes"]["id"]["int"].AsInt(), 0);
}

TEST(Slice, WithoutAFabricThereIsNoCliqueAndUnderTheHostsImexNoDaemon) {
  NodeDevices slice = kSlice;
  slice.clique.clear();
  slice.has_daemon = false;
  const json::Value rendered = Render(SliceOf(slice), SliceApi::kV1);
  const auto& devices = rendered["spec"]["devices"].items();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0]["name"].AsString(), "channel-0");
  EXPECT_EQ(devices[0]["attributes"].Find("clique"), nullptr);
}

TEST(Slice, WhatIsWrongWithTheFabricKeepsNewPodsOff) {
  NodeDevices slice = kSlice;
  slice.error = DeviceError{.since = "2026-11-23T03:00:00Z"};
  for (const SliceApi api : {SliceApi::kV1, SliceApi::kV1Beta2}) {
    const json::Value rendered = Render(SliceOf(slice), api);
    for (const json::Value& device : rendered["spec"]["devices"].items()) {
      EXPECT_EQ(
          json::Serialize(device["taints"]),
          R"([{"key":"cdom.dev/fabric-error","value":"fabric","effect":"NoSchedule","timeAdded":"2026-11-23T03:00:00Z"}])");
    }
  }
  const json::Value old = Render(SliceOf(slice), SliceApi::kV1Beta1);
  EXPECT_EQ(old["spec"]["devices"].items()[0]["basic"]["taints"].items().size(), 1U);
}

TEST(Slice, REV4_Y15_LostDriver_HasItsOwnTaint) {
  NodeDevices slice = kSlice;
  slice.error = DeviceError{.of = DeviceError::Of::kDriver, .since = "2026-11-23T03:00:00Z"};
  const std::string text = json::Serialize(Render(SliceOf(slice), SliceApi::kV1));
  EXPECT_NE(text.find(R"("value":"driver")"), std::string::npos) << text;
  const auto published = json::Document::Parse(text).value();
  dra::Taint taint = *SliceOf(slice).devices[0].taint;
  EXPECT_EQ(dra::TaintedSince(published, SliceApi::kV1, taint), slice.error->since);
  taint.value = "fabric";
  EXPECT_EQ(dra::TaintedSince(published, SliceApi::kV1, taint), std::nullopt);
}

TEST(Slice, OneThatWasReadBackSaysTheSameInEveryVersion) {
  for (const SliceApi api : {SliceApi::kV1, SliceApi::kV1Beta2, SliceApi::kV1Beta1}) {
    EXPECT_TRUE(HasItsContent(Render(SliceOf(kSlice), api), kSlice, api));
  }
  json::Value more = Render(SliceOf(kSlice), SliceApi::kV1);
  more["spec"]["later"] = 7;
  EXPECT_TRUE(HasItsContent(more, kSlice));
}

TEST(Slice, TaintsThatTheServerDroppedAreADifference) {
  NodeDevices tainted = kSlice;
  tainted.error = DeviceError{.since = "2026-11-23T03:00:00Z"};
  EXPECT_FALSE(HasItsContent(Render(SliceOf(kSlice), SliceApi::kV1), tainted));
  EXPECT_FALSE(HasItsContent(Render(SliceOf(tainted), SliceApi::kV1), kSlice));
  EXPECT_TRUE(HasItsContent(Render(SliceOf(tainted), SliceApi::kV1), tainted));
}

TEST(Slice, AnotherCliqueDeviceOrPoolIsADifference) {
  const json::Value published = Render(SliceOf(kSlice), SliceApi::kV1);
  NodeDevices other = kSlice;
  other.clique = "f.2";
  EXPECT_FALSE(HasItsContent(published, other));
  other = kSlice;
  other.clique.clear();
  EXPECT_FALSE(HasItsContent(published, other));
  other = kSlice;
  other.has_daemon = false;
  EXPECT_FALSE(HasItsContent(published, other));
  other = kSlice;
  other.node = "node-b";
  EXPECT_FALSE(HasItsContent(published, other));
  EXPECT_FALSE(HasItsContent(json::Value::Object(), kSlice));
}

}  // namespace
}  // namespace plugin
