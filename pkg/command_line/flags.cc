#include "pkg/command_line/flags.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "pkg/base/duration.h"
#include "pkg/base/number.h"
#include "pkg/base/version.h"
#include "pkg/json/utf8.h"

namespace command_line {

namespace {

// At the end of --help.
std::string Footer(std::span<const ExitStatus> statuses) {
  std::string text = "Exit status:\n";
  for (const ExitStatus& status : statuses) {
    const std::string number = std::to_string(status.status);
    text +=
        "  " + number + std::string(5 - number.size(), ' ') + std::string(status.meaning) + "\n";
  }
  return text +
         "Env: the variable that sets the same as the flag, which comes before it.\n"
         "Last in parentheses: the default.";
}

// "file=2,dir/*=4"; what is wrong with it, or nothing.
std::string CheckModules(const std::string& text) {
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    if (item.empty()) continue;
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string level = item.substr(std::min(equals + 1, item.size()));
    const std::optional<int> number = base::ParseNumber<int>(level);
    if (equals == 0 || number.value_or(-1) < 0) return "use pattern=N, and commas between several";
  }
  return {};
}

std::string CheckDuration(const std::string& text) {
  const auto duration = base::ParseDuration(text);
  return duration ? "" : duration.error().message;
}

void AddUnused(CLI::App& app, const char* flag, const char* variable, const char* help,
               std::string (*check)(const std::string&), std::vector<std::string>& unused) {
  app.add_option_function<std::string>(
         flag,
         [flag, check, &unused](const std::string& text) {
           if (const std::string wrong = check(text); !wrong.empty()) {
             throw CLI::ValidationError(std::string(flag) + " \"" + text + "\"", wrong);
           }
           unused.emplace_back(flag);
         },
         help)
      ->envname(variable);
}

}  // namespace

void SetUpApp(CLI::App& app, std::span<const ExitStatus> statuses) {
  app.set_version_flag("--version", "cdom " + app.get_name() + " " + std::string(base::Version()) +
                                        " (revision " + std::string(base::Revision()) + ")");
  app.footer(Footer(statuses));
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void AddKubeconfig(CLI::App& app, CommonSettings& settings) {
  // KUBECONFIG is read where the API server is looked for: it may be a list.
  app.add_option("--kubeconfig", settings.kubeconfig,
                 "Path of a kubeconfig; else $KUBECONFIG, the pod's account, ~/.kube/config");
}

void AddLogging(CLI::App& app, CommonSettings& settings) {
  Add(app, "-v,--v", "LOG_VERBOSITY", settings.verbosity,
      "Log verbosity, 0 to 10 (0); 4 and above: every action")
      ->check(CLI::Range(0, 10));
  Add(app, "--logging-format", "LOGGING_FORMAT", settings.log_format,
      "text, json, journal, or auto: the journal under systemd, else text (auto)")
      ->check(CLI::IsMember({"auto", "text", "json", "journal"}));
  AddUnused(app, "--vmodule", "VMODULE",
            "Accepted and ignored, as pattern=N: there is one verbosity", CheckModules,
            settings.unused_flags);
  AddUnused(app, "--log-flush-frequency", "LOG_FLUSH_FREQUENCY",
            "Accepted and ignored, as 5s: each line is written at once", CheckDuration,
            settings.unused_flags);
}

void SayUnused(const std::vector<std::string>& flags, base::Logger& logger) {
  for (const std::string& flag : flags) {
    logger.Warning("A flag has no effect with this program", {{"flag", flag}});
  }
}

std::string Quoted(const std::string& text) {
  constexpr std::size_t kBytesMax = 80;
  return "\"" + json::OneLine(text, kBytesMax) + "\"";
}

std::optional<Exit> Parse(CLI::App& app, std::vector<std::string> arguments) {
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them from the back.
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    const int status = app.exit(error, text, text);
    return status == 0 ? Exit{.text = text.str()} : Misused(text.str());
  }
  return {};
}

}  // namespace command_line
