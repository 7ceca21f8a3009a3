#include <string>
#include <utility>

#include "pkg/base/rfc3339.h"
#include "test/cluster/nodesim/names.h"
#include "test/cluster/nodesim/render.h"

namespace nodesim {

namespace {

using json::Value;

constexpr const char* kContainersNotReady = "ContainersNotReady";

Value RenderCondition(const char* type, bool status, const char* reason, WallTime since) {
  Value condition = Value::Object({{"type", type},
                                   {"status", status ? "True" : "False"},
                                   {"lastProbeTime", Value()},
                                   {"lastTransitionTime", base::FormatSeconds(since)}});
  // Null takes away what an earlier status said: conditions are merged by type.
  condition["reason"] = reason == nullptr ? Value() : Value(reason);
  condition["message"] = Value();
  return condition;
}

const char* WhyNotReady(const PodStatus& status) {
  if (status.ready) return nullptr;
  if (status.phase == "Succeeded") return "PodCompleted";
  return status.phase == "Failed" ? "PodFailed" : kContainersNotReady;
}

Value RenderConditions(const WritePodStatus& action) {
  const PodStatus& status = action.status;
  const bool has_sandbox = status.containers == Containers::kRunning;
  const char* why_not_ready = WhyNotReady(status);
  Value conditions = Value::Array({
      RenderCondition("PodReadyToStartContainers", has_sandbox, nullptr,
                      has_sandbox ? action.started : action.ready_changed),
      RenderCondition("Initialized", status.initialized,
                      status.initialized ? nullptr : "ContainersNotInitialized", action.admitted),
      RenderCondition("Ready", status.ready, why_not_ready, action.ready_changed),
      RenderCondition("ContainersReady", status.ready, why_not_ready, action.ready_changed),
  });
  // The scheduler says this, unless the pod came with its node.
  if (!action.pod->scheduled) {
    conditions.Append(RenderCondition("PodScheduled", true, nullptr, action.admitted));
  }
  return conditions;
}

Value RenderTerminated(int exit_code, const WritePodStatus& action) {
  const bool ran = action.started != WallTime();
  return Value::Object(
      {{"terminated",
        Value::Object({{"exitCode", exit_code},
                       {"reason", exit_code == 0 ? "Completed"
                                  : ran          ? "Error"
                                                 : "ContainerStatusUnknown"},
                       {"startedAt", ran ? Value(base::FormatSeconds(action.started)) : Value()},
                       {"finishedAt", base::FormatSeconds(action.ended)}})}});
}

Value RenderState(const WritePodStatus& action) {
  if (action.status.containers == Containers::kRunning) {
    return Value::Object(
        {{"running", Value::Object({{"startedAt", base::FormatSeconds(action.started)}})}});
  }
  if (action.status.containers == Containers::kTerminated) {
    return RenderTerminated(action.status.exit_code, action);
  }
  if (action.status.containers == Containers::kImageMissing) {
    return Value::Object({{"waiting", Value::Object({{"reason", kImagePullBackOff},
                                                     {"message", "Back-off pulling image"}})}});
  }
  return Value::Object({{"waiting", Value::Object({{"reason", "ContainerCreating"}})}});
}

// An identifier such as a container runtime gives, made from what it stands for.
std::string ContainerId(const Pod& pod, const Container& container, int restarts) {
  std::string hex;
  for (const char c : pod.meta.uid) {
    if (c != '-') hex += c;
  }
  return "containerd://" + hex + "-" + container.name + "-" + std::to_string(restarts);
}

Value RenderContainer(const WritePodStatus& action, const Container& container) {
  const PodStatus& status = action.status;
  Value rendered = Value::Object({{"name", container.name},
                                  {"image", container.image},
                                  {"imageID", ""},
                                  {"lastState", Value::Object()},
                                  {"ready", status.ready},
                                  {"restartCount", status.restarts},
                                  {"started", status.containers == Containers::kRunning},
                                  {"state", RenderState(action)}});
  if (status.containers == Containers::kRunning || status.containers == Containers::kTerminated) {
    rendered["imageID"] = container.image;
    rendered["containerID"] = ContainerId(*action.pod, container, status.restarts);
  }
  return rendered;
}

Value RenderInitContainer(const WritePodStatus& action, const Container& container) {
  Value rendered = RenderContainer(action, container);
  rendered["started"] = false;
  rendered["ready"] = action.status.initialized;
  if (action.status.initialized) {
    WritePodStatus done = action;
    done.ended = action.started;
    rendered["state"] = RenderTerminated(0, done);
  }
  return rendered;
}

// A list with one address; it takes the place of the one before.
Value RenderAddresses(const std::string& ip) {
  if (ip.empty()) return {};
  return Value::Array({Value::Object({{"ip", ip}}), Value::Object({{"$patch", "replace"}})});
}

}  // namespace

Value RenderPodStatusPatch(const WritePodStatus& action, const std::string& host_ip) {
  const Pod& pod = *action.pod;
  const std::string& ip = action.status.pod_ip;
  Value status = Value::Object({{"phase", action.status.phase},
                                {"conditions", RenderConditions(action)},
                                {"hostIP", host_ip},
                                {"hostIPs", RenderAddresses(host_ip)},
                                {"podIP", ip.empty() ? Value() : Value(ip)},
                                {"podIPs", RenderAddresses(ip)},
                                {"startTime", base::FormatSeconds(action.admitted)}});
  Value containers = Value::Array();
  for (const Container& container : pod.containers) {
    containers.Append(RenderContainer(action, container));
  }
  status["containerStatuses"] = std::move(containers);
  if (!pod.init_containers.empty()) {
    Value init_containers = Value::Array();
    for (const Container& container : pod.init_containers) {
      init_containers.Append(RenderInitContainer(action, container));
    }
    status["initContainerStatuses"] = std::move(init_containers);
  }
  // The UID is a precondition: a new pod of the same name is not ours to describe.
  return Value::Object(
      {{"metadata", Value::Object({{"uid", pod.meta.uid}})}, {"status", std::move(status)}});
}

Value RenderClique(const Clique& clique) {
  const auto map = [](const std::map<std::string, std::string>& members) {
    Value object = Value::Object();
    for (const auto& [name, value] : members) object[name] = value;
    return object;
  };
  Value metadata = Value::Object({{"name", clique.meta.key.name},
                                  {"namespace", clique.meta.key.ns},
                                  {"labels", map(clique.labels)}});
  if (!clique.annotations.empty()) metadata["annotations"] = map(clique.annotations);
  if (!clique.meta.uid.empty()) metadata["uid"] = clique.meta.uid;
  if (!clique.meta.resource_version.empty()) {
    metadata["resourceVersion"] = clique.meta.resource_version;
  }
  Value owners = Value::Array();
  for (const CliqueOwner& owner : clique.owners) {
    const kube::OwnerReference& reference = owner.reference;
    Value rendered = Value::Object({{"apiVersion", reference.api_version},
                                    {"kind", reference.kind},
                                    {"name", reference.name},
                                    {"uid", reference.uid}});
    if (reference.controller) rendered["controller"] = true;
    if (owner.block_owner_deletion) rendered["blockOwnerDeletion"] = *owner.block_owner_deletion;
    owners.Append(std::move(rendered));
  }
  metadata["ownerReferences"] = std::move(owners);
  Value finalizers = Value::Array();
  for (const std::string& finalizer : clique.meta.finalizers) finalizers.Append(finalizer);
  if (!clique.meta.finalizers.empty()) metadata["finalizers"] = std::move(finalizers);

  Value daemons = Value::Array();
  for (const Member& member : clique.daemons) {
    daemons.Append(Value::Object({{"nodeName", member.node},
                                  {"ipAddress", member.ip},
                                  {"cliqueID", member.clique_id},
                                  {"index", member.index.value_or(0)},
                                  {"status", member.status.empty() ? "NotReady" : member.status}}));
  }
  return Value::Object({{"apiVersion", kCliques.ApiVersion()},
                        {"kind", kCliques.kind},
                        {"metadata", std::move(metadata)},
                        {"daemons", std::move(daemons)}});
}

}  // namespace nodesim
