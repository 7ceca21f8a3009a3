#include "node/daemon/clique.h"

#include <gtest/gtest.h>

namespace imex_daemon {
namespace {

const DaemonIdentity kSelf = {.domain = "0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a",
                              .clique = "f0e1.7",
                              .node = "node-a",
                              .ip = "10.0.0.7",
                              .pod = {.ns = "driver", .name = "computedomain-daemon-x"},
                              .pod_uid = "pod-uid",
                              .nodes_max = 4};

api::Member At(const std::string& node, const std::string& ip, int index) {
  return {.node = node, .ip = ip, .clique = kSelf.clique, .index = index};
}

api::Clique Of(std::vector<api::Member> daemons) { return {.daemons = std::move(daemons)}; }

TEST(OwnEntry, IsTheOneOfThisNodeAddressCliqueAndAPossibleIndex) {
  const api::Clique clique = Of({At("node-b", "10.0.0.8", 0), At("node-a", "10.0.0.7", 1)});
  ASSERT_NE(OwnEntry(clique, kSelf), nullptr);
  EXPECT_EQ(OwnEntry(clique, kSelf)->index, 1);
}

TEST(OwnEntry, H11_EntryOfAnEarlierPodOfTheNodeIsNotOurs) {
  EXPECT_EQ(OwnEntry(Of({At("node-a", "10.0.0.6", 1)}), kSelf), nullptr);
}

TEST(OwnEntry, IndexThatCannotBeIsNone) {
  EXPECT_EQ(OwnEntry(Of({At("node-a", "10.0.0.7", -1)}), kSelf), nullptr);
  EXPECT_EQ(OwnEntry(Of({At("node-a", "10.0.0.7", 4)}), kSelf), nullptr);
  api::Member other = At("node-a", "10.0.0.7", 1);
  other.clique = "f0e1.8";
  EXPECT_EQ(OwnEntry(Of({other}), kSelf), nullptr);
}

TEST(HostsIn, AreTheDaemonsOfTheCliqueByIndex) {
  EXPECT_EQ(HostsIn(Of({At("node-b", "10.0.0.8", 2), At("node-a", "10.0.0.7", 0)}), kSelf, -1),
            (std::vector<imex::HostsEntry>{{.index = 0, .ip = "10.0.0.7"},
                                           {.index = 2, .ip = "10.0.0.8"}}));
}

TEST(HostsIn, OfTwoUnderOneIndexThisDaemonCounts) {
  EXPECT_EQ(HostsIn(Of({At("node-b", "10.0.0.8", 1), At("node-a", "10.0.0.7", 1)}), kSelf, -1),
            (std::vector<imex::HostsEntry>{{.index = 1, .ip = "10.0.0.7"}}));
}

TEST(HostsIn, B11_OurAddressOnAnotherNodeIsOfAPodThatIsGone) {
  EXPECT_EQ(HostsIn(Of({At("node-b", "10.0.0.7", 0), At("node-a", "10.0.0.7", 1)}), kSelf, -1),
            (std::vector<imex::HostsEntry>{{.index = 1, .ip = "10.0.0.7"}}));
}

TEST(HostsIn, WhatIsNoAddressOrNoIndexIsLeftOut) {
  EXPECT_EQ(HostsIn(Of({At("node-a", "10.0.0.7", 0), At("node-b", "10.0.0", 1), At("node-c", "", 2),
                        At("node-d", "10.0.0.9", 4), At("node-e", "10.0.0.9", -1),
                        At("node-f", "10.0.0.8\n1.2.3.4 x", 3)}),
                    kSelf, -1),
            (std::vector<imex::HostsEntry>{{.index = 0, .ip = "10.0.0.7"}}));
}

TEST(HostsIn, OneWhoseEntryIsMissingStaysKnownToItselfAsItRuns) {
  EXPECT_EQ(HostsIn(Of({At("node-b", "10.0.0.8", 0)}), kSelf, 3),
            (std::vector<imex::HostsEntry>{{.index = 0, .ip = "10.0.0.8"},
                                           {.index = 3, .ip = "10.0.0.7"}}));
}

TEST(HasRoom, WhileAnIndexIsFreeOrTheNodeHasAnEntry) {
  std::vector<api::Member> daemons;
  for (int index = 0; index < 4; ++index) {
    EXPECT_TRUE(HasRoom(Of(daemons), kSelf)) << index;
    daemons.push_back(At("node-" + std::to_string(index), "10.0.1.1", index));
  }
  EXPECT_FALSE(HasRoom(Of(daemons), kSelf));
  daemons.push_back(At("node-a", "10.0.0.6", 9));
  EXPECT_FALSE(HasRoom(Of(daemons), kSelf)) << "its index cannot be";
  daemons.back().index = 3;
  EXPECT_TRUE(HasRoom(Of(daemons), kSelf)) << "its entry is of an earlier pod";
}

// A clique as the API server has it, with what we do not know of, too.
json::Value Stored(const std::string& daemons) {
  return *json::Parse(R"({"kind":"ComputeDomainClique","metadata":{"name":"n","resourceVersion":"7",
      "annotations":{"a":"b"},"ownerReferences":[{"kind":"Pod","uid":"other"}]},"later":1,"daemons":)" +
                      daemons + "}");
}

TEST(PutOwnEntry, EntryWhoseIndexCannotBeGetsTheLowestFreeOne) {
  for (const char* index : {"4", "-1", "\"x\""}) {
    json::Value clique = Stored(R"([{"nodeName":"node-b","ipAddress":"10.0.0.8","index":0},
                                    {"nodeName":"node-a","ipAddress":"10.0.0.7","index":)" +
                                std::string(index) + "}]");
    EXPECT_TRUE(PutOwnEntry(clique, kSelf, false).value());
    EXPECT_EQ(clique["daemons"].items()[1]["index"].AsInt(), 1) << index;
  }
}

TEST(PutOwnEntry, JoinsUnderTheLowestFreeIndexAndLeavesEverythingElseAsItIs) {
  json::Value clique = Stored(R"([{"nodeName":"node-b","ipAddress":"10.0.0.8","index":0,"extra":1},
                                  {"nodeName":"node-c","ipAddress":"10.0.0.9","index":2}])");
  const json::Value before = clique;
  EXPECT_EQ(PutOwnEntry(clique, kSelf, false), true);
  EXPECT_EQ(
      json::Serialize(clique["daemons"].items()[2]),
      R"({"nodeName":"node-a","ipAddress":"10.0.0.7","cliqueID":"f0e1.7","index":1,"status":"NotReady"})");
  EXPECT_EQ(clique["daemons"].items()[0], before["daemons"].items()[0]);
  EXPECT_EQ(clique["later"], before["later"]);
  EXPECT_EQ(json::Serialize(clique["metadata"]["ownerReferences"].items()[1]),
            R"({"apiVersion":"v1","kind":"Pod","name":"computedomain-daemon-x","uid":"pod-uid"})");
}

TEST(PutOwnEntry, H11_NewAddressDoesNotKeepAReadinessThatWasNotOurs) {
  json::Value clique = Stored(
      R"([{"nodeName":"node-a","ipAddress":"10.0.0.6","cliqueID":"f0e1.7","index":3,"status":"Ready"}])");
  EXPECT_EQ(PutOwnEntry(clique, kSelf, false), true);
  EXPECT_EQ(
      json::Serialize(clique["daemons"].items()[0]),
      R"({"nodeName":"node-a","ipAddress":"10.0.0.7","cliqueID":"f0e1.7","index":3,"status":"NotReady"})");
}

TEST(PutOwnEntry, WhatIsRightIsNotWritten) {
  json::Value clique = Stored("[]");
  EXPECT_EQ(PutOwnEntry(clique, kSelf, true), true);
  const json::Value before = clique;
  EXPECT_EQ(PutOwnEntry(clique, kSelf, true), false);
  EXPECT_EQ(clique, before);
}

TEST(PutOwnEntry, FullCliqueIsSaidWithWhatToDo) {
  json::Value clique = Stored(R"([{"nodeName":"b","index":0},{"nodeName":"c","index":1},
                                  {"nodeName":"d","index":2},{"nodeName":"e","index":3}])");
  const auto put = PutOwnEntry(clique, kSelf, false);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().message,
            "clique f0e1.7 is full: each index below 4 is taken. The controller's "
            "--max-nodes-per-imex-domain allows more nodes");
}

TEST(TakeOutOwnEntry, S4_TakesThisNodesEntryAndNoOtherWithTheSameAddress) {
  json::Value clique = Stored(R"([{"nodeName":"node-b","ipAddress":"10.0.0.7","index":0},
                                  {"nodeName":"node-a","ipAddress":"10.0.0.7","index":1}])");
  EXPECT_TRUE(TakeOutOwnEntry(clique, kSelf));
  ASSERT_EQ(clique["daemons"].items().size(), 1U);
  EXPECT_EQ(clique["daemons"].items()[0]["nodeName"].AsString(), "node-b");
  EXPECT_FALSE(TakeOutOwnEntry(clique, kSelf));
}

TEST(TakeOutOwnEntry, EntryOfALaterPodOfTheNodeStays) {
  json::Value clique = Stored(R"([{"nodeName":"node-a","ipAddress":"10.0.0.9","index":1}])");
  EXPECT_FALSE(TakeOutOwnEntry(clique, kSelf));
}

TEST(NewClique, CarriesTheLabelsOwnerAndFirstEntryByWhichOthersKnowIt) {
  EXPECT_EQ(
      json::Serialize(NewClique(kSelf, false)),
      R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"ComputeDomainClique","metadata":{)"
      R"("name":"0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a.f0e1.7","namespace":"driver","labels":{)"
      R"("resource.nvidia.com/computeDomain":"0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a",)"
      R"("resource.nvidia.com/computeDomain.cliqueID":"f0e1.7"},)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"computedomain-daemon-x","uid":"pod-uid"}]},)"
      R"("daemons":[{"nodeName":"node-a","ipAddress":"10.0.0.7","cliqueID":"f0e1.7","index":0,"status":"NotReady"}]})");
}

}  // namespace
}  // namespace imex_daemon
