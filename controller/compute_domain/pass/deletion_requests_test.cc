// What the deletion of a domain asks of the API server.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::MapServer;
using fixtures::PassWorld;

Observed JustDeletedUnused() {
  Observed observed = fixtures::JustDeleted();
  fixtures::EndWorkload(observed.children.claims);
  return observed;
}

TEST(DeletionRequests, EachChildIsDeletedOnce_ThoughThePassDecidesAgain) {
  PassWorld world(JustDeletedUnused());
  (void)world.Run();
  std::vector<std::string> deleted;
  for (const std::string& line : world.Writes()) {
    if (line.starts_with("DELETE ")) deleted.push_back(line);
  }
  EXPECT_FALSE(deleted.empty());
  std::ranges::sort(deleted);
  EXPECT_EQ(std::ranges::adjacent_find(deleted), deleted.end())
      << *std::ranges::adjacent_find(deleted);
}

TEST(DeletionRequests, DomainIsReadOnce_HoweverManyPassesItsChildrenTake) {
  PassWorld world(JustDeletedUnused());
  int reads = 0;
  for (int i = 0; i < 3; ++i) {  // The cache still shows all children.
    (void)world.Run();
    for (const std::string& line : world.server.lines()) {
      reads += line.starts_with("GET ") && line.ends_with("/computedomains/train") ? 1 : 0;
    }
  }
  EXPECT_EQ(reads, 1);
}

TEST(DeletionRequests, StatusIsNotWritten_WhileNothingBlocksIt) {
  Observed observed = JustDeletedUnused();
  observed.children.daemon_pods.clear();
  observed.children.claims.clear();
  PassWorld world(observed);
  const Outcome outcome = world.Run();
  EXPECT_FALSE(outcome.error);
  EXPECT_EQ(world.Position("/status"), -1);
}

TEST(DeletionRequests, StatusIsWritten_WhereItIsRefused) {
  PassWorld world(JustDeletedUnused());
  world.server.Refuse("DELETE /apis/apps/", 403, "Forbidden", "denied");
  (void)world.Run();
  EXPECT_NE(world.Position("/status"), -1);
}

TEST(DeletionRequests, StatusIsWritten_OnceNothingIsLeftToSend) {
  Observed observed = JustDeletedUnused();
  Children& children = observed.children;
  children.daemon_pods.clear();
  children.claims.clear();
  children.cliques.clear();
  children.labelled_nodes.clear();
  for (auto& [name, node] : observed.nodes) node.domain.clear();
  for (auto& set : children.daemon_sets) fixtures::Delete(set.meta, {});
  for (auto& found : children.templates) fixtures::Delete(found.meta, {});
  PassWorld world(observed);
  (void)world.Run();
  EXPECT_EQ(world.Writes().size(), 1U);
  EXPECT_NE(world.Position("/status"), -1);
}

// A LIST that several domains share selects more than one of them.
TEST(DeletionRequests, ObjectsOfOthersInALiveList_AreNotTheDomains) {
  Observed last = fixtures::JustDeleted();
  last.children = {};
  for (auto& [name, node] : last.nodes) node.domain = fixtures::kOtherUid;
  PassWorld world(last);
  Observed other = fixtures::Converged();
  other.domain.reset();
  for (fixtures::Stored& stored : fixtures::StoreAll(other)) {
    if (stored.kind != Kind::kClaim) {
      stored.object["metadata"]["labels"][api::kDomainLabel] = fixtures::kOtherUid;
      if (stored.kind == Kind::kClique)
        stored.object["metadata"]["name"] = fixtures::kOtherUid + ".x";
      world.server.Put(std::move(stored));
    }
  }
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    const std::size_t selector = line.find("?labelSelector");
    if (!line.starts_with("GET ") || selector == std::string::npos) return {};
    return world.server.Answer({.path = line.substr(4, selector - 4)});
  });
  const Outcome outcome = world.Run();
  EXPECT_FALSE(outcome.error) << outcome.error->message;
  EXPECT_EQ(world.Writes().size(), 1U) << "only its finalizer is taken off";
  EXPECT_TRUE(world.Domain().IsNull());
}

}  // namespace
}  // namespace compute_domain
