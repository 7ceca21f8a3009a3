#include "test/simulation/cluster/taints.h"

#include <algorithm>

namespace simulation {

using json::Value;

namespace {

bool IsToleratedBy(const Value& taint, const Value& toleration) {
  const std::string& effect = toleration["effect"].AsString();
  const std::string& key = toleration["key"].AsString();
  if (!effect.empty() && effect != taint["effect"].AsString()) return false;
  if (toleration["operator"].AsString() == "Exists") {
    return key.empty() || key == taint["key"].AsString();
  }
  return key == taint["key"].AsString() &&
         toleration["value"].AsString() == taint["value"].AsString();
}

}  // namespace

bool Tolerates(const Value& pod_spec, const Value& taint) {
  return std::ranges::any_of(pod_spec["tolerations"].items(), [&](const Value& toleration) {
    return IsToleratedBy(taint, toleration);
  });
}

bool ToleratesAll(const Value& pod_spec, const Object& node, std::string_view effect) {
  const bool is_cordoned = effect == "NoSchedule" && node["spec"]["unschedulable"].AsBool();
  if (is_cordoned &&
      !Tolerates(pod_spec, Value::Object({{"key", "node.kubernetes.io/unschedulable"},
                                          {"effect", effect}}))) {
    return false;
  }
  return std::ranges::all_of(node["spec"]["taints"].items(), [&](const Value& taint) {
    return taint["effect"].AsString() != effect || Tolerates(pod_spec, taint);
  });
}

void AddDaemonTolerations(Value& pod_spec) {
  const auto add = [&](const char* key, const char* effect) {
    pod_spec["tolerations"].Append(
        Value::Object({{"key", key}, {"operator", "Exists"}, {"effect", effect}}));
  };
  add("node.kubernetes.io/not-ready", "NoExecute");
  add("node.kubernetes.io/unreachable", "NoExecute");
  for (const char* key : {"node.kubernetes.io/disk-pressure", "node.kubernetes.io/memory-pressure",
                          "node.kubernetes.io/pid-pressure", "node.kubernetes.io/unschedulable"}) {
    add(key, "NoSchedule");
  }
}

}  // namespace simulation
