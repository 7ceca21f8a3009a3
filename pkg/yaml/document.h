// YAML from files that somebody else wrote, by yaml-cpp: which throws, builds whatever aliases ask
// for, and reads some texts for ever. Nothing of that leaves here.
//
// Bounds: 100,000 nodes and 100 aliases in a document.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

#include "pkg/base/result.h"
#include "pkg/json/value.h"

namespace yaml {

// The first document of `text`. kInvalid: "<file>:<line>: not YAML: <why>".
[[nodiscard]] base::Result<YAML::Node> ParseFirst(const std::string& text, const std::string& file);
// And there is no other. kInvalid also: "<file>: write one document".
[[nodiscard]] base::Result<YAML::Node> ParseOnly(const std::string& text, const std::string& file);

// As JSON: an unquoted scalar that is a number, true, false or null in JSON is that, and every
// other is text. kInvalid: more than 1000 values or 32 levels, since aliases make a huge value of a
// small document.
[[nodiscard]] base::Result<json::Value> ToJson(const YAML::Node& node);

}  // namespace yaml
