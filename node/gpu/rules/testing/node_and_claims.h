// A node with GPUs, and claims for them, as tests need them.
#pragma once

#include <string>
#include <vector>

#include "node/gpu/rules/claim.h"
#include "node/gpu/rules/claim_devices.h"
#include "node/gpu/rules/gpu_node.h"

namespace gpu {

// One result of a claim's allocation.
struct Given {
  std::string device = {};
  std::string request = "r";
  bool admin_access = false;
  std::string pool = "node-a";
};

inline std::string JsonOf(const Given& given) {
  return R"({"request":")" + given.request + R"(","driver":"gpu.nvidia.com","pool":")" +
         given.pool + R"(","device":")" + given.device + "\"" +
         (given.admin_access ? R"(,"adminAccess":true)" : "") + "}";
}

// A configuration of the claim, for all of its requests or for one.
inline std::string ConfigJson(const std::string& parameters, const std::string& request = "") {
  return R"({"source":"FromClaim",)" +
         (request.empty() ? "" : R"("requests":[")" + request + R"("],)") +
         R"("opaque":{"driver":"gpu.nvidia.com","parameters":)" + parameters + "}}";
}

// The object as the API server returns it. `config` is a list without its brackets.
inline std::string ClaimJson(const std::string& uid, const std::vector<Given>& devices,
                             const std::string& config = "") {
  std::string results;
  for (const Given& given : devices) results += (results.empty() ? "" : ",") + JsonOf(given);
  return R"({"metadata":{"name":"c-)" + uid + R"(","namespace":"ns","uid":")" + uid +
         R"("},"status":{"allocation":{"devices":{"results":[)" + results + R"(],"config":[)" +
         config + R"(]}},"reservedFor":[{"resource":"pods","name":"p","uid":")" + uid + R"("}]}})";
}

inline ClaimToPrepare ClaimOf(const std::string& uid, const std::vector<Given>& devices,
                              const std::string& config = "") {
  return dra::DecodeResourceClaim<Wanted>(ClaimJson(uid, devices, config)).value();
}

inline GpuDevice GpuOf(int minor) {
  const std::string number = std::to_string(minor);
  return {.name = "gpu-" + number,
          .gpu = {.index = minor,
                  .minor = minor,
                  .uuid = "GPU-" + number,
                  .pci_address = "0000:0" + number + ":00.0"}};
}

constexpr const char* kMigName = "gpu-2-mig-1g10gb-19-3";

// An instance of the GPU with minor 2.
inline GpuDevice MigOf() {
  GpuDevice device = GpuOf(2);
  device.name = kMigName;
  device.mig = nvml::MigInstance{.uuid = "MIG-3",
                                 .gpu_instance = 9,
                                 .compute_instance = 1,
                                 .profile = {.id = 19, .name = "1g.10gb"},
                                 .placement_start = 3};
  return device;
}

inline cdi::DeviceNode CapabilityOf(int minor, int major = 236) {
  const std::string path = "/dev/nvidia-caps/nvidia-cap" + std::to_string(minor);
  return {.path = path, .host_path = path, .major = major, .minor = minor};
}

// node-a, with two whole GPUs and a MIG instance.
inline GpuNode NodeA() {
  GpuNode node = {.node = "node-a",
                  .driver_version = "580.95.05",
                  .inventory = {.devices = {GpuOf(0), GpuOf(1), MigOf()}},
                  .numbers = {.gpus = 195, .uvm = 511}};
  node.common.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  node.common.nodes = ControlNodes(node.numbers, false);
  node.common.mounts = {{.host_path = "/usr/lib64/libcuda.so.580.95.05",
                         .container_path = "/usr/lib64/libcuda.so.580.95.05"}};
  node.further_nodes[kMigName] = {CapabilityOf(30), CapabilityOf(31)};
  return node;
}

}  // namespace gpu
