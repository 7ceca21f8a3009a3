// NVIDIA's management library, as far as a plugin needs it: the driver's version, and the fabric of
// each GPU. It is loaded when it is asked for, since it comes with the driver of the host.
//
// Used by one thread.
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
  // `path`: of the file. kNotFound: it cannot be loaded. kInvalid: it lacks what is needed, or does
  // not start; with the reason.
  [[nodiscard]] static base::Result<Library> Open(const std::string& path);
  ~Library();
  Library(Library&&) noexcept;

  [[nodiscard]] base::Result<std::string> DriverVersion() const;
  // Of all GPUs but displays, which have none.
  [[nodiscard]] base::Result<std::vector<Fabric>> Fabrics() const;

 private:
  struct Functions;
  explicit Library(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
};

// Where libraries lie below a driver's root, as distributions have them.
inline constexpr std::array<std::string_view, 7> kLibraryFolders = {"",
                                                                    "/usr/lib64",
                                                                    "/usr/lib/x86_64-linux-gnu",
                                                                    "/usr/lib/aarch64-linux-gnu",
                                                                    "/lib64",
                                                                    "/lib/x86_64-linux-gnu",
                                                                    "/lib/aarch64-linux-gnu"};

// Where the library is under the root of a driver, by the folders that distributions use, as the
// path of the file itself. kNotFound: in none of them.
[[nodiscard]] base::Result<std::string> FindLibrary(const std::string& root);

}  // namespace nvml
