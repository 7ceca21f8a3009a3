// Where a PCI device is in the machine, from sysfs.
#pragma once

#include <optional>
#include <string>

namespace gpu {

struct PciPlace {
  std::string root = {};              // PCIe root complex: "pci0000:64". Empty if unknown.
  std::optional<int> numa_node = {};  // Empty if the machine has no NUMA nodes.
  friend bool operator==(const PciPlace&, const PciPlace&) = default;
};

// Returns the place of the device with this address ("0000:65:00.0"). `sysfs` is where sysfs is
// mounted, "/sys". Links are followed inside it. What cannot be read is empty. Reads files;
// thread-safe.
PciPlace PlaceOf(const std::string& sysfs, const std::string& address);

}  // namespace gpu
