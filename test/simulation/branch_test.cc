#include "test/simulation/branch.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace simulation {
namespace {

TEST(Branch, WhatItDoesIsHeardOfAndNotFelt) {
  int number = 1;
  const Branch branch = Branch::Begin();
  if (branch.IsHere()) {
    ++number;
    branch.End(std::string(100'000, 'x') + std::to_string(number));
  }
  ASSERT_TRUE(branch.report());
  EXPECT_TRUE(branch.report()->ends_with("x2"));
  EXPECT_EQ(branch.report()->size(), 100'001U);
  EXPECT_EQ(number, 1);
}

TEST(Branch, ThatDiesIsAnErrorInTheTrunk) {
  const Branch branch = Branch::Begin();
  if (branch.IsHere()) std::abort();
  ASSERT_FALSE(branch.report());
  EXPECT_EQ(branch.report().error().message, "the process died: Aborted");
}

TEST(Branch, ThatExitsWithoutAReportIsAnErrorInTheTrunk) {
  const Branch branch = Branch::Begin();
  if (branch.IsHere()) std::_Exit(3);
  ASSERT_FALSE(branch.report());
  EXPECT_EQ(branch.report().error().message, "the process ended with code 3");
}

}  // namespace
}  // namespace simulation
