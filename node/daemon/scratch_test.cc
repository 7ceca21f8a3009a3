#include "node/daemon/scratch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

namespace imex_daemon {
namespace {

namespace fs = std::filesystem;

class EmptyScratchTest : public testing::Test {
 protected:
  EmptyScratchTest() {
    std::string name = (fs::temp_directory_path() / "scratch.XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) folder_ = name;
    fs::create_directory(Path("run"));
  }
  ~EmptyScratchTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string Path(const std::string& file) const { return folder_ + "/" + file; }
  void Put(const std::string& file) const {
    fs::create_directories(fs::path(Path(file)).parent_path());
    std::ofstream(Path(file)) << "x";
  }

  std::string folder_ = {};
};

TEST_F(EmptyScratchTest, REV3_X14_WhatAContainerOfBeforeWrote_IsRemoved) {
  Put("run/nvidia-imex/persist.dat");
  Put("run/pid");
  EXPECT_TRUE(EmptyScratch({Path("run")}));
  EXPECT_TRUE(fs::is_empty(Path("run")));
}

TEST_F(EmptyScratchTest, REV3_X14_SymbolicLink_IsNotFollowed) {
  Put("kept/file");
  fs::create_directory_symlink(Path("kept"), Path("run/link"));
  EXPECT_TRUE(EmptyScratch({Path("run")}));
  EXPECT_TRUE(fs::is_empty(Path("run")));
  EXPECT_TRUE(fs::exists(Path("kept/file")));
}

TEST_F(EmptyScratchTest, REV3_X14_FolderThatDoesNotExist_IsEmpty) {
  EXPECT_TRUE(EmptyScratch({Path("none")}));
}

// As a container runtime mounts a token and the driver's files. In a mount namespace of its own,
// which needs root or a namespace of users.
TEST_F(EmptyScratchTest, REV3_X14_WhatIsMounted_Stays) {
  Put("host/file");
  Put("run/driver/beside");
  fs::create_directories(Path("run/driver/mounted"));
  Put("run/single");
  Put("run/other");
  const pid_t child = ::fork();
  if (child == 0) {
    const int flags = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    const bool mounted = ::unshare(flags) == 0 &&
                         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount(Path("host").c_str(), Path("run/driver/mounted").c_str(), nullptr,
                                 MS_BIND, nullptr) == 0 &&
                         ::mount(Path("host/file").c_str(), Path("run/single").c_str(), nullptr,
                                 MS_BIND, nullptr) == 0;
    if (!mounted) std::_Exit(2);
    const bool is_right =
        EmptyScratch({Path("run")}).has_value() && fs::exists(Path("host/file")) &&
        fs::exists(Path("run/driver/mounted/file")) && fs::exists(Path("run/single")) &&
        !fs::exists(Path("run/driver/beside")) && !fs::exists(Path("run/other"));
    std::_Exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace imex_daemon
