#include "node/gpu/rules/claim_devices.h"

#include <algorithm>
#include <utility>

#include "node/dra/rules/go_json.h"
#include "pkg/base/find.h"
#include "pkg/json/value.h"

namespace gpu {

namespace {

using json::Value;

// Fixed in NVIDIA's driver.
constexpr std::int64_t kControlMinor = 255;
constexpr std::int64_t kModesetMinor = 254;

cdi::DeviceNode Node(std::string path, std::int64_t major, std::int64_t minor) {
  return {.path = path, .host_path = std::move(path), .major = major, .minor = minor};
}

std::string DeviceNameIn(const std::string& uid, const WantedDevice& device) {
  return uid + "-" + device.allocated.device;
}

// As NVIDIA's driver stores it.
std::string InfoOf(const GpuDevice& device) {
  if (!device.mig) return dra::GoJson(Value::Object({{"uuid", device.gpu.uuid}}));
  return dra::GoJson(Value::Object({{"parentMinor", device.gpu.minor},
                                    {"giId", device.mig->gpu_instance},
                                    {"ciId", device.mig->compute_instance},
                                    {"migUUID", device.mig->uuid},
                                    {"parentUUID", device.gpu.uuid},
                                    {"parentPCIBusID", device.gpu.pci_address}}));
}

}  // namespace

std::vector<cdi::DeviceNode> ControlNodes(const DeviceNumbers& numbers, bool has_modeset) {
  std::vector<cdi::DeviceNode> nodes = {Node("/dev/nvidiactl", numbers.gpus, kControlMinor),
                                        Node("/dev/nvidia-uvm", numbers.uvm, 0),
                                        Node("/dev/nvidia-uvm-tools", numbers.uvm, 1)};
  if (has_modeset) nodes.push_back(Node("/dev/nvidia-modeset", numbers.gpus, kModesetMinor));
  return nodes;
}

cdi::DeviceNode NodeOf(const DeviceNumbers& numbers, int minor) {
  return Node("/dev/nvidia" + std::to_string(minor), numbers.gpus, minor);
}

std::string MissingOf(const GpuNode& node, const Wanted& wanted) {
  for (const WantedDevice& device : wanted.devices) {
    const std::string& name = device.allocated.device;
    if (node.inventory.Find(name) == nullptr) return name;
  }
  return {};
}

PreparedGroup GroupOf(const GpuNode& node, const std::string& uid, const Wanted& wanted) {
  PreparedGroup group;
  for (const WantedDevice& device : wanted.devices) {
    const dra::Allocated& allocated = device.allocated;
    group.devices.push_back(
        {.type = device.name.mig ? "mig" : "gpu",
         .info = InfoOf(*node.inventory.Find(allocated.device)),
         .requests = {allocated.request},
         .pool = allocated.pool,
         .name = allocated.device,
         .cdi_ids = {std::string(kClaimKind) + "=" + DeviceNameIn(uid, device)}});
  }
  return group;
}

cdi::Spec SpecOf(const GpuNode& node, const std::string& uid, const Wanted& wanted) {
  cdi::Spec spec = {.kind = std::string(kClaimKind), .edits = node.common};
  for (const WantedDevice& device : wanted.devices) {
    std::string name = DeviceNameIn(uid, device);
    // An administrator's request may name a device of another request of the claim. A runtime
    // refuses a spec that has a device twice.
    if (base::Contains(spec.devices, name, &cdi::Device::name)) continue;
    cdi::Edits edits = {.nodes = {NodeOf(node.numbers, device.name.minor)}};
    const auto& further = base::FindOr(node.further_nodes, device.allocated.device, {});
    edits.nodes.insert(edits.nodes.end(), further.begin(), further.end());
    spec.devices.push_back({.name = std::move(name), .edits = std::move(edits)});
  }
  return spec;
}

bool IsOutdated(const GpuNode& node, const cdi::Spec& spec) {
  constexpr std::string_view kLibrary = "/libcuda.so.";
  for (const cdi::Mount& mount : spec.edits.mounts) {
    const std::size_t at = mount.host_path.rfind(kLibrary);
    if (at == std::string::npos) continue;
    if (mount.host_path.substr(at + kLibrary.size()) != node.driver_version) return true;
  }
  std::vector<cdi::DeviceNode> known = ControlNodes(node.numbers, true);
  for (const auto& [name, nodes] : node.further_nodes) {
    known.insert(known.end(), nodes.begin(), nodes.end());
  }
  const auto has_others = [&known](const cdi::Edits& edits) {
    return std::ranges::any_of(edits.nodes, [&known](const cdi::DeviceNode& theirs) {
      const auto ours = std::ranges::find(known, theirs.path, &cdi::DeviceNode::path);
      // A runtime takes a number that is 0 from the host.
      return ours != known.end() && theirs.major != 0 && theirs.major != ours->major;
    });
  };
  return has_others(spec.edits) ||
         std::ranges::any_of(spec.devices, has_others, &cdi::Device::edits);
}

}  // namespace gpu
