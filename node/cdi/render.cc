#include <string>

#include "node/cdi/spec.h"
#include "pkg/json/value.h"

namespace cdi {

namespace {

using json::Value;

Value ToJson(const std::string& text) { return text; }
Value ToJson(const Device& device);
Value ToJson(const DeviceNode& node);
Value ToJson(const Hook& hook);
Value ToJson(const Mount& mount);

// Sets a member if `list` is not empty.
template <typename T>
void AddList(Value& object, std::string_view name, const std::vector<T>& list) {
  for (const T& item : list) object[name].Append(ToJson(item));
}

Value ToJson(const DeviceNode& node) {
  Value object = Value::Object({{"path", node.path}});
  if (!node.host_path.empty()) object["hostPath"] = node.host_path;
  object["type"] = "c";
  object["major"] = node.major;
  if (node.minor != 0) object["minor"] = node.minor;
  object["fileMode"] = node.mode;
  return object;
}

Value ToJson(const Hook& hook) {
  Value object = Value::Object({{"hookName", hook.name}, {"path", hook.path}});
  AddList(object, "args", hook.args);
  AddList(object, "env", hook.env);
  return object;
}

Value ToJson(const Mount& mount) {
  Value object =
      Value::Object({{"hostPath", mount.host_path}, {"containerPath", mount.container_path}});
  AddList(object, "options", mount.options);
  return object;
}

void AddEdits(Value& object, const Edits& edits) {
  if (edits == Edits()) return;
  Value& added = object["containerEdits"];
  AddList(added, "env", edits.env);
  AddList(added, "deviceNodes", edits.nodes);
  AddList(added, "hooks", edits.hooks);
  AddList(added, "mounts", edits.mounts);
}

Value ToJson(const Device& device) {
  Value object = Value::Object({{"name", device.name}});
  AddEdits(object, device.edits);
  return object;
}

}  // namespace

std::string Render(const Spec& spec) {
  Value object = Value::Object({{"cdiVersion", kVersion}, {"kind", spec.kind}});
  AddList(object, "devices", spec.devices);
  AddEdits(object, spec.edits);
  return json::Serialize(object) + "\n";
}

}  // namespace cdi
