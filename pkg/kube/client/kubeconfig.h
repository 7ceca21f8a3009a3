// Kubeconfig files as values: what they say, and where each thing was said, before any of it is
// used.
//
// Pure functions; thread-safe. Bounds: 1 MiB of text, 100,000 YAML nodes, 100 aliases, 1000 values
// in a field, so that a file cannot make us slow or large.
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
    std::string folder = {};  // Of the file; relative paths in the entry begin here.
    std::map<std::string, std::string> texts = {};       // Its scalar fields that have a value.
    std::map<std::string, json::Value> structures = {};  // Its others; what nobody reads is null.

    // Empty if it is absent.
    [[nodiscard]] std::string Text(const std::string& field) const {
      const auto it = texts.find(field);
      return it == texts.end() ? std::string() : it->second;
    }
    // Null if it is absent or a text.
    [[nodiscard]] json::Value Structure(const std::string& field) const {
      const auto it = structures.find(field);
      return it == structures.end() ? json::Value() : it->second;
    }
    [[nodiscard]] bool Has(const std::string& field) const {
      return !Text(field).empty() || structures.contains(field);
    }
  };
  using Entries = std::map<std::string, Entry>;

  std::string current_context = {};
  Entries clusters = {};
  Entries users = {};
  Entries contexts = {};
};

// kInvalid, naming file, line or field, for what is not a kubeconfig.
[[nodiscard]] base::Result<Kubeconfig> ParseKubeconfig(const std::string& text,
                                                       const std::string& path);

// Adds what `first` does not have yet: the first file to name a cluster, user or context has the
// whole of it, and so has the first to set the current context.
void Merge(Kubeconfig& first, Kubeconfig second);

// The names, for "there are: a, b"; at most twenty.
[[nodiscard]] std::string Names(const Kubeconfig::Entries& entries);

}  // namespace kube
