#include "controller/settings/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "controller/settings/configuration.h"
#include "controller/settings/table.h"
#include "pkg/base/file.h"
#include "pkg/base/find.h"
#include "pkg/command_line/flags.h"

namespace settings {

namespace {

// Go's flag package accepts one dash. CLI11 needs two, and one for a single letter.
std::string WithTwoDashes(const std::string& argument) {
  const bool one_dash = argument.size() > 2 && argument[0] == '-' && argument[1] != '-';
  if (one_dash && argument.starts_with("-v=")) return "--v=" + argument.substr(3);
  const bool is_long = one_dash && std::isalpha(static_cast<unsigned char>(argument[2])) != 0;
  return is_long ? "-" + argument : argument;
}

// Returns the arguments in the form that CLI11 understands.
std::vector<std::string> WordsOf(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const std::string& argument : arguments) {
    std::string word = WithTwoDashes(argument);
    // After "--flag=" CLI11 would take the next argument as the value.
    const bool is_empty = word.starts_with("--") && word.find('=') == word.size() - 1;
    if (is_empty) word.pop_back();
    words.push_back(std::move(word));
    if (is_empty) words.emplace_back();
  }
  return words;
}

void AddReleaseFinalizers(CLI::App& app, Settings& settings) {
  CLI::App* command = app.add_subcommand(
      "release-finalizers",
      "For uninstalling: removes cdom's finalizer from all ComputeDomains and their children, "
      "lists "
      "what it changed, and exits. It deletes nothing. It refuses while a controller leads, and if "
      "it finds no Lease. It takes the controller's flags too, such as --kubeconfig, --namespace "
      "and --dry-run.");
  command->fallthrough();
  command->option_defaults()->group("Options");
  command
      ->add_flag("--force", settings.force, "Do not check the Lease. No controller may be running")
      ->envname("RELEASE_FINALIZERS_FORCE");
  command->preparse_callback([&](std::size_t) {
    settings.command = Command::kReleaseFinalizers;
    for (const char* flag : {"--pod-name", "--image-name"}) app.get_option(flag)->required(false);
  });
}

// Names the variables of flags in an error: the value may come from one, or be set by one.
std::string VariablesNamedIn(const std::string& text, const CLI::App& app) {
  std::string lines;
  for (const CLI::Option* option : app.get_options()) {
    const std::string flag = option->get_name();
    const std::size_t at = text.find(flag);
    if (option->get_envname().empty() || at == std::string::npos) continue;
    const std::size_t end = at + flag.size();
    const bool is_longer = end < text.size() && (std::isalnum(text[end]) != 0 || text[end] == '-');
    if (!is_longer) lines += "The variable of " + flag + " is " + option->get_envname() + ".\n";
  }
  return lines;
}

// Values from flags or variables stay.
base::Result<void> ReadFile(CLI::App& app, Settings& settings) {
  if (settings.config.empty()) return {};
  constexpr std::size_t kBytesMax = 256U << 10;
  const std::string text =
      TRY(base::ReadFile(settings.config, kBytesMax).map_error(base::While("--config")));
  return ReadConfiguration(text, settings.config, settings, [&app](const std::string& flag) {
    return !flag.empty() && app.count(flag) > 0;
  });
}

// Returns how settings that are valid one by one contradict each other. Empty if none do.
std::string FindContradiction(const Settings& settings) {
  if (settings.rules.imex_on_hosts && !settings.feature_gates.IsOn(kHostManagedGate)) {
    const std::string gate(kHostManagedGate);
    return "--imex-mode hostManaged needs the feature gate " + gate +
           ", so that nobody comes to it by mistake: add " + gate + "=true to --feature-gates.";
  }
  if (settings.beside_nvidia && !settings.elects) {
    return "--beside-nvidia needs leader election, by which one of both controllers acts: remove "
           "--leader-election-enabled=false.";
  }
  return {};
}

}  // namespace

bool Settings::HasTwoWriters() const {
  constexpr auto kNvidias =
      std::to_array<std::string_view>({"dra-driver-nvidia-gpu", "k8s-dra-driver-gpu"});
  std::string name = image.substr(image.rfind('/') + 1);
  name = name.substr(0, name.find_first_of(":@"));
  return controller_writes_membership && base::Contains(kNvidias, name);
}

std::vector<kube::ObjectKey> Settings::KnownLeases() const {
  std::vector<kube::ObjectKey> leases = {{.ns = lease_namespace, .name = lease_name}};
  for (const std::string_view name : api::kLeaseNames) {
    if (name != lease_name) leases.push_back({.ns = lease_namespace, .name = std::string(name)});
  }
  return leases;
}

void AddFlags(CLI::App& app, Settings& settings) {
  command_line::SetUpApp(app, kExitStatuses);
  for (const Setting& setting : Table()) {
    if (setting.add == nullptr) continue;
    app.option_defaults()->group(setting.group);
    setting.add(app, setting, settings);
  }
  AddReleaseFinalizers(app, settings);
}

Parsed Parse(const std::vector<std::string>& arguments) {
  Parsed parsed;
  CLI::App app("Controller of ComputeDomains: creates their IMEX daemons and writes their status.",
               "compute-domain-controller");
  AddFlags(app, parsed.settings);
  parsed.exit = command_line::Parse(app, WordsOf(arguments));
  if (parsed.exit) {
    std::string& text = parsed.exit->text;
    if (parsed.exit->status != 0) text += VariablesNamedIn(text, app);
    return parsed;
  }
  const base::Result<void> read = ReadFile(app, parsed.settings);
  const std::string wrong = read ? FindContradiction(parsed.settings) : read.error().message;
  if (parsed.settings.lease_namespace.empty()) parsed.settings.lease_namespace = parsed.settings.ns;
  const base::Result<void> lease = kube::Validate(parsed.settings.lease);
  if (!wrong.empty()) {
    parsed.exit = command_line::Misused(wrong + "\n" + VariablesNamedIn(wrong, app));
  } else if (!lease && parsed.settings.Elects()) {
    parsed.exit = command_line::Misused(lease.error().message + "\n");
  }
  return parsed;
}

compute_domain::RuleSettings RuleSettingsOf(const Settings& settings) {
  compute_domain::RuleSettings rules = settings.rules;
  rules.driver_namespaces = settings.DriverNamespaces();
  rules.daemons.ns = settings.ns;
  rules.daemons.image = settings.image;
  rules.daemons.pull_secrets = settings.pull_secrets;
  rules.daemons.nodes_per_imex_domain_max = settings.nodes_per_imex_domain_max;
  rules.daemons.log_verbosity = settings.daemon_log_verbosity;
  rules.daemons.controller_writes = settings.controller_writes_membership;
  return rules;
}

}  // namespace settings
