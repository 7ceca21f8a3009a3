#include "controller/compute_domain/pass/capacity_cache.h"

#include <gtest/gtest.h>

#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::PassWorld;

TEST(CapacityCache, G21_WhatIsFree_IsCountedOnceASecond_HoweverManyAsk) {
  PassWorld world(Converged());
  constexpr std::chrono::seconds kSecond{1};
  const auto counted = world.shared.CountCapacity(kSecond);
  EXPECT_EQ(counted->at("").held, 2);
  EXPECT_EQ(world.shared.CountCapacity(kSecond), counted);
  world.clock.Advance(kSecond);
  EXPECT_EQ(world.shared.CountCapacity(2 * kSecond), counted) << "who asks may take an older one";
  EXPECT_NE(world.shared.CountCapacity(kSecond), counted);
}

TEST(CapacityCache, G26_WhatIsFree_IsCountedWithWhoKeepsTheClique) {
  Observed observed = Converged();
  observed.domain->placement = std::string(api::kPlacementExclusive);
  for (auto& [name, node] : observed.nodes) node.clique = "a.0";
  PassWorld world(observed);
  EXPECT_EQ(world.shared.CountCapacity({})->at("a.0").placement.exclusive, fixtures::kUid);
}

}  // namespace
}  // namespace compute_domain
