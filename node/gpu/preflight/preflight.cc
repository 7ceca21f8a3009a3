#include "node/gpu/preflight/preflight.h"

#include <utility>

namespace gpu {

namespace {

class Checks {
 public:
  explicit Checks(const NodeProbe& found) : found_(found) {}

  std::vector<Finding> Take() {
    Kernel();
    Driver();
    Gpus();
    Others();
    dra::AddContainers(found_.cdi_trouble, found_.runtime, findings_);
    return std::move(findings_);
  }

 private:
  void Add(bool stops, std::string text) {
    findings_.push_back({.stops = stops, .text = std::move(text)});
  }
  void Stop(std::string text) { Add(true, std::move(text)); }

  void Kernel() {
    if (!found_.has_gpu_numbers) {
      Stop("NVIDIA's driver: /proc/devices has no nvidia: load its module (modprobe nvidia)");
    }
    if (!found_.has_uvm_numbers) {
      Stop(
          "NVIDIA's driver: /proc/devices has no nvidia-uvm, which CUDA needs: load it (modprobe "
          "nvidia-uvm)");
    }
  }

  void Driver() {
    if (!found_.library_trouble.empty()) {
      Stop("NVIDIA's driver: " + found_.library_trouble + "; its root on the host is " +
           found_.driver_root +
           " here: install the driver, or say where it is, NVIDIA_DRIVER_ROOT, and mount that");
      return;
    }
    if (!found_.files_trouble.empty()) Stop(found_.files_trouble);
    if (found_.other_versions.empty()) return;
    std::string others;
    for (const std::string& version : found_.other_versions) {
      others += (others.empty() ? "" : ", ") + version;
    }
    // Containers get those of the driver that runs.
    Add(false, "NVIDIA's driver is " + found_.driver_version + ", and there are libraries of " +
                   others + ": end the upgrade, or remove those of the other driver");
  }

  void Gpus() {
    if (!found_.library_trouble.empty()) return;
    if (found_.devices == 0 && found_.unpublished.empty()) {
      Stop(
          "GPUs: NVIDIA's library finds none: keep the plugin off this node by its node selector, "
          "or look at the driver's log (dmesg)");
    }
    for (const std::string& gpu : found_.unpublished) {
      Add(found_.devices == 0,
          "GPUs: " + gpu + ": look at the driver's log (dmesg); it is published once it is read");
    }
  }

  void Others() {
    if (!found_.other_driver.empty()) {
      Stop("Another driver serves gpu.nvidia.com on this node, at " + found_.other_driver +
           ": remove it, or two drivers give the same GPUs");
    }
    if (!found_.offered_gpus.empty()) {
      Stop("A device plugin offers nvidia.com/gpu: " + found_.offered_gpus +
           " on this node: remove it from the node, or one GPU is given twice");
    }
  }

  const NodeProbe& found_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> Preflight(const NodeProbe& found) {
  return dra::Settled(Checks(found).Take(), found.has_prepared);
}

}  // namespace gpu
