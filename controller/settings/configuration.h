// Reader of the --config file: settings that NVIDIA's controller hard-codes.
// Their reference is docs/configuration.md, their fields are in table.h.
#pragma once

#include <functional>
#include <string>

#include "controller/settings/settings.h"
#include "pkg/base/result.h"

namespace settings {

// Whether a flag, or its variable, was given. It takes precedence over the file. Null if none was.
using IsGiven = std::function<bool(const std::string& flag)>;

// Reads the fields that the text sets into `settings`. Other settings keep their value. Fails with
// kInvalid and "file:line", the field and the fix; for an unknown field, with the most similar
// known one. `file` is for messages.
base::Result<void> ReadConfiguration(const std::string& text, const std::string& file,
                                     Settings& settings, const IsGiven& is_given = {});

}  // namespace settings
