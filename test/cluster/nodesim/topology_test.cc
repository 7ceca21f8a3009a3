#include "test/cluster/nodesim/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "test/cluster/nodesim/addresses.h"

namespace nodesim {
namespace {

// Nodes of each clique, in order of their numbers.
std::map<std::string, int> Sizes(const Settings& settings) {
  std::map<std::string, int> sizes;
  for (const PlacedNode& node : PlaceNodes(settings)) {
    const std::size_t dot = node.clique_id.find('.');
    ++sizes[dot == std::string::npos ? "none" : node.clique_id.substr(dot)];
  }
  return sizes;
}

using Expected = std::map<std::string, int>;

TEST(PlaceNodes, CliquesDifferInSizeByOneAtMost) {
  EXPECT_EQ(Sizes({.nodes = 36, .cliques = 2}), (Expected{{".0", 18}, {".1", 18}}));
  EXPECT_EQ(Sizes({.nodes = 7, .cliques = 3}), (Expected{{".0", 3}, {".1", 2}, {".2", 2}}));
}

TEST(PlaceNodes, CliqueSizeTakesThePlaceOfTheNumberOfCliques) {
  EXPECT_EQ(Sizes({.nodes = 40, .cliques = 2, .clique_size = 18}),
            (Expected{{".0", 18}, {".1", 18}, {".2", 4}}));
}

TEST(PlaceNodes, NodesWithoutFabricAreTheLast) {
  const auto nodes = PlaceNodes({.nodes = 5, .cliques = 1, .no_fabric = 2});
  EXPECT_NE(nodes[2].clique_id, "");
  EXPECT_EQ(nodes[3].clique_id, "");
  EXPECT_EQ(nodes[4].clique_id, "");
  EXPECT_EQ(CountCliques(nodes), 1);
}

TEST(PlaceNodes, NamesSortInTheOrderOfTheNodes) {
  std::vector<std::string> names;
  for (const PlacedNode& node : PlaceNodes({.nodes = 1'200})) names.push_back(node.identity.name);
  EXPECT_EQ(names.front(), "node-0000");
  EXPECT_EQ(names.back(), "node-1199");
  EXPECT_TRUE(std::ranges::is_sorted(names));
}

TEST(PlaceNodes, ThirdNodeOfThirtySixIsNode002) {
  EXPECT_EQ(PlaceNodes({.nodes = 36})[2].identity.name, "node-002");
}

TEST(PlaceNodes, NoTwoNodesShareAnAddressOrAMachine) {
  std::set<std::string> addresses;
  std::set<std::string> machines;
  for (const char* prefix : {"a-", "b-"}) {
    for (const PlacedNode& node : PlaceNodes({.nodes = 1'000, .node_prefix = prefix})) {
      machines.insert(node.identity.machine_id);
      if (prefix[0] == 'a') addresses.insert(node.identity.host_ip);
    }
  }
  EXPECT_EQ(addresses.size(), 1'000U);
  EXPECT_EQ(machines.size(), 2'000U);
}

TEST(PlaceNodes, SameSettingsGiveTheSameCliquesAndAnotherSeedDoesNot) {
  const Settings settings = {.nodes = 4, .cliques = 2};
  EXPECT_EQ(PlaceNodes(settings)[0].clique_id, PlaceNodes(settings)[0].clique_id);
  Settings other = settings;
  other.seed = 2;
  EXPECT_NE(PlaceNodes(settings)[0].clique_id, PlaceNodes(other)[0].clique_id);
}

TEST(PlaceNodes, CliqueIdIsAUuidAndANumberThatFitsALabel) {
  const std::string id = PlaceNodes({.nodes = 2, .cliques = 2})[1].clique_id;
  ASSERT_EQ(id.size(), 38U);
  EXPECT_EQ(id.substr(36), ".1");
  EXPECT_EQ(std::ranges::count(id, '-'), 4);
  EXPECT_EQ(id[14], '4') << "version 4";
}

TEST(Validate, RefusesWhatMakesNoNodes) {
  EXPECT_TRUE(Validate({}));
  EXPECT_TRUE(Validate({.nodes = 3, .cliques = 0, .no_fabric = 3}));
  EXPECT_FALSE(Validate({.nodes = 0}));
  EXPECT_FALSE(Validate({.nodes = 3, .cliques = 4}));
  EXPECT_FALSE(Validate({.nodes = 3, .no_fabric = 4}));
  EXPECT_FALSE(Validate({.nodes = 3, .cliques = 0}));
  EXPECT_FALSE(Validate({.workers = 0}));
}

TEST(PodAddresses, NoneIsHandedOutTwice) {
  PodAddresses addresses("node-");
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i) seen.insert(addresses.Next());
  EXPECT_EQ(seen.size(), 10'000U);
  for (const std::string& ip : seen) {
    EXPECT_TRUE(ip.starts_with("10.")) << ip;
    EXPECT_FALSE(ip.ends_with(".0") || ip.ends_with(".255")) << ip;
  }
}

TEST(PodAddresses, AddressThatAPodHasAlreadyIsSkipped) {
  PodAddresses first("node-");
  const std::string a = first.Next();
  const std::string b = first.Next();
  PodAddresses second("node-");
  second.Skip(b);
  second.Skip(a);
  second.Skip("192.168.1.1");
  second.Skip("10.1.2");
  second.Skip("");
  EXPECT_EQ(second.Next(), first.Next());
}

}  // namespace
}  // namespace nodesim
