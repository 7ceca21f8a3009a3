#include "node/cdi/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "pkg/base/file.h"

namespace cdi {
namespace {

using Uids = std::vector<std::string>;
constexpr const char* kVendor = "k8s.compute-domain.nvidia.com";

class CdiFiles : public testing::Test {
 protected:
  CdiFiles() {
    std::string folder =
        (std::filesystem::temp_directory_path() / "cdi_files_test.XXXXXX").string();
    if (::mkdtemp(folder.data()) != nullptr) folder_ = folder;
  }
  ~CdiFiles() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void Put(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ + "/" + name) << content;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  std::string folder_ = {};
};

const Spec kSpec = {.kind = std::string(kVendor) + "/claim",
                    .devices = {{.name = "u-daemon-0", .edits = {.env = {"A=b"}}}}};

TEST_F(CdiFiles, AClaimsSpecIsReadAsItWasWritten) {
  ASSERT_TRUE(ReplaceFile(folder_, ClaimFile(kVendor, "u"), Render(kSpec)));
  EXPECT_EQ(ReadClaim(folder_, kVendor, "u").value(), kSpec);
  EXPECT_EQ(Names(), Uids{"k8s.compute-domain.nvidia.com-claim_u.yaml"});
}

TEST_F(CdiFiles, NobodyElseMayReadOne) {
  ASSERT_TRUE(ReplaceFile(folder_, "f", "x"));
  struct stat info = {};
  ASSERT_EQ(::stat((folder_ + "/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
}

TEST_F(CdiFiles, OneIsReplacedAndNotWrittenInto) {
  Put("f", "old");
  std::ifstream reader(folder_ + "/f");
  ASSERT_TRUE(ReplaceFile(folder_, "f", "new"));
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
  EXPECT_EQ(base::ReadFile(folder_ + "/f", 10), "new");
}

TEST_F(CdiFiles, WhatACrashLeftIsInNobodysWayAndIsTakenAway) {
  std::filesystem::create_symlink("/nowhere", folder_ + "/.f.cdom-half");
  Put(".g.cdom-half", "half");
  Put("other", "kept");
  ASSERT_TRUE(ReplaceFile(folder_, "f", "new"));
  EXPECT_TRUE(RemoveHalves(folder_));
  std::vector<std::string> names = Names();
  std::ranges::sort(names);
  EXPECT_EQ(names, (Uids{"f", "other"}));
}

TEST_F(CdiFiles, AWriteThatFailsSaysWhereAndLeavesNothing) {
  std::filesystem::create_directories(folder_ + "/f/not-empty");
  const auto written = ReplaceFile(folder_, "f", "new");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find(folder_ + "/f: "), std::string::npos);
  EXPECT_EQ(Names(), Uids{"f"});
  EXPECT_FALSE(ReplaceFile(folder_ + "/gone", "f", "new"));
}

TEST_F(CdiFiles, OneThatIsGoneIsRemoved) {
  Put("f", "x");
  EXPECT_TRUE(Remove(folder_, "f"));
  EXPECT_TRUE(Remove(folder_, "f"));
  EXPECT_TRUE(Names().empty());
}

TEST_F(CdiFiles, H7_ClaimsAreFoundByTheirFiles) {
  Put(ClaimFile(kVendor, "b"), "");
  Put(ClaimFile(kVendor, "a"), "");
  Put(std::string(kVendor) + "-device_base.yaml", "");
  Put("k8s.compute-domain.nvidia.com-claim_a b.yaml", "");
  Put("k8s.compute-domain.nvidia.com-claim_.yaml", "");
  Put("k8s.gpu.nvidia.com-claim_c.yaml", "");
  EXPECT_EQ(ClaimsIn(folder_, kVendor), (Uids{"a", "b"}));
  EXPECT_EQ(ClaimsIn(folder_ + "/gone", kVendor), Uids());
}

TEST_F(CdiFiles, OneThatIsNotThereIsNoneAndOneThatIsTornIsAnError) {
  EXPECT_EQ(ReadClaim(folder_, kVendor, "u").value(), std::nullopt);
  Put(ClaimFile(kVendor, "u"), "{");
  EXPECT_EQ(ReadClaim(folder_, kVendor, "u").error().code, base::ErrorCode::kInvalid);
}

TEST_F(CdiFiles, H1_AUidThatIsAPathNamesNoFile) {
  for (const char* uid : {"", "..", "../x", "a/b", "a.b", "a b", "a\n"}) {
    EXPECT_FALSE(IsFileSafe(uid)) << uid;
  }
  EXPECT_FALSE(IsFileSafe(std::string(65, 'a')));
  EXPECT_TRUE(IsFileSafe("73de0384-716f-480e-8caa-00bce7016114"));
}

}  // namespace
}  // namespace cdi
