// The file of --config: what NVIDIA's controller hard-codes. docs/configuration.md is its
// reference; table.h has its fields.
#pragma once

#include <functional>
#include <string>

#include "controller/settings/settings.h"
#include "pkg/base/result.h"

namespace settings {

// Whether a flag, or its variable, was given: what it set stays. Null: none was.
using IsGiven = std::function<bool(const std::string& flag)>;

// Takes everything that the text sets into `settings`; what it does not set stays. kInvalid names
// "file:line", the field and the fix; an unknown field, the nearest one that is known. `file` is
// for messages.
[[nodiscard]] base::Result<void> ReadConfiguration(const std::string& text, const std::string& file,
                                                   Settings& settings,
                                                   const IsGiven& is_given = {});

}  // namespace settings
