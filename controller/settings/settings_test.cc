#include "controller/settings/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "controller/settings/testing/flags.h"
#include "pkg/base/version.h"
#include "test/fixtures/page_rows.h"

namespace settings {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Words = std::vector<std::string>;

// What is set in the process's environment, for the time of a test.
class Environment {
 public:
  void Set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
  }

 private:
  std::vector<std::string> names_;
};

Parsed ParseWith(const Words& words) {
  Words all = {"--pod-name", "controller-0", "--image-name", "registry.example/cdom:1"};
  all.insert(all.end(), words.begin(), words.end());
  return Parse(all);
}

Settings Accepted(const Words& words) {
  const Parsed parsed = ParseWith(words);
  EXPECT_FALSE(parsed.exit) << parsed.exit->text;
  return parsed.settings;
}

// The text with which the words are refused; empty if they are not.
std::string Refusal(const Words& words) {
  const Parsed parsed = ParseWith(words);
  if (!parsed.exit) return {};
  EXPECT_EQ(parsed.exit->status, command_line::kMisused);
  return parsed.exit->text;
}

TEST(Settings, DefaultsAreThoseOfTheReferenceSaveForElectionAndItsLease) {
  const Settings settings = Accepted({});
  EXPECT_EQ(settings.pod_name, "controller-0");
  EXPECT_EQ(settings.ns, "default");
  EXPECT_TRUE(settings.additional_namespaces.empty());
  EXPECT_EQ(settings.nodes_per_imex_domain_max, 18);
  EXPECT_FALSE(settings.controller_writes_membership);
  EXPECT_EQ(settings.rules.deletion_grace, seconds(600));
  EXPECT_TRUE(settings.elects);
  EXPECT_EQ(settings.lease_name, "cdom-controller");
  EXPECT_EQ(settings.lease_namespace, "default");
  EXPECT_EQ(settings.lease.lease_duration, seconds(15));
  EXPECT_EQ(settings.lease.renew_deadline, seconds(10));
  EXPECT_EQ(settings.lease.retry_period, seconds(2));
  EXPECT_EQ(settings.http_endpoint, "");
  EXPECT_EQ(settings.debug_endpoint, "127.0.0.1:8081");
  EXPECT_EQ(settings.metrics_path, "/metrics");
  EXPECT_EQ(settings.metrics_secure_port, 0);
  EXPECT_FALSE(settings.dry_run);
}

// A ControllerConfiguration with `rest`; gone at the end of the test.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& rest) {
    std::ofstream(path_) << "apiVersion: cdom.dev/v1alpha1\nkind: ControllerConfiguration\n"
                         << rest;
  }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  ~ConfigFile() { std::filesystem::remove(path_); }
  std::string Flag() const { return "--config=" + path_; }
  const std::string& path() const { return path_; }

 private:
  const std::string path_ =
      ::testing::TempDir() + "cdom-settings-" + std::to_string(::getpid()) + ".yaml";
};

TEST(Settings, FileIsReadAndFlagsAndVariablesTakePrecedence) {
  const ConfigFile file(
      "daemons: {schedulerName: kai, imagePullSecrets: [a]}\ndeletion: {grace: 1m}\n");
  const Settings from_file = Accepted({file.Flag()});
  EXPECT_EQ(from_file.rules.daemons.scheduler_name, "kai");
  EXPECT_EQ(from_file.rules.deletion_grace, seconds(60));
  EXPECT_EQ(from_file.pull_secrets, (Words{"a"}));
  const Settings both =
      Accepted({file.Flag(), "--deletion-grace=2m", "--cd-daemon-image-pull-secret-names=b"});
  EXPECT_EQ(both.rules.daemons.scheduler_name, "kai");
  EXPECT_EQ(both.rules.deletion_grace, seconds(120));
  EXPECT_EQ(both.pull_secrets, (Words{"b"}));
  Environment environment;
  environment.Set("DELETION_GRACE", "3m");
  EXPECT_EQ(Accepted({file.Flag()}).rules.deletion_grace, seconds(180));
}

TEST(Settings, FileThatIsWrongOrMissingIsNamed) {
  const ConfigFile file("daemon: {}\n");
  EXPECT_EQ(Refusal({file.Flag()}),
            file.path() + ":3: daemon: unknown field; did you mean daemons?\n");
  EXPECT_EQ(Refusal({"--config=/nowhere/config.yaml"}),
            "--config: open /nowhere/config.yaml: No such file or directory\n"
            "The variable of --config is CONFIG.\n");
}

TEST(Settings, ReleaseFinalizersTakesTheControllersFlagsBeforeAndAfterItAndNeedsNone) {
  const Parsed bare = Parse({"release-finalizers"});
  ASSERT_FALSE(bare.exit) << bare.exit->text;
  EXPECT_EQ(bare.settings.command, Command::kReleaseFinalizers);
  EXPECT_FALSE(bare.settings.force);
  const Parsed parsed = Parse({"--namespace=cdom-system", "release-finalizers", "--force",
                               "--dry-run", "-kubeconfig", "/k"});
  ASSERT_FALSE(parsed.exit) << parsed.exit->text;
  EXPECT_TRUE(parsed.settings.force);
  EXPECT_TRUE(parsed.settings.dry_run);
  EXPECT_EQ(parsed.settings.ns, "cdom-system");
  EXPECT_EQ(parsed.settings.kubeconfig, "/k");
  EXPECT_EQ(Accepted({}).command, Command::kRun);
  EXPECT_TRUE(Parse({"--force"}).exit) << "of the command alone";
  EXPECT_NE(Parse({"--help"}).exit->text.find("release-finalizers"), std::string::npos);
}

// Each flag with a value that is not its default.
const std::vector<std::pair<std::string, std::string>> kEach = {
    {"--pod-name", "p"},
    {"--namespace", "cdom-system"},
    {"--additional-namespaces", "a, b,,c"},
    {"--workers", "9"},
    {"--kube-api-qps", "5"},
    {"--kube-api-burst", "10"},
    {"--feature-gates", "ComputeDomainCliques=true"},
    {"--http-endpoint", ":8080"},
    {"--debug-endpoint", "[::1]:9"},
    {"--metrics-path", "/m"},
    {"--metrics-secure-port", "8443"},
    {"--metrics-cert-file", "/tls/tls.crt"},
    {"--metrics-key-file", "/tls/tls.key"},
    {"--pprof-path", "/debug"},
    {"--v", "4"},
    {"--logging-format", "json"},
    {"--vmodule", "a=1"},
    {"--log-flush-frequency", "5s"},
    {"--dry-run", "true"},
    {"--image-name", "i"},
    {"--cd-daemon-image-pull-secret-names", "one two"},
    {"--max-nodes-per-imex-domain", "36"},
    {"--log-verbosity-cd-daemon", "6"},
    {"--membership-writer", "controller"},
    {"--deletion-grace", "90s"},
    {"--imex-mode", "driverManaged"},
    {"--imex-isolation", "domain"},
    {"--leader-election-enabled", "false"},
    {"--leader-election-lease-lock-name", "l"},
    {"--leader-election-lease-lock-namespace", "ln"},
    {"--leader-election-lease-duration", "1m"},
    {"--leader-election-renew-deadline", "30s"},
    {"--leader-election-retry-period", "500ms"},
    {"--beside-nvidia", "false"},  // It needs an election.
};

void ExpectEach(const Settings& settings) {
  EXPECT_EQ(settings.pod_name, "p");
  EXPECT_EQ(settings.image, "i");
  EXPECT_EQ(settings.ns, "cdom-system");
  EXPECT_EQ(settings.additional_namespaces, (Words{"a", "b", "c"}));
  EXPECT_EQ(settings.pull_secrets, (Words{"one", "two"}));
  EXPECT_EQ(settings.nodes_per_imex_domain_max, 36);
  EXPECT_EQ(settings.daemon_log_verbosity, 6);
  EXPECT_TRUE(settings.controller_writes_membership);
  EXPECT_EQ(settings.rules.deletion_grace, seconds(90));
  EXPECT_EQ(settings.workers, 9);
  EXPECT_FALSE(settings.elects);
  EXPECT_EQ(settings.lease_name, "l");
  EXPECT_EQ(settings.lease_namespace, "ln");
  EXPECT_EQ(settings.lease.lease_duration, seconds(60));
  EXPECT_EQ(settings.lease.renew_deadline, seconds(30));
  EXPECT_EQ(settings.lease.retry_period, milliseconds(500));
  EXPECT_EQ(settings.http_endpoint, ":8080");
  EXPECT_EQ(settings.debug_endpoint, "[::1]:9");
  EXPECT_EQ(settings.metrics_path, "/m");
  EXPECT_EQ(settings.metrics_secure_port, 8443);
  EXPECT_EQ(settings.metrics_cert_file, "/tls/tls.crt");
  EXPECT_EQ(settings.metrics_key_file, "/tls/tls.key");
  EXPECT_EQ(settings.verbosity, 4);
  EXPECT_EQ(settings.log_format, "json");
  EXPECT_EQ(settings.unused_flags, (Words{"--vmodule", "--log-flush-frequency"}));
  EXPECT_TRUE(settings.dry_run);
}

TEST(Settings, EachFlagIsTaken) {
  Words words = {"--kubeconfig=/k"};
  for (const auto& [flag, value] : kEach) words.push_back(flag + "=" + value);
  const Settings settings = Accepted(words);
  ExpectEach(settings);
  EXPECT_EQ(settings.kubeconfig, "/k");
}

TEST(Settings, U7_EachFlagHasAVariableThatIsTakenAsItIs) {
  const std::map<std::string, std::string> values(kEach.begin(), kEach.end());
  std::set<std::string> variables;
  Environment environment;
  for (const Flag& flag : Flags()) {
    EXPECT_FALSE(flag.variable.empty()) << flag.name;
    EXPECT_TRUE(variables.insert(flag.variable).second) << flag.variable << " is of two flags";
    // The first is read where the API server is looked for, the others by tests of their own.
    if (flag.name == "--kubeconfig" || flag.name == "--config" || flag.name == "--force") continue;
    ASSERT_TRUE(values.contains(flag.name)) << flag.name << " has no value here";
    environment.Set(flag.variable, values.at(flag.name));
  }
  const Parsed parsed = Parse({});
  ASSERT_FALSE(parsed.exit) << parsed.exit->text;
  ExpectEach(parsed.settings);
}

TEST(Settings, U7_FileAndForceCanBeGivenByVariablesToo) {
  const ConfigFile file("daemons: {schedulerName: kai}\n");
  Environment environment;
  environment.Set("CONFIG", file.path());
  environment.Set("RELEASE_FINALIZERS_FORCE", "true");
  EXPECT_EQ(Accepted({}).rules.daemons.scheduler_name, "kai");
  EXPECT_TRUE(Parse({"release-finalizers"}).settings.force);
}

TEST(Settings, PageHasEveryFlagWithItsVariableAndNoOther) {
  Words expected;
  std::string ignored;
  std::string variables;
  for (const Flag& flag : Flags()) {
    const std::string name = "`" + flag.name + "`";
    const std::string variable = "`" + flag.variable + "`";
    if (!flag.is_hidden) {
      expected.push_back("| " + name + " | " + variable + " | " + flag.meaning + " |");
      continue;
    }
    ignored += (ignored.empty() ? "" : ", ") + name;
    variables += (variables.empty() ? "" : ", ") + variable;
  }
  expected.push_back("| " + ignored + " | " + variables +
                     " | Accepted and ignored, for NVIDIA's chart |");
  EXPECT_EQ(fixtures::RowsOf(CDOM_DOCS "/flags.md", expected), expected);
}

TEST(Settings, IgnoredFlags_StandInOneLineOfHelp) {
  const std::string help = Parse({"--help"}).exit->text;
  const std::string line =
      "Accepted and ignored, for NVIDIA's chart: --kube-api-qps (KUBE_API_QPS), --kube-api-burst "
      "(KUBE_API_BURST), --pprof-path (PPROF_PATH), --vmodule (VMODULE), --log-flush-frequency "
      "(LOG_FLUSH_FREQUENCY), --imex-isolation (IMEX_ISOLATION).\n";
  EXPECT_NE(help.find(line), std::string::npos) << help;
  for (const Flag& flag : Flags()) {
    if (!flag.is_hidden) continue;
    EXPECT_EQ(help.find(flag.name), help.rfind(flag.name)) << flag.name;
  }
}

TEST(Settings, U6_HelpAndPageSayWithWhatTheProcessEnds) {
  const std::string help = Parse({"--help"}).exit->text;
  std::ifstream page(CDOM_DOCS "/flags.md");
  Words rows;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| ") && std::isdigit(line[2]) != 0) rows.push_back(line);
  }
  Words expected;
  for (const command_line::ExitStatus& status : kExitStatuses) {
    EXPECT_NE(help.find(status.meaning), std::string::npos) << status.meaning;
    expected.push_back("| " + std::to_string(status.status) + " | " + std::string(status.meaning) +
                       " |");
  }
  EXPECT_EQ(rows, expected);
}

// "18" of "Maximum number of nodes in a clique (18)"; empty if it names no value.
std::string DefaultIn(const std::string& meaning) {
  const std::size_t begin = meaning.rfind('(');
  const std::size_t end = meaning.find(')', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  const std::string text = meaning.substr(begin + 1, end - begin - 1);
  return text == "off" || text.find(' ') != std::string::npos ? "" : text;
}

TEST(Settings, U6_DefaultsOfTheHelpAreThoseThatAreTaken) {
  const Settings defaults = Accepted({});
  Words words;
  for (const Flag& flag : Flags()) {
    const std::string value = DefaultIn(flag.meaning);
    if (!value.empty()) words.push_back(flag.name + "=" + value);
  }
  EXPECT_GE(words.size(), 15U);
  const Settings said = Accepted(words);
  EXPECT_EQ(said.ns, defaults.ns);
  EXPECT_EQ(said.workers, defaults.workers);
  EXPECT_EQ(said.debug_endpoint, defaults.debug_endpoint);
  EXPECT_EQ(said.metrics_path, defaults.metrics_path);
  EXPECT_EQ(said.verbosity, defaults.verbosity);
  EXPECT_EQ(said.log_format, defaults.log_format);
  EXPECT_EQ(said.nodes_per_imex_domain_max, defaults.nodes_per_imex_domain_max);
  EXPECT_EQ(said.daemon_log_verbosity, defaults.daemon_log_verbosity);
  EXPECT_EQ(said.controller_writes_membership, defaults.controller_writes_membership);
  EXPECT_EQ(said.rules.deletion_grace, defaults.rules.deletion_grace);
  EXPECT_EQ(said.elects, defaults.elects);
  EXPECT_EQ(said.lease_name, defaults.lease_name);
  EXPECT_EQ(said.lease.lease_duration, defaults.lease.lease_duration);
  EXPECT_EQ(said.lease.renew_deadline, defaults.lease.renew_deadline);
  EXPECT_EQ(said.lease.retry_period, defaults.lease.retry_period);
}

TEST(Settings, U6_HelpGroupsTheFlags) {
  const std::string help = Parse({"--help"}).exit->text;
  std::size_t at = 0;
  for (const char* group : {"This process and its API server:", "Log and endpoints:",
                            "IMEX daemons:", "Leader election:", "Exit status:"}) {
    const std::size_t next = help.find(group);
    ASSERT_NE(next, std::string::npos) << group;
    EXPECT_GT(next, at) << group;
    at = next;
  }
}

TEST(Settings, EnvironmentOfTheReferencesChartSuffices) {
  Environment environment;
  environment.Set("POD_NAME", "controller-0");
  environment.Set("NAMESPACE", "nvidia");
  environment.Set("IMAGE_NAME", "nvcr.io/x:v1");
  environment.Set("LOG_VERBOSITY_CD_DAEMON", "4");
  environment.Set("CD_DAEMON_IMAGE_PULL_SECRET_NAMES", "a,b");
  environment.Set("MAX_NODES_PER_IMEX_DOMAIN", "9");
  environment.Set("ADDITIONAL_NAMESPACES", "old");
  environment.Set("IMEX_MODE", "driverManaged");
  environment.Set("IMEX_ISOLATION", "domain");
  environment.Set("HTTP_ENDPOINT", ":8080");
  environment.Set("DEBUG_ENDPOINT", "[::1]:9");
  environment.Set("METRICS_PATH", "/m");
  environment.Set("PPROF_PATH", "/debug");
  environment.Set("FEATURE_GATES",
                  "AllAlpha=false,ComputeDomainCliques=true,IMEXDaemonsWithDNSNames=true,");
  environment.Set("LEADER_ELECTION_ENABLED", "false");
  environment.Set("LEADER_ELECTION_LEASE_LOCK_NAME", "x-controller");
  environment.Set("LEADER_ELECTION_LEASE_LOCK_NAMESPACE", "y");
  environment.Set("LEADER_ELECTION_LEASE_DURATION", "20s");
  environment.Set("LEADER_ELECTION_RENEW_DEADLINE", "12s");
  environment.Set("LEADER_ELECTION_RETRY_PERIOD", "3s");
  environment.Set("KUBE_API_QPS", "5");
  environment.Set("KUBE_API_BURST", "10");
  const Parsed parsed = Parse({"-v", "4"});
  ASSERT_FALSE(parsed.exit) << parsed.exit->text;
  const Settings& settings = parsed.settings;
  EXPECT_EQ(settings.pod_name, "controller-0");
  EXPECT_EQ(settings.ns, "nvidia");
  EXPECT_EQ(settings.image, "nvcr.io/x:v1");
  EXPECT_EQ(settings.daemon_log_verbosity, 4);
  EXPECT_EQ(settings.pull_secrets, (Words{"a", "b"}));
  EXPECT_EQ(settings.nodes_per_imex_domain_max, 9);
  EXPECT_EQ(settings.additional_namespaces, (Words{"old"}));
  EXPECT_EQ(settings.http_endpoint, ":8080");
  EXPECT_EQ(settings.debug_endpoint, "[::1]:9");
  EXPECT_EQ(settings.metrics_path, "/m");
  EXPECT_FALSE(settings.elects);
  EXPECT_EQ(settings.lease_name, "x-controller");
  EXPECT_EQ(settings.lease_namespace, "y");
  EXPECT_EQ(settings.lease.lease_duration, seconds(20));
  EXPECT_EQ(settings.lease.renew_deadline, seconds(12));
  EXPECT_EQ(settings.lease.retry_period, seconds(3));
}

TEST(Settings, FlagComesBeforeTheEnvironmentAndTheLastFlagBeforeTheFirst) {
  Environment environment;
  environment.Set("NAMESPACE", "from-environment");
  EXPECT_EQ(Accepted({}).ns, "from-environment");
  EXPECT_EQ(Accepted({"--namespace=first", "--namespace=last"}).ns, "last");
}

TEST(Settings, LeaseLiesInOurNamespaceUnlessItIsSaidWhere) {
  EXPECT_EQ(Accepted({"--namespace=cdom-system"}).lease_namespace, "cdom-system");
}

TEST(Settings, OneDashIsTakenAsGoTakesIt) {
  EXPECT_EQ(Accepted({"-kubeconfig", "/k"}).kubeconfig, "/k");
  EXPECT_EQ(Accepted({"-kubeconfig=/k"}).kubeconfig, "/k");
  for (const Words& words : {Words{"-v=7"}, Words{"-v7"}, Words{"-v", "7"}, Words{"--v=7"}}) {
    EXPECT_EQ(Accepted(words).verbosity, 7) << words[0];
  }
}

TEST(Settings, WhatIsRefusedIsNamedWithWhatIsWrong) {
  struct Row {
    Words words;
    const char* flag;
    const char* wrong;
  };
  const std::vector<Row> rows = {
      {{"--no-such-flag"}, "--no-such-flag", "unknown flag"},
      {{"--worker=3"}, "--worker:", "did you mean --workers?"},
      {{"--namespace=Bad_ns"}, "--namespace \"Bad_ns\"", "not a namespace"},
      {{"--additional-namespaces=a,Bad_ns"}, "--additional-namespaces", "not a namespace"},
      {{"--leader-election-lease-lock-namespace=a.b"}, "-lock-namespace", "not a namespace"},
      {{"--leader-election-lease-lock-name=A"}, "--leader-election-lease-lock-name", "not a name"},
      {{"--http-endpoint=99999"}, "--http-endpoint \"99999\"", "write host:port or :port"},
      {{"--debug-endpoint=:99999"}, "--debug-endpoint", "at most 65535"},
      {{"--max-nodes-per-imex-domain=0"}, "--max-nodes-per-imex-domain", "1"},
      {{"--workers=many"}, "--workers", "many"},
      {{"--deletion-grace=10"}, "--deletion-grace", "15s"},
      {{"--membership-writer=both"}, "--membership-writer", "use daemon or controller"},
      {{"--leader-election-enabled=perhaps"}, "--leader-election-enabled", "use true or false"},
      {{"--logging-format=xml"}, "--logging-format", "json"},
      {{"--imex-mode=hosts"}, "--imex-mode", "use driverManaged or hostManaged"},
      {{"--imex-mode=hostManaged"}, "--imex-mode", "add HostManagedIMEXDaemon=true"},
      {{"--imex-mode=hostManaged", "--feature-gates=HostManagedIMEXDaemon=false"},
       "--imex-mode",
       "add HostManagedIMEXDaemon=true"},
      {{"--imex-mode=hostManaged", "--imex-isolation=channel"}, "--imex-isolation", "only domain"},
      {{"--imex-isolation=channel"}, "--imex-isolation", "only domain"},
      {{"--feature-gates=IMEXDaemonsWithDNSNames"},
       "--feature-gates",
       "must be IMEXDaemonsWithDNSNames=true or"},
      {{"--feature-gates=Later=perhaps"}, "--feature-gates", "must be Later=true or"},
      {{"--leader-election-renew-deadline=20s"}, "renew", ""},
  };
  for (const Row& row : rows) {
    const std::string text = Refusal(row.words);
    EXPECT_NE(text.find(row.flag), std::string::npos) << row.words[0] << ": " << text;
    EXPECT_NE(text.find(row.wrong), std::string::npos) << row.words[0] << ": " << text;
  }
}

TEST(Settings, U7_WhatIsRefusedIsNamedByItsVariableToo) {
  {
    Environment environment;
    environment.Set("WORKERS", "many");
    EXPECT_EQ(Refusal({}),
              "--workers: Value many not in range 1 to 64\nRun with --help for more information.\n"
              "The variable of --workers is WORKERS.\n");
  }
  const Parsed missing = Parse({"--pod-name", "x"});
  ASSERT_TRUE(missing.exit);
  EXPECT_NE(missing.exit->text.find("The variable of --image-name is IMAGE_NAME."),
            std::string::npos)
      << missing.exit->text;
}

TEST(Settings, FeatureGatesWithoutEffectAreIgnored) {
  const auto ignored = [](const std::vector<std::string>& words) {
    std::vector<std::string> gates;
    for (const auto& gate : Accepted(words).IgnoredGates()) {
      gates.push_back(gate.Setting());
    }
    return gates;
  };
  using Gates = std::vector<std::string>;
  EXPECT_EQ(ignored({}), Gates());
  EXPECT_EQ(ignored({"--feature-gates=MPSSupport=true, AllBeta=true ,"}), Gates());
  EXPECT_EQ(ignored({"--feature-gates=Later=true,ComputeDomainCliques=false"}),
            (Gates{"Later=true", "ComputeDomainCliques=false"}));
  EXPECT_EQ(ignored({"--feature-gates=HostManagedIMEXDaemon=true,ComputeDomainCliques=false",
                     "--imex-mode=hostManaged"}),
            Gates());
}

TEST(Settings, ImexIsLeftToTheHostsByModeAndGateTogether) {
  const auto are_on_hosts = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"--pod-name=p", "--image-name=i"});
    const Parsed parsed = Parse(words);
    return !parsed.exit && parsed.settings.rules.imex_on_hosts;
  };
  EXPECT_TRUE(are_on_hosts({"--imex-mode=hostManaged", "--imex-isolation=domain",
                            "--feature-gates=HostManagedIMEXDaemon=true,MPSSupport=false"}));
  EXPECT_FALSE(are_on_hosts({"--feature-gates=HostManagedIMEXDaemon=true"}));
}

TEST(Settings, EmptyModesAreTheDefaults) {
  EXPECT_EQ(Refusal({"--imex-mode=", "--imex-isolation=", "--feature-gates="}), "");
}

TEST(Settings, EmptyValueDoesNotTakeTheNextFlagForItself) {
  const Settings settings =
      Accepted({"--metrics-path=", "--dry-run", "-http-endpoint=", "-v", "4"});
  EXPECT_EQ(settings.metrics_path, "");
  EXPECT_TRUE(settings.dry_run);
  EXPECT_EQ(settings.http_endpoint, "");
  EXPECT_EQ(settings.verbosity, 4);
}

TEST(Settings, TimesOfAnElectionThatIsOffAreNotJudged) {
  EXPECT_EQ(Refusal({"--leader-election-enabled=false", "--leader-election-renew-deadline=20s"}),
            "");
}

TEST(Settings, ControllerBesideNvidiasMustElect) {
  EXPECT_FALSE(Accepted({}).beside_nvidia);
  EXPECT_TRUE(Accepted({"--beside-nvidia"}).beside_nvidia);
  const std::string refusal = Refusal({"--beside-nvidia", "--leader-election-enabled=false"});
  EXPECT_NE(refusal.find("--beside-nvidia needs leader election"), std::string::npos) << refusal;
}

TEST(Settings, REV3_X8_CertificateAndKeyOfMetricsNeedEachOther) {
  EXPECT_NE(Refusal({"--metrics-cert-file=/a"}).find("requires --metrics-key-file"),
            std::string::npos);
  EXPECT_NE(Refusal({"--metrics-key-file=/a"}).find("requires --metrics-cert-file"),
            std::string::npos);
  EXPECT_NE(Refusal({"--metrics-secure-port=65536"}), "");
  Environment environment;
  environment.Set("METRICS_CERT_FILE", "");
  environment.Set("METRICS_KEY_FILE", "");
  EXPECT_EQ(Refusal({"--metrics-secure-port=8443"}), "");
}

TEST(Settings, MisspeltCommand_IsNamed_BeforeRequiredFlags) {
  const Parsed parsed = Parse({"relase-finalizers"});
  ASSERT_TRUE(parsed.exit);
  EXPECT_EQ(parsed.exit->text,
            "relase-finalizers: unknown command; did you mean release-finalizers?\n"
            "Run with --help for more information.\n");
}

TEST(Settings, RequiredFlags_AreNamedTogether) {
  EXPECT_EQ(Parse({}).exit->text,
            "--pod-name, --image-name: required\nRun with --help for more information.\n"
            "The variable of --pod-name is POD_NAME.\n"
            "The variable of --image-name is IMAGE_NAME.\n");
}

TEST(Settings, NvidiasImage_UnderTheControllersCliques_IsAMismatch) {
  const auto mismatches = [](const char* image, const char* writer) {
    return Accepted({"--image-name", image, "--membership-writer", writer}).HasTwoWriters();
  };
  for (const char* image : {"nvcr.io/nvidia/k8s-dra-driver-gpu:v25.8", "dra-driver-nvidia-gpu",
                            "host:5000/mine/dra-driver-nvidia-gpu@sha256:0a"}) {
    EXPECT_TRUE(mismatches(image, "controller")) << image;
    EXPECT_FALSE(mismatches(image, "daemon")) << image;
  }
  EXPECT_FALSE(mismatches("registry.example/cdom-driver:1", "controller"));
  EXPECT_FALSE(mismatches("registry.example/mine:1", "controller"));
}

TEST(Settings, KnownLeases_BeginWithThatOfTheController) {
  const auto names = [](const Settings& settings) {
    Words all;
    for (const kube::ObjectKey& lease : settings.KnownLeases())
      all.push_back(kube::ToString(lease));
    return all;
  };
  EXPECT_EQ(names(Accepted({"--namespace=gpu"})),
            (Words{"gpu/cdom-controller", "gpu/nvidia-compute-domain-controller",
                   "gpu/dra-driver-nvidia-gpu-controller", "gpu/nvidia-dra-driver-controller"}));
  EXPECT_EQ(names(Accepted({"--leader-election-lease-lock-name=mine"})).size(), 5U);
}

TEST(Settings, PodAndImageMustBeGiven) {
  for (const char* flag : {"--pod-name", "--image-name"}) {
    const Parsed parsed = Parse({flag, "x"});
    ASSERT_TRUE(parsed.exit);
    EXPECT_EQ(parsed.exit->status, command_line::kMisused);
    EXPECT_NE(parsed.exit->text.find("required"), std::string::npos) << parsed.exit->text;
  }
}

TEST(Settings, HelpAndVersionEndWell) {
  for (const char* flag : {"--help", "--version"}) {
    const Parsed parsed = Parse({flag});
    ASSERT_TRUE(parsed.exit) << flag;
    EXPECT_EQ(parsed.exit->status, 0) << flag;
    EXPECT_NE(parsed.exit->text.find("compute-domain-controller"), std::string::npos) << flag;
  }
}

TEST(Settings, VersionIsToldWithItsRevision) {
  EXPECT_EQ(Parse({"--version"}).exit->text, "cdom compute-domain-controller " +
                                                 std::string(base::Version()) + " (revision " +
                                                 std::string(base::Revision()) + ")\n");
  EXPECT_FALSE(base::Revision().empty());
}

TEST(RuleSettings, HaveEachSettingThatRulesRead) {
  Settings settings;
  settings.ns = "driver";
  settings.additional_namespaces = {"more"};
  settings.image = "image";
  settings.pull_secrets = {"secret"};
  settings.nodes_per_imex_domain_max = 7;
  settings.daemon_log_verbosity = 5;
  settings.controller_writes_membership = true;
  settings.rules = {.daemons = {.priority_class = "class"},
                    .imex_on_hosts = true,
                    .deletion_grace = seconds(1),
                    .status_window = milliseconds(2),
                    .names_others = true,
                    .leaving_taints = {"taint"},
                    .index_hold = seconds(3),
                    .rollout = {.cliques_max = 4}};
  const compute_domain::RuleSettings rules = RuleSettingsOf(settings);
  // A new field must be named here. The last two are no settings of the process.
  const auto& [namespaces, daemons, imex_on_hosts, grace, window, names_others, taints, index_hold,
               rollout, label_hold, plugin_patience] = rules;
  EXPECT_EQ(namespaces, (Words{"driver", "more"}));
  EXPECT_TRUE(imex_on_hosts);
  EXPECT_EQ(grace, seconds(1));
  EXPECT_EQ(window, milliseconds(2));
  EXPECT_TRUE(names_others);
  EXPECT_EQ(taints, Words{"taint"});
  EXPECT_EQ(index_hold, seconds(3));
  EXPECT_EQ(rollout.cliques_max, 4);
  EXPECT_EQ(label_hold, compute_domain::RuleSettings().label_hold);
  EXPECT_EQ(plugin_patience, compute_domain::RuleSettings().plugin_patience);
  EXPECT_EQ(daemons.ns, "driver");
  EXPECT_EQ(daemons.image, "image");
  EXPECT_EQ(daemons.pull_secrets, Words{"secret"});
  EXPECT_EQ(daemons.nodes_per_imex_domain_max, 7);
  EXPECT_EQ(daemons.log_verbosity, 5);
  EXPECT_TRUE(daemons.controller_writes);
  EXPECT_EQ(daemons.priority_class, "class");
}

}  // namespace
}  // namespace settings
