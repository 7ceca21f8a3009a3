#include "pkg/base/did_you_mean.h"

#include <gtest/gtest.h>

#include <vector>

namespace base {
namespace {

const std::vector<std::string> kKnown = {"--workers", "--namespace", "--v", "run", "check"};

TEST(DidYouMean, NameWithFewChanges_IsSuggested) {
  EXPECT_EQ(DidYouMean("--worker", kKnown), "; did you mean --workers?");
  EXPECT_EQ(DidYouMean("--nmespaces", kKnown), "; did you mean --namespace?");
  EXPECT_EQ(DidYouMean("rnu", kKnown), "; did you mean run?");
}

TEST(DidYouMean, FirstWordsOfLongerNames_SuggestTheShortest) {
  const std::vector<std::string> known = {"--leader-election-retry-period",
                                          "--leader-election-enabled", "--leader"};
  EXPECT_EQ(Nearest("--leader-election", known), "--leader-election-enabled");
  for (const char* name : {"-", "--", "--leader-elec"}) EXPECT_EQ(Nearest(name, known), "") << name;
}

TEST(DidYouMean, NameWithManyChanges_IsNot) {
  for (const char* name : {"--colour-of-the-output", "", "x", "serve"}) {
    EXPECT_EQ(DidYouMean(name, kKnown), "") << name;
  }
  EXPECT_EQ(DidYouMean("run", {}), "");
}

TEST(DidYouMean, LongName_IsNotCompared) {
  const std::string name(101, 'a');
  EXPECT_EQ(DidYouMean(name, std::vector{name}), "");
}

}  // namespace
}  // namespace base
