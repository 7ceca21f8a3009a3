// Parses YAML of untrusted files with yaml-cpp.
//
// yaml-cpp throws, expands aliases without a bound, and reads some texts for ever. These functions
// prevent all of that.
// Bounds: 100,000 nodes and 100 aliases in a document.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

#include "pkg/base/result.h"
#include "pkg/json/value.h"

namespace yaml {

// Returns the first document of `text`. kInvalid: "<file>:<line>: not YAML: <why>".
base::Result<YAML::Node> ParseFirst(const std::string& text, const std::string& file);
// As ParseFirst(), but requires a single document. Otherwise kInvalid: "<file>: write one
// document".
base::Result<YAML::Node> ParseOnly(const std::string& text, const std::string& file);

// Converts `node` to JSON. An unquoted scalar that is a number, true, false or null in JSON keeps
// that type; any other scalar becomes text. Returns kInvalid above 1000 values or 32 levels,
// because aliases can make a small document huge.
base::Result<json::Value> ToJson(const YAML::Node& node);

}  // namespace yaml
