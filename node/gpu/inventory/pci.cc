#include "node/gpu/inventory/pci.h"

#include <charconv>
#include <cstddef>
#include <string_view>

#include "node/nvml/library.h"
#include "node/nvml/names.h"
#include "pkg/base/file.h"
#include "pkg/base/text.h"

namespace gpu {

namespace {

constexpr std::size_t kNumberMax = 32;  // Bytes of a file that has one number.

// Returns the root complex in the path of a device: the first folder of /devices. Other buses have
// no name that NVIDIA's driver would publish.
std::string RootIn(std::string_view path) {
  constexpr std::string_view kDevices = "/devices/";
  constexpr std::string_view kPci = "pci";
  if (!path.starts_with(kDevices)) return {};
  path.remove_prefix(kDevices.size());
  const std::string_view root = path.substr(0, path.find('/'));
  return root.starts_with(kPci) && root.size() < path.size() ? std::string(root) : std::string();
}

}  // namespace

PciPlace PlaceOf(const std::string& sysfs, const std::string& address) {
  // An address becomes part of a path, so it must be nothing else.
  if (address.empty() || nvml::PciAddressOf(address) != address) return {};
  const auto path = nvml::ResolveIn(sysfs, "/bus/pci/devices/" + address);
  if (!path || !path->ends_with("/" + address)) return {};
  PciPlace place = {.root = RootIn(*path)};
  const auto text = base::ReadFile(nvml::Under(sysfs, *path) + "/numa_node", kNumberMax);
  if (!text) return place;
  const std::string_view digits = base::Trim(*text);
  int node = -1;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), node);
  // -1 is a machine without NUMA nodes.
  if (error == std::errc() && stop == digits.data() + digits.size() && node >= 0) {
    place.numa_node = node;
  }
  return place;
}

}  // namespace gpu
