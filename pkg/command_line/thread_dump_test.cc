#include "pkg/command_line/thread_dump.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <semaphore>
#include <sstream>
#include <thread>

#include "pkg/kube/testing/fakes.h"

namespace command_line {
namespace {

class ThreadDump : public testing::Test {
 protected:
  ThreadDump() {
    PrepareThreadDump();
    std::string folder = testing::TempDir() + "dump.XXXXXX";
    folder_ = ::mkdtemp(folder.data());
  }
  ~ThreadDump() override { std::filesystem::remove_all(folder_); }

  // Of the thread with this number.
  static std::string TextOf(pid_t thread) {
    const std::string begin = "thread " + std::to_string(thread) + " ";
    for (const std::string& text : DescribeThreads()) {
      if (text.starts_with(begin)) return text;
    }
    return "";
  }
  std::string Content() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  std::string path() const { return folder_ + "/threads"; }

  std::string folder_;
  kube::RecordingLogger logger_;
};

TEST_F(ThreadDump, ThreadThatWaitsHasItsNameAndWhereItWaits) {
  std::latch begun(1);
  std::atomic<pid_t> number = 0;
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  std::jthread waits([&] {
    ::pthread_setname_np(::pthread_self(), "waits");
    number = ::gettid();
    begun.count_down();
    char byte = 0;
    while (::read(ends[0], &byte, 1) < 0) {
    }
  });
  begun.wait();
  std::string text;
  do {  // Until it is in read().
    text = TextOf(number);
  } while (text.find("read") == std::string::npos);
  EXPECT_NE(text.find(" waits: "), std::string::npos) << text;
  ::close(ends[1]);
  waits.join();
  ::close(ends[0]);
  EXPECT_EQ(TextOf(number), "");
}

TEST_F(ThreadDump, ThreadThatAsksIsDescribedToo) {
  EXPECT_NE(TextOf(::gettid()).find("\n  "), std::string::npos);
}

TEST_F(ThreadDump, FileHasATitleAndReplacesAnEarlierOne) {
  std::ofstream(path()) << "earlier";
  DumpThreads(path(), "a program 1.0", logger_);
  EXPECT_TRUE(Content().starts_with("a program 1.0\n\nthread ")) << Content();
  EXPECT_EQ(logger_.Count("Wrote what each thread does file=" + path()), 1U);
}

TEST_F(ThreadDump, LinkInTheWayIsNotFollowed) {
  std::ofstream(folder_ + "/precious") << "precious";
  std::filesystem::create_symlink(folder_ + "/precious", path());
  DumpThreads(path(), "a program 1.0", logger_);
  std::string precious;
  std::ifstream(folder_ + "/precious") >> precious;
  EXPECT_EQ(precious, "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(path()));
}

TEST_F(ThreadDump, WhatCannotBeWrittenIsLogged) {
  DumpThreads(folder_ + "/none/threads", "a program 1.0", logger_);
  EXPECT_GE(logger_.Count("What a thread does stack=thread "), 1U);
  EXPECT_EQ(logger_.Count("Wrote"), 0U);
}

}  // namespace
}  // namespace command_line
