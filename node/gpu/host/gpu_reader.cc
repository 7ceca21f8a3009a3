#include "node/gpu/host/gpu_reader.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "node/cdi/files.h"
#include "node/driver/kernel.h"
#include "node/gpu/inventory/pci.h"
#include "node/nvml/library.h"
#include "pkg/base/file.h"
#include "pkg/base/find.h"
#include "pkg/base/number.h"
#include "pkg/base/text.h"

namespace gpu {

namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr std::size_t kTextMax = 64U << 10;
constexpr const char* kModeset = "/dev/nvidia-modeset";

// Returns the numbers in a text such as "226:128". Empty if it has another form.
std::optional<cdi::DeviceNode> NumbersIn(std::string_view text) {
  const auto major = base::ParseNumber<std::int64_t>(base::TakePart(text, ':'));
  const auto minor = base::ParseNumber<std::int64_t>(base::Trim(text));
  if (!major || !minor) return {};
  return cdi::DeviceNode{.major = *major, .minor = *minor};
}

}  // namespace

std::string HostGpuReader::DriverMark() const {
  return driver::DriverMark(paths_.driver_root, paths_.library_folders, paths_.devices);
}

Result<DeviceNumbers> HostGpuReader::ReadNumbers() const {
  const std::string text = TRY(base::ReadFile(paths_.devices, kTextMax));
  auto gpus = driver::MajorOf(text, "nvidia-frontend");
  if (!gpus) gpus = driver::MajorOf(text, "nvidia");
  if (!gpus) {
    return base::Fail(base::ErrorCode::kNotFound,
                      paths_.devices + " has no nvidia: load NVIDIA's driver (modprobe nvidia)");
  }
  const auto uvm = driver::MajorOf(text, "nvidia-uvm");
  if (!uvm) {
    return base::Fail(
        base::ErrorCode::kNotFound,
        paths_.devices + " has no nvidia-uvm, which CUDA needs: load it (modprobe nvidia-uvm)");
  }
  return DeviceNumbers{.gpus = *gpus, .uvm = *uvm};
}

// Returns the graphics devices of a GPU, and the capabilities of a MIG instance.
Result<std::vector<cdi::DeviceNode>> HostGpuReader::FurtherNodes(const GpuDevice& device) const {
  std::vector<cdi::DeviceNode> nodes;
  if (device.mig) {
    const std::string devices = TRY(base::ReadFile(paths_.devices, kTextMax));
    const auto major = driver::MajorOf(devices, "nvidia-caps");
    if (!major) return base::Unavailable(paths_.devices + " has no nvidia-caps");
    const std::string instance = paths_.capabilities + "/gpu" + std::to_string(device.gpu.minor) +
                                 "/mig/gi" + std::to_string(device.mig->gpu_instance);
    for (const std::string& file :
         {instance + "/access",
          instance + "/ci" + std::to_string(device.mig->compute_instance) + "/access"}) {
      const std::string text = TRY(base::ReadFile(file, kTextMax));
      nodes.push_back(TRY(driver::CapabilityIn(text, *major).map_error(base::While(file))));
    }
    return nodes;
  }
  const std::string folder = paths_.sysfs + "/bus/pci/devices/" + device.gpu.pci_address + "/drm";
  for (const std::string& name : cdi::NamesIn(folder).value_or(std::vector<std::string>())) {
    if (!name.starts_with("card") && !name.starts_with("renderD")) continue;
    auto node = NumbersIn(base::ReadFile(folder + "/" + name + "/dev", kTextMax).value_or(""));
    if (!node) continue;
    node->path = node->host_path = "/dev/dri/" + name;
    nodes.push_back(*std::move(node));
  }
  return nodes;
}

Result<GpuRead> HostGpuReader::Read() {
  GpuRead read = {.mark = DriverMark(), .node = {.node = paths_.node}};
  read.node.numbers = TRY(ReadNumbers());
  const std::string file = TRY(nvml::FindLibrary(paths_.driver_root, paths_.library_folders));
  const nvml::Library library = TRY(nvml::Library::Open(file, nvml::Library::Needs::kGpus));
  const nvml::Machine machine = TRY(library.ReadMachine());
  std::map<std::string, PciPlace> places;
  for (const nvml::Gpu& gpu : machine.gpus) {
    places[gpu.pci_address] = PlaceOf(paths_.sysfs, gpu.pci_address);
  }
  read.node.inventory = InventoryOf(machine, places);
  read.node.driver_version = machine.driver_version;
  const driver::DriverFiles files = driver::FindDriverFiles({.root = paths_.driver_root,
                                                             .version = machine.driver_version,
                                                             .folders = paths_.library_folders});
  const std::string trouble =
      driver::LibrariesTrouble(files, paths_.driver_root, machine.driver_version);
  if (!trouble.empty()) return base::Fail(base::ErrorCode::kNotFound, trouble);
  read.node.common = driver::EditsOf(files, {.host_root = paths_.host_driver_root,
                                             .hook = paths_.hook,
                                             .driver_version = machine.driver_version});
  cdi::Edits& common = read.node.common;
  common.env.insert(common.env.begin(), "NVIDIA_VISIBLE_DEVICES=void");
  const bool has_modeset = base::Contains(files.devices, kModeset, &cdi::DeviceNode::path);
  common.nodes = ControlNodes(read.node.numbers, has_modeset);
  Inventory& inventory = read.node.inventory;
  std::erase_if(inventory.devices, [&](const GpuDevice& device) {
    auto further = FurtherNodes(device);
    if (!further) {
      inventory.unpublished.push_back(
          {.device = device.name, .why = "has no capabilities: " + further.error().message});
      return true;
    }
    read.node.further_nodes[device.name] = *std::move(further);
    return false;
  });
  after_read_();
  return read;
}

std::string FindHook(const std::string& driver_root) {
  for (const char* path :
       {"/usr/bin/nvidia-cdi-hook", "/usr/local/nvidia/toolkit/nvidia-cdi-hook"}) {
    std::error_code error;
    if (fs::exists(nvml::Under(driver_root, path), error)) return path;
  }
  return {};
}

}  // namespace gpu
