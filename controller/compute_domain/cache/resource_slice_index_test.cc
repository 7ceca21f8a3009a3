#include "controller/compute_domain/cache/resource_slice_index.h"

#include <gtest/gtest.h>

#include "pkg/kube/testing/fakes.h"

namespace compute_domain {
namespace {

using Names = std::vector<std::string>;

struct World {
  static std::string Slice(const std::string& node, const kube::Uid& uid) {
    return R"({"metadata":{"uid":")" + uid + R"("},"spec":{"nodeName":")" + node +
           R"(","pool":{"name":")" + node + R"("}}})";
  }
  void Add(const std::string& node, const kube::Uid& uid) {
    publishers.Apply(*parser.Parse(Slice(node, uid)), false);
  }
  void Remove(const std::string& node, const kube::Uid& uid) {
    publishers.Apply(*parser.Parse(Slice(node, uid)), true);
  }
  void Replace(const std::vector<std::pair<std::string, std::string>>& slices) {
    publishers.BeginReplace();
    for (const auto& [node, uid] : slices) {
      publishers.ReplaceAdd(*parser.Parse(Slice(node, uid)));
    }
    publishers.EndReplace("7");
  }
  Names Changed() { return std::exchange(changed, {}); }

  json::Parser parser;
  Names changed;
  kube::RecordingLogger logger;
  ResourceSliceIndex publishers{[this](const std::string& node) { changed.push_back(node); },
                                logger};
};

TEST(Publishers, B56_NodeIsOneFromItsFirstSliceToItsLast) {
  World world;
  EXPECT_FALSE(world.publishers.Contains("node-1"));
  world.Add("node-1", "a");
  world.Add("node-1", "b");
  EXPECT_EQ(world.Changed(), Names{"node-1"});
  world.Remove("node-1", "a");
  EXPECT_EQ(world.Changed(), Names());
  EXPECT_TRUE(world.publishers.Contains("node-1"));
  world.Remove("node-1", "b");
  EXPECT_EQ(world.Changed(), Names{"node-1"});
  EXPECT_FALSE(world.publishers.Contains("node-1"));
}

TEST(Publishers, B56_ThereAreSomeFromTheFirstSliceToTheLast) {
  World world;
  EXPECT_TRUE(world.publishers.IsEmpty());
  world.Replace({{"node-1", "a"}, {"node-2", "b"}});
  world.Remove("node-1", "a");
  EXPECT_FALSE(world.publishers.IsEmpty());
  world.Remove("node-2", "b");
  EXPECT_TRUE(world.publishers.IsEmpty());
}

TEST(Publishers, Q2_SliceThatChangesConcernsNobody) {
  World world;
  world.Add("node-1", "a");
  (void)world.Changed();
  world.Add("node-1", "a");  // Another generation of its pool.
  EXPECT_EQ(world.Changed(), Names());
  world.Remove("node-1", "a");
  EXPECT_FALSE(world.publishers.Contains("node-1")) << "it was one slice all along";
}

TEST(Publishers, SliceThatNobodyKnewMayGo) {
  World world;
  world.Add("node-1", "a");
  (void)world.Changed();
  world.Remove("node-1", "b");
  world.Remove("node-0", "a");
  EXPECT_EQ(world.Changed(), Names());
  EXPECT_TRUE(world.publishers.Contains("node-1"));
}

TEST(Publishers, F11_ListThatIsReadAgainTellsWhoCameAndWhoWent) {
  World world;
  world.Replace({{"node-2", "c"}, {"node-1", "a"}, {"node-1", "b"}, {"node-2", "c"}});
  EXPECT_EQ(world.Changed(), (Names{"node-1", "node-2"}));
  world.Replace({{"node-3", "d"}, {"node-1", "e"}});
  EXPECT_EQ(world.Changed(), (Names{"node-2", "node-3"}));
  EXPECT_TRUE(world.publishers.Contains("node-1"));
  EXPECT_FALSE(world.publishers.Contains("node-2"));
  world.Remove("node-1", "e");
  EXPECT_FALSE(world.publishers.Contains("node-1")) << "a is forgotten";
}

// As the API servers of 1.36 (v1) and before (v1beta1) write it.
constexpr const char* kTainted =
    R"({"metadata":{"uid":"a"},"spec":{"nodeName":"node-1","pool":{"name":"node-1"},"devices":[{"name":"daemon-0"},)"
    R"({"name":"channel-0","taints":[{"key":"other","value":"no"},)"
    R"({"key":"cdom.dev/fabric-error","value":"gpu-0","effect":"NoSchedule"}]}]}})";
constexpr const char* kTaintedBasic =
    R"({"metadata":{"uid":"b"},"spec":{"nodeName":"node-2","pool":{"name":"node-2"},"devices":[{"name":"channel-0",)"
    R"("basic":{"taints":[{"key":"cdom.dev/fabric-error","effect":"NoSchedule"}]}}]}})";

TEST(Publishers, B49_FabricErrorIsATaintOfADeviceUntilTheSliceHasItNoMore) {
  World world;
  world.Add("node-1", "a");
  world.Add("node-1", "b");
  (void)world.Changed();
  EXPECT_EQ(world.publishers.FabricErrorOf("node-1"), "");
  world.publishers.Apply(*world.parser.Parse(kTainted), false);
  EXPECT_EQ(world.Changed(), Names{"node-1"});
  EXPECT_EQ(world.publishers.FabricErrorOf("node-1"), "gpu-0");
  world.Add("node-1", "b");
  EXPECT_EQ(world.Changed(), Names()) << "its other slice says nothing of it";
  world.Add("node-1", "a");
  EXPECT_EQ(world.Changed(), Names{"node-1"});
  EXPECT_EQ(world.publishers.FabricErrorOf("node-1"), "");
}

TEST(Publishers, B49_FabricErrorThatAListHasIsKnownInEachApiVersion) {
  World world;
  world.Replace({{"node-1", "a"}, {"node-2", "b"}, {"node-3", "c"}});
  (void)world.Changed();
  world.publishers.BeginReplace();
  for (const std::string& slice : {std::string(kTainted), std::string(kTaintedBasic)}) {
    world.publishers.ReplaceAdd(*world.parser.Parse(slice));
  }
  world.publishers.ReplaceAdd(*world.parser.Parse(World::Slice("node-3", "c")));
  world.publishers.EndReplace("8");
  EXPECT_EQ(world.Changed(), (Names{"node-1", "node-2"}));
  EXPECT_EQ(world.publishers.FabricErrorOf("node-1"), "gpu-0");
  EXPECT_EQ(world.publishers.FabricErrorOf("node-2"), "no more is known");
}

TEST(Publishers, ListThatIsAbandonedChangesNothing) {
  World world;
  world.Add("node-1", "a");
  (void)world.Changed();
  world.publishers.BeginReplace();
  EXPECT_TRUE(world.publishers.Contains("node-1"));
  world.Replace({{"node-1", "a"}});
  EXPECT_EQ(world.Changed(), Names());
}

TEST(Publishers, REV3_X3_SliceInThePoolOfAnotherNodeIsNoPluginsAndIsToldOnce) {
  for (const char* spec :
       {R"({"nodeName":"evil","pool":{"name":"node-1"}})", R"({"nodeName":"evil"})",
        R"({"nodeName":"evil","pool":{"name":"evil"},"sharedCounters":[{"name":"c"}]})"}) {
    World world;
    const std::string slice =
        R"({"metadata":{"name":"bad","uid":"x"},"spec":)" + std::string(spec) + "}";
    for (int i = 0; i < 3; ++i) world.publishers.Apply(*world.parser.Parse(slice), false);
    EXPECT_FALSE(world.publishers.Contains("evil"));
    EXPECT_FALSE(world.publishers.Contains("node-1"));
    EXPECT_EQ(world.logger.lines().size(), 1U);
    world.publishers.Apply(*world.parser.Parse(slice), true);
    EXPECT_TRUE(world.publishers.IsEmpty());
  }
}

TEST(Publishers, REV3_X3_SliceThatBecomesOneOfNoPluginIsForgotten) {
  World world;
  world.Add("node-1", "a");
  EXPECT_EQ(world.Changed(), Names{"node-1"});
  const std::string shares =
      R"({"metadata":{"name":"s","uid":"a"},"spec":{"nodeName":"node-1","pool":{"name":"node-1"},)"
      R"("sharedCounters":[{"name":"c"}]}})";
  world.publishers.Apply(*world.parser.Parse(shares), false);
  EXPECT_EQ(world.Changed(), Names{"node-1"});
  EXPECT_FALSE(world.publishers.Contains("node-1"));
  EXPECT_TRUE(world.publishers.IsEmpty());
}

}  // namespace
}  // namespace compute_domain
