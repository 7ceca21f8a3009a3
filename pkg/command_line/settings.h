// Settings that all our programs have.
#pragma once

#include <string>
#include <vector>

namespace command_line {

struct CommonSettings {
  std::string kubeconfig = {};  // Path. If empty, see kube::LoadConfig().
  int verbosity = 0;
  std::string log_format = "auto";             // See logging::ParseFormat().
  std::vector<std::string> unused_flags = {};  // Flags that were given, but are ignored.
};

}  // namespace command_line
