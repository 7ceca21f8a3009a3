// Goal: for five machines, the slice has exactly what NVIDIA's driver publishes.
// Method: each machine is described to the stand-in for NVIDIA's library. What is expected was
// written by hand, from the attributes and capacities that NVIDIA's driver documents.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "node/gpu/inventory/inventory.h"
#include "node/nvml/library.h"

namespace gpu {
namespace {

class GpuGolden : public testing::Test {
 public:
  GpuGolden() {
    std::string folder = (std::filesystem::temp_directory_path() / "golden_test.XXXXXX").string();
    if (::mkdtemp(folder.data()) != nullptr) folder_ = folder;
    ::setenv("STAND_IN_NVML_FILE", (folder_ + "/gpus").c_str(), 1);
  }
  ~GpuGolden() override {
    ::unsetenv("STAND_IN_NVML_FILE");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 protected:
  // Returns the devices of the slice, a JSON object each.
  std::vector<std::string> Published(const std::string& machine,
                                     const std::map<std::string, PciPlace>& places) const {
    std::ofstream(folder_ + "/gpus") << machine;
    const auto library = nvml::Library::Open(CDOM_NVML_STAND_IN, nvml::Library::Needs::kGpus);
    EXPECT_TRUE(library) << library.error().message;
    const auto read = library->ReadMachine();
    EXPECT_TRUE(read) << read.error().message;
    const Inventory inventory = InventoryOf(read.value(), places);
    for (const Unpublished& left : inventory.unpublished) {
      ADD_FAILURE() << left.device << " " << left.why;
    }
    const dra::ResourceSlice slice = {.driver = "gpu.nvidia.com",
                                      .node = "a",
                                      .node_uid = "u",
                                      .devices = SliceDevicesOf(inventory)};
    EXPECT_TRUE(dra::CheckLimits(slice));
    std::vector<std::string> devices;
    const json::Value rendered = dra::Render(slice, dra::SliceApi::kV1);
    for (const json::Value& device : rendered["spec"]["devices"].items()) {
      devices.push_back(json::Serialize(device));
    }
    return devices;
  }

  std::string folder_ = {};
};

TEST_F(GpuGolden, A100) {
  EXPECT_EQ(
      Published("driver version=550.163.01 cuda=12040\n"
                "gpu minor=0 uuid=GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c "
                "name=NVIDIA_A100-SXM4-40GB brand=14 arch=7 cc=8.0 memory=42949672960 "
                "pci=00000000:07:00.0 addressing=0 mig=0\n",
                {{"0000:07:00.0", {.root = "pci0000:00", .numa_node = 3}}}),
      std::vector<std::string>{
          R"({"name":"gpu-0","attributes":{"type":{"string":"gpu"},)"
          R"("uuid":{"string":"GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c"},)"
          R"("productName":{"string":"NVIDIA A100-SXM4-40GB"},"brand":{"string":"Nvidia"},)"
          R"("architecture":{"string":"Ampere"},"cudaComputeCapability":{"version":"8.0.0"},)"
          R"("driverVersion":{"version":"550.163.1"},"cudaDriverVersion":{"version":"12.4.0"},)"
          R"("addressingMode":{"string":"None"},)"
          R"("resource.kubernetes.io/pciBusID":{"string":"0000:07:00.0"},)"
          R"("resource.kubernetes.io/pcieRoot":{"string":"pci0000:00"}},)"
          R"("capacity":{"memory":{"value":"40Gi"}}})"});
}

constexpr const char* kH100 =
    "driver version=580.95.05 cuda=13000\n"
    "gpu minor=0 uuid=GPU-a0 name=NVIDIA_H100_80GB_HBM3 brand=14 arch=9 cc=9.0 memory=85520809984 "
    "pci=00000000:65:00.0 addressing=1 mig=0\n"
    "gpu minor=1 uuid=GPU-a1 name=NVIDIA_H100_80GB_HBM3 brand=14 arch=9 cc=9.0 memory=85520809984 "
    "pci=00000000:1B:00.0 addressing=1 mig=1\n"
    "profile number=0 id=19 slices=1 memory=9856 sms=16 copy=1 decoders=1 encoders=0 jpeg=1 ofa=0\n"
    "profile number=2 id=9 slices=3 memory=40192 sms=60 copy=3 decoders=3 encoders=0 jpeg=3 ofa=0\n"
    "profile number=7 id=20 slices=1 memory=9856 sms=16 copy=1 decoders=1 encoders=0 jpeg=1 ofa=1\n"
    "instance index=0 uuid=MIG-b0 gi=1 ci=0 profile=9 start=4 size=4 compute=3\n"
    "instance index=1 uuid=MIG-b1 gi=9 ci=0 profile=19 start=2 size=1 compute=1\n"
    "instance index=2 uuid=MIG-b2 gi=10 ci=0 profile=20 start=3 size=1 compute=1\n";

// Attributes that the instances of the second GPU have beside type, UUID, and profile.
std::string OfTheParent(const std::string& profile) {
  return R"("productName":{"string":"NVIDIA H100 80GB HBM3"},"brand":{"string":"Nvidia"},)"
         R"("architecture":{"string":"Hopper"},"parentUUID":{"string":"GPU-a1"},)"
         R"("profile":{"string":")" +
         profile +
         R"("},"cudaComputeCapability":{"version":"9.0.0"},)"
         R"("driverVersion":{"version":"580.95.5"},"cudaDriverVersion":{"version":"13.0.0"},)"
         R"("addressingMode":{"string":"HMM"},)"
         R"("resource.kubernetes.io/pciBusID":{"string":"0000:1b:00.0"},)"
         R"("resource.kubernetes.io/pcieRoot":{"string":"pci0000:15"}},)";
}

TEST_F(GpuGolden, H100WithMig) {
  const std::vector<std::string> devices = Published(
      kH100, {{"0000:65:00.0", {.root = "pci0000:64"}}, {"0000:1b:00.0", {.root = "pci0000:15"}}});
  ASSERT_EQ(devices.size(), 4U);
  EXPECT_EQ(
      devices[0],
      R"({"name":"gpu-1-mig-1g10gb-19-2","attributes":{"type":{"string":"mig"},"uuid":{"string":"MIG-b1"},)" +
          OfTheParent("1g.10gb") +
          R"("capacity":{"memory":{"value":"9856Mi"},"multiprocessors":{"value":"16"},)"
          R"("copyEngines":{"value":"1"},"decoders":{"value":"1"},"encoders":{"value":"0"},)"
          R"("jpegEngines":{"value":"1"},"ofaEngines":{"value":"0"},"memorySlice2":{"value":"1"}}})");
  EXPECT_EQ(
      devices[1],
      R"({"name":"gpu-1-mig-1g10gb-me-20-3","attributes":{"type":{"string":"mig"},"uuid":{"string":"MIG-b2"},)" +
          OfTheParent("1g.10gb+me") +
          R"("capacity":{"memory":{"value":"9856Mi"},"multiprocessors":{"value":"16"},)"
          R"("copyEngines":{"value":"1"},"decoders":{"value":"1"},"encoders":{"value":"0"},)"
          R"("jpegEngines":{"value":"1"},"ofaEngines":{"value":"1"},"memorySlice3":{"value":"1"}}})");
  EXPECT_EQ(
      devices[2],
      R"({"name":"gpu-1-mig-3g40gb-9-4","attributes":{"type":{"string":"mig"},"uuid":{"string":"MIG-b0"},)" +
          OfTheParent("3g.40gb") +
          R"("capacity":{"memory":{"value":"40192Mi"},"multiprocessors":{"value":"60"},)"
          R"("copyEngines":{"value":"3"},"decoders":{"value":"3"},"encoders":{"value":"0"},)"
          R"("jpegEngines":{"value":"3"},"ofaEngines":{"value":"0"},"memorySlice4":{"value":"1"},)"
          R"("memorySlice5":{"value":"1"},"memorySlice6":{"value":"1"},"memorySlice7":{"value":"1"}}})");
  EXPECT_EQ(devices[3],
            R"({"name":"gpu-0","attributes":{"type":{"string":"gpu"},"uuid":{"string":"GPU-a0"},)"
            R"("productName":{"string":"NVIDIA H100 80GB HBM3"},"brand":{"string":"Nvidia"},)"
            R"("architecture":{"string":"Hopper"},"cudaComputeCapability":{"version":"9.0.0"},)"
            R"("driverVersion":{"version":"580.95.5"},"cudaDriverVersion":{"version":"13.0.0"},)"
            R"("addressingMode":{"string":"HMM"},)"
            R"("resource.kubernetes.io/pciBusID":{"string":"0000:65:00.0"},)"
            R"("resource.kubernetes.io/pcieRoot":{"string":"pci0000:64"}},)"
            R"("capacity":{"memory":{"value":"81559Mi"}}})");
}

TEST_F(GpuGolden, GB200) {
  const auto expected = [](const std::string& minor, const std::string& domain) {
    return R"({"name":"gpu-)" + minor +
           R"(","attributes":{"type":{"string":"gpu"},"uuid":{"string":"GPU-b)" + minor +
           R"("},"productName":{"string":"NVIDIA GB200"},"brand":{"string":"Nvidia"},)"
           R"("architecture":{"string":"Blackwell"},"cudaComputeCapability":{"version":"10.0.0"},)"
           R"("driverVersion":{"version":"580.65.6"},"cudaDriverVersion":{"version":"13.0.0"},)"
           R"("addressingMode":{"string":"ATS"},)"
           R"("resource.kubernetes.io/pciBusID":{"string":")" +
           domain + R"(:01:00.0"},"resource.kubernetes.io/pcieRoot":{"string":"pci)" + domain +
           R"(:00"}},"capacity":{"memory":{"value":"189471Mi"}}})";
  };
  const std::string kind =
      " name=NVIDIA_GB200 brand=14 arch=10 cc=10.0 memory=198674743296 addressing=2 mig=0 "
      "fabric=3,0,9,5 pci=";
  EXPECT_EQ(Published("driver version=580.65.06 cuda=13000\n"
                      "gpu minor=0 uuid=GPU-b0" +
                          kind +
                          "00000008:01:00.0\n"
                          "gpu minor=1 uuid=GPU-b1" +
                          kind +
                          "00000009:01:00.0\n"
                          "gpu minor=2 uuid=GPU-b2" +
                          kind +
                          "00000018:01:00.0\n"
                          "gpu minor=3 uuid=GPU-b3" +
                          kind + "00000019:01:00.0\n",
                      {{"0008:01:00.0", {.root = "pci0008:00", .numa_node = 0}},
                       {"0009:01:00.0", {.root = "pci0009:00", .numa_node = 0}},
                       {"0018:01:00.0", {.root = "pci0018:00", .numa_node = 1}},
                       {"0019:01:00.0", {.root = "pci0019:00", .numa_node = 1}}}),
            (std::vector{expected("0", "0008"), expected("1", "0009"), expected("2", "0018"),
                         expected("3", "0019")}));
}

// An older driver: no addressing mode, and no MIG on this GPU.
TEST_F(GpuGolden, T4) {
  EXPECT_EQ(
      Published("driver version=535.230.02 cuda=12020\n"
                "gpu minor=0 uuid=GPU-74 name=Tesla_T4 brand=14 arch=6 cc=7.5 memory=16106127360 "
                "pci=00000000:00:1E.0 fail.addressing=13 fail.fabric=13\n",
                {{"0000:00:1e.0", {.root = "pci0000:00"}}}),
      std::vector<std::string>{
          R"({"name":"gpu-0","attributes":{"type":{"string":"gpu"},"uuid":{"string":"GPU-74"},)"
          R"("productName":{"string":"Tesla T4"},"brand":{"string":"Nvidia"},)"
          R"("architecture":{"string":"Turing"},"cudaComputeCapability":{"version":"7.5.0"},)"
          R"("driverVersion":{"version":"535.230.2"},"cudaDriverVersion":{"version":"12.2.0"},)"
          R"("resource.kubernetes.io/pciBusID":{"string":"0000:00:1e.0"},)"
          R"("resource.kubernetes.io/pcieRoot":{"string":"pci0000:00"}},)"
          R"("capacity":{"memory":{"value":"15Gi"}}})"});
}

// The PCIe root is unknown, as in some virtual machines.
TEST_F(GpuGolden, L4) {
  EXPECT_EQ(
      Published("driver version=570.158.01 cuda=12080\n"
                "gpu minor=0 uuid=GPU-14 name=NVIDIA_L4 brand=14 arch=8 cc=8.9 memory=24152899584 "
                "pci=00000000:00:03.0 addressing=1\n",
                {}),
      std::vector<std::string>{
          R"({"name":"gpu-0","attributes":{"type":{"string":"gpu"},"uuid":{"string":"GPU-14"},)"
          R"("productName":{"string":"NVIDIA L4"},"brand":{"string":"Nvidia"},)"
          R"("architecture":{"string":"Ada Lovelace"},"cudaComputeCapability":{"version":"8.9.0"},)"
          R"("driverVersion":{"version":"570.158.1"},"cudaDriverVersion":{"version":"12.8.0"},)"
          R"("addressingMode":{"string":"HMM"},)"
          R"("resource.kubernetes.io/pciBusID":{"string":"0000:00:03.0"}},)"
          R"("capacity":{"memory":{"value":"23034Mi"}}})"});
}

}  // namespace
}  // namespace gpu
