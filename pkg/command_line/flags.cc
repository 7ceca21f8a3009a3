#include "pkg/command_line/flags.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <sstream>
#include <utility>

#include "pkg/base/did_you_mean.h"
#include "pkg/base/duration.h"
#include "pkg/base/number.h"
#include "pkg/base/version.h"
#include "pkg/json/utf8.h"

namespace command_line {

namespace {

constexpr std::size_t kQuotedMax = 80;

// Returns the end of --help.
std::string Footer(std::span<const ExitStatus> statuses) {
  std::string text = "Exit status:\n";
  for (const ExitStatus& status : statuses) {
    const std::string number = std::to_string(status.status);
    text +=
        "  " + number + std::string(5 - number.size(), ' ') + std::string(status.meaning) + "\n";
  }
  return text + "A flag overrides its variable (Env). Defaults are in parentheses.";
}

// Checks "file=2,dir/*=4". Returns what is wrong. Empty if nothing is.
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
      ->envname(variable)
      ->group(kIgnored);
}

// Returns "Accepted and ignored, for NVIDIA's chart: --a (A), ...". Empty if the program has no
// such flag.
std::string IgnoredFlags(const CLI::App& app) {
  std::string list;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() != kIgnored) continue;
    list += (list.empty() ? "" : ", ") + option->get_name();
    if (!option->get_envname().empty()) list += " (" + option->get_envname() + ")";
  }
  return list.empty() ? "" : "\n" + std::string(kIgnored) + ": " + list + ".";
}

// Renders --help without the group of ignored flags.
class Formatter final : public CLI::Formatter {
 public:
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group == kIgnored) return {};
    return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
  }
};

constexpr const char* kSeeHelp = "Run with --help for more information.\n";

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// Returns the long flags, including those of commands.
std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    std::ranges::move(FlagsOf(*command), std::back_inserter(names));
  }
  return names;
}

// Describes a word that no flag or command takes. Empty if there is none.
std::string UnknownWord(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return {};
  const std::string word = words.front().substr(0, words.front().find('='));
  const bool is_flag = word.starts_with('-');
  return json::OneLine(word, kQuotedMax) + (is_flag ? ": unknown flag" : ": unknown command") +
         base::DidYouMean(word, is_flag ? FlagsOf(app) : CommandsOf(app)) + "\n" + kSeeHelp;
}

// Returns the required flags that are missing, as an error. Empty if none is.
std::string MissingFlags(const CLI::App& app) {
  std::string list;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    list += (list.empty() ? "" : ", ") + option->get_name();
  }
  return list.empty() ? "" : list + ": required\n" + kSeeHelp;
}

}  // namespace

void SetUpApp(CLI::App& app, std::span<const ExitStatus> statuses) {
  app.set_version_flag("--version", "cdom " + app.get_name() + " " + std::string(base::Version()) +
                                        " (revision " + std::string(base::Revision()) + ")");
  app.formatter(std::make_shared<Formatter>());
  app.footer(Footer(statuses));
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void AddKubeconfig(CLI::App& app, CommonSettings& settings) {
  // The configuration loader reads KUBECONFIG, because it may be a list.
  app.add_option(
      "--kubeconfig", settings.kubeconfig,
      "Path of a kubeconfig (the first of $KUBECONFIG, the pod's account, ~/.kube/config)");
}

void AddLogging(CLI::App& app, CommonSettings& settings) {
  Add(app, "-v,--v", "LOG_VERBOSITY", settings.verbosity,
      "Log verbosity, 0 to 10. 2 adds looks at objects and writes, 3 lists and watches, 6 requests "
      "(0)")
      ->check(CLI::Range(0, 10));
  Add(app, "--logging-format", "LOGGING_FORMAT", settings.log_format,
      "Format of the log [text, json, journal, auto]. auto: the journal under systemd, otherwise "
      "text (auto)")
      ->check(CLI::IsMember({"auto", "text", "json", "journal"}));
  AddUnused(app, "--vmodule", "VMODULE", "Accepted and ignored, as pattern=N", CheckModules,
            settings.unused_flags);
  AddUnused(app, "--log-flush-frequency", "LOG_FLUSH_FREQUENCY", "Accepted and ignored, as 5s",
            CheckDuration, settings.unused_flags);
}

std::string Summary(const CommonSettings& settings, std::initializer_list<base::LogField> others) {
  std::string text = "Verbosity: " + std::to_string(settings.verbosity);
  for (const base::LogField& other : others) {
    text.append(", ").append(other.key).append(": ").append(other.value);
  }
  return text;
}

void SayUnused(const std::vector<std::string>& flags, base::Logger& logger) {
  for (const std::string& flag : flags) {
    logger.Warning("Flag has no effect", {{"flag", flag}});
  }
}

std::string Quoted(const std::string& text) {
  return "\"" + json::OneLine(text, kQuotedMax) + "\"";
}

std::optional<Exit> Parse(CLI::App& app, std::vector<std::string> arguments) {
  const std::string footer = app.get_footer() + IgnoredFlags(app);
  app.footer(footer);
  for (CLI::App* command : app.get_subcommands({})) command->footer(footer);
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them from the back.
    app.parse(std::move(arguments));
  } catch (const CLI::ExtrasError& /*error*/) {
    return Misused(UnknownWord(app));
  } catch (const CLI::RequiredError& error) {
    // A misspelt flag or command is the error, even if a required one is missing.
    for (const std::string& text : {UnknownWord(app), MissingFlags(app)}) {
      if (!text.empty()) return Misused(text);
    }
    std::string text = error.what();
    for (const std::string& name : CommandsOf(app)) {
      text += (text.ends_with("required") ? ": " : ", ") + name;
    }
    return Misused(text + "\n" + kSeeHelp);
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    const int status = app.exit(error, text, text);
    return status == 0 ? Exit{.text = text.str()} : Misused(text.str());
  }
  return {};
}

}  // namespace command_line
