// IMEX's configuration, from the template that the kubelet plugin provides. Pure.
//
// The template uses Go's text/template. Three of its features are supported: a value by its name,
// comments, and dashes that trim white space.
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

// Returns kInvalid if the template has another action. The message has the line, the action and
// what is allowed.
base::Result<std::string> RenderConfig(std::string_view text, const ConfigValues& values);

// A line of IMEX's configuration: `first`=`second`.
using ConfigKeys = std::vector<std::pair<std::string, std::string>>;

// Returns `text`, a configuration, with these keys: an existing line of a key gets the new value,
// and a missing key gets a line at the end. Comments stay.
std::string WithKeys(std::string_view text, ConfigKeys keys);

}  // namespace imex
