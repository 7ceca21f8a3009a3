// NVIDIA's management library: driver version, GPUs, and the fabric of each GPU.
//
// It is loaded at run time, because it belongs to the driver of the host. Used by one thread.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/nvml/fabric.h"
#include "node/nvml/gpu.h"
#include "pkg/base/result.h"

namespace nvml {

inline constexpr const char* kLibrary = "libnvidia-ml.so.1";

class Library {
 public:
  // Which functions the library must have. Old drivers lack those for fabrics.
  enum class Needs { kFabric, kGpus };

  // Loads the file at `path`. Returns kNotFound if it cannot be loaded. Returns kInvalid, with the
  // reason, if it lacks a function or cannot be initialized.
  static base::Result<Library> Open(const std::string& path, Needs needs = Needs::kFabric);
  ~Library();
  Library(Library&&) noexcept;

  base::Result<std::string> DriverVersion() const;
  // Returns the fabric of each GPU, except GPUs that only drive a display.
  base::Result<std::vector<Fabric>> Fabrics() const;
  // Returns the driver and its GPUs, except GPUs that only drive a display. A GPU that cannot be
  // read is listed with its error. Returns kInvalid, with the reason, if NVML cannot say how many
  // GPUs there are. Blocks while the driver does: for a lost GPU, this may take minutes. REQUIRES:
  // opened with kGpus.
  base::Result<Machine> ReadMachine() const;

  struct Functions;  // For this folder: see functions.h.

 private:
  explicit Library(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
};

// Folders of libraries below a driver's root: of distributions, and of Talos.
inline constexpr auto kLibraryFolders = std::to_array<std::string_view>({
    "/",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib",
    "/lib",
    "/usr/local/glibc/usr/lib",
});

// Below, paths begin with '/' and are relative to `root`, a driver's root. Links are followed as if
// it were the root of the file system, so that an absolute link leads to the driver's file.

// Returns the path with the root before it.
std::string Under(const std::string& root, const std::string& path);
// Returns where the path leads. Empty if nothing is there.
std::optional<std::string> ResolveIn(const std::string& root, const std::string& path);
// Returns the folders in which all of the driver's libraries are searched: `more`, which an
// administrator names, then kLibraryFolders. Each is resolved, exists, and is listed once.
std::vector<std::string> LibraryFolders(const std::string& root,
                                        const std::vector<std::string>& more);
// Returns the path of the library's file (not of a link, and with `root`) in the first of these
// folders that has it. Returns kNotFound if none has it.
base::Result<std::string> FindLibrary(const std::string& root,
                                      const std::vector<std::string>& more = {});

}  // namespace nvml
