#include "node/plugin/host/host.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "node/cdi/files.h"
#include "node/dra/host/checkpoint_file.h"
#include "node/driver/kernel.h"
#include "node/plugin/host/base_spec.h"
#include "node/plugin/host/file_disk.h"
#include "node/plugin/rules/checkpoint.h"
#include "pkg/base/file.h"
#include "test/fixtures/in_folder.h"

namespace plugin {
namespace {

using CheckpointFile = dra::CheckpointFile<CheckpointClaim>;

namespace fs = std::filesystem;

driver::DriverFiles FindFiles(const std::string& root, const std::string& version,
                              const std::vector<std::string>& folders = {}) {
  return FindDaemonFiles({.root = root, .version = version, .folders = folders});
}

std::string DriverMarkOf(const HostPaths& paths) {
  return driver::DriverMark(paths.driver_root, paths.library_folders, paths.devices);
}
using base::ErrorCode;

constexpr const char* kDomain = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10";
constexpr const char* kDevices =
    "Character devices:\n  1 mem\n235 nvidia-caps-imex-channels\n236 nvidia-caps\n\n"
    "Block devices:\n  7 loop\n237 nvidia-caps-imex-channels\n";
constexpr const char* kCapability =
    "DeviceFileMinor: 512\nDeviceFileMode: 438\nDeviceFileModify: 0\n";

class OnANode : public fixtures::InFolder {
 protected:
  ~OnANode() override { ::unsetenv("STAND_IN_NVML_GPUS"); }
  std::string Content(const std::string& name) const {
    return base::ReadFile(Path(name), 1U << 20U).value_or("");
  }

  FileDisk disk_{{.folder = folder_, .config_template = Path("template")}};
};

TEST_F(OnANode, TheMajorOfACharacterDeviceIsFoundByItsWholeName) {
  EXPECT_EQ(driver::MajorOf(kDevices, "nvidia-caps-imex-channels"), 235);
  EXPECT_EQ(driver::MajorOf(kDevices, "nvidia-caps"), 236);
  EXPECT_FALSE(driver::MajorOf(kDevices, "loop"));
  EXPECT_FALSE(driver::MajorOf(kDevices, "nvidia"));
  EXPECT_FALSE(driver::MajorOf("Character devices:\n99999999999 x\n", "x"));
  EXPECT_FALSE(driver::MajorOf("", "x"));
}

TEST_F(OnANode, ACapabilityIsADevice) {
  const auto node = driver::CapabilityIn(kCapability, 236);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->path, "/dev/nvidia-caps/nvidia-cap512");
  EXPECT_EQ(node->major, 236);
  EXPECT_EQ(node->minor, 512);
  EXPECT_EQ(node->mode, 0666);
  EXPECT_FALSE(driver::CapabilityIn("DeviceFileMinor: x\nDeviceFileMode: 438\n", 236));
  EXPECT_FALSE(driver::CapabilityIn("", 236));
}

class OnAHost : public OnANode {
 protected:
  OnAHost() {
    Put("devices", kDevices);
    Put("capability", kCapability);
    fs::create_directories(Path("root/usr/lib64"));
    fs::copy_file(CDOM_NVML_STAND_IN, Path("root/usr/lib64/libnvidia-ml.so.1"));
  }
  base::Result<Host> Read(const char* gpus, const HostNeeds& needs = {}) const {
    ::setenv("STAND_IN_NVML_GPUS", gpus, 1);
    return ReadHost(
        {.driver_root = Path("root"), .devices = Path("devices"), .capability = Path("capability")},
        needs);
  }
};

TEST_F(OnAHost, WhatIsNeededOfAHostIsRead) {
  const auto host = Read("GB200,0,3,0,1,5");
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_EQ(host->clique, "01010101-0101-0101-0101-010101010101.5");
  EXPECT_EQ(host->driver_version, "580.95.05");
  EXPECT_EQ(host->channel_major, 235);
  EXPECT_EQ(host->management->minor, 512);
}

TEST_F(OnAHost, AFabricThatStillFormsIsNeitherAnErrorOfItNorNone) {
  const auto host = Read("GB200,0,2,0,1,5");
  ASSERT_FALSE(host);
  EXPECT_EQ(host.error().code, ErrorCode::kUnavailable);
}

TEST_F(OnAHost, AFabricWithAnErrorIsOne) {
  const auto host = Read("GB200,0,3,7,1,5");
  ASSERT_FALSE(host);
  EXPECT_EQ(host.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(Read("GB200,0,3,7,1,5", {.strictness = nvml::Strictness::kOnlyAttached})->clique, "");
}

TEST_F(OnAHost, WhatIsMissingIsSaidWithWhatToDoAndIsNoErrorOfTheFabric) {
  const auto expect = [this](const char* message) {
    const auto host = Read("");
    ASSERT_FALSE(host) << message;
    EXPECT_EQ(host.error().code, ErrorCode::kNotFound);
    EXPECT_NE(host.error().message.find(message), std::string::npos) << host.error().message;
  };
  Put("devices", "Character devices:\n  1 mem\n");
  expect("load NVIDIA's driver");
  Put("devices", kDevices);
  fs::remove(Path("root/usr/lib64/libnvidia-ml.so.1"));
  expect("libnvidia-ml.so.1 does not exist");
  Put("root/usr/lib64/libnvidia-ml.so.1", "no library");
  expect("libnvidia-ml.so.1");
}

TEST_F(OnAHost, REV3_N8_FabricWithoutTheCapabilityIsNotReadyForDaemons) {
  fs::remove(Path("capability"));
  const auto host = Read("GB200,0,3,0,1,5");
  ASSERT_FALSE(host);
  EXPECT_EQ(host.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(host.error().message.find("capability does not exist"), std::string::npos);
  EXPECT_FALSE(Read("GB200,0,3,0,1,5", {.daemons = false})->management);
  EXPECT_FALSE(Read("H100,3,0,0,0,0")->management) << "without a fabric daemons run no IMEX";
}

TEST_F(OnANode, REV3_N8_GpuIsKnownByItsDeviceNode) {
  EXPECT_EQ(driver::CountGpus({}), 0);
  EXPECT_EQ(driver::CountGpus({.devices = {{.path = "/dev/nvidiactl"}, {.path = "/dev/nvidia"}}}),
            0);
  EXPECT_EQ(driver::CountGpus({.devices = {{.path = "/dev/nvidiactl"}, {.path = "/dev/nvidia3"}}}),
            1);
}

TEST_F(OnAHost, REV3_N11_DriverMarkChangesWithLibraryAndDeviceNumbers) {
  const HostPaths paths = {.driver_root = Path("root"), .devices = Path("devices")};
  const std::string first = DriverMarkOf(paths);
  EXPECT_EQ(DriverMarkOf(paths), first);
  Put("devices", "Character devices:\n234 nvidia-caps-imex-channels\n");
  const std::string reloaded = DriverMarkOf(paths);
  EXPECT_NE(reloaded, first);
  fs::remove(Path("root/usr/lib64/libnvidia-ml.so.1"));
  Put("root/usr/lib64/libnvidia-ml.so.1", "another");
  EXPECT_NE(DriverMarkOf(paths), reloaded);
}

TEST_F(OnAHost, REV3_PartitionsMatterWhereTheSwitchesAreTheHosts) {
  const HostNeeds needs = {.partitions = true};
  fs::create_directories(Path("root/dev"));
  EXPECT_FALSE(Read("B200,0,2,0,0,0", needs)) << "it may be of a rack, and forming";
  fs::create_directories(Path("root/proc/driver/nvidia-nvswitch/devices"));
  EXPECT_FALSE(Read("B200,0,2,0,0,0", needs)) << "there are none";
  Put("root/proc/driver/nvidia-nvswitch/devices/0000:05:00.0", "");
  EXPECT_EQ(Read("B200,0,2,0,0,0", needs)->clique, "");
  EXPECT_FALSE(Read("B200,0,2,0,0,0")) << "the gate is off";
  fs::remove_all(Path("root/proc/driver/nvidia-nvswitch"));
  Put("root/sys/class/infiniband/mlx5_0/device/vpd", "...SW_MNG...");
  EXPECT_EQ(Read("B200,0,2,0,0,0", needs)->clique, "");
}

std::vector<std::string> MountsOf(const cdi::Spec& spec) {
  std::vector<std::string> mounts;
  for (const cdi::Mount& mount : spec.edits.mounts) {
    mounts.push_back(mount.host_path + " " + mount.container_path);
  }
  return mounts;
}

std::vector<std::string> PathsOf(const std::vector<driver::DriverFiles::File>& files) {
  std::vector<std::string> paths;
  for (const driver::DriverFiles::File& file : files) paths.push_back(file.path);
  return paths;
}

// As Debian's alternatives do it. A container runtime would follow the link on the host.
TEST_F(OnANode, REV4_P7_ProgramBehindAnAbsoluteLinkIsTheDrivers) {
  Put("root/etc/alternatives/smi", "");
  fs::create_directories(Path("root/usr/bin"));
  fs::create_symlink("/etc/alternatives/smi", Path("root/usr/bin/nvidia-smi"));
  const driver::DriverFiles files = FindFiles(Path("root"), "580.1");
  ASSERT_EQ(PathsOf(files.programs), std::vector<std::string>{"/usr/bin/nvidia-smi"});
  EXPECT_EQ(files.programs[0].file, "/etc/alternatives/smi");
  EXPECT_EQ(MountsOf(BaseSpec(files, {.host_root = "/run/driver"})),
            std::vector<std::string>{"/run/driver/etc/alternatives/smi /usr/bin/nvidia-smi"});
}

TEST_F(OnANode, REV3_N23_FilesInTheRootItselfAreFound) {
  Put("root/libcuda.so.580.1", "");
  Put("root/nvidia-imex", "");
  const driver::DriverFiles files = FindFiles(Path("root"), "580.1");
  ASSERT_EQ(files.libraries.size(), 1U);
  EXPECT_EQ(files.libraries[0].path, "/libcuda.so.580.1");
  EXPECT_EQ(PathsOf(files.programs), std::vector<std::string>{"/nvidia-imex"});
  EXPECT_EQ(BaseSpec(files, {}).edits.env, std::vector<std::string>{"LD_LIBRARY_PATH=/"});
}

TEST_F(OnANode, TheDriversFilesAreFoundByItsVersion) {
  Put("root/usr/lib64/libcuda.so.580.1", "");
  fs::create_symlink("libcuda.so.580.1", Path("root/usr/lib64/libcuda.so.1"));
  fs::create_symlink("libcuda.so.1", Path("root/usr/lib64/libcuda.so"));
  Put("root/usr/lib64/libcuda.so.575.1", "");
  Put("root/usr/lib64/libother.so.1", "");
  Put("root/usr/bin/nvidia-imex", "");
  Put("root/opt/bin/nvidia-imex-ctl", "");
  Put("root/usr/bin/bash", "");
  const driver::DriverFiles files = FindFiles(Path("root"), "580.1");
  ASSERT_EQ(files.libraries.size(), 1U);
  EXPECT_EQ(files.libraries[0].path, "/usr/lib64/libcuda.so.580.1");
  EXPECT_EQ(files.libraries[0].names, (std::vector<std::string>{"libcuda.so", "libcuda.so.1"}));
  EXPECT_EQ(PathsOf(files.programs),
            (std::vector<std::string>{"/usr/bin/nvidia-imex", "/opt/bin/nvidia-imex-ctl"}));
}

TEST_F(OnANode, REV4_P7_LibrariesAreFoundWhereNvmlIs) {
  Put("root/opt/driver/libcuda.so.580.1", "");
  fs::create_symlink("libcuda.so.580.1", Path("root/opt/driver/libcuda.so.1"));
  fs::create_directories(Path("root/usr"));
  fs::create_directory_symlink("/opt/driver", Path("root/usr/lib64"));
  fs::create_directory_symlink("usr/lib64", Path("root/lib64"));
  Put("root/mine/libnvidia-cfg.so.580.1", "");
  // A library that is a link into a folder that is not searched.
  Put("root/store/libnvidia-ml.so.580.1", "");
  fs::create_symlink("/store/libnvidia-ml.so.580.1", Path("root/mine/libnvidia-ml.so.580.1"));
  const driver::DriverFiles files = FindFiles(Path("root"), "580.1", {"/mine"});
  std::vector<std::string> paths;
  for (const auto& library : files.libraries) paths.push_back(library.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"/mine/libnvidia-cfg.so.580.1",
                                             "/store/libnvidia-ml.so.580.1",
                                             "/opt/driver/libcuda.so.580.1"}));
  EXPECT_EQ(files.libraries.back().names, std::vector<std::string>{"libcuda.so.1"});
}

TEST_F(OnANode, REV3_N12_ProgramsAreFoundWhereAnAdministratorInstalls) {
  Put("root/usr/local/bin/nvidia-imex", "");
  Put("root/usr/local/sbin/nvidia-imex-ctl", "");
  EXPECT_EQ(
      PathsOf(FindFiles(Path("root"), "580.1").programs),
      (std::vector<std::string>{"/usr/local/bin/nvidia-imex", "/usr/local/sbin/nvidia-imex-ctl"}));
}

const driver::DriverFiles kFiles = {
    .libraries = {{.path = "/usr/lib64/libcuda.so.580.1", .names = {"libcuda.so.1"}}},
    .programs = {{.path = "/usr/bin/nvidia-imex", .file = "/usr/bin/nvidia-imex"}}};

TEST(BaseSpec, ADaemonIsGivenProgramsAndLibrariesFromWhereTheHostHasThem) {
  const cdi::Spec spec = BaseSpec(kFiles, {.host_root = "/run/nvidia", .driver_version = "580.1"});
  EXPECT_EQ(spec.kind + "=" + spec.devices.at(0).name, "k8s.compute-domain.nvidia.com/device=all");
  EXPECT_EQ(MountsOf(spec),
            (std::vector<std::string>{
                "/run/nvidia/usr/lib64/libcuda.so.580.1 /usr/lib64/libcuda.so.580.1",
                "/run/nvidia/usr/lib64/libcuda.so.580.1 /usr/lib64/libcuda.so.1",
                "/run/nvidia/usr/bin/nvidia-imex /usr/bin/nvidia-imex"}));
  EXPECT_EQ(spec.edits.env, std::vector<std::string>{"LD_LIBRARY_PATH=/usr/lib64"});
  EXPECT_TRUE(spec.edits.hooks.empty());
  // A runtime refuses a device without edits.
  EXPECT_NE(spec.devices.at(0).edits, cdi::Edits());
  EXPECT_TRUE(cdi::Parse(cdi::Render(spec), "f"));
}

TEST(BaseSpec, WithTheHookNamesOfLibrariesAreItsWork) {
  const cdi::Spec spec = BaseSpec(kFiles, {.hook = "/plugin/hook", .driver_version = "580.1"});
  EXPECT_EQ(spec.edits.mounts.size(), 2U);
  EXPECT_EQ(spec.edits.env, std::vector<std::string>{"NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64"});
  ASSERT_EQ(spec.edits.hooks.size(), 4U);
  EXPECT_EQ(spec.edits.hooks[0].path, "/plugin/hook");
  EXPECT_EQ(spec.edits.hooks[0].args,
            (std::vector<std::string>{"nvidia-cdi-hook", "create-symlinks", "--link",
                                      "libcuda.so.580.1::/usr/lib64/libcuda.so.1"}));
}

TEST_F(OnANode, ADomainsFolderIsMadeWithItsTemplateThatAllMayRead) {
  Put("template", "A={{ .B }}\n");
  EXPECT_FALSE(disk_.HasFolder(kDomain));
  ASSERT_TRUE(disk_.MakeFolder(kDomain));
  EXPECT_TRUE(disk_.HasFolder(kDomain));
  const std::string path = Path("domains/" + std::string(kDomain) + "/imexd.cfg.tmpl");
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0644U);
  fs::create_directories(Path("domains/stray"));
  EXPECT_EQ(disk_.Folders().value(), std::vector<std::string>{kDomain});
  ASSERT_TRUE(disk_.RemoveFolder(kDomain));
  EXPECT_TRUE(disk_.Folders()->empty());
  EXPECT_TRUE(fs::exists(Path("domains/stray")));
}

// A daemon may write there what it likes.
TEST_F(OnANode, ALinkInADomainsFolderIsNotFollowed) {
  Put("template", "new");
  Put("secret", "kept");
  const std::string folder = "domains/" + std::string(kDomain);
  fs::create_directories(Path(folder));
  fs::create_symlink(Path("secret"), Path(folder + "/imexd.cfg.tmpl"));
  fs::create_symlink(Path("secret"), Path(folder + "/.imexd.cfg.tmpl.cdom-half"));
  EXPECT_FALSE(disk_.HasFolder(kDomain));
  ASSERT_TRUE(disk_.MakeFolder(kDomain));
  EXPECT_EQ(Content("secret"), "kept");
  EXPECT_EQ(Content(folder + "/imexd.cfg.tmpl"), "new");
  fs::create_directory_symlink(folder_, Path(folder + "/up"));
  ASSERT_TRUE(disk_.RemoveFolder(kDomain));
  EXPECT_EQ(Content("secret"), "kept");
}

TEST_F(OnANode, ATemplateThatIsMissingIsSaidWithItsFlag) {
  const auto made = disk_.MakeFolder(kDomain);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("--config-template"), std::string::npos);
}

TEST_F(OnANode, AProgramIsCopiedSoThatTheHostCanRunIt) {
  Put("in/hook", "program");
  fs::create_directories(Path("out"));
  EXPECT_EQ(dra::CopyProgram(Path("out"), Path("in/hook")).value(), Path("out/hook"));
  EXPECT_EQ(Content("out/hook"), "program");
  EXPECT_EQ(::access(Path("out/hook").c_str(), X_OK), 0);
  const auto none = dra::CopyProgram(Path("out"), Path("in/none"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

Checkpoint With(const std::string& uid) {
  Checkpoint checkpoint = {.boot_id = "boot"};
  checkpoint.claims[uid] = {.state = ClaimState::kCompleted, .name = "c", .ns = "ns"};
  return checkpoint;
}

TEST_F(OnANode, WhatIsNotedIsThereForTheNext) {
  {
    CheckpointFile checkpoint_file(disk_, "boot");
    ASSERT_TRUE(checkpoint_file.Lock());
    EXPECT_EQ(checkpoint_file.resumed().from, Resumed::From::kNothing);
    ASSERT_TRUE(checkpoint_file.Save(With("a")));
    checkpoint_file.Unlock();
  }
  FileDisk same({.folder = folder_});
  CheckpointFile next(same, "boot");
  ASSERT_TRUE(next.Lock());
  EXPECT_EQ(next.resumed().from, Resumed::From::kThisBoot);
  EXPECT_TRUE(next.checkpoint().claims.contains("a"));
  FileDisk again({.folder = folder_});
  CheckpointFile after_boot(again, "another");
  next.Unlock();
  ASSERT_TRUE(after_boot.Lock());
  EXPECT_EQ(after_boot.resumed().from, Resumed::From::kOtherBoot);
  EXPECT_TRUE(after_boot.checkpoint().claims.empty());
}

TEST_F(OnANode, OneOfTwoInstancesWaitsAndThenSeesWhatTheOtherHasNoted) {
  FileDisk same({.folder = folder_});
  CheckpointFile one(disk_, "boot");
  CheckpointFile other(same, "boot");
  ASSERT_TRUE(other.Lock());
  other.Unlock();
  ASSERT_TRUE(one.Lock());
  const auto locked = other.Lock();
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(one.Save(With("a")));
  one.Unlock();
  ASSERT_TRUE(other.Lock());
  EXPECT_TRUE(other.checkpoint().claims.contains("a"));
}

TEST_F(OnANode, H8_ATornCheckpointIsAValue) {
  Put("checkpoint.json", R"({"checksum":1,)");
  CheckpointFile checkpoint_file(disk_, "boot");
  ASSERT_TRUE(checkpoint_file.Lock());
  EXPECT_EQ(checkpoint_file.resumed().from, Resumed::From::kUnreadable);
  ASSERT_TRUE(checkpoint_file.Save(With("a")));
  EXPECT_EQ(checkpoint_file.resumed().from, Resumed::From::kThisBoot);
}

TEST_F(OnANode, REV4_Y2_CheckpointThatWouldBeUnreadable_LeavesTheFile) {
  CheckpointFile checkpoint_file(disk_, "boot");
  ASSERT_TRUE(checkpoint_file.Lock());
  ASSERT_TRUE(checkpoint_file.Save(With("a")));
  const std::string before = Content("checkpoint.json");
  Checkpoint unreadable = With("b");
  unreadable.claims["b"].groups = {{.devices = {{.name = ""}}}};
  const auto saved = checkpoint_file.Save(unreadable);
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().message.find("claim b"), std::string::npos);
  EXPECT_EQ(Content("checkpoint.json"), before);
  EXPECT_EQ(checkpoint_file.checkpoint(), With("a"));
}

TEST_F(OnANode, REV4_Y2_FileWithADamagedEntry_IsCopied) {
  const std::string text = Encode({.claims = {{"a", {.groups = {{.devices = {{.name = ""}}}}}}}});
  Put("checkpoint.json", text);
  CheckpointFile checkpoint_file(disk_, "boot");
  ASSERT_TRUE(checkpoint_file.Lock());
  EXPECT_EQ(checkpoint_file.resumed().from, Resumed::From::kThisBoot);
  ASSERT_TRUE(checkpoint_file.Save(checkpoint_file.checkpoint()));
  EXPECT_EQ(Content(std::string(dra::kCopyOfDamaged)), text);
  EXPECT_NE(Content("checkpoint.json"), text);
}

TEST_F(OnANode, REV4_Y3_FileThatIsTooLarge_IsUnreadable) {
  Put("checkpoint.json", std::string(dra::kCheckpointBytesMax + 1, ' '));
  CheckpointFile checkpoint_file(disk_, "boot");
  ASSERT_TRUE(checkpoint_file.Lock()) << "else the plugin would end again and again";
  EXPECT_EQ(checkpoint_file.resumed().from, Resumed::From::kUnreadable);
  EXPECT_NE(checkpoint_file.resumed().why.find("larger than"), std::string::npos);
}

}  // namespace
}  // namespace plugin
