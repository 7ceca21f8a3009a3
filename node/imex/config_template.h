// IMEX's configuration, out of the template that the kubelet plugin lays beside it. Pure.
//
// The template is text with actions as Go's text/template has them; of these a value by its name,
// comments, and the dashes that take white space away are understood.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/base/result.h"

namespace imex {

struct ConfigValues {
  std::string cmd_bind_ip = {};  // {{ .IMEXCmdBindInterfaceIP }}
  std::string nodes_path = {};   // {{ .IMEXDaemonNodesConfigPath }}
};

// kInvalid, with the line, what stands there and what may: an action that is none of these.
[[nodiscard]] base::Result<std::string> RenderConfig(std::string_view text,
                                                     const ConfigValues& values);

// A line of IMEX's configuration: `first`=`second`.
using ConfigKeys = std::vector<std::pair<std::string, std::string>>;

// Returns `text`, a configuration, with these keys: a key that has a line gets the new value there,
// and another one a line at the end. Remarks stay as they are.
[[nodiscard]] std::string WithKeys(std::string_view text, ConfigKeys keys);

}  // namespace imex
