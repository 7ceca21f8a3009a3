#include <string>

#include "node/cdi/spec.h"
#include "node/cdi/yaml_text.h"

namespace cdi {

namespace {

// The column of what belongs to a member at `column`: the next multiple of four, as the encoder of
// the reference has it.
constexpr std::size_t Below(std::size_t column) { return (column / 4 + 1) * 4; }

// Lines, each member at its column. The first one of an item of a list stands behind a dash.
class Lines {
 public:
  explicit Lines(std::string& out) : out_(out) {}

  void Member(std::size_t column, std::string_view name, std::string_view value) {
    Begin(column);
    out_.append(name).append(value.empty() ? ":" : ": ").append(value) += '\n';
  }
  void Text(std::size_t column, std::string_view name, std::string_view value) {
    Member(column, name, YamlScalar(value));
  }
  void Number(std::size_t column, std::string_view name, std::int64_t value) {
    Member(column, name, std::to_string(value));
  }
  void Texts(std::size_t column, std::string_view name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    Member(column, name, "");
    for (const std::string& value : values) {
      const std::size_t at = Item(column);
      Begin(at);
      out_.append(YamlScalar(value)) += '\n';
    }
  }
  // The next line begins an item of the list under `column`. The column of its members.
  std::size_t Item(std::size_t column) {
    is_first_ = true;
    return Below(column) + kDash.size();
  }

 private:
  static constexpr std::string_view kDash = "- ";

  void Begin(std::size_t column) {
    if (is_first_) column -= kDash.size();
    out_.append(column, ' ').append(is_first_ ? kDash : "");
    is_first_ = false;
  }

  std::string& out_;
  bool is_first_ = false;
};

void Write(Lines& lines, std::size_t column, const DeviceNode& node) {
  lines.Text(column, "path", node.path);
  if (!node.host_path.empty()) lines.Text(column, "hostPath", node.host_path);
  lines.Text(column, "type", "c");
  lines.Number(column, "major", node.major);
  if (node.minor != 0) lines.Number(column, "minor", node.minor);
  lines.Number(column, "fileMode", node.mode);
}

void Write(Lines& lines, std::size_t column, const Hook& hook) {
  lines.Text(column, "hookName", hook.name);
  lines.Text(column, "path", hook.path);
  lines.Texts(column, "args", hook.args);
  lines.Texts(column, "env", hook.env);
}

void Write(Lines& lines, std::size_t column, const Mount& mount) {
  lines.Text(column, "hostPath", mount.host_path);
  lines.Text(column, "containerPath", mount.container_path);
  lines.Texts(column, "options", mount.options);
}

template <typename T>
void WriteAll(Lines& lines, std::size_t column, std::string_view name, const std::vector<T>& all) {
  if (all.empty()) return;
  lines.Member(column, name, "");
  for (const T& one : all) Write(lines, lines.Item(column), one);
}

void WriteEdits(Lines& lines, std::size_t column, const Edits& edits) {
  if (edits == Edits()) return;
  lines.Member(column, "containerEdits", "");
  const std::size_t below = Below(column);
  lines.Texts(below, "env", edits.env);
  WriteAll(lines, below, "deviceNodes", edits.nodes);
  WriteAll(lines, below, "hooks", edits.hooks);
  WriteAll(lines, below, "mounts", edits.mounts);
}

}  // namespace

std::string QualifiedName(const Spec& spec, const Device& device) {
  return spec.kind + "=" + device.name;
}

std::string Render(const Spec& spec) {
  std::string out = "---\n";
  Lines lines(out);
  lines.Member(0, "cdiVersion", kVersion);
  lines.Text(0, "kind", spec.kind);
  if (!spec.devices.empty()) lines.Member(0, "devices", "");
  for (const Device& device : spec.devices) {
    const std::size_t column = lines.Item(0);
    lines.Text(column, "name", device.name);
    WriteEdits(lines, column, device.edits);
  }
  WriteEdits(lines, 0, spec.edits);
  return out;
}

}  // namespace cdi
