// The CDI spec "device=all": NVIDIA's driver files for daemons' containers.
//
// It includes nvidia-imex and nvidia-imex-ctl. No other container gets it.
#pragma once

#include <string>
#include <vector>

#include "node/cdi/spec.h"

namespace plugin {

// Files under a driver's root. Paths are relative to it, and begin with '/'.
struct DriverFiles {
  struct Library {
    std::string path = {};                // "/usr/lib64/libcuda.so.580.1".
    std::vector<std::string> names = {};  // Links to it in the same folder, "libcuda.so.1".
  };
  struct File {
    std::string path = {};  // In containers, "/usr/bin/nvidia-smi".
    std::string file = {};  // Where it is, behind links.
  };
  std::vector<Library> libraries = {};
  std::vector<File> programs = {};
  std::vector<File> others = {};  // Firmware, and sockets of host services.
  std::vector<cdi::DeviceNode> devices = {};
};

// Returns the root below which a driver's device nodes are: its own or, if it has none, that of
// this container.
std::string RootOfDevices(const std::string& root);

// Finds the files of this version of the driver. Omits files that do not exist. Searches libraries
// in nvml::LibraryFolders(root, more).
DriverFiles FindDriverFiles(const std::string& root, const std::string& version,
                            const std::vector<std::string>& more = {});

// Returns what is wrong if no library of the driver was found, and how to fix it. Empty if one
// was.
std::string LibrariesTrouble(const DriverFiles& files, const std::string& root,
                             const std::string& version);

// Returns the names of the device nodes of GPUs under a driver's root, in order: "nvidia0".
std::vector<std::string> FindGpus(const std::string& root);

// Returns a PATH for programs that run in a driver's root: the folders that FindDriverFiles()
// searches.
std::string ProgramPath();

// Returns how many device nodes of GPUs are among them, such as /dev/nvidia0.
int CountGpus(const DriverFiles& files);

struct BaseSpecOptions {
  std::string host_root = "/";  // The driver's root on the host.
  std::string hook = {};        // Path of nvidia-cdi-hook on the host. Empty if there is none.
  std::string driver_version = {};
};
// Returns the spec. Pure. Without the hook, mounts each name of a library, and sets
// LD_LIBRARY_PATH.
cdi::Spec BaseSpec(const DriverFiles& files, const BaseSpecOptions& options);

}  // namespace plugin
