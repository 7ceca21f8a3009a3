#include "node/plugin/loop/host_watcher.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "node/cdi/files.h"
#include "node/plugin/host/file_disk.h"
#include "node/plugin/loop/device_health.h"
#include "node/plugin/process/file_host_reader.h"
#include "node/plugin/rules/cdi_names.h"
#include "pkg/base/rfc3339.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/kube/testing/fakes.h"
#include "test/fixtures/in_folder.h"

namespace plugin {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// A node of a rack, as files.
class HostWatcherTest : public fixtures::InFolder {
 protected:
  HostWatcherTest() {
    SetGpus("GB200,0,3,0,1,1");
    Put("root/proc/driver/nvidia/capabilities/fabric-imex-mgmt",
        "DeviceFileMinor: 512\nDeviceFileMode: 438\n");
    Put("devices", "Character devices:\n235 nvidia-caps-imex-channels\n236 nvidia-caps\n");
    fs::create_directories(Path("root/usr/lib64"));
    fs::create_directories(Path("root/dev"));
    fs::create_directories(Path("cdi"));
    fs::copy_file(CDOM_NVML_STAND_IN, Path("root/usr/lib64/libnvidia-ml.so.580.95.05"));
    fs::create_symlink("libnvidia-ml.so.580.95.05", Path("root/usr/lib64/libnvidia-ml.so.1"));
    settings_.driver_root = Path("root");
    settings_.devices = Path("devices");
    settings_.plugins_folder = Path("plugins");
    settings_.cdi_folder = Path("cdi");
    settings_.hook = "/hook";
    Start();
  }
  void Start(const std::string& own_hook = "") {
    watcher_.reset();
    host_ = {.self = {.node = "node-a"}};
    reader_.emplace(settings_, clock_, log_, own_hook);
    disk_.emplace(DiskPaths{.folder = settings_.Folder(), .cdi_folder = settings_.cdi_folder});
    state_.emplace(settings_, clock_, log_, metrics_, "boot", *disk_, *disk_, Rules(), Instances(),
                   host_);
    watcher_.emplace(*state_, host_, *reader_, executor_, tasks_);
  }
  ~HostWatcherTest() override { ::unsetenv("STAND_IN_NVML_GPUS"); }

  static void SetGpus(const char* gpus) { ::setenv("STAND_IN_NVML_GPUS", gpus, 1); }
  void MakeGpu() { fs::create_symlink("/dev/null", Path("root/dev/nvidia0")); }
  // Returns after how long the watcher reads again.
  std::chrono::nanoseconds Read() {
    watcher_->Turn(true);
    while (watcher_->next() == TimePoint::max()) {
      for (const auto& task : tasks_.Wait(seconds(30))) task();
    }
    return watcher_->next() - clock_.Now();
  }
  bool HasDriverSpec() {
    watcher_->Turn(false);
    return host_.has_driver_spec;
  }
  bool NoticesOtherDriver() {
    watcher_->Turn(true);
    return !host_.other_driver.empty();
  }
  ino_t BaseSpecFile() const {
    struct stat file = {};
    EXPECT_EQ(::stat((settings_.cdi_folder + "/" + std::string(kBaseFile)).c_str(), &file), 0);
    return file.st_ino;
  }

  Settings settings_ = {};
  base::ManualClock clock_;
  kube::RecordingLogger log_;
  base::TaskQueue tasks_;
  Metrics metrics_{MetricsOf("node-a")};
  HostView host_;
  std::optional<FileHostReader> reader_;
  std::optional<FileDisk> disk_;
  std::optional<PluginState> state_;
  std::optional<HostWatcher> watcher_;
  base::SerialExecutor executor_;  // Last: its thread uses the others.
};

TEST_F(HostWatcherTest, REV3_N8_FabricWithoutAGpuDeviceIsReadAgainSoon) {
  EXPECT_EQ(Read(), seconds(2));
  EXPECT_FALSE(host_.host);
  EXPECT_NE(host_.trouble.find("1 of 1 GPUs have no device node"), std::string::npos);
  MakeGpu();
  clock_.Advance(seconds(2));
  EXPECT_EQ(Read(), std::chrono::minutes(10));
  ASSERT_TRUE(host_.host);
  EXPECT_EQ(host_.trouble, "");
}

TEST_F(HostWatcherTest, REV4_Y11_AllGpusThatNvmlNames_AreAwaitedForTwoMinutes) {
  SetGpus("GB200,0,3,0,1,1 GB200,0,3,0,1,1");
  MakeGpu();
  EXPECT_EQ(Read(), seconds(2));
  EXPECT_FALSE(host_.host);
  EXPECT_TRUE(host_.trouble.starts_with("1 of 2 GPUs have no device node"));
  clock_.Advance(std::chrono::minutes(2));
  EXPECT_EQ(Read(), std::chrono::minutes(1)) << "it looks for the other one";
  ASSERT_TRUE(host_.host);
  EXPECT_TRUE(host_.trouble.ends_with("daemons get the other GPUs"));
  EXPECT_EQ(HealthOf(host_).at(0).is, kubelet::DeviceHealth::Is::kHealthy);
  EXPECT_EQ(HealthOf(host_).at(0).message, host_.trouble) << "which the pod's status shows";
  fs::create_symlink("/dev/null", Path("root/dev/nvidia1"));
  clock_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(Read(), std::chrono::minutes(10));
  EXPECT_EQ(host_.trouble, "");
  EXPECT_NE(disk_->ReadDriverSpec().value_or("").find("/dev/nvidia1"), std::string::npos);
}

TEST_F(HostWatcherTest, REV4_Y11_NodeWithoutAnyGpuDevice_IsNeverTaken) {
  SetGpus("GB200,0,3,0,1,1 GB200,0,3,0,1,1");
  static_cast<void>(Read());
  clock_.Advance(std::chrono::minutes(5));
  static_cast<void>(Read());
  EXPECT_FALSE(host_.host);
}

TEST_F(HostWatcherTest, REV4_Y11_GpuThatGetsItsNodeLater_IsAnotherDriver) {
  MakeGpu();
  static_cast<void>(Read());
  EXPECT_FALSE(NoticesOtherDriver());
  fs::create_symlink("/dev/null", Path("root/dev/nvidia1"));
  EXPECT_TRUE(NoticesOtherDriver());
}

TEST_F(HostWatcherTest, REV4_Y14_ClaimsGetTheNumbersOfADriverThatWasLoadedAgain) {
  MakeGpu();
  static_cast<void>(Read());
  constexpr const char* kUid = "73de0384-716f-480e-8caa-00bce7016114";
  const std::string channel = "/dev/nvidia-caps-imex-channels/channel0";
  const std::string capability = "/dev/nvidia-caps/nvidia-cap512";
  cdi::Spec spec = {.kind = std::string(kClaimKind), .devices = {{.name = "x"}}};
  spec.devices[0].edits.nodes = {
      {.path = channel, .host_path = channel, .major = 235},
      {.path = capability, .host_path = capability, .major = 236, .minor = 512, .mode = 0666},
      {.path = "/dev/null", .host_path = "/dev/null", .major = 1, .minor = 3}};
  ASSERT_TRUE(
      cdi::ReplaceFile(settings_.cdi_folder, cdi::ClaimFile(kCdiVendor, kUid), cdi::Render(spec)));
  Put("devices", "Character devices:\n234 nvidia-caps-imex-channels\n237 nvidia-caps\n");
  // No claim is prepared meanwhile.
  clock_.Advance(seconds(5));
  static_cast<void>(Read());
  spec.devices[0].edits.nodes[0].major = 234;
  spec.devices[0].edits.nodes[1].major = 237;
  EXPECT_EQ(cdi::ReadClaim(settings_.cdi_folder, kCdiVendor, kUid).value(), spec);
}

TEST_F(HostWatcherTest, REV3_N17_LostGpuIsLookedAtEverMoreRarely) {
  MakeGpu();
  SetGpus("GB200,15,3,0,1,1");
  for (const int pause : {2, 4, 8, 16, 32, 60, 60}) {
    EXPECT_EQ(Read(), seconds(pause));
    clock_.Advance(seconds(pause));
  }
  EXPECT_NE(host_.trouble.find("GPU is lost (15)"), std::string::npos);
  // A fabric that forms completes soon.
  SetGpus("GB200,0,2,0,1,1");
  for (const int pause : {2, 4, 8, 10, 10}) {
    EXPECT_EQ(Read(), seconds(pause));
    clock_.Advance(seconds(pause));
  }
}

// A fabric's error is known at once. A driver that is replaced is away for a moment.
TEST_F(HostWatcherTest, REV4_Y15_DriverThatIsLost_TaintsItsDevicesAfter2Minutes) {
  using Is = kubelet::DeviceHealth::Is;
  MakeGpu();
  SetGpus("GB200,15,3,0,1,1");
  static_cast<void>(Read());
  clock_.Advance(std::chrono::minutes(3));
  static_cast<void>(Read());
  EXPECT_FALSE(host_.device_error) << "it has published nothing";
  SetGpus("GB200,0,3,0,1,1");
  clock_.Advance(std::chrono::minutes(3));
  static_cast<void>(Read());
  ASSERT_TRUE(host_.host);
  EXPECT_EQ(HealthOf(host_).at(0).is, Is::kHealthy);
  SetGpus("GB200,15,3,0,1,1");
  clock_.Advance(std::chrono::minutes(10));
  static_cast<void>(Read());
  EXPECT_FALSE(host_.device_error);
  EXPECT_EQ(HealthOf(host_).at(0).is, Is::kUnknown);
  EXPECT_NE(HealthOf(host_).at(0).message.find("GPU is lost"), std::string::npos);
  clock_.Advance(std::chrono::minutes(2));
  static_cast<void>(Read());
  ASSERT_TRUE(host_.device_error);
  EXPECT_EQ(host_.device_error->of, DeviceError::Of::kDriver);
  EXPECT_EQ(host_.device_error->since, base::FormatSeconds(clock_.Wall()));
  EXPECT_EQ(HealthOf(host_).at(0).is, Is::kUnhealthy);
  SetGpus("GB200,0,3,0,1,1");
  clock_.Advance(std::chrono::minutes(1));
  static_cast<void>(Read());
  EXPECT_FALSE(host_.device_error);
  EXPECT_EQ(HealthOf(host_).at(0).is, Is::kHealthy);
}

TEST_F(HostWatcherTest, REV3_N11_BaseSpecIsWrittenOnlyIfItChanged) {
  MakeGpu();
  static_cast<void>(Read());
  const ino_t first = BaseSpecFile();
  clock_.Advance(std::chrono::minutes(10));
  static_cast<void>(Read());
  EXPECT_EQ(BaseSpecFile(), first);
  Put("root/usr/bin/nvidia-imex", "");
  clock_.Advance(std::chrono::minutes(10));
  static_cast<void>(Read());
  EXPECT_NE(BaseSpecFile(), first);
}

TEST_F(HostWatcherTest, REV3_N11_DriverThatChangedIsReadAtOnce) {
  MakeGpu();
  static_cast<void>(Read());
  EXPECT_FALSE(NoticesOtherDriver());
  Put("devices", "Character devices:\n234 nvidia-caps-imex-channels\n236 nvidia-caps\n");
  EXPECT_TRUE(NoticesOtherDriver());
  static_cast<void>(Read());
  EXPECT_EQ(host_.self.channel_major, 234);
  EXPECT_FALSE(NoticesOtherDriver());
}

TEST_F(HostWatcherTest, REV4_P7_DriverWithoutLibraries_IsAnError) {
  MakeGpu();
  fs::rename(Path("root/usr/lib64/libnvidia-ml.so.580.95.05"), Path("root/usr/lib64/other"));
  fs::remove(Path("root/usr/lib64/libnvidia-ml.so.1"));
  fs::create_symlink("other", Path("root/usr/lib64/libnvidia-ml.so.1"));
  static_cast<void>(Read());
  EXPECT_FALSE(host_.host);
  EXPECT_NE(host_.trouble.find("no library of NVIDIA's driver 580.95.05"), std::string::npos);
  EXPECT_NE(host_.trouble.find("NVIDIA_DRIVER_LIBRARY_PATHS"), std::string::npos);
  Put("root/opt/driver/libcuda.so.580.95.05", "");
  settings_.library_folders = {"/opt/driver"};
  clock_.Advance(std::chrono::minutes(1));
  static_cast<void>(Read());
  EXPECT_TRUE(host_.host);
}

TEST_F(HostWatcherTest, REV4_P11_CdiFileOfTheDriverThatIsLostOrChanged_IsWrittenAgain) {
  MakeGpu();
  EXPECT_FALSE(HasDriverSpec());
  static_cast<void>(Read());
  EXPECT_TRUE(HasDriverSpec());
  const std::string file = settings_.cdi_folder + "/" + std::string(kBaseFile);
  fs::remove(file);
  EXPECT_FALSE(HasDriverSpec());
  static_cast<void>(Read());
  EXPECT_TRUE(HasDriverSpec());
  Put("cdi/" + std::string(kBaseFile), "{}");
  EXPECT_FALSE(HasDriverSpec());
  static_cast<void>(Read());
  EXPECT_TRUE(HasDriverSpec());
}

// The CDI file of the driver names it.
TEST_F(HostWatcherTest, REV4_P11_HookThatIsLost_IsCopiedAgain) {
  MakeGpu();
  Put("image/nvidia-cdi-hook", "program");
  settings_.hook.clear();
  fs::create_directories(settings_.Folder());
  Start(Path("image/nvidia-cdi-hook"));
  static_cast<void>(Read());
  const std::string copy = settings_.Folder() + "/nvidia-cdi-hook";
  ASSERT_TRUE(fs::remove(copy));
  static_cast<void>(Read());
  EXPECT_TRUE(fs::exists(copy));
}

TEST_F(HostWatcherTest, REV4_P11_CdiFileBeforeTheDriverIsRead_MustBeASpec) {
  MakeGpu();
  static_cast<void>(Read());
  Start();
  EXPECT_TRUE(HasDriverSpec());
  Put("cdi/" + std::string(kBaseFile), "{\"cdiVersion\":");
  EXPECT_FALSE(HasDriverSpec());
}

}  // namespace
}  // namespace plugin
