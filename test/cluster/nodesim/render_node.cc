#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "node/plugin/rules/resource_slice.h"
#include "pkg/base/rfc3339.h"
#include "test/cluster/nodesim/names.h"
#include "test/cluster/nodesim/render.h"

namespace nodesim {

namespace {

using json::Value;

// `number` with zeros before it, to at least two digits.
std::string TwoDigits(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }

// 64 hexadecimal digits that look like a digest and are the same in each run.
std::string FakeDigest(std::uint64_t seed) {
  std::string digest;
  std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  while (digest.size() < 64) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    digest += "0123456789abcdef"[state >> 60U];
  }
  return digest;
}

Value RenderImages() {
  constexpr int kImages = 50;  // The kubelet reports no more.
  Value images = Value::Array();
  for (int i = 0; i < kImages; ++i) {
    const std::string name = "registry.example.com/platform/component-" + TwoDigits(i);
    images.Append(Value::Object(
        {{"names", Value::Array({name + "@sha256:" + FakeDigest(static_cast<unsigned>(i)),
                                 name + ":" + "v1." + std::to_string(i) + ".0"})},
         {"sizeBytes", std::int64_t{1'000'000} * (2'000 - 37 * i)}}));
  }
  return images;
}

Value RenderLabels(const NodeState& node) {
  const std::string& name = node.identity.name;
  const int index = node.identity.index;
  Value labels = Value::Object({
      {"beta.kubernetes.io/arch", "arm64"},
      {"beta.kubernetes.io/instance-type", "nodesim-gb200-4"},
      {"beta.kubernetes.io/os", "linux"},
      {"failure-domain.beta.kubernetes.io/region", "region-1"},
      {"kubernetes.io/arch", "arm64"},
      {"kubernetes.io/hostname", name},
      {"kubernetes.io/os", "linux"},
      {"node.kubernetes.io/instance-type", "nodesim-gb200-4"},
      {"topology.kubernetes.io/region", "region-1"},
      {"topology.kubernetes.io/zone",
       "region-1" + std::string(1, static_cast<char>('a' + index % 3))},
      {"feature.node.kubernetes.io/pci-10de.present", "true"},
      {"feature.node.kubernetes.io/cpu-model.vendor_id", "NVIDIA"},
      {"nvidia.com/cuda.driver-version.full", "580.65.06"},
      {"nvidia.com/cuda.runtime-version.full", "13.0"},
      {"nvidia.com/gfd.timestamp", "1755000000"},
      {"nvidia.com/gpu.compute.major", "10"},
      {"nvidia.com/gpu.compute.minor", "0"},
      {"nvidia.com/gpu.count", "4"},
      {"nvidia.com/gpu.family", "blackwell"},
      {"nvidia.com/gpu.machine", "NVIDIA-GB200-NVL72"},
      {"nvidia.com/gpu.memory", "189471"},
      {"nvidia.com/gpu.mode", "compute"},
      {std::string(kGpuPresentLabel), "true"},
      {"nvidia.com/gpu.product", "NVIDIA-GB200"},
      {"nvidia.com/gpu.replicas", "1"},
      {"nvidia.com/mig.capable", "true"},
  });
  if (!node.clique_id.empty()) labels[kGpuCliqueLabel] = node.clique_id;
  return labels;
}

Value RenderConditions(WallTime wall, bool transition) {
  struct Row {
    const char* type;
    const char* status;
    const char* reason;
    const char* message;
  };
  constexpr std::array kRows = {
      Row{"MemoryPressure", "False", "KubeletHasSufficientMemory",
          "kubelet has sufficient memory available"},
      Row{"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
      Row{"PIDPressure", "False", "KubeletHasSufficientPID",
          "kubelet has sufficient PID available"},
      Row{"Ready", "True", "KubeletReady", "kubelet is posting ready status"},
  };
  const std::string now = base::FormatSeconds(wall);
  Value conditions = Value::Array();
  for (const Row& row : kRows) {
    Value condition = Value::Object({{"type", row.type},
                                     {"status", row.status},
                                     {"reason", row.reason},
                                     {"message", row.message},
                                     {"lastHeartbeatTime", now}});
    // Left out it stays as it is: conditions are merged by type.
    if (transition) condition["lastTransitionTime"] = now;
    conditions.Append(std::move(condition));
  }
  return conditions;
}

Value RenderCapacity(int cpu_reserved, int memory_reserved_mib) {
  return Value::Object({{"cpu", std::to_string(144 - cpu_reserved)},
                        {"ephemeral-storage", "7500000000Ki"},
                        {"hugepages-2Mi", "0"},
                        {"hugepages-512Mi", "0"},
                        {"memory", std::to_string(960 * 1024 - memory_reserved_mib) + "Mi"},
                        {"nvidia.com/gpu", "4"},
                        {"pods", "110"}});
}

Value RenderStatus(const NodeState& node, WallTime wall, bool transition) {
  const Identity& identity = node.identity;
  const Value port = Value::Object({{"Port", 10250}});  // The API spells it with a capital.
  return Value::Object(
      {{"addresses",
        Value::Array({Value::Object({{"type", "InternalIP"}, {"address", identity.host_ip}}),
                      Value::Object({{"type", "Hostname"}, {"address", identity.name}})})},
       {"allocatable", RenderCapacity(2, 4096)},
       {"capacity", RenderCapacity(0, 0)},
       {"conditions", RenderConditions(wall, transition)},
       {"daemonEndpoints", Value::Object({{"kubeletEndpoint", port}})},
       {"images", RenderImages()},
       {"nodeInfo", Value::Object({{"architecture", "arm64"},
                                   {"bootID", node.boot_id},
                                   {"containerRuntimeVersion", "containerd://2.1.4"},
                                   {"kernelVersion", "6.8.0-1034-nvidia-64k"},
                                   {"kubeProxyVersion", ""},
                                   {"kubeletVersion", "v1.37.2"},
                                   {"machineID", identity.machine_id},
                                   {"operatingSystem", "linux"},
                                   {"osImage", "Ubuntu 24.04.3 LTS"},
                                   {"systemUUID", identity.machine_id}})}});
}

Value Text(std::string_view value) { return Value::Object({{"string", value}}); }

Value Gpus(const std::string& node, int count) {
  Value gpus = Value::Array({});
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    gpus.Append(Value::Object(
        {{"name", "gpu-" + number},
         {"attributes", Value::Object({{"type", Text("gpu")},
                                       {"productName", Text("NVIDIA GB200")},
                                       {"uuid", Text("GPU-" + node + "-" + number)}})}}));
  }
  return gpus;
}

}  // namespace

Value RenderNode(const NodeState& node, WallTime wall) {
  return Value::Object(
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata",
        Value::Object({{"name", node.identity.name},
                       {"labels", RenderLabels(node)},
                       {"annotations",
                        Value::Object({{std::string(kCreatedAnnotation), "true"},
                                       {"volumes.kubernetes.io/controller-managed-attach-detach",
                                        "true"}})}})},
       {"spec", Value::Object({{"providerID", "nodesim://" + node.identity.name}})},
       {"status", RenderStatus(node, wall, true)}});
}

Value RenderNodeStatusPatch(const NodeState& node, const WriteNodeStatus& action, WallTime wall) {
  if (action.whole) {
    return Value::Object({{"status", RenderStatus(node, wall, action.transition)}});
  }
  return Value::Object(
      {{"status", Value::Object({{"conditions", RenderConditions(wall, action.transition)}})}});
}

Value RenderNodeLabelsPatch(const NodeState& node, const std::string& version) {
  Value labels = RenderLabels(node);
  if (node.clique_id.empty()) labels[kGpuCliqueLabel] = Value();  // Null: remove it.
  return Value::Object(
      {{"metadata", Value::Object({{"resourceVersion", version}, {"labels", std::move(labels)}})}});
}

Value RenderLease(const std::string& node, const kube::Uid& node_uid, const std::string& version,
                  WallTime renewed) {
  constexpr int kLeaseSeconds = 40;  // The kubelet's default.
  Value metadata = Value::Object(
      {{"name", node},
       {"namespace", kLeaseNamespace},
       {"ownerReferences",
        Value::Array({Value::Object(
            {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", node_uid}})})}});
  if (!version.empty()) metadata["resourceVersion"] = version;
  return Value::Object({{"apiVersion", "coordination.k8s.io/v1"},
                        {"kind", "Lease"},
                        {"metadata", std::move(metadata)},
                        {"spec", Value::Object({{"holderIdentity", node},
                                                {"leaseDurationSeconds", kLeaseSeconds},
                                                {"renewTime", base::FormatMicros(renewed)}})}});
}

Value RenderSlice(const std::string& node, const CreateSlice& slice) {
  Value object =
      dra::Render(plugin::SliceOf({.node = node, .node_uid = slice.node}), dra::SliceApi::kV1);
  if (slice.gpus == 0) return object;
  object["metadata"]["generateName"] = "00000-" + std::string(kGpuDriver) + "-" + node + "-";
  object["spec"]["driver"] = kGpuDriver;
  object["spec"]["devices"] = Gpus(node, slice.gpus);
  return object;
}

}  // namespace nodesim
