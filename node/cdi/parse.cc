#include <algorithm>
#include <list>
#include <optional>
#include <utility>

#include "node/cdi/spec.h"
#include "pkg/base/number.h"
#include "pkg/yaml/document.h"

namespace cdi {

namespace {

using base::Result;

// A list, because assigning a YAML::Node, as a vector does to erase one, changes the document.
using Members = std::list<std::pair<std::string, YAML::Node>>;

// Reads each member of one map once, so that members which are not read can be reported.
class Reader {
 public:
  // `place` is for messages, such as "device 2".
  static Result<Reader> Of(const YAML::Node& node, std::string place) {
    if (!node.IsMap()) return base::Invalid(place + ": not a map");
    Members members;
    for (const auto& member : node) {
      if (!member.first.IsScalar()) return base::Invalid(place + ": a name that is not a string");
      members.emplace_back(member.first.Scalar(), member.second);
    }
    return Reader(std::move(members), std::move(place));
  }

  const std::string& place() const { return place_; }

  std::optional<YAML::Node> Take(std::string_view name) {
    const auto member = std::ranges::find(members_, name, &Members::value_type::first);
    if (member == members_.end()) return {};
    std::optional<YAML::Node> value(member->second);
    members_.erase(member);
    return value;
  }

  Result<std::string> Text(std::string_view name) {
    const auto value = Take(name);
    if (!value) return std::string();
    if (!value->IsScalar()) return Wrong(name, "not a text");
    return value->Scalar();
  }

  Result<std::int64_t> Number(std::string_view name) {
    const auto value = Take(name);
    if (!value) return 0;
    if (!value->IsScalar()) return Wrong(name, "not a number");
    const auto number = base::ParseNumber<std::int64_t>(value->Scalar());
    if (!number) return Wrong(name, "not a number");
    return *number;
  }

  Result<std::vector<std::string>> Texts(std::string_view name) {
    std::vector<std::string> texts;
    const auto value = Take(name);
    if (!value) return texts;
    if (!value->IsSequence()) return Wrong(name, "not a list");
    for (const auto& item : *value) {
      if (!item.IsScalar()) return Wrong(name, "not a list of texts");
      texts.push_back(item.Scalar());
    }
    return texts;
  }

  // `read` is Result<T>(Reader&). It reads each item of a list of maps.
  template <typename T, typename Read>
  Result<std::vector<T>> Maps(std::string_view name, Read read) {
    std::vector<T> all;
    const auto value = Take(name);
    if (!value) return all;
    if (!value->IsSequence()) return Wrong(name, "not a list");
    for (const auto& item : *value) {
      Reader reader = TRY(Of(item, place_ + "." + std::string(name)));
      all.push_back(TRY(read(reader)));
      TRY(reader.End());
    }
    return all;
  }

  // Fails if a member was not read.
  Result<void> End() const {
    if (!members_.empty()) return Wrong(members_.front().first, "unknown");
    return {};
  }

  tl::unexpected<base::Error> Wrong(std::string_view name, const char* why) const {
    return base::Invalid(place_ + "." + std::string(name) + ": " + why);
  }

 private:
  Reader(Members members, std::string place)
      : members_(std::move(members)), place_(std::move(place)) {}

  Members members_;  // Those that were not read yet.
  std::string place_;
};

Result<DeviceNode> ReadNode(Reader& reader) {
  const std::string type = TRY(reader.Text("type"));
  if (type != "c") return reader.Wrong("type", "not that of a character device");
  return DeviceNode{.path = TRY(reader.Text("path")),
                    .host_path = TRY(reader.Text("hostPath")),
                    .major = TRY(reader.Number("major")),
                    .minor = TRY(reader.Number("minor")),
                    .mode = TRY(reader.Number("fileMode"))};
}

Result<Hook> ReadHook(Reader& reader) {
  return Hook{.name = TRY(reader.Text("hookName")),
              .path = TRY(reader.Text("path")),
              .args = TRY(reader.Texts("args")),
              .env = TRY(reader.Texts("env"))};
}

Result<Mount> ReadMount(Reader& reader) {
  return Mount{.host_path = TRY(reader.Text("hostPath")),
               .container_path = TRY(reader.Text("containerPath")),
               .options = TRY(reader.Texts("options"))};
}

Result<Edits> ReadEdits(Reader& owner) {
  const auto node = owner.Take("containerEdits");
  if (!node) return Edits();
  Reader reader = TRY(Reader::Of(*node, owner.place() + ".containerEdits"));
  Edits edits = {.env = TRY(reader.Texts("env")),
                 .nodes = TRY(reader.Maps<DeviceNode>("deviceNodes", ReadNode)),
                 .hooks = TRY(reader.Maps<Hook>("hooks", ReadHook)),
                 .mounts = TRY(reader.Maps<Mount>("mounts", ReadMount))};
  TRY(reader.End());
  return edits;
}

Result<Device> ReadDevice(Reader& reader) {
  Device device = {.name = TRY(reader.Text("name")), .edits = TRY(ReadEdits(reader))};
  if (device.name.empty()) return reader.Wrong("name", "missing");
  return device;
}

}  // namespace

Result<Spec> Parse(const std::string& text, const std::string& file) {
  const YAML::Node document = TRY(yaml::ParseOnly(text, file));
  Reader reader = TRY(Reader::Of(document, file));
  TRY(reader.Text("cdiVersion"));
  Spec spec = {.kind = TRY(reader.Text("kind")),
               .devices = TRY(reader.Maps<Device>("devices", ReadDevice)),
               .edits = TRY(ReadEdits(reader))};
  TRY(reader.End());
  if (spec.kind.empty()) return reader.Wrong("kind", "missing");
  return spec;
}

}  // namespace cdi
