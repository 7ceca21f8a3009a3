// Flags by CLI11, each with a variable of the environment that sets the same, and those that all
// programs of ours have.
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

// The flag comes before the variable, and an empty variable counts as none.
template <typename T>
CLI::Option* Add(CLI::App& app, const char* flag, const char* variable, T& value,
                 const char* help) {
  return app.add_option(flag, value, help)->envname(variable);
}

// Before any other: --version, the end of --help, and that the last of a flag counts that is given
// more than once.
void SetUpApp(CLI::App& app, std::span<const ExitStatus> statuses);

// The group of flags that are accepted and ignored: --help lists all of them in one line at its
// end.
inline constexpr const char* kIgnored = "Accepted and ignored, for NVIDIA's chart";

// --kubeconfig, without a variable.
void AddKubeconfig(CLI::App& app, CommonSettings& settings);
// -v, 0 to 10, and --logging-format, as logging::ParseFormat knows it. klog's other flags are
// hidden, read, change nothing, and are added to `unused_flags` by their name if they are given.
void AddLogging(CLI::App& app, CommonSettings& settings);
void SayUnused(const std::vector<std::string>& flags, base::Logger& logger);

// A value in quotes, on one line, for a message that says what is wrong with it.
[[nodiscard]] std::string Quoted(const std::string& text);

// Reads the command line and the environment. An Exit: --help or --version was asked for, or
// something is wrong, and it names the flag: the first unknown one with the name that was probably
// meant, or all required ones that are missing.
[[nodiscard]] std::optional<Exit> Parse(CLI::App& app, std::vector<std::string> arguments);

}  // namespace command_line
