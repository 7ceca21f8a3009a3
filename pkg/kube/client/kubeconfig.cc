#include "pkg/kube/client/kubeconfig.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "pkg/yaml/document.h"

namespace kube {
namespace {

using base::Invalid, base::Result;

bool IsSet(const YAML::Node& node) { return node.IsDefined() && !node.IsNull(); }

// Structures whose content is read.
constexpr std::array<std::string_view, 3> kRead = {"auth-provider", "exec", "extensions"};

Result<void> ReadFields(const YAML::Node& map, Kubeconfig::Entry& entry) {
  for (const auto& member : map) {
    if (!member.first.IsScalar() || member.second.IsNull()) continue;
    const std::string& name = member.first.Scalar();
    if (member.second.IsScalar()) {
      entry.texts.emplace(name, member.second.Scalar());
    } else if (std::ranges::find(kRead, name) != kRead.end()) {
      entry.structures.emplace(
          name, TRY(yaml::ToJson(member.second).map_error(base::While(entry.where + ": " + name))));
    } else {
      entry.structures.emplace(name, json::Value());
    }
  }
  return {};
}

// Reads the list `root[list]` of entries {name: ..., <kind>: {...}}.
Result<Kubeconfig::Entries> ReadEntries(const YAML::Node& root, const std::string& list,
                                        const std::string& kind, const std::string& path) {
  Kubeconfig::Entries entries;
  const YAML::Node items = root[list];
  if (!IsSet(items)) return entries;
  if (!items.IsSequence()) return Invalid(path + ": " + list + ": not a list");
  for (std::size_t i = 0; i < items.size(); ++i) {
    const YAML::Node item = items[i];
    const std::string where = path + ": " + list + "[" + std::to_string(i) + "]";
    if (!item.IsMap() || !IsSet(item["name"]) || !item["name"].IsScalar()) {
      return Invalid(where + ": name is missing");
    }
    const std::string name = item["name"].Scalar();
    Kubeconfig::Entry entry = {.where = where + " \"" + name + '"',
                               .folder = std::filesystem::path(path).parent_path()};
    const YAML::Node fields = item[kind];
    if (IsSet(fields) && !fields.IsMap()) return Invalid(entry.where + ": " + kind + ": not a map");
    if (IsSet(fields)) TRY(ReadFields(fields, entry));
    if (!entries.emplace(name, entry).second) {
      return Invalid(entry.where + ": that name is there twice; remove one");
    }
  }
  return entries;
}

Result<Kubeconfig> ReadRoot(const YAML::Node& root, const std::string& path) {
  if (root.IsNull()) return Invalid(path + ": the file is empty");
  if (!root.IsMap()) return Invalid(path + ": not a kubeconfig: not a map");
  const YAML::Node kind = root["kind"];
  if (IsSet(kind) && (!kind.IsScalar() || kind.Scalar() != "Config")) {
    return Invalid(path + ": not a kubeconfig: its kind is not Config");
  }
  Kubeconfig config;
  const YAML::Node current = root["current-context"];
  if (IsSet(current) && current.IsScalar()) config.current_context = current.Scalar();
  config.clusters = TRY(ReadEntries(root, "clusters", "cluster", path));
  config.users = TRY(ReadEntries(root, "users", "user", path));
  config.contexts = TRY(ReadEntries(root, "contexts", "context", path));
  return config;
}

}  // namespace

Result<Kubeconfig> ParseKubeconfig(const std::string& text, const std::string& path) {
  const YAML::Node root = TRY(yaml::ParseFirst(text, path));
  try {
    return ReadRoot(root, path);
  } catch (const YAML::Exception& exception) {  // The checks above should prevent this.
    return Invalid(path + ": not a kubeconfig: " + exception.msg);
  }
}

void Merge(Kubeconfig& first, Kubeconfig second) {
  if (first.current_context.empty()) first.current_context = std::move(second.current_context);
  first.clusters.merge(second.clusters);
  first.users.merge(second.users);
  first.contexts.merge(second.contexts);
}

std::string Names(const Kubeconfig::Entries& entries) {
  constexpr std::size_t kNamesMax = 20;
  if (entries.empty()) return "none";
  std::string names;
  std::size_t count = 0;
  for (const auto& [name, entry] : entries) {
    if (count++ == kNamesMax) return names + ", ...";
    names += (names.empty() ? "\"" : ", \"") + name + '"';
  }
  return names;
}

}  // namespace kube
