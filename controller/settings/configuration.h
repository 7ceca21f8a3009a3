// The file of --config: what NVIDIA's controller hard-codes. docs/configuration.md is its
// reference, and Fields() what both that page and the reader are held to.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "controller/settings/settings.h"
#include "pkg/base/result.h"

namespace settings {

enum class FieldType { kText, kFlag, kInteger, kDuration, kTexts, kMap, kQuantities };
[[nodiscard]] std::string_view ToString(FieldType type);

struct Field {
  std::string_view path = {};  // "daemons.tolerations[].key": of each item of a list.
  FieldType type = {};
  std::string_view fallback = {};  // The default, as the page has it.
  std::string_view meaning = {};
  std::string_view allowed = {};  // Values, separated by '|'; empty: any of the type.
};

// In the order of the page.
[[nodiscard]] std::span<const Field> Fields();

// Takes everything that the text sets into `settings`; what it does not set stays. kInvalid names
// "file:line", the field and the fix; an unknown field, the nearest one that is known. `file` is
// for messages.
[[nodiscard]] base::Result<void> ReadConfiguration(const std::string& text, const std::string& file,
                                                   Settings& settings);

}  // namespace settings
