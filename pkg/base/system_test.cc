#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "pkg/base/environment.h"
#include "pkg/base/file.h"
#include "pkg/base/system_clock.h"
#include "pkg/base/system_random.h"

namespace base {
namespace {

TEST(SystemClock, TimeDoesNotGoBackAndWallIsTheCalendars) {
  const SystemClock clock;
  Clock::TimePoint last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const Clock::TimePoint now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
  const auto before = std::chrono::system_clock::now();
  const Clock::WallTime wall = clock.Wall();
  EXPECT_LE(before - std::chrono::microseconds(1), wall);
  EXPECT_LE(wall, std::chrono::system_clock::now());
}

TEST(SystemRandom, TwoOfThemDifferAndFractionsStayBelowOne) {
  SystemRandom a;
  SystemRandom b;
  EXPECT_NE(a.Next(), b.Next());
  for (int i = 0; i < 1000; ++i) {
    const double fraction = a.Fraction();
    ASSERT_GE(fraction, 0);
    ASSERT_LT(fraction, 1);
  }
}

TEST(Environment, AVariableHasItsValueOrIsNotThere) {
  ::setenv("CDOM_SYSTEM_TEST", "a=b", 1);
  EXPECT_EQ(GetEnv("CDOM_SYSTEM_TEST"), "a=b");
  EXPECT_EQ(std::ranges::count(Environment(), "CDOM_SYSTEM_TEST=a=b"), 1);
  ::setenv("CDOM_SYSTEM_TEST", "", 1);
  EXPECT_EQ(GetEnv("CDOM_SYSTEM_TEST"), "");
  ::unsetenv("CDOM_SYSTEM_TEST");
  EXPECT_EQ(GetEnv("CDOM_SYSTEM_TEST"), std::nullopt);
  EXPECT_EQ(std::ranges::count(Environment(), "CDOM_SYSTEM_TEST="), 0);
}

class ReadFileTest : public ::testing::Test {
 protected:
  ReadFileTest() {
    std::string name = ::testing::TempDir() + "/read_file_XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~ReadFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ + "/" + name) << content;
    return folder_ + "/" + name;
  }

  std::string folder_;
};

TEST_F(ReadFileTest, ContentIsReadUpToItsBound) {
  const std::string path = Write("a", std::string(50'000, 'x'));
  const Result<std::string> whole = ReadFile(path, 50'000);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->size(), 50'000U);
  const Result<std::string> too_large = ReadFile(path, 49'999);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, ErrorCode::kTooLarge);
}

TEST_F(ReadFileTest, ErrorNamesThePathAndTheCause) {
  const Result<std::string> absent = ReadFile(folder_ + "/absent", 10);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(absent.error().message, "open " + folder_ + "/absent: No such file or directory");
  const Result<std::string> folder = ReadFile(folder_, 10);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(folder.error().message, "read " + folder_ + ": Is a directory");
}

}  // namespace
}  // namespace base
