// The GPUs of a machine, as the stand-in for NVIDIA's library describes them in a file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "node/nvml/library.h"

namespace nvml {
namespace {

class NvmlDevices : public testing::Test {
 public:
  NvmlDevices() {
    std::string folder = (std::filesystem::temp_directory_path() / "nvml_test.XXXXXX").string();
    if (::mkdtemp(folder.data()) != nullptr) folder_ = folder;
    ::setenv("STAND_IN_NVML_FILE", (folder_ + "/gpus").c_str(), 1);
  }
  ~NvmlDevices() override {
    ::unsetenv("STAND_IN_NVML_FILE");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 protected:
  // Replaces the file, so that the stand-in sees another one.
  void Write(const std::string& text) const {
    std::ofstream(folder_ + "/next", std::ios::binary) << text;
    std::filesystem::rename(folder_ + "/next", folder_ + "/gpus");
  }
  Machine MachineOf(const std::string& text) const {
    Write(text);
    const auto library = Library::Open(CDOM_NVML_STAND_IN, Library::Needs::kGpus);
    EXPECT_TRUE(library) << library.error().message;
    const auto machine = library->ReadMachine();
    EXPECT_TRUE(machine) << machine.error().message;
    return machine.value_or(Machine());
  }
  Gpu GpuOf(const std::string& fields) const {
    const Machine machine = MachineOf("gpu " + fields + "\n");
    EXPECT_EQ(machine.gpus.size(), 1U);
    return machine.gpus.empty() ? Gpu() : machine.gpus[0];
  }

  std::string folder_ = {};
};

constexpr const char* kMigGpu =
    "gpu uuid=GPU-1 minor=1 mig=1\n"
    "profile number=0 id=19 slices=1 memory=9856 sms=16 copy=1 decoders=1 encoders=2 jpeg=3 ofa=4\n"
    "profile number=2 id=9 slices=3 memory=40192 sms=60 copy=3 decoders=3 jpeg=3\n";

TEST_F(NvmlDevices, Gpu_HasAllThatTheLibrarySays) {
  Fabric fabric = {.state = Fabric::State::kCompleted, .clique = 5};
  fabric.cluster.fill(9);
  const Gpu expected = {.index = 0,
                        .minor = 3,
                        .uuid = "GPU-ab-12",
                        .name = "NVIDIA L4",
                        .brand = "Tesla",
                        .architecture = "Ada Lovelace",
                        .compute_major = 8,
                        .compute_minor = 9,
                        .memory_bytes = 24152899584,
                        .pci_bus_id = "00000000:0A:00.0",
                        .pci_address = "0000:0a:00.0",
                        .addressing_mode = "HMM",
                        .fabric = fabric};
  EXPECT_EQ(GpuOf("minor=3 uuid=GPU-ab-12 name=NVIDIA_L4 brand=2 arch=8 cc=8.9 memory=24152899584 "
                  "pci=00000000:0A:00.0 addressing=1 mig=0 fabric=3,0,9,5"),
            expected);
}

TEST_F(NvmlDevices, Machine_HasTheVersionsOfTheDriver) {
  Machine machine = MachineOf("driver version=570.158.01 cuda=12080\n");
  EXPECT_EQ(machine, (Machine{.driver_version = "570.158.01", .cuda_major = 12, .cuda_minor = 8}));
  // Where libcuda is not found, the older function answers.
  machine = MachineOf("driver cuda=13020 fail.cuda2=12\n");
  EXPECT_EQ(machine.cuda_major, 13);
  EXPECT_EQ(machine.cuda_minor, 2);
  for (const char* text : {"driver fail.cuda=999\n", "driver cuda=4294967295\n"}) {
    machine = MachineOf(text);
    EXPECT_EQ(machine.cuda_major, 0);
    EXPECT_EQ(machine.cuda_minor, 0);
  }
}

TEST_F(NvmlDevices, WhatAGpuDoesNotHave_IsEmpty) {
  const Gpu gpu = GpuOf("fail.memory=3 fail.addressing=13 fail.mig=3 fail.fabric=999");
  EXPECT_EQ(gpu.error, std::nullopt);
  EXPECT_EQ(gpu.memory_bytes, std::nullopt);
  EXPECT_EQ(gpu.addressing_mode, "");
  EXPECT_FALSE(gpu.is_mig);
  EXPECT_EQ(gpu.fabric, std::nullopt);
}

TEST_F(NvmlDevices, LostGpu_IsListedBesideTheOthers) {
  const Machine machine = MachineOf(
      "gpu minor=0 uuid=GPU-0\n"
      "gpu minor=1 uuid=GPU-1 fail=15\n"
      "gpu minor=2 uuid=GPU-2 fail.memory=15\n"
      "gpu minor=3 uuid=GPU-3 fail.uuid=999\n"
      "gpu minor=4 uuid=GPU-4\n");
  ASSERT_EQ(machine.gpus.size(), 5U);
  for (const std::size_t good : {0U, 4U}) EXPECT_EQ(machine.gpus[good].error, std::nullopt);
  const Gpu& lost = machine.gpus[1];
  EXPECT_EQ(lost.index, 1);
  ASSERT_TRUE(lost.error);
  EXPECT_TRUE(IsLost(*lost.error));
  EXPECT_EQ(lost.error->message, "a GPU: NVML says GPU is lost (15)");
  EXPECT_TRUE(IsLost(machine.gpus[2].error.value()));
  EXPECT_EQ(machine.gpus[2].uuid, "GPU-2");
  EXPECT_FALSE(IsLost(machine.gpus[3].error.value()));
  EXPECT_EQ(machine.gpus[3].error->code, 999);
}

TEST_F(NvmlDevices, GpuThatIsLostLater_IsSeen) {
  Write("gpu uuid=GPU-0\n");
  const auto library = Library::Open(CDOM_NVML_STAND_IN, Library::Needs::kGpus);
  ASSERT_TRUE(library);
  EXPECT_EQ(library->ReadMachine().value().gpus.at(0).error, std::nullopt);
  Write("gpu uuid=GPU-0 fail=15\n");
  EXPECT_TRUE(IsLost(library->ReadMachine().value().gpus.at(0).error.value()));
}

TEST_F(NvmlDevices, AnswersThatCannotBeRight_AreErrorsOfTheGpu) {
  for (const char* fields :
       {"uuid=", "uuid=GPU-\xff", "uuid=GPU_0", "uuid=GPU-$(x)", "minor=4096", "minor=4294967295",
        "cc=-1.0", "cc=9.4000", "memory=0xffffffffffffffff"}) {
    const Gpu gpu = GpuOf(fields);
    ASSERT_TRUE(gpu.error) << fields;
    EXPECT_EQ(gpu.error->code, 0) << fields;
  }
  EXPECT_EQ(GpuOf("uuid=" + std::string(64, 'a')).error, std::nullopt);
  EXPECT_TRUE(GpuOf("uuid=" + std::string(65, 'a')).error);
}

TEST_F(NvmlDevices, TextsOfAnyBytes_AreOneBoundedLine) {
  const Gpu gpu = GpuOf("name=" + std::string(500, 'n') + " pci=" + std::string(500, 'p'));
  EXPECT_EQ(gpu.error, std::nullopt);
  EXPECT_EQ(gpu.name, std::string(96, 'n'));
  EXPECT_EQ(gpu.pci_bus_id, std::string(32, 'p'));
  EXPECT_EQ(gpu.pci_address, "");
  EXPECT_EQ(GpuOf("name=a\x1b\xff").name, "a ?");
}

TEST_F(NvmlDevices, CountThatCannotBeRight_IsBounded) {
  const Machine machine = MachineOf("driver count=4294967295\ngpu uuid=GPU-0\n");
  EXPECT_EQ(machine.gpus.size(), kGpusMax);
  EXPECT_EQ(machine.gpus[0].error, std::nullopt);
  EXPECT_TRUE(machine.gpus[1].error);
}

TEST_F(NvmlDevices, Count_ThatFails_IsAnError) {
  Write("driver fail.count=999\n");
  const auto library = Library::Open(CDOM_NVML_STAND_IN, Library::Needs::kGpus);
  ASSERT_TRUE(library);
  EXPECT_EQ(library->ReadMachine().error().code, base::ErrorCode::kInvalid);
}

TEST_F(NvmlDevices, Displays_AreLeftOut) {
  const Machine machine = MachineOf("gpu name=NVIDIA_DGX_Display fail.uuid=3\ngpu uuid=GPU-1\n");
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].index, 1);
}

TEST_F(NvmlDevices, MigInstance_HasItsProfileAndPlacement) {
  const Machine machine =
      MachineOf(std::string(kMigGpu) +
                "instance index=0 uuid=MIG-a gi=7 ci=0 profile=19 start=3 size=1 compute=1\n"
                "instance index=4 uuid=MIG-b gi=1 ci=2 profile=9 start=4 size=4 compute=3\n");
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_TRUE(machine.gpus[0].is_mig);
  const std::vector<MigInstance> expected = {{.uuid = "MIG-a",
                                              .gpu_instance = 7,
                                              .compute_instance = 0,
                                              .profile = {.id = 19,
                                                          .name = "1g.10gb",
                                                          .memory_mib = 9856,
                                                          .multiprocessors = 16,
                                                          .copy_engines = 1,
                                                          .decoders = 1,
                                                          .encoders = 2,
                                                          .jpeg_engines = 3,
                                                          .ofa_engines = 4},
                                              .placement_start = 3,
                                              .placement_size = 1},
                                             {.uuid = "MIG-b",
                                              .gpu_instance = 1,
                                              .compute_instance = 2,
                                              .profile = {.id = 9,
                                                          .name = "3g.40gb",
                                                          .memory_mib = 40192,
                                                          .multiprocessors = 60,
                                                          .copy_engines = 3,
                                                          .decoders = 3,
                                                          .jpeg_engines = 3},
                                              .placement_start = 4,
                                              .placement_size = 4}};
  EXPECT_EQ(machine.gpus[0].instances, expected);
}

TEST_F(NvmlDevices, InstanceThatCannotBeRead_IsListedBesideTheOthers) {
  const Machine machine =
      MachineOf(std::string(kMigGpu) +
                "instance index=0 uuid=MIG-a profile=19\n"
                "instance index=1 uuid=MIG-b gi=1 profile=9 size=4 compute=1\n"  // Has a part.
                "instance index=2 uuid=MIG-c gi=2 profile=77\n"
                "instance index=3 uuid=MIG-d gi=3 profile=19 start=16\n"
                "instance index=4 uuid=MIG-e gi=4 profile=19 size=4294967295 start=1\n"
                "instance index=5 uuid=MIG-f gi=5000 profile=19\n"
                "instance index=6 uuid=MIG-g gi=6 profile=19 fail.compute_instance_info=999\n");
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].error, std::nullopt);
  const std::vector<MigInstance>& instances = machine.gpus[0].instances;
  ASSERT_EQ(instances.size(), 7U);
  EXPECT_EQ(instances[0].error, std::nullopt);
  for (std::size_t i = 1; i < instances.size(); ++i) {
    EXPECT_TRUE(instances[i].error) << instances[i].uuid;
  }
  EXPECT_EQ(instances[1].error->message,
            "the compute instance has only a part of its GPU instance");
  EXPECT_EQ(instances[6].error->code, 999);
}

TEST_F(NvmlDevices, GpuThatIsLostWhileInstancesAreRead_IsLost) {
  const Machine machine =
      MachineOf(std::string(kMigGpu) + "instance index=0 uuid=MIG-a profile=19 fail.uuid=15\n");
  EXPECT_TRUE(IsLost(machine.gpus.at(0).error.value()));
}

TEST_F(NvmlDevices, CountOfInstances_IsBounded) {
  std::string text = "gpu mig=1 instances=4294967295\nprofile number=0 id=19 memory=9856\n";
  for (int i = 0; i < 100; ++i) {
    const std::string number = std::to_string(i);
    text += "instance index=" + number + " uuid=MIG-" + number + " gi=" + number + " profile=19\n";
  }
  EXPECT_EQ(MachineOf(text).gpus.at(0).instances.size(), kMigInstancesMax);
}

TEST_F(NvmlDevices, LibraryWithoutTheFunctions_IsTooOld) {
  const auto library = Library::Open("libm.so.6", Library::Needs::kGpus);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, base::ErrorCode::kInvalid);
}

}  // namespace
}  // namespace nvml
