#include "pkg/kube/client/kubeconfig.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kube {
namespace {

using base::Result;

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Kubeconfig, KC6_TextThatWouldGrowOrNestWithoutBoundIsRefused) {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + ", " + last + "]\n";
  }
  struct Row {
    std::string name;
    std::string text;
    std::string part;
  };
  const std::vector<Row> rows = {
      {"alias bomb", bomb, "more than 100 aliases"},
      {"many nodes", "a: [" + Repeated("x,", 100'001) + "]", "more than 100,000 nodes"},
      {"deep flow", Repeated("[", 100'000), "not YAML"},
      {"deep block", Repeated("- ", 100'000), "not YAML"},
      {"deep maps", Repeated("{a: ", 100'000), "not YAML"},
      {"unknown alias", "a: *b", "not YAML"},
  };
  for (const Row& row : rows) {
    const Result<Kubeconfig> config = ParseKubeconfig(row.text, "/f");
    ASSERT_FALSE(config) << row.name;
    EXPECT_EQ(config.error().code, base::ErrorCode::kInvalid);
    EXPECT_NE(config.error().message.find(row.part), std::string::npos) << config.error().message;
  }
}

TEST(Kubeconfig, AliasThatContainsItselfIsHarmless) {
  const Result<Kubeconfig> config =
      ParseKubeconfig("users: &u [{name: a, user: {token: &t abc, x: *u}}]\nother: *t\n", "/d/f");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->users.at("a").Text("token"), "abc");
  EXPECT_TRUE(config->users.at("a").Has("x"));
}

TEST(Kubeconfig, EntryKnowsWhereItWasWritten) {
  const Result<Kubeconfig> config =
      ParseKubeconfig("users: [{name: a, user: {token: t, exec: {command: c}}}]", "/d/f");
  ASSERT_TRUE(config) << config.error().message;
  const Kubeconfig::Entry& user = config->users.at("a");
  EXPECT_EQ(user.where, "/d/f: users[0] \"a\"");
  EXPECT_EQ(user.folder, "/d");
  EXPECT_TRUE(user.Has("token"));
  EXPECT_TRUE(user.Has("exec"));
  EXPECT_FALSE(user.Has("tokenFile"));
}

TEST(Kubeconfig, ManyNamesAreCutShort) {
  Kubeconfig::Entries entries;
  EXPECT_EQ(Names(entries), "none");
  for (int i = 10; i < 31; ++i) entries[std::to_string(i)] = {};
  const std::string names = Names(entries);
  EXPECT_TRUE(names.starts_with("\"10\", \"11\"")) << names;
  EXPECT_TRUE(names.ends_with("\"29\", ...")) << names;
}

}  // namespace
}  // namespace kube
