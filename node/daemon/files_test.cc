#include "node/daemon/files.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "pkg/base/file.h"

namespace imex_daemon {
namespace {

namespace fs = std::filesystem;

class DaemonFiles : public ::testing::Test {
 protected:
  DaemonFiles() {
    std::string name = ::testing::TempDir() + "/daemon_files_XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~DaemonFiles() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Put(const std::string& name, const std::string& content) const {
    std::ofstream(Path(name)) << content;
  }
  std::string Read(const std::string& name) const {
    return base::ReadFile(Path(name), 1U << 20).value_or("cannot be read");
  }
  static ino_t InodeOf(const std::string& path) {
    struct stat info = {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_ino;
  }

  std::string folder_;
};

TEST_F(DaemonFiles, FileInPlaceStaysTheSameFileHoweverLongItIs) {
  Put("hosts", "a long first content\n");
  const ino_t before = InodeOf(Path("hosts"));
  for (const char* content : {"short\n", "much longer than it was ever before\n", ""}) {
    ASSERT_TRUE(WriteInPlace(Path("hosts"), content));
    EXPECT_EQ(Read("hosts"), content);
    EXPECT_EQ(InodeOf(Path("hosts")), before);
  }
}

TEST_F(DaemonFiles, FileInPlaceIsNotMadeIfItIsNotThere) {
  const auto written = WriteInPlace(Path("hosts"), "a");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "open " + Path("hosts") + ": No such file or directory");
}

TEST_F(DaemonFiles, FullDiskIsSaid) {
  const auto written = WriteInPlace("/dev/full", "a");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "write /dev/full: No space left on device");
}

TEST_F(DaemonFiles, ReplacedFileIsLeftAloneIfItIsRight) {
  ASSERT_TRUE(ReplaceFile(Path("nodes"), "a\nb\n"));
  const ino_t first = InodeOf(Path("nodes"));
  ASSERT_TRUE(ReplaceFile(Path("nodes"), "a\nb\n"));
  EXPECT_EQ(InodeOf(Path("nodes")), first);
  ASSERT_TRUE(ReplaceFile(Path("nodes"), "a\n"));
  EXPECT_EQ(Read("nodes"), "a\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(DaemonFiles, ReplacingWhereThereIsNoFolderIsSaid) {
  EXPECT_FALSE(ReplaceFile(Path("none/nodes"), "a"));
}

TEST_F(DaemonFiles, WhatCannotBeWrittenIsSaidBeforehand) {
  Put("hosts", "a\n");
  EXPECT_TRUE(CheckWritable(Path("hosts")));
  EXPECT_EQ(Read("hosts"), "a\n");
  EXPECT_FALSE(CheckWritable(Path("none")));
  EXPECT_FALSE(CheckWritable(folder_));
}

TEST_F(DaemonFiles, ProgramIsFoundAsAShellWould) {
  fs::create_directories(Path("a"));
  fs::create_directories(Path("b/imex"));  // A folder is no program.
  fs::create_directories(Path("c"));
  Put("a/imex", "");
  Put("c/imex", "");
  fs::permissions(Path("c/imex"), fs::perms::owner_all);
  EXPECT_EQ(
      FindProgram("imex", ":" + Path("none") + ":" + Path("a") + ":" + Path("b") + ":" + Path("c")),
      Path("c/imex"));
  EXPECT_EQ(FindProgram(Path("c/imex"), ""), Path("c/imex"));
  EXPECT_EQ(FindProgram("imex", Path("a")).error().message,
            "imex is in no folder of PATH (" + Path("a") + ")");
  EXPECT_FALSE(FindProgram(Path("a/imex"), ""));
}

}  // namespace
}  // namespace imex_daemon
