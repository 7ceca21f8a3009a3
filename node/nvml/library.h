// NVIDIA's management library: driver version, and the fabric of each GPU.
//
// It is loaded at run time, because it belongs to the driver of the host. Used by one thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "node/nvml/fabric.h"
#include "pkg/base/result.h"

namespace nvml {

inline constexpr const char* kLibrary = "libnvidia-ml.so.1";

class Library {
 public:
  // Loads the file at `path`. Returns kNotFound if it cannot be loaded. Returns kInvalid, with the
  // reason, if it lacks a function or cannot be initialized.
  [[nodiscard]] static base::Result<Library> Open(const std::string& path);
  ~Library();
  Library(Library&&) noexcept;

  [[nodiscard]] base::Result<std::string> DriverVersion() const;
  // Returns the fabric of each GPU, except GPUs that only drive a display.
  [[nodiscard]] base::Result<std::vector<Fabric>> Fabrics() const;

 private:
  struct Functions;
  explicit Library(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
};

// Folders of libraries below a driver's root, in the distributions.
inline constexpr std::array<std::string_view, 7> kLibraryFolders = {"",
                                                                    "/usr/lib64",
                                                                    "/usr/lib/x86_64-linux-gnu",
                                                                    "/usr/lib/aarch64-linux-gnu",
                                                                    "/lib64",
                                                                    "/lib/x86_64-linux-gnu",
                                                                    "/lib/aarch64-linux-gnu"};

// Returns the path of the library's file (not of a link) in one of kLibraryFolders below `root`.
// Returns kNotFound if none has it.
[[nodiscard]] base::Result<std::string> FindLibrary(const std::string& root);

}  // namespace nvml
