#include "controller/settings/settings.h"

#include <functional>
#include <map>

#include "controller/settings/configuration.h"
#include "pkg/base/duration.h"
#include "pkg/base/file.h"
#include "pkg/command_line/flags.h"

namespace settings {

namespace {

using command_line::Add;

// Go's flag package knows one dash; CLI11 knows two, and one for a single letter.
std::string WithTwoDashes(const std::string& argument) {
  const bool one_dash = argument.size() > 2 && argument[0] == '-' && argument[1] != '-';
  if (one_dash && argument.starts_with("-v=")) return "--v=" + argument.substr(3);
  const bool is_long = one_dash && std::isalpha(static_cast<unsigned char>(argument[2])) != 0;
  return is_long ? "-" + argument : argument;
}

// The words as CLI11 understands them.
std::vector<std::string> WordsOf(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const std::string& argument : arguments) {
    std::string word = WithTwoDashes(argument);
    // After "--flag=" CLI11 would take the next word for the value.
    const bool is_empty = word.starts_with("--") && word.find('=') == word.size() - 1;
    if (is_empty) word.pop_back();
    words.push_back(std::move(word));
    if (is_empty) words.emplace_back();
  }
  return words;
}

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> items;
  std::string item;
  for (const char c : text + ",") {
    if (c != ',' && c != ' ') {
      item += c;
    } else if (!item.empty()) {
      items.push_back(std::move(item));
      item.clear();
    }
  }
  return items;
}

// A flag whose value needs reading: `read` returns what is wrong with it, empty if nothing.
void AddRead(CLI::App& app, const char* flag, const char* variable, const char* help,
             const std::function<std::string(const std::string&)>& read) {
  app.add_option_function<std::string>(
         flag,
         [flag, read](const std::string& text) {
           if (const std::string wrong = read(text); !wrong.empty()) {
             throw CLI::ValidationError(std::string(flag) + " \"" + text + "\"", wrong);
           }
         },
         help)
      ->envname(variable);
}

// One that is taken so that what is written for NVIDIA's controller works here.
void AddIgnored(CLI::App& app, const char* flag, const char* variable, const char* help) {
  AddRead(app, flag, variable, help, [](const std::string&) { return std::string(); });
}

void AddDuration(CLI::App& app, const char* flag, const char* variable, const char* help,
                 const std::function<void(std::chrono::milliseconds)>& set) {
  AddRead(app, flag, variable, help, [set](const std::string& text) -> std::string {
    const auto duration = base::ParseDuration(text);
    if (!duration) return duration.error().message;
    set(*duration);
    return {};
  });
}

constexpr std::string_view kHostManagedGate = "HostManagedIMEXDaemon";

// Gates of the reference that daemons of ours cannot do without. Those of other components are in
// the same list, and theirs. Sets whether IMEX may run on the hosts.
std::string ReadGates(const std::string& text, bool& may_be_on_hosts) {
  for (const std::string& gate : SplitList(text)) {
    const std::size_t equals = gate.find('=');
    const std::string name = gate.substr(0, equals);
    const bool on = equals != std::string::npos && gate.substr(equals + 1) == "true";
    if (name == kHostManagedGate) may_be_on_hosts = on;
    const bool is_needed = name == "ComputeDomainCliques" || name == "IMEXDaemonsWithDNSNames";
    if (is_needed && !on) {
      return name + " cannot be switched off with this controller; leave the gate out";
    }
  }
  return {};
}

void AddDaemonFlags(CLI::App& app, Settings& settings) {
  app.option_defaults()->group("IMEX daemons");
  Add(app, "--image-name", "IMAGE_NAME", settings.image, "Image of the IMEX daemons; required")
      ->required();
  AddRead(app, "--cd-daemon-image-pull-secret-names", "CD_DAEMON_IMAGE_PULL_SECRET_NAMES",
          "Pull secrets of the daemons, separated by commas or spaces", [&](const auto& text) {
            settings.pull_secrets = SplitList(text);
            return std::string();
          });
  Add(app, "--max-nodes-per-imex-domain", "MAX_NODES_PER_IMEX_DOMAIN",
      settings.nodes_per_imex_domain_max, "How many nodes one clique may have (18)")
      ->check(CLI::Range(1, 10'000));
  Add(app, "--log-verbosity-cd-daemon", "LOG_VERBOSITY_CD_DAEMON", settings.daemon_log_verbosity,
      "Log verbosity of the daemons (0)")
      ->check(CLI::Range(0, 10));
  AddRead(app, "--membership-writer", "MEMBERSHIP_WRITER",
          "Who writes a daemon's entry in its clique: daemon, as NVIDIA's does, or controller, for "
          "daemons that only label their pod (daemon)",
          [&](const std::string& text) -> std::string {
            settings.controller_writes_membership = text == "controller";
            return text == "controller" || text == "daemon" ? "" : "use daemon or controller";
          });
  AddDuration(app, "--deletion-grace", "DELETION_GRACE",
              "How long a deletion waits for pods that use the domain (10m)", [&](auto duration) {
                settings.deletion_grace = std::chrono::ceil<std::chrono::seconds>(duration);
              });
  AddRead(app, "--imex-mode", "IMEX_MODE",
          "Who runs IMEX: driverManaged, daemons in pods; or hostManaged, somebody else on the "
          "hosts, with the feature gate HostManagedIMEXDaemon (driverManaged)",
          [&](const std::string& text) -> std::string {
            settings.imex_on_hosts = text == "hostManaged";
            const bool is_known = settings.imex_on_hosts || text.empty() || text == "driverManaged";
            return is_known ? "" : "use driverManaged or hostManaged";
          });
  AddRead(
      app, "--imex-isolation", "IMEX_ISOLATION",
      "What has an IMEX domain of its own: domain, a ComputeDomain, and nothing else here (domain)",
      [](const std::string& text) {
        return std::string(
            text.empty() || text == "domain" ? "" : "only domain is supported by this controller");
      });
}

void AddProcessFlags(CLI::App& app, Settings& settings, std::string& config) {
  app.option_defaults()->group("This process and its API server");
  Add(app, "--pod-name", "POD_NAME", settings.pod_name, "Name of this pod, for the Lease; required")
      ->required();
  Add(app, "--namespace", "NAMESPACE", settings.ns, "Namespace of the daemons (default)");
  AddRead(app, "--additional-namespaces", "ADDITIONAL_NAMESPACES",
          "Further namespaces where daemons are, as of an earlier installation",
          [&](const std::string& text) {
            settings.additional_namespaces = SplitList(text);
            return std::string();
          });
  command_line::AddKubeconfig(app, settings.kubeconfig);
  Add(app, "--config", "CONFIG", config,
      "Path of a ControllerConfiguration: see docs/configuration.md");
  Add(app, "--workers", "WORKERS", settings.workers, "Domains reconciled side by side (8)")
      ->check(CLI::Range(1, 64));
  AddIgnored(app, "--kube-api-qps", "KUBE_API_QPS",
             "Accepted and ignored: requests are not limited by number");
  AddIgnored(app, "--kube-api-burst", "KUBE_API_BURST", "Accepted and ignored, as --kube-api-qps");
  AddRead(app, "--feature-gates", "FEATURE_GATES",
          "NVIDIA's feature gates as name=bool, separated by commas; one that cannot be served is "
          "refused",
          [&](const std::string& text) { return ReadGates(text, settings.may_be_on_hosts); });
  app.add_flag("--dry-run", settings.dry_run, "Log what would be done, and write nothing")
      ->envname("DRY_RUN");
}

void AddServingFlags(CLI::App& app, Settings& settings) {
  app.option_defaults()->group("What others see of it");
  Add(app, "--http-endpoint", "HTTP_ENDPOINT", settings.http_endpoint,
      "host:port for health and metrics (none); empty: none");
  Add(app, "--debug-endpoint", "DEBUG_ENDPOINT", settings.debug_endpoint,
      "host:port for /debug/domains and /debug/cliques, which name all users (127.0.0.1:8081); "
      "empty: none");
  Add(app, "--metrics-path", "METRICS_PATH", settings.metrics_path,
      "Path of the metrics (/metrics); empty: none");
  AddIgnored(app, "--pprof-path", "PPROF_PATH", "Accepted and ignored: there are no profiles");
  command_line::AddLogging(app, settings.verbosity, settings.log_format, settings.unused_flags);
}

void AddElectionFlags(CLI::App& app, Settings& settings) {
  app.option_defaults()->group("Leader election");
  AddRead(app, "--leader-election-enabled", "LEADER_ELECTION_ENABLED",
          "Whether one replica of several acts (true)",
          [&](const std::string& text) -> std::string {
            settings.elects = text == "true" || text == "1";
            const bool known = settings.elects || text == "false" || text == "0";
            return known ? "" : "use true or false";
          });
  Add(app, "--leader-election-lease-lock-name", "LEADER_ELECTION_LEASE_LOCK_NAME",
      settings.lease_name, "Name of the Lease (nvidia-compute-domain-controller)");
  Add(app, "--leader-election-lease-lock-namespace", "LEADER_ELECTION_LEASE_LOCK_NAMESPACE",
      settings.lease_namespace, "Its namespace (that of --namespace)");
  AddDuration(app, "--leader-election-lease-duration", "LEADER_ELECTION_LEASE_DURATION",
              "How long others wait for a silent leader (15s)",
              [&](auto duration) { settings.lease.lease_duration = duration; });
  AddDuration(app, "--leader-election-renew-deadline", "LEADER_ELECTION_RENEW_DEADLINE",
              "How long a leader acts after a renewal (10s)",
              [&](auto duration) { settings.lease.renew_deadline = duration; });
  AddDuration(app, "--leader-election-retry-period", "LEADER_ELECTION_RETRY_PERIOD",
              "How long between attempts to take or renew the Lease (2s)",
              [&](auto duration) { settings.lease.retry_period = duration; });
}

void AddReleaseFinalizers(CLI::App& app, Settings& settings) {
  CLI::App* command = app.add_subcommand(
      "release-finalizers",
      "For uninstalling: takes the finalizer off all ComputeDomains and their children, says what "
      "it released, and ends. It deletes nothing, and refuses while a controller holds the "
      "Lease. "
      "Takes the controller's flags too, such as --kubeconfig, --namespace and --dry-run.");
  command->fallthrough();
  command->option_defaults()->group("Options");
  command->add_flag("--force", settings.force, "Also while a controller holds the Lease")
      ->envname("RELEASE_FINALIZERS_FORCE");
  command->preparse_callback([&](std::size_t) {
    settings.command = Command::kReleaseFinalizers;
    for (const char* flag : {"--pod-name", "--image-name"}) app.get_option(flag)->required(false);
  });
}

// What an error names by its flag may have come from a variable, or be easier to set by it.
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

// What a flag or variable has set stays.
base::Result<void> ReadFile(const std::string& path, CLI::App& app, Settings& settings) {
  if (path.empty()) return {};
  constexpr std::size_t kBytesMax = 256U << 10;
  Settings with_file = settings;
  with_file.pull_secrets.clear();
  const std::string text = TRY(base::ReadFile(path, kBytesMax).map_error(base::While("--config")));
  TRY(ReadConfiguration(text, path, with_file));
  if (app.count("--deletion-grace") > 0) with_file.deletion_grace = settings.deletion_grace;
  if (app.count("--cd-daemon-image-pull-secret-names") > 0) {
    with_file.pull_secrets = settings.pull_secrets;
  }
  settings = std::move(with_file);
  return {};
}

// All flags, which set `settings` and `config`.
void AddFlags(CLI::App& app, Settings& settings, std::string& config) {
  command_line::Begin(app, kExitStatuses);
  AddProcessFlags(app, settings, config);
  AddServingFlags(app, settings);
  AddDaemonFlags(app, settings);
  AddElectionFlags(app, settings);
  AddReleaseFinalizers(app, settings);
}

void AppendFlags(const CLI::App& app, std::vector<Flag>& flags) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    flags.push_back({.name = name,
                     .variable = name == "--kubeconfig" ? "KUBECONFIG" : option->get_envname(),
                     .meaning = option->get_description()});
  }
}

}  // namespace

std::vector<Flag> Flags() {
  Settings settings;
  std::string config;
  CLI::App app;
  AddFlags(app, settings, config);
  std::vector<Flag> flags;
  AppendFlags(app, flags);
  for (const CLI::App* command : app.get_subcommands({})) AppendFlags(*command, flags);
  std::erase_if(flags,
                [](const Flag& flag) { return flag.name == "--help" || flag.name == "--version"; });
  return flags;
}

Parsed Parse(const std::vector<std::string>& arguments) {
  Parsed parsed;
  CLI::App app("Makes the daemons of ComputeDomains and says how they are.",
               "compute-domain-controller");
  std::string config;
  AddFlags(app, parsed.settings, config);
  parsed.exit = command_line::Parse(app, WordsOf(arguments));
  if (parsed.exit) {
    std::string& text = parsed.exit->text;
    if (parsed.exit->status != 0) text += VariablesNamedIn(text, app);
    return parsed;
  }
  if (const auto read = ReadFile(config, app, parsed.settings); !read) {
    const std::string text = read.error().message + "\n";
    parsed.exit = command_line::Misused(text + VariablesNamedIn(text, app));
    return parsed;
  }
  if (parsed.settings.imex_on_hosts && !parsed.settings.may_be_on_hosts) {
    const std::string text = "--imex-mode hostManaged needs the feature gate " +
                             std::string(kHostManagedGate) +
                             ", so that nobody comes to it by mistake: add " +
                             std::string(kHostManagedGate) + "=true to --feature-gates.\n";
    parsed.exit = command_line::Misused(text + VariablesNamedIn(text, app));
    return parsed;
  }
  if (parsed.settings.lease_namespace.empty()) parsed.settings.lease_namespace = parsed.settings.ns;
  if (const auto valid = kube::Validate(parsed.settings.lease); !valid && parsed.settings.elects) {
    parsed.exit = command_line::Misused(valid.error().message + "\n");
  }
  return parsed;
}

}  // namespace settings
