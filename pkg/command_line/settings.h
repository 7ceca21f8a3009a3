// Settings that every program of ours has.
#pragma once

#include <string>
#include <vector>

namespace command_line {

struct CommonSettings {
  std::string kubeconfig = {};  // Path. Empty: see kube::LoadConfig.
  int verbosity = 0;
  std::string log_format = "auto";             // As logging::ParseFormat knows them.
  std::vector<std::string> unused_flags = {};  // Given, and without any effect.
};

}  // namespace command_line
