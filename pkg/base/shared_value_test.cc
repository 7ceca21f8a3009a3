#include "pkg/base/shared_value.h"

#include <gtest/gtest.h>

#include <string>

namespace base {
namespace {

TEST(SharedValue, CopiesShareOneValue) {
  const SharedValue<std::string> one(std::string("a"));
  const SharedValue<std::string> other = one;
  EXPECT_EQ(&*one, &*other);
  EXPECT_EQ(one->size(), 1U);
}

TEST(SharedValue, EditChangesOneCopyAlone) {
  SharedValue<std::string> one(std::string("a"));
  const SharedValue<std::string> other = one;
  one.Edit() += "b";
  one.Edit() += "c";
  EXPECT_EQ(*one, "abc");
  EXPECT_EQ(*other, "a");
}

TEST(SharedValue, DefaultIsTheValuesOwn) { EXPECT_EQ(*SharedValue<std::string>(), ""); }

}  // namespace
}  // namespace base
