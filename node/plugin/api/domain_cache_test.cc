#include "node/plugin/api/domain_cache.h"

#include <gtest/gtest.h>

#include "pkg/json/reader.h"

namespace plugin {
namespace {

constexpr const char* kOne = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10";
constexpr const char* kTwo = "11111111-7b1d-4f39-8a55-3f3d0a4a9e10";

class DomainCacheTest : public testing::Test {
 protected:
  json::View Read(const std::string& text) {
    const auto view = parser_.Parse(text);
    EXPECT_TRUE(view) << text;
    return view.value_or(json::View());
  }
  static std::string Text(const std::string& uid, const std::string& nodes = "") {
    return R"({"metadata":{"name":"d","namespace":"ns","uid":")" + uid +
           R"("},"status":{"nodes":[)" + nodes + "]}}";
  }

  json::Parser parser_;
  int changes_ = 0;
  DomainCache domains_{"node-a", [this] { ++changes_; }};
};

TEST_F(DomainCacheTest, NothingIsKnownBeforeTheEndOfTheFirstList) {
  domains_.BeginReplace();
  domains_.ReplaceAdd(Read(Text(kOne)));
  EXPECT_FALSE(domains_.has_read());
  EXPECT_FALSE(domains_.Find(kOne));
  domains_.EndReplace("1");
  EXPECT_TRUE(domains_.has_read());
  EXPECT_EQ(domains_.Find(kOne)->domain.ns, "ns");
  EXPECT_EQ(changes_, 1);
}

TEST_F(DomainCacheTest, WhatALaterListDoesNotHaveIsGone) {
  domains_.BeginReplace();
  domains_.ReplaceAdd(Read(Text(kOne)));
  domains_.EndReplace("1");
  domains_.BeginReplace();
  domains_.ReplaceAdd(Read(Text(kOne)));
  // Abandoned half way.
  domains_.BeginReplace();
  domains_.ReplaceAdd(Read(Text(kTwo)));
  domains_.EndReplace("2");
  EXPECT_FALSE(domains_.Find(kOne));
  EXPECT_TRUE(domains_.Find(kTwo));
}

TEST_F(DomainCacheTest, TheNodesOwnEntryCountsAndNoOthers) {
  domains_.Apply(Read(Text(kOne, R"({"name":"node-b","status":"Ready"})")), false);
  EXPECT_FALSE(domains_.Find(kOne)->is_ready_here);
  domains_.Apply(Read(Text(kOne, R"({"name":"node-a","status":"NotReady"})")), false);
  EXPECT_FALSE(domains_.Find(kOne)->is_ready_here);
  domains_.Apply(Read(Text(kOne, R"({"name":"node-a","status":"Ready"})")), false);
  EXPECT_TRUE(domains_.Find(kOne)->is_ready_here);
  domains_.Apply(Read(Text(kOne)), true);
  EXPECT_FALSE(domains_.Find(kOne));
  EXPECT_EQ(changes_, 4);
}

TEST_F(DomainCacheTest, WhatHasNoUidIsLeftOut) {
  domains_.Apply(Read(Text("../x")), false);
  domains_.Apply(Read("{}"), false);
  EXPECT_EQ(changes_, 0);
}

}  // namespace
}  // namespace plugin
