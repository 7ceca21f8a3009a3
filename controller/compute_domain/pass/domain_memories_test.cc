#include "controller/compute_domain/pass/domain_memories.h"

#include <gtest/gtest.h>

namespace compute_domain {
namespace {

TEST(DomainMemories, WhatWasKept_IsRecalled_UntilItIsForgotten) {
  DomainMemories memories;
  EXPECT_TRUE(memories.Recall("a")->expectations.empty());
  memories.Keep("a", {.expectations = {{.resource_version = "7"}}});
  const auto recalled = memories.Recall("a");
  EXPECT_EQ(recalled->expectations[0].resource_version, "7");
  EXPECT_TRUE(memories.Recall("b")->expectations.empty());
  memories.Keep("a", {});
  EXPECT_TRUE(memories.Recall("a")->expectations.empty());
  memories.Keep("a", {.expectations = {{.resource_version = "8"}}});
  memories.Forget("a");
  memories.Forget("b");
  EXPECT_TRUE(memories.Recall("a")->expectations.empty());
  EXPECT_EQ(recalled->expectations[0].resource_version, "7") << "a copy stays as it is";
}

}  // namespace
}  // namespace compute_domain
