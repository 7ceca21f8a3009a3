#include "node/nvml/library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace nvml {
namespace {

class NvmlLibrary : public testing::Test {
 protected:
  NvmlLibrary() {
    std::string folder = (std::filesystem::temp_directory_path() / "nvml_test.XXXXXX").string();
    if (::mkdtemp(folder.data()) != nullptr) folder_ = folder;
  }
  ~NvmlLibrary() override {
    for (const char* name : {"STAND_IN_NVML_INIT", "STAND_IN_NVML_OLD", "STAND_IN_NVML_HEALTH",
                             "STAND_IN_NVML_GPUS"}) {
      ::unsetenv(name);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  static void Set(const char* name, const char* value) { ::setenv(name, value, 1); }
  static base::Result<std::vector<Fabric>> FabricsOf(const char* gpus) {
    Set("STAND_IN_NVML_GPUS", gpus);
    const auto library = Library::Open(CDOM_NVML_STAND_IN);
    if (!library) return tl::unexpected(library.error());
    return library->Fabrics();
  }

  std::string folder_ = {};
};

Fabric Joined(int gpu) {
  Fabric fabric = {.gpu = gpu, .state = Fabric::State::kCompleted, .clique = 5};
  fabric.cluster.fill(9);
  return fabric;
}

TEST_F(NvmlLibrary, SaysTheDriversVersion) {
  const auto library = Library::Open(CDOM_NVML_STAND_IN);
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_EQ(library->DriverVersion(), "580.95.05");
}

TEST_F(NvmlLibrary, REV3_N16_NodeWhoseGpusAreAllElsewhereIsReadAsOneWithoutGpus) {
  const auto fabrics = FabricsOf("");
  ASSERT_TRUE(fabrics) << fabrics.error().message;
  EXPECT_TRUE(fabrics->empty());
}

TEST_F(NvmlLibrary, SaysTheFabricOfEachGpu) {
  EXPECT_EQ(FabricsOf("GB200,0,3,0,9,5 GB200,0,2,0,0,0").value(),
            (std::vector{Joined(0), Fabric{.gpu = 1, .state = Fabric::State::kInProgress}}));
}

TEST_F(NvmlLibrary, AnOlderDriverIsAskedByTheOlderFunction) {
  Set("STAND_IN_NVML_OLD", "1");
  EXPECT_EQ(FabricsOf("GB200,0,3,0,9,5").value(), std::vector{Joined(0)});
}

TEST_F(NvmlLibrary, AGpuThatKnowsNoFabricHasNone) {
  EXPECT_EQ(FabricsOf("H100,3,0,0,0,0").value(), std::vector{Fabric{.gpu = 0}});
}

TEST_F(NvmlLibrary, AStateThatNobodyKnowsIsNotThereYet) {
  EXPECT_EQ(FabricsOf("GB200,0,9,0,0,0").value().at(0).state, Fabric::State::kInProgress);
}

TEST_F(NvmlLibrary, DisplaysAreLeftOut) {
  EXPECT_EQ(FabricsOf("NVIDIA_DGX_Display,999,0,0,0,0 GB200,0,3,0,9,5").value(),
            std::vector{Joined(1)});
}

TEST_F(NvmlLibrary, AGpuThatIsLostIsAnErrorThatSaysSo) {
  const auto fabrics = FabricsOf("GB200,15,0,0,0,0");
  ASSERT_FALSE(fabrics);
  EXPECT_NE(fabrics.error().message.find("NVML says GPU is lost (15)"), std::string::npos);
}

TEST_F(NvmlLibrary, OneThatDoesNotStartSaysWhy) {
  Set("STAND_IN_NVML_INIT", "9");
  const auto library = Library::Open(CDOM_NVML_STAND_IN);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, base::ErrorCode::kInvalid);
  EXPECT_NE(library.error().message.find("(9)"), std::string::npos);
}

TEST_F(NvmlLibrary, OneThatIsNotThereAndOneThatIsNoneAreTold) {
  EXPECT_EQ(Library::Open(folder_ + "/none").error().code, base::ErrorCode::kNotFound);
  // Any other library.
  EXPECT_EQ(Library::Open("libm.so.6").error().code, base::ErrorCode::kInvalid);
}

TEST_F(NvmlLibrary, IsFoundUnderTheDriversRootByTheFileItself) {
  EXPECT_EQ(FindLibrary(folder_).error().code, base::ErrorCode::kNotFound);
  std::filesystem::create_directories(folder_ + "/usr/lib64");
  const std::string file = folder_ + "/usr/lib64/libnvidia-ml.so.580.95.05";
  std::filesystem::create_symlink("libnvidia-ml.so.580.95.05",
                                  folder_ + "/usr/lib64/libnvidia-ml.so.1");
  EXPECT_EQ(FindLibrary(folder_).error().code, base::ErrorCode::kNotFound);
  std::ofstream(file) << "x";
  EXPECT_EQ(FindLibrary(folder_), std::filesystem::canonical(file).string());
}

TEST_F(NvmlLibrary, REV4_P7_FoldersOfDistributions_AreSearched) {
  // Distributions, Talos, and what an administrator names.
  for (const char* folder : {"/usr/lib", "/lib", "/usr/local/glibc/usr/lib", "/opt/driver/lib"}) {
    const std::string root = folder_ + std::string(folder) + "-root";
    std::filesystem::create_directories(root + folder);
    const std::string file = root + folder + "/" + kLibrary;
    std::ofstream(file) << "x";
    EXPECT_EQ(FindLibrary(root, {"/opt/driver/lib"}), file);
  }
}

TEST_F(NvmlLibrary, REV4_P7_AbsoluteLink_LeadsToAFileOfTheDriversRoot) {
  std::filesystem::create_directories(folder_ + "/usr/lib64");
  std::filesystem::create_directories(folder_ + "/opt/driver");
  std::ofstream(folder_ + "/opt/driver/libnvidia-ml.so.580.1") << "x";
  std::filesystem::create_symlink("/opt/driver/libnvidia-ml.so.580.1",
                                  folder_ + "/usr/lib64/libnvidia-ml.so.1");
  EXPECT_EQ(FindLibrary(folder_), folder_ + "/opt/driver/libnvidia-ml.so.580.1");
}

TEST_F(NvmlLibrary, REV4_P7_LinkedFolder_IsFollowedAndListedOnce) {
  std::filesystem::create_directories(folder_ + "/opt/driver");
  std::filesystem::create_directories(folder_ + "/usr/lib");
  std::filesystem::create_directory_symlink("/opt/driver", folder_ + "/usr/lib64");
  std::filesystem::create_directory_symlink("usr/lib64", folder_ + "/lib64");
  EXPECT_EQ(LibraryFolders(folder_, {"/usr/lib64", "/none"}),
            (std::vector<std::string>{"/opt/driver", "/", "/usr/lib"}));
}

TEST_F(NvmlLibrary, REV4_P7_RootOfTheFileSystem_IsADriversRootToo) {
  EXPECT_EQ(ResolveIn("/", "/proc/self/exe/.."), std::nullopt);
  EXPECT_EQ(ResolveIn("/", "/"), "/");
  EXPECT_EQ(ResolveIn("/", folder_), folder_);
  EXPECT_EQ(ResolveIn(folder_, "/"), "/");
  EXPECT_EQ(ResolveIn(folder_, "/../.."), "/");
}

TEST_F(NvmlLibrary, REV3_N17_ErrorIsSaidInNvmlsWords) {
  const auto fabrics = FabricsOf("GB200,15,0,0,0,0");
  ASSERT_FALSE(fabrics);
  EXPECT_EQ(fabrics.error().message, "fabric of a GPU: NVML says GPU is lost (15)");
}

TEST_F(NvmlLibrary, REV3_FabricHealthIsReadWhereTheDriverTellsIt) {
  Set("STAND_IN_NVML_HEALTH", "1");
  EXPECT_EQ(HealthTrouble(FabricsOf("GB200,0,3,0,9,5").value()), "GPU 0: degraded bandwidth");
  Set("STAND_IN_NVML_OLD", "1");
  EXPECT_EQ(HealthTrouble(FabricsOf("GB200,0,3,0,9,5").value()), "");
}

}  // namespace
}  // namespace nvml
