// The CDI spec "device=all": everything of NVIDIA's driver that a daemon's container is given,
// nvidia-imex and nvidia-imex-ctl first. No other container is.
#pragma once

#include <string>
#include <vector>

#include "node/cdi/spec.h"

namespace plugin {

// What lies under the root of a driver; paths begin there.
struct DriverFiles {
  struct Library {
    std::string path = {};                // "/usr/lib64/libcuda.so.580.1".
    std::vector<std::string> names = {};  // Links to it beside it, "libcuda.so.1".
  };
  std::vector<Library> libraries = {};
  std::vector<std::string> programs = {};
  std::vector<std::string> others = {};  // Firmware, and sockets of services of the host.
  std::vector<cdi::DeviceNode> devices = {};
};

// Looks it up for a version of the driver. What is not there is left out.
[[nodiscard]] DriverFiles FindDriverFiles(const std::string& root, const std::string& version);

struct BaseSpecOptions {
  std::string host_root = "/";  // Of the driver, on the host.
  std::string hook = {};        // nvidia-cdi-hook, on the host; empty: there is none.
  std::string driver_version = {};
};
// Pure. Without the hook names of libraries are mounted one by one, and LD_LIBRARY_PATH says where.
[[nodiscard]] cdi::Spec BaseSpec(const DriverFiles& files, const BaseSpecOptions& options);

}  // namespace plugin
