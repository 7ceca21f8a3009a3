// Reads GPUs and NVIDIA's driver from the host.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "node/driver/files.h"
#include "node/gpu/rules/gpu_node.h"
#include "pkg/base/result.h"

namespace gpu {

struct GpuRead {
  std::string mark = {};  // Of before the read, so that a change during it is noticed later.
  GpuNode node = {};
};

// What the loop asks of its host.
class GpuReader {
 public:
  virtual ~GpuReader() = default;
  // Returns a cheap fingerprint of the driver. For the deciding thread.
  virtual std::string DriverMark() const = 0;
  // Reads all. Messages say what to do. May block for minutes: for another thread.
  virtual base::Result<GpuRead> Read() = 0;
};

struct GpuPaths {
  std::string node = {};              // Name of the node.
  std::string driver_root = {};       // As seen by the plugin.
  std::string host_driver_root = {};  // On the host.
  // Further folders of NVIDIA's libraries, below `driver_root`.
  std::vector<std::string> library_folders = {};
  std::string devices = "/proc/devices";
  std::string capabilities = "/proc/driver/nvidia/capabilities";
  std::string sysfs = "/sys";
  std::string hook = {};  // Path of nvidia-cdi-hook on the host. Empty if there is none.
};

class HostGpuReader final : public GpuReader {
 public:
  // `after_read` is called after each read that succeeds, on the thread that reads.
  explicit HostGpuReader(
      GpuPaths paths, std::function<void()> after_read = [] {})
      : paths_(std::move(paths)), after_read_(std::move(after_read)) {}
  std::string DriverMark() const override;
  base::Result<GpuRead> Read() override;

 private:
  base::Result<DeviceNumbers> ReadNumbers() const;
  base::Result<std::vector<cdi::DeviceNode>> FurtherNodes(const GpuDevice& device) const;

  const GpuPaths paths_;
  const std::function<void()> after_read_;
};

// Returns where the host has nvidia-cdi-hook or an older nvidia-ctk, in a driver's root that is the
// host's own. Empty if it has neither.
std::string FindHook(const std::string& driver_root);

}  // namespace gpu
