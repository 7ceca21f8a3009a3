// What a plugin's loop asks of its host.
#pragma once

#include <stop_token>
#include <string>

#include "node/plugin/host/host.h"
#include "pkg/base/result.h"

namespace plugin {

// One read of NVIDIA's driver.
struct DriverRead {
  std::string mark = {};  // Of before the read, so that a change during it is noticed later.
  Host host = {};
  std::string base_spec = {};
  std::string lacks = {};  // Which GPUs have no device node. Empty if all have one.
  bool has_gpu = true;     // At least one has, or none is needed.
};

class HostReader {
 public:
  virtual ~HostReader() = default;

  // For the deciding thread, quick.
  virtual std::string DriverMark() const = 0;
  // Puts our CDI hook where the host can run it, and returns its path there. Empty if there is
  // none.
  virtual base::Result<std::string> InstallHook() = 0;
  // Returns whether nobody has deleted what InstallHook() put at `path`.
  virtual bool HasHook(const std::string& path) const = 0;

  // These may block, and are for another thread.
  // As ReadHost(), and the driver's files. `hook` is a path on the host, or empty.
  virtual base::Result<DriverRead> Read(const std::string& hook) = 0;
  // Returns whether the host runs IMEX, and it is ready.
  virtual bool IsImexReady(const std::stop_token& stop) = 0;
};

}  // namespace plugin
