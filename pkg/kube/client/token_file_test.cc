#include "pkg/kube/client/token_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/testing/manual_clock.h"

namespace kube {
namespace {

using std::chrono::seconds;

class TokenFileTest : public ::testing::Test {
 protected:
  TokenFileTest() {
    std::string name = ::testing::TempDir() + "/token_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    Swap("first");
  }
  ~TokenFileTest() override { std::filesystem::remove_all(folder_); }

  // As the kubelet does it: a new folder, and a symbolic link that is moved onto the old one.
  void Swap(const std::string& token) {
    const std::string version = folder_ + "/version" + std::to_string(++version_);
    std::filesystem::create_directory(version);
    std::ofstream(version + "/token") << token;
    std::filesystem::create_symlink(version, folder_ + "/next");
    std::filesystem::rename(folder_ + "/next", folder_ + "/data");
  }

  std::string Path() const { return folder_ + "/data/token"; }

  std::string folder_;
  int version_ = 0;
  base::ManualClock clock_;
};

TEST_F(TokenFileTest, CR1_NewTokenIsSeenAfterAMinuteAndNotBefore) {
  TokenFile token(Path(), "first", clock_);
  Swap("second");
  EXPECT_EQ(token.BearerToken(), "first");
  clock_.Advance(seconds(59));
  EXPECT_EQ(token.BearerToken(), "first");
  clock_.Advance(seconds(1));
  EXPECT_EQ(token.BearerToken(), "second");
  Swap("third");
  clock_.Advance(seconds(59));
  EXPECT_EQ(token.BearerToken(), "second");
}

TEST_F(TokenFileTest, CR2_NewTokenIsSeenAtOnceAfterInvalidate) {
  TokenFile token(Path(), "first", clock_);
  Swap("second");
  token.Invalidate();
  EXPECT_EQ(token.BearerToken(), "second");
  Swap("third");
  EXPECT_EQ(token.BearerToken(), "second");
}

TEST_F(TokenFileTest, CR1_LastGoodTokenStaysWhileTheFileIsAbsentEmptyOrBroken) {
  TokenFile token(Path(), "first", clock_);
  for (const char* content : {"", " \n", "two words", "a\x01b"}) {
    Swap(content);
    token.Invalidate();
    EXPECT_EQ(token.BearerToken(), "first") << '"' << content << '"';
  }
  std::filesystem::remove(folder_ + "/data");
  token.Invalidate();
  EXPECT_EQ(token.BearerToken(), "first");
  Swap("second");
  clock_.Advance(seconds(60));
  EXPECT_EQ(token.BearerToken(), "second");
}

TEST_F(TokenFileTest, ManyThreadsReadAndInvalidateWithoutATornToken) {
  TokenFile token(Path(), "first", clock_);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 200; ++turn) {
        const std::string read = token.BearerToken();
        ASSERT_TRUE(read == "first" || read == "second") << read;
        if (turn % 10 == 0) token.Invalidate();
      }
    });
  }
  Swap("second");
  threads.clear();
  token.Invalidate();
  EXPECT_EQ(token.BearerToken(), "second");
}

TEST(CheckToken, BlanksAroundItAreTakenOffAndControlCharactersRefused) {
  struct Row {
    std::string text;
    std::string want;  // "!": refused.
  };
  const std::vector<Row> rows = {
      {"abc", "abc"},    {" abc\r\n", "abc"}, {"a.b-c_d~e+f/g==", "a.b-c_d~e+f/g=="},
      {"", "!"},         {" \n", "!"},        {"a b", "!"},
      {"a\nb", "!"},     {"a\rb", "!"},       {"a\x7f", "!"},
      {"\xc3\xa4", "!"},
  };
  for (const Row& row : rows) {
    const base::Result<std::string> token = CheckToken(row.text);
    EXPECT_EQ(token ? *token : "!", row.want) << '"' << row.text << '"';
  }
}

}  // namespace
}  // namespace kube
