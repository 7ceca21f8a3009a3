#include "test/simulation/scenarios/branch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace simulation {
namespace {

TEST(Branch, WhatItDoesIsHeardOfAndNotFelt) {
  int number = 1;
  const Branch branch = Branch::Begin();
  if (branch.IsHere()) {
    ++number;
    branch.End(std::string(100'000, 'x') + std::to_string(number));
  }
  const auto report = branch.Wait();
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->ends_with("x2"));
  EXPECT_EQ(report->size(), 100'001U);
  EXPECT_EQ(number, 1);
}

TEST(Branch, SeveralGoOnAtOnceWhileTheTrunkDoes) {
  std::vector<Branch> branches;
  for (int i = 0; i < 4; ++i) {
    branches.push_back(Branch::Begin());
    if (branches.back().IsHere()) {
      branches.back().End(std::string(100'000, 'x') + std::to_string(i));
    }
  }
  for (std::size_t i = branches.size(); i-- > 0;) {
    const auto report = branches[i].Wait();
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->ends_with("x" + std::to_string(i)));
  }
}

TEST(Branch, ThatDiesIsAnErrorInTheTrunk) {
  const Branch branch = Branch::Begin();
  if (branch.IsHere()) std::abort();
  const auto report = branch.Wait();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "the process died: Aborted");
}

TEST(Branch, ThatExitsWithoutAReportIsAnErrorInTheTrunk) {
  const Branch branch = Branch::Begin();
  if (branch.IsHere()) std::_Exit(3);
  const auto report = branch.Wait();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "the process ended with code 3");
}

}  // namespace
}  // namespace simulation
