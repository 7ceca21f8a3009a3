// Command-line flags with CLI11, and the flags of all our programs.
//
// Each flag may have an environment variable that sets the same value.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pkg/base/log.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/settings.h"

namespace command_line {

// The flag wins over the variable. An empty variable is ignored.
template <typename T>
CLI::Option* Add(CLI::App& app, const char* flag, const char* variable, T& value,
                 const std::string& help) {
  return app.add_option(flag, value, help)->envname(variable);
}

// Adds --version and the end of --help. If a flag is repeated, the last value wins. Call it before
// adding other flags.
void SetUpApp(CLI::App& app, std::span<const ExitStatus> statuses);

// The group of ignored flags: --help lists them in one line at its end.
inline constexpr const char* kIgnored = "Accepted and ignored, for NVIDIA's chart";

// Adds --kubeconfig, without a variable.
void AddKubeconfig(CLI::App& app, CommonSettings& settings);
// Adds -v (0 to 10) and --logging-format (see logging::ParseFormat). Also accepts and ignores
// klog's other flags, which --help does not show. Adds the names of those that are given to
// `unused_flags`.
void AddLogging(CLI::App& app, CommonSettings& settings);
// Returns the settings that NVIDIA's programs print when they start, as "Verbosity: 2, KEY: VALUE".
std::string Summary(const CommonSettings& settings, std::initializer_list<base::LogField> others);

void SayUnused(const std::vector<std::string>& flags, base::Logger& logger);

// Returns a value in quotes, on one line, for an error message.
std::string Quoted(const std::string& text);

// Reads the command line and the environment. Empty if the program must run. Returns an Exit for
// --help, --version or an error. The error names the first unknown flag, with the most similar
// known name, or all required flags that are missing.
std::optional<Exit> Parse(CLI::App& app, std::vector<std::string> arguments);

}  // namespace command_line
