// Goal: each oracle over GPU plugins is green where nobody does wrong, and red after each wrong
// that it is there for. What befalls the node is told by hand.
#include "test/simulation/gpu/oracles.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "node/cdi/files.h"
#include "node/gpu/rules/claim_devices.h"
#include "test/simulation/apiserver/fixtures.h"
#include "test/simulation/gpu/machine.h"

namespace simulation {
namespace {

using std::chrono::seconds;
using What = PluginEvent::What;

const ClaimTruths kClaims = {
    {"a", {{.node = "node-a", .device = "gpu-0"}}},
    {"b", {{.node = "node-a", .device = "gpu-0"}}},
    {"admin", {{.node = "node-a", .device = "gpu-0", .admin_access = true}}},
    {"two", {{.node = "node-a", .device = "gpu-1"}, {.node = "node-a", .device = kMigDevice}}},
};

// The spec that the product writes for the claim.
std::string SpecOf(const std::string& uid, const HostTruth& host = {}) {
  gpu::Wanted wanted;
  for (const GpuTruth& device : kClaims.at(uid)) {
    wanted.devices.push_back({.allocated = {.pool = "node-a", .device = device.device},
                              .name = *gpu::ParseDeviceName(device.device)});
  }
  return cdi::Render(gpu::SpecOf(ReadMachine("node-a", host), uid, wanted));
}

std::string Lines(const Violations& violations) {
  std::string lines;
  for (const std::string& violation : violations) lines += violation + "\n";
  return lines;
}

PluginEvent Event(What what, const std::string& uid, int at = 0) {
  return {.what = what,
          .node = "node-a",
          .boot_id = "boot-1",
          .name = uid,
          .time = Time() + seconds(at)};
}

PluginEvent Written(const std::string& uid, int at = 0, const HostTruth& host = {}) {
  PluginEvent event = Event(What::kSpecWritten, uid, at);
  event.text = SpecOf(uid, host);
  return event;
}

PluginEvent Prepared(const std::string& uid, int at = 0) {
  PluginEvent event = Event(What::kPrepared, uid, at);
  for (const GpuTruth& device : kClaims.at(uid)) {
    event.cdi_ids.push_back("k8s.gpu.nvidia.com/claim=" + uid + "-" + device.device);
  }
  return event;
}

PluginEvent Changed(const HostTruth& host, int at) {
  PluginEvent event = Event(What::kHostChanged, "", at);
  event.host = host;
  return event;
}

// The violations of G-2 at the end of a run.
std::string Specs(const PluginEvents& events, int end = 1000) {
  return Lines(AnsweredClaimsHaveSpecs(kClaims, events, Time() + seconds(end)));
}

bool Says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(GpuOracles, AllAreGreenOfAClaimThatIsPreparedAndUnprepared) {
  const PluginEvents events = {Written("two"),
                               Prepared("two"),
                               Prepared("two", 5),
                               Event(What::kEnding, "two", 9),
                               Event(What::kSpecRemoved, "two", 9),
                               Event(What::kUnprepared, "two", 9)};
  EXPECT_EQ(Specs(events), "");
  EXPECT_EQ(Lines(GpusHaveOneHolder(kClaims, events)), "");
  EXPECT_EQ(Lines(NoGpuStays(events)), "");
  EXPECT_EQ(Lines(AnswersRepeat(kClaims, events)), "");
  EXPECT_EQ(Lines(OnlyAllocatedIsGiven(kClaims, events)), "");
}

TEST(GpuOracles, G1SeesAGpuThatTwoClaimsHold) {
  const auto check = [](const PluginEvents& events) {
    return Lines(GpusHaveOneHolder(kClaims, events));
  };
  EXPECT_TRUE(Says(check({Prepared("a"), Prepared("b")}), "claims b and a both hold gpu-0"));
  EXPECT_EQ(check({Prepared("a"), Prepared("admin")}), "");
  EXPECT_EQ(check({Prepared("admin"), Prepared("a")}), "");
  EXPECT_EQ(check({Prepared("a"), Event(What::kUnprepared, "a"), Prepared("b")}), "");
  EXPECT_NE(check({Prepared("a"), Event(What::kEnding, "a"), Prepared("b")}), "");
  EXPECT_NE(check({Prepared("a"), Event(What::kSpecRemoved, "a"), Prepared("b")}), "");
  EXPECT_EQ(check({Prepared("a"), Event(What::kEnding, "a"), Event(What::kSpecRemoved, "a"),
                   Prepared("b")}),
            "")
      << "the kubelet forgot it";
  PluginEvent later = Prepared("b");
  later.boot_id = "boot-2";
  EXPECT_EQ(check({Prepared("a"), later}), "");
}

TEST(GpuOracles, G2SeesASpecThatIsNotThereOrGoes) {
  EXPECT_TRUE(Says(Specs({Prepared("a")}), "the spec of claim a, which is prepared, is not there"));
  EXPECT_TRUE(Says(Specs({Written("a"), Prepared("a"), Event(What::kSpecRemoved, "a", 5)}),
                   "goes although its containers run"));
  PluginEvent lost = Event(What::kSpecLost, "a", 5);
  lost.has_entry = true;
  EXPECT_TRUE(Says(Specs({Written("a"), Prepared("a"), lost}), "is not there"));
  EXPECT_EQ(Specs({Written("a"), Prepared("a"), lost, Written("a", 20)}), "");
  EXPECT_NE(Specs({Written("a"), Prepared("a"), lost, Written("a", 200)}), "") << "too late";
  EXPECT_EQ(Specs({Written("a"), lost, Prepared("a", 5), Written("a", 9)}), "");
  EXPECT_NE(Specs({Written("a"), lost, Prepared("a", 6), Written("a", 9)}), "");
  EXPECT_EQ(Specs({Written("a"), Prepared("a"), Event(What::kSpecLost, "a", 5)}), "")
      << "nothing tells of it";
}

TEST(GpuOracles, G2SeesASpecOfAnEarlierDriver) {
  const HostTruth other = {.driver_loads = 1};
  EXPECT_EQ(Specs({Written("a"), Prepared("a"), Changed(other, 5), Written("a", 20, other)}), "");
  EXPECT_NE(Specs({Written("a"), Prepared("a"), Changed(other, 5), Written("a", 200, other)}), "");
  EXPECT_TRUE(Says(Specs({Written("a"), Prepared("a"), Changed(other, 5)}),
                   "has other device nodes for all GPUs"));
  EXPECT_EQ(
      Specs({Written("a"), Prepared("a"), Changed({.driver_loads = 1, .is_readable = false}, 5)}),
      "");
  EXPECT_EQ(
      Specs({Written("a"), Prepared("a"), Changed({.driver_loads = 1, .lost = {"gpu-0"}}, 5)}), "");
  EXPECT_NE(Specs({Changed(other, 5), Written("a", 200), Prepared("a", 200)}), "");
}

TEST(GpuOracles, G2SeesAllThatASpecLacks) {
  const auto wrong = [](const std::string& spec, const std::string& uid, const HostTruth& host) {
    return WrongIn(spec, uid, kClaims.at(uid), host);
  };
  EXPECT_EQ(wrong(SpecOf("two"), "two", {}), "");
  EXPECT_EQ(wrong("torn", "two", {}), "is unreadable");
  EXPECT_EQ(wrong(SpecOf("two"), "two", {.driver_version = "590.1"}),
            "has other libraries than /usr/lib64/libcuda.so.590.1");
  EXPECT_EQ(wrong(SpecOf("two"), "two", {.driver_loads = 1}),
            "has other device nodes for all GPUs");
  EXPECT_EQ(WrongIn(SpecOf("two"), "two", kClaims.at("a"), {}), "has another number of devices");
  EXPECT_EQ(WrongIn(SpecOf("a"), "a", {{.node = "node-a", .device = "gpu-1"}}, {}), "lacks gpu-1");
  cdi::Spec swapped = cdi::Parse(SpecOf("a"), "a").value();
  swapped.devices[0].edits.nodes[0].minor = 1;
  EXPECT_EQ(wrong(cdi::Render(swapped), "a", {}), "has other nodes for gpu-0");
}

TEST(GpuOracles, G3SeesWhatStays) {
  for (const What what : {What::kUnprepared, What::kRest}) {
    PluginEvent event = Event(what, "a");
    EXPECT_EQ(Lines(NoGpuStays({event})), "");
    event.left = {"the spec of claim a"};
    EXPECT_TRUE(Says(Lines(NoGpuStays({event})), "there stays the spec of claim a"));
  }
}

TEST(GpuOracles, G4SeesAnotherDeviceThanTheNodeHas) {
  PluginEvent rest = Event(What::kRest, "");
  rest.published = DevicesOf(HostTruth());
  EXPECT_EQ(Lines(PublishedIsThere({rest})), "");
  rest.host.lost = {"gpu-1"};
  EXPECT_TRUE(Says(Lines(PublishedIsThere({rest})), "than it has: gpu-0 gpu-1 gpu-2"));
  rest.host = {.is_readable = false};
  EXPECT_NE(Lines(PublishedIsThere({rest})), "");
  rest.published.clear();
  EXPECT_EQ(Lines(PublishedIsThere({rest})), "");
}

TEST(GpuOracles, G5SeesAnswersThatDiffer) {
  const auto check = [](const PluginEvents& events) {
    return Lines(AnswersRepeat(kClaims, events));
  };
  PluginEvent other = Prepared("two", 5);
  other.cdi_ids.pop_back();
  EXPECT_TRUE(Says(check({Prepared("two"), other}), "is prepared again, with other devices"));
  EXPECT_EQ(check({Prepared("two"), Event(What::kEnding, "two", 3), other}), "");
  PluginEvent refused = Event(What::kRefused, "two", 5);
  refused.text = "no";
  EXPECT_TRUE(Says(check({Prepared("two"), refused}), "is prepared, and is refused: no"));
  const PluginEvent lost = Changed({.lost = {"gpu-1"}}, 4);
  EXPECT_NE(check({Prepared("two"), lost, refused}), "") << "its files are there";
  EXPECT_EQ(check({Prepared("two"), Event(What::kDamaged, "", 3), lost, refused}), "");
  EXPECT_NE(check({Prepared("two"), Event(What::kDamaged, "", 3), refused}), "");
  PluginEvent later = refused;
  later.boot_id = "boot-2";
  EXPECT_EQ(check({Prepared("two"), later}), "");
}

TEST(GpuOracles, G6SeesDevicesThatWereNotAllocated) {
  const auto check = [](const PluginEvent& event) {
    return Lines(OnlyAllocatedIsGiven(kClaims, {event}));
  };
  EXPECT_EQ(check(Prepared("two")), "");
  PluginEvent less = Prepared("two");
  less.cdi_ids.pop_back();
  EXPECT_TRUE(Says(check(less), "is given other devices than it was allocated"));
  PluginEvent elsewhere = Prepared("a");
  elsewhere.node = "node-b";
  EXPECT_NE(check(elsewhere), "");
  PluginEvent unknown = Prepared("a");
  unknown.name = "unknown";
  EXPECT_NE(check(unknown), "");
}

TEST(GpuOracles, ClaimsAreReadAsTheyWereAllocated) {
  ObjectStore store;
  const ApiServer server(store);
  const json::Value claim =
      json::Value::Object({{"metadata", json::Value::Object({{"name", "c"}})},
                           {"spec", json::Value::Object({{"devices", json::Value::Object({})}})}});
  ASSERT_TRUE(
      store
          .Create("user", Kind::kNamespace, "",
                  json::Value::Object({{"metadata", json::Value::Object({{"name", "train"}})}}))
          .ok());
  ASSERT_TRUE(store.Create("user", Kind::kClaim, "train", claim).ok());
  const Reply edited = store.Edit(
      "scheduler", Kind::kClaim, {.ns = "train", .name = "c"},
      [](json::Value& object) {
        object["status"] = *json::Parse(
            R"({"allocation":{"devices":{"results":[{"driver":"other","device":"x"},)"
            R"({"driver":"gpu.nvidia.com","pool":"node-a","device":"gpu-1","adminAccess":true}]}}})");
      },
      Subresource::kStatus);
  ASSERT_TRUE(edited.ok());
  const ClaimTruths claims = ReadClaims(server);
  ASSERT_EQ(claims.count(edited.object->uid()), 1U);
  const std::vector<GpuTruth>& devices = claims.at(edited.object->uid());
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].node, "node-a");
  EXPECT_EQ(devices[0].device, "gpu-1");
  EXPECT_TRUE(devices[0].admin_access);
  PluginEvent given = Event(What::kPrepared, edited.object->uid());
  EXPECT_TRUE(Says(Lines(CheckGpus(server, {given})), "G-6"));
}

}  // namespace
}  // namespace simulation
