// The files of NVIDIA's driver, and how a container gets them by CDI.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "node/cdi/spec.h"

namespace driver {

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

// Programs of the driver that any container may use.
inline constexpr auto kPrograms =
    std::to_array<std::string_view>({"nvidia-smi", "nvidia-debugdump", "nvidia-persistenced",
                                     "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"});

struct FileSearch {
  std::string root = {};
  std::string version = {};                // Of the driver.
  std::vector<std::string> folders = {};   // Further ones of libraries, as nvml::LibraryFolders().
  std::vector<std::string> programs = {};  // Further ones, before kPrograms.
};
// Finds the files of this version of the driver. Omits files that do not exist.
DriverFiles FindDriverFiles(const FileSearch& search);

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

struct EditsOptions {
  std::string host_root = "/";  // The driver's root on the host.
  std::string hook = {};        // Path of nvidia-cdi-hook on the host. Empty if there is none.
  std::string driver_version = {};
};
// Returns the edits that mount all files but device nodes. Pure. Without the hook, mounts each name
// of a library, and sets LD_LIBRARY_PATH.
cdi::Edits EditsOf(const DriverFiles& files, const EditsOptions& options);

}  // namespace driver
