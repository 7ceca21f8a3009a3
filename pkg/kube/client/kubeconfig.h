// Kubeconfig files as values, with the position of each field.
//
// Pure functions; thread-safe.
// Bounds: 1 MiB of text, 100,000 YAML nodes, 100 aliases, 1000 values in a field. They limit the
// time and memory that a file can use.
#pragma once

#include <map>
#include <string>

#include "pkg/base/result.h"
#include "pkg/json/value.h"

namespace kube {

struct Kubeconfig {
  // One cluster, user or context.
  struct Entry {
    std::string where = {};   // `/path: users[2] "admin"`, for messages.
    std::string folder = {};  // Folder of the file. Relative paths start here.
    std::map<std::string, std::string> texts = {};  // Scalar fields that have a value.
    // Other fields. Null if cdom does not read it.
    std::map<std::string, json::Value> structures = {};

    // Returns the text of the field. Empty if it is absent.
    std::string Text(const std::string& field) const {
      const auto it = texts.find(field);
      return it == texts.end() ? std::string() : it->second;
    }
    // Returns the value of the field. Null if it is absent or a text.
    json::Value Structure(const std::string& field) const {
      const auto it = structures.find(field);
      return it == structures.end() ? json::Value() : it->second;
    }
    bool Has(const std::string& field) const {
      return !Text(field).empty() || structures.contains(field);
    }
  };
  using Entries = std::map<std::string, Entry>;

  std::string current_context = {};
  Entries clusters = {};
  Entries users = {};
  Entries contexts = {};
};

// Returns kInvalid, with file, line or field, if `text` is not a kubeconfig.
base::Result<Kubeconfig> ParseKubeconfig(const std::string& text, const std::string& path);

// Adds the entries of `second` that `first` does not have, and its current context if `first` has
// none. Entries of the same name are not merged.
void Merge(Kubeconfig& first, Kubeconfig second);

// Returns at most twenty names, for "there are: a, b".
std::string Names(const Kubeconfig::Entries& entries);

}  // namespace kube
