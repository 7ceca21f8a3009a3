#include "node/gpu/inventory/inventory.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "node/gpu/inventory/device_name.h"
#include "node/gpu/inventory/quantity.h"
#include "node/nvml/fabric.h"
#include "pkg/base/find.h"
#include "pkg/json/utf8.h"

namespace gpu {

namespace {

using json::Value;

// Of the API.
constexpr std::size_t kAttributeMax = 64;
constexpr std::size_t kPciAddressMax = std::string_view("0000:65:00.0").size();
constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;

Value Text(std::string_view text) {
  return Value::Object({{"string", json::Prefix(text, kAttributeMax)}});
}
Value Quantity(std::uint64_t value) { return Value::Object({{"value", QuantityOf(value)}}); }

// Collects what is published of a machine.
class Collector {
 public:
  explicit Collector(const std::map<std::string, PciPlace>& places) : places_(places) {}

  void Add(const nvml::Gpu& gpu) {
    const std::string label = "GPU " + std::to_string(gpu.index);
    if (gpu.error) return Leave(label, *gpu.error);
    GpuDevice device = {.gpu = gpu, .place = base::FindOr(places_, gpu.pci_address, {})};
    device.gpu.instances.clear();
    if (!gpu.is_mig) return Publish(label, {.minor = gpu.minor}, std::move(device));
    if (gpu.instances.empty()) {
      inventory_.unpublished.push_back(
          {.device = label, .why = "is in MIG mode, but has no MIG devices"});
    }
    for (const nvml::MigInstance& instance : gpu.instances) {
      const std::string its_label =
          label + ", MIG device " + (instance.uuid.empty() ? "without a UUID" : instance.uuid);
      if (instance.error) {
        Leave(its_label, *instance.error);
        continue;
      }
      device.mig = instance;
      Publish(
          its_label,
          {.minor = gpu.minor,
           .mig = DeviceName::Mig{.profile = ProfileInName(instance.profile.name),
                                  .profile_id = instance.profile.id,
                                  .placement_start = static_cast<int>(instance.placement_start)}},
          device);
    }
  }

  Inventory Take() {
    const auto order = [](const GpuDevice& device) {
      return std::tie(device.gpu.pci_address, device.name);
    };
    std::ranges::sort(inventory_.devices, {}, order);
    return std::move(inventory_);
  }

 private:
  void Leave(const std::string& label, const nvml::DeviceError& error) {
    inventory_.unpublished.push_back({.device = label,
                                      .why = "cannot be read: " + error.message,
                                      .is_lost = nvml::IsLost(error)});
  }

  // Two devices of one name would make the slice invalid. Two of one UUID are one device, which
  // would be allocated twice.
  void Publish(const std::string& label, const DeviceName& name, GpuDevice device) {
    device.name = TextOf(name);
    const bool is_new = names_.insert(device.name).second && uuids_.insert(device.uuid()).second;
    if (is_new) {
      inventory_.devices.push_back(std::move(device));
    } else {
      inventory_.unpublished.push_back(
          {.device = label, .why = "has the name or the UUID of another device"});
    }
  }

  const std::map<std::string, PciPlace>& places_;
  Inventory inventory_ = {};
  std::set<std::string> names_ = {};
  std::set<std::string> uuids_ = {};
};

// Adds a version. A server refuses the slice if it is none, so that is left out.
void AddVersion(std::string_view name, const std::string& version, Value& attributes) {
  if (!version.empty()) attributes[name] = Value::Object({{"version", version}});
}

Value AttributesOf(const GpuDevice& device, const Inventory& inventory,
                   const Additions& additions) {
  const nvml::Gpu& gpu = device.gpu;
  Value attributes = Value::Object({{"type", Text(device.mig ? "mig" : "gpu")},
                                    {"uuid", Text(device.uuid())},
                                    {"productName", Text(gpu.name)},
                                    {"brand", Text(gpu.brand)},
                                    {"architecture", Text(gpu.architecture)}});
  if (device.mig) {
    attributes["parentUUID"] = Text(gpu.uuid);
    attributes["profile"] = Text(device.mig->profile.name);
  }
  AddVersion("cudaComputeCapability",
             SemanticVersionOf(std::to_string(gpu.compute_major) + "." +
                               std::to_string(gpu.compute_minor)),
             attributes);
  AddVersion("driverVersion", inventory.driver_version, attributes);
  AddVersion("cudaDriverVersion", inventory.cuda_driver_version, attributes);
  if (!gpu.addressing_mode.empty()) attributes["addressingMode"] = Text(gpu.addressing_mode);
  // The attribute has four digits for the domain; devices behind a VMD have more.
  if (!gpu.pci_address.empty() && gpu.pci_address.size() <= kPciAddressMax) {
    attributes["resource.kubernetes.io/pciBusID"] = Text(gpu.pci_address);
  }
  if (!device.place.root.empty()) {
    attributes["resource.kubernetes.io/pcieRoot"] = Text(device.place.root);
  }
  if (additions.numa_node && device.place.numa_node) {
    attributes["resource.kubernetes.io/numaNode"] =
        Value::Object({{"int", *device.place.numa_node}});
  }
  if (additions.clique && gpu.fabric) {
    const auto clique = nvml::CliqueOf({*gpu.fabric}, nvml::Strictness::kOnlyAttached);
    if (clique && !clique->empty()) attributes["cdom.dev/clique"] = Text(*clique);
  }
  return attributes;
}

Value CapacityOf(const GpuDevice& device) {
  Value capacity = Value::Object();
  if (!device.mig) {
    if (device.gpu.memory_bytes) capacity["memory"] = Quantity(*device.gpu.memory_bytes);
    return capacity;
  }
  const nvml::MigProfile& profile = device.mig->profile;
  capacity["memory"] = Quantity(profile.memory_mib * kMib);
  capacity["multiprocessors"] = Quantity(profile.multiprocessors);
  capacity["copyEngines"] = Quantity(profile.copy_engines);
  capacity["decoders"] = Quantity(profile.decoders);
  capacity["encoders"] = Quantity(profile.encoders);
  capacity["jpegEngines"] = Quantity(profile.jpeg_engines);
  capacity["ofaEngines"] = Quantity(profile.ofa_engines);
  for (unsigned i = 0; i < device.mig->placement_size; ++i) {
    capacity["memorySlice" + std::to_string(device.mig->placement_start + i)] = Quantity(1);
  }
  return capacity;
}

}  // namespace

const GpuDevice* Inventory::Find(std::string_view name) const {
  const auto found = std::ranges::find(devices, name, &GpuDevice::name);
  return found != devices.end() ? &*found : nullptr;
}

Inventory InventoryOf(const nvml::Machine& machine, const std::map<std::string, PciPlace>& places) {
  Collector collector(places);
  for (const nvml::Gpu& gpu : machine.gpus) collector.Add(gpu);
  Inventory inventory = collector.Take();
  inventory.driver_version = SemanticVersionOf(machine.driver_version);
  if (machine.cuda_major > 0) {
    inventory.cuda_driver_version = SemanticVersionOf(std::to_string(machine.cuda_major) + "." +
                                                      std::to_string(machine.cuda_minor));
  }
  return inventory;
}

std::vector<dra::SliceDevice> SliceDevicesOf(const Inventory& inventory,
                                             const Additions& additions) {
  std::vector<dra::SliceDevice> devices;
  devices.reserve(inventory.devices.size());
  for (const GpuDevice& device : inventory.devices) {
    devices.push_back({.name = device.name,
                       .attributes = AttributesOf(device, inventory, additions),
                       .capacity = CapacityOf(device)});
  }
  return devices;
}

}  // namespace gpu
