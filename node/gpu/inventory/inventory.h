// The devices that the GPU driver publishes, from NVML's data. Pure.
//
// Names, attributes, capacities and their order are those of NVIDIA's driver, so that claims and
// selectors work with either. Functions are thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/dra/rules/resource_slice.h"
#include "node/gpu/inventory/pci.h"
#include "node/nvml/gpu.h"

namespace gpu {

// A device that can be allocated: a whole GPU, or a MIG instance of one.
struct GpuDevice {
  std::string name = {};  // "gpu-0": see device_name.h.
  nvml::Gpu gpu = {};     // The GPU itself, or the parent. Its list of instances is empty.
  std::optional<nvml::MigInstance> mig = {};  // Empty for a whole GPU.
  PciPlace place = {};

  // UUID of what is allocated: "GPU-..." or "MIG-...".
  const std::string& uuid() const { return mig ? mig->uuid : gpu.uuid; }
  friend bool operator==(const GpuDevice&, const GpuDevice&) = default;
};

// A GPU or an instance that is not published.
struct Unpublished {
  std::string device = {};  // "GPU 3", or "GPU 3, MIG instance 7".
  std::string why = {};     // For logs: "is lost: NVML says GPU is lost (15)".
  bool is_lost = false;     // NVML no longer reaches the GPU.
  friend bool operator==(const Unpublished&, const Unpublished&) = default;
};

struct Inventory {
  std::string driver_version = {};       // As a semantic version: "580.95.5". Empty if unknown.
  std::string cuda_driver_version = {};  // "13.0.0". Empty if unknown.
  std::vector<GpuDevice> devices = {};   // By PCI address, then by name.
  std::vector<Unpublished> unpublished = {};  // In NVML's order.

  // Returns the device of this name. Null if none has it.
  const GpuDevice* Find(std::string_view name) const;
  friend bool operator==(const Inventory&, const Inventory&) = default;
};

// Returns what to publish of a machine. `places` has the PCI addresses of its GPUs. A GPU in MIG
// mode is not published, its instances are. Of devices with one name or one UUID, only the first is
// published.
Inventory InventoryOf(const nvml::Machine& machine, const std::map<std::string, PciPlace>& places);

// Attributes that NVIDIA's driver does not publish.
struct Additions {
  bool numa_node = false;  // resource.kubernetes.io/numaNode.
  bool clique = false;     // cdom.dev/clique: the GPU's own NVLink clique, "<uuid>.<n>".
};

// Returns the devices of the slice, in the inventory's order. dra::Check says whether a server
// takes as many as there are.
std::vector<dra::SliceDevice> SliceDevicesOf(const Inventory& inventory,
                                             const Additions& additions = {});

}  // namespace gpu
