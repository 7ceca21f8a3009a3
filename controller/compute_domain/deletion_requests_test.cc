// What the deletion of a domain asks of the API server.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

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

}  // namespace
}  // namespace compute_domain
