#include "pkg/kube/api/names.h"

#include <gtest/gtest.h>

#include <string>

namespace kube {
namespace {

TEST(Names, LabelValuesAreThoseOfKubernetes) {
  for (const char* good : {"", "a", "A-b_c.9", "0", "7e8f3a2b-1c4d.3"}) {
    EXPECT_TRUE(IsLabelValue(good)) << good;
  }
  EXPECT_TRUE(IsLabelValue(std::string(63, 'a')));
  EXPECT_FALSE(IsLabelValue(std::string(64, 'a')));
  for (const char* bad : {"-a", "a-", ".", "a b", "a/b", "caf\xC3\xA9", "a\n"}) {
    EXPECT_FALSE(IsLabelValue(bad)) << bad;
  }
}

TEST(Names, LabelKeys_AreThoseOfKubernetes) {
  for (const char* good : {"rank", "A-b_c.9", "example.com/rank", "cdom.dev/x"}) {
    EXPECT_TRUE(IsLabelKey(good)) << good;
  }
  for (const char* bad : {"", "/rank", "example.com/", "Example/rank", "a/b/c", "a b", "-a"}) {
    EXPECT_FALSE(IsLabelKey(bad)) << bad;
  }
}

TEST(Names, DnsSubdomainsAreThoseOfKubernetes) {
  for (const char* good : {"a", "0", "node-1", "node-1.rack-2.example", "10.0.0.1", "train-channel",
                           "a.b-c.0", "x--y"}) {
    EXPECT_TRUE(IsDnsSubdomain(good)) << good;
  }
  EXPECT_TRUE(IsDnsSubdomain(std::string(253, 'a')));
  EXPECT_FALSE(IsDnsSubdomain(std::string(254, 'a')));
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "A", "a_b", "-a", "a-", "a-.b", "a.-b",
                          "Train", "a/b", "a b", "a~b", "a\x1b[31m"}) {
    EXPECT_FALSE(IsDnsSubdomain(bad)) << bad;
  }
}

TEST(Names, DnsLabels_AreSubdomainsOfOnePart) {
  for (const char* good : {"a", "cdom-system", "0"}) EXPECT_TRUE(IsDnsLabel(good)) << good;
  EXPECT_TRUE(IsDnsLabel(std::string(63, 'a')));
  EXPECT_FALSE(IsDnsLabel(std::string(64, 'a')));
  for (const char* bad : {"", "a.b", "Bad", "a_b", "-a"}) EXPECT_FALSE(IsDnsLabel(bad)) << bad;
}

}  // namespace
}  // namespace kube
