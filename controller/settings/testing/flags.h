// The flags as a list, for tests and for the reference page.
#pragma once

#include <string>
#include <vector>

#include "controller/settings/table.h"

namespace settings {

// A flag as in --help. Each has an environment variable that sets the same.
struct Flag {
  std::string name = {};  // "--workers".
  std::string variable = {};
  std::string meaning = {};  // With its default in parentheses.
  bool is_hidden = false;    // Accepted and ignored.
};

inline void AppendFlags(const CLI::App& app, std::vector<Flag>& flags) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    flags.push_back({.name = name,
                     .variable = name == "--kubeconfig" ? "KUBECONFIG" : option->get_envname(),
                     .meaning = option->get_description(),
                     .is_hidden = option->get_group() == command_line::kIgnored});
  }
}

// Returns all flags but --help and --version.
inline std::vector<Flag> Flags() {
  Settings settings;
  CLI::App app;
  AddFlags(app, settings);
  std::vector<Flag> flags;
  AppendFlags(app, flags);
  for (const CLI::App* command : app.get_subcommands({})) AppendFlags(*command, flags);
  std::erase_if(flags,
                [](const Flag& flag) { return flag.name == "--help" || flag.name == "--version"; });
  return flags;
}

}  // namespace settings
