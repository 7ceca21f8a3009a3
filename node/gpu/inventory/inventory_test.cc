#include "node/gpu/inventory/inventory.h"

#include <gtest/gtest.h>

namespace gpu {
namespace {

constexpr int kGpuIsLost = 15;

nvml::Gpu GpuAt(int minor, const std::string& address) {
  return {.index = minor,
          .minor = minor,
          .uuid = "GPU-" + std::to_string(minor),
          .name = "NVIDIA L4",
          .brand = "Nvidia",
          .architecture = "Ada Lovelace",
          .compute_major = 8,
          .compute_minor = 9,
          .memory_bytes = 1024,
          .pci_address = address};
}

nvml::MigInstance InstanceAt(int id, unsigned start) {
  return {.uuid = "MIG-" + std::to_string(id),
          .gpu_instance = id,
          .profile = {.id = 19, .name = "1g.10gb", .memory_mib = 9856},
          .placement_start = start,
          .placement_size = 1};
}

nvml::Machine MachineWith(std::vector<nvml::Gpu> gpus) {
  return {.driver_version = "580.95.05", .cuda_major = 13, .gpus = std::move(gpus)};
}

std::vector<std::string> NamesOf(const Inventory& inventory) {
  std::vector<std::string> names;
  names.reserve(inventory.devices.size());
  for (const GpuDevice& device : inventory.devices) names.push_back(device.name);
  return names;
}

const std::map<std::string, PciPlace> kPlaces = {
    {"0000:65:00.0", {.root = "pci0000:64", .numa_node = 1}}};

json::Value AttributesOf(const nvml::Gpu& gpu, const Additions& additions = {}) {
  return SliceDevicesOf(InventoryOf(MachineWith({gpu}), kPlaces), additions).at(0).attributes;
}

TEST(Inventory, Devices_AreInOrderOfPciAddressThenName) {
  nvml::Gpu mig = GpuAt(2, "0000:0b:00.0");
  mig.is_mig = true;
  mig.instances = {InstanceAt(9, 4), InstanceAt(7, 0)};
  const Inventory inventory =
      InventoryOf(MachineWith({GpuAt(0, "0000:65:00.0"), GpuAt(1, "0000:0a:00.0"), mig}), kPlaces);
  EXPECT_EQ(NamesOf(inventory), (std::vector<std::string>{"gpu-1", "gpu-2-mig-1g10gb-19-0",
                                                          "gpu-2-mig-1g10gb-19-4", "gpu-0"}));
  EXPECT_TRUE(inventory.unpublished.empty());
  EXPECT_EQ(inventory.driver_version, "580.95.5");
  EXPECT_EQ(inventory.cuda_driver_version, "13.0.0");
}

TEST(Inventory, Device_IsFoundByItsName) {
  nvml::Gpu mig = GpuAt(2, "0000:65:00.0");
  mig.is_mig = true;
  mig.instances = {InstanceAt(9, 4)};
  const Inventory inventory = InventoryOf(MachineWith({GpuAt(0, "x"), mig}), kPlaces);
  ASSERT_NE(inventory.Find("gpu-0"), nullptr);
  EXPECT_EQ(inventory.Find("gpu-0")->uuid(), "GPU-0");
  EXPECT_EQ(inventory.Find("gpu-0")->place, PciPlace());
  const GpuDevice* const found = inventory.Find("gpu-2-mig-1g10gb-19-4");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->uuid(), "MIG-9");
  EXPECT_EQ(found->gpu.uuid, "GPU-2");
  EXPECT_EQ(found->place.root, "pci0000:64");
  EXPECT_TRUE(found->gpu.instances.empty());
  EXPECT_EQ(inventory.Find("gpu-2"), nullptr) << "its instances are allocated";
}

TEST(Inventory, LostGpu_IsNotPublishedButTold) {
  nvml::Gpu lost = GpuAt(1, "0000:66:00.0");
  lost.error = nvml::DeviceError{.code = kGpuIsLost, .message = "memory: NVML says lost (15)"};
  const Inventory inventory = InventoryOf(MachineWith({GpuAt(0, "0000:65:00.0"), lost}), kPlaces);
  EXPECT_EQ(NamesOf(inventory), std::vector<std::string>{"gpu-0"});
  EXPECT_EQ(inventory.unpublished,
            (std::vector<Unpublished>{{.device = "GPU 1",
                                       .why = "cannot be read: memory: NVML says lost (15)",
                                       .is_lost = true}}));
}

TEST(Inventory, InstanceThatCannotBeRead_IsNotPublishedButTold) {
  nvml::Gpu gpu = GpuAt(0, "0000:65:00.0");
  gpu.is_mig = true;
  gpu.instances = {InstanceAt(1, 0), InstanceAt(2, 1), {}};
  gpu.instances[1].error = nvml::DeviceError{.message = "has a part"};
  gpu.instances[2].error = nvml::DeviceError{.message = "no UUID"};
  const Inventory inventory = InventoryOf(MachineWith({gpu}), kPlaces);
  EXPECT_EQ(NamesOf(inventory), std::vector<std::string>{"gpu-0-mig-1g10gb-19-0"});
  EXPECT_EQ(inventory.unpublished,
            (std::vector<Unpublished>{
                {.device = "GPU 0, MIG device MIG-2", .why = "cannot be read: has a part"},
                {.device = "GPU 0, MIG device without a UUID", .why = "cannot be read: no UUID"}}));
}

TEST(Inventory, MigModeWithoutInstances_PublishesNothing) {
  nvml::Gpu gpu = GpuAt(0, "0000:65:00.0");
  gpu.is_mig = true;
  const Inventory inventory = InventoryOf(MachineWith({gpu}), kPlaces);
  EXPECT_TRUE(inventory.devices.empty());
  EXPECT_EQ(inventory.unpublished,
            (std::vector<Unpublished>{
                {.device = "GPU 0", .why = "is in MIG mode, but has no MIG devices"}}));
}

TEST(Inventory, SecondDeviceOfANameOrUuid_IsLeftOut) {
  nvml::Gpu same_minor = GpuAt(0, "0000:66:00.0");
  same_minor.uuid = "GPU-other";
  nvml::Gpu same_uuid = GpuAt(3, "0000:67:00.0");
  same_uuid.uuid = "GPU-0";
  const Inventory inventory =
      InventoryOf(MachineWith({GpuAt(0, "0000:65:00.0"), same_minor, same_uuid}), kPlaces);
  EXPECT_EQ(NamesOf(inventory), std::vector<std::string>{"gpu-0"});
  EXPECT_EQ(inventory.devices[0].gpu.uuid, "GPU-0");
  EXPECT_EQ(inventory.unpublished.size(), 2U);
}

TEST(Inventory, UnknownVersionsAndPlaces_AreLeftOut) {
  nvml::Machine machine = MachineWith({GpuAt(0, "10000:65:00.0")});
  machine.driver_version = "unknown";
  machine.cuda_major = 0;
  machine.gpus[0].memory_bytes.reset();
  const auto devices = SliceDevicesOf(InventoryOf(machine, {}));
  for (const char* name : {"driverVersion", "cudaDriverVersion", "addressingMode",
                           "resource.kubernetes.io/pciBusID", "resource.kubernetes.io/pcieRoot"}) {
    EXPECT_EQ(devices.at(0).attributes.Find(name), nullptr) << name;
  }
  EXPECT_TRUE(devices.at(0).capacity.members().empty());
}

TEST(Inventory, OwnAttributes_AreOnlyAddedIfAskedFor) {
  nvml::Gpu gpu = GpuAt(0, "0000:65:00.0");
  gpu.fabric = nvml::Fabric{.state = nvml::Fabric::State::kCompleted, .clique = 7};
  gpu.fabric->cluster.fill(0x11);
  const json::Value plain = AttributesOf(gpu);
  EXPECT_EQ(plain.Find("resource.kubernetes.io/numaNode"), nullptr);
  EXPECT_EQ(plain.Find("cdom.dev/clique"), nullptr);
  const json::Value added = AttributesOf(gpu, {.numa_node = true, .clique = true});
  EXPECT_EQ(added["resource.kubernetes.io/numaNode"]["int"].AsInt(), 1);
  EXPECT_EQ(added["cdom.dev/clique"]["string"].AsString(),
            "11111111-1111-1111-1111-111111111111.7");
  EXPECT_EQ(added.members().size(), plain.members().size() + 2);
  gpu.fabric.reset();
  EXPECT_EQ(AttributesOf(gpu, {.clique = true}).Find("cdom.dev/clique"), nullptr);
}

TEST(Inventory, LongText_IsCutToWhatTheServerTakes) {
  nvml::Gpu gpu = GpuAt(0, "0000:65:00.0");
  gpu.name = std::string(63, 'n') + "\xc3\xa9";
  EXPECT_EQ(AttributesOf(gpu)["productName"]["string"].AsString(), std::string(63, 'n'));
}

TEST(Inventory, InstanceOfAWholeGpu_KeepsTheLimitsOfADevice) {
  nvml::Gpu gpu = GpuAt(0, "0000:65:00.0");
  gpu.is_mig = true;
  gpu.addressing_mode = "HMM";
  gpu.fabric = nvml::Fabric{.state = nvml::Fabric::State::kCompleted, .clique = 7};
  gpu.fabric->cluster.fill(0x11);
  gpu.instances = {InstanceAt(0, 0)};
  gpu.instances[0].placement_size = 8;
  dra::ResourceSlice slice = {.devices = SliceDevicesOf(InventoryOf(MachineWith({gpu}), kPlaces),
                                                        {.numa_node = true, .clique = true})};
  EXPECT_TRUE(dra::CheckLimits(slice)) << dra::CheckLimits(slice).error().message;
}

}  // namespace
}  // namespace gpu
