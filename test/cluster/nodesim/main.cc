// nodesim: plays GPU nodes against an API server. See README.md.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <thread>

#include "pkg/base/environment.h"
#include "pkg/base/system_clock.h"
#include "pkg/kube/client/config.h"
#include "test/cluster/nodesim/control.h"
#include "test/cluster/nodesim/settings.h"
#include "test/cluster/nodesim/simulator.h"
#include "test/cluster/nodesim/stderr_logger.h"
#include "test/cluster/nodesim/topology.h"

namespace {

struct Options {
  nodesim::Settings settings = {};
  std::string kubeconfig = {};
  int control_port = 0;
  bool verbose = false;
};

void Say(const std::string& line) {
  std::printf("nodesim: %s\n", line.c_str());
  std::fflush(stdout);
}

int Fail(const std::string& why) {
  std::fprintf(stderr, "nodesim: %s\n", why.c_str());
  return EXIT_FAILURE;
}

// "250", "250ms", "5s" or "2m".
void AddDuration(CLI::App& app, const std::string& name, std::chrono::milliseconds& value,
                 const std::string& help) {
  static const std::map<std::string, std::int64_t> kUnits = {
      {"ms", 1}, {"s", 1'000}, {"m", 60'000}};
  app.add_option_function<std::int64_t>(
         name, [&value](std::int64_t millis) { value = std::chrono::milliseconds(millis); },
         help + " (default " + std::to_string(value.count()) + "ms)")
      ->transform(CLI::AsNumberWithUnit(kUnits, CLI::AsNumberWithUnit::CASE_SENSITIVE, "DURATION"))
      ->check(CLI::NonNegativeNumber);
}

void AddOptions(CLI::App& app, Options& options) {
  nodesim::Settings& settings = options.settings;
  app.add_option("--nodes", settings.nodes, "How many nodes to play")->capture_default_str();
  app.add_option("--cliques", settings.cliques, "Over how many cliques they are spread")
      ->capture_default_str();
  app.add_option("--clique-size", settings.clique_size,
                 "Nodes of one clique; takes the place of --cliques");
  app.add_option("--no-fabric", settings.no_fabric,
                 "How many of the nodes, the last, have no fabric")
      ->capture_default_str();
  app.add_option("--gpus", settings.gpus, "How many GPUs each node has for claims")
      ->check(CLI::Range(0, 128))
      ->capture_default_str();
  app.add_option("--node-prefix", settings.node_prefix, "What the nodes' names begin with")
      ->capture_default_str();
  app.add_option("--driver-namespace", settings.driver_namespace,
                 "Where the plugins read the cliques")
      ->capture_default_str();
  app.add_option("--kubeconfig", options.kubeconfig, "How to reach the API server");
  app.add_option("--control-port", options.control_port,
                 "Port of the control server on 127.0.0.1; 0: any")
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "Of everything that is random")->capture_default_str();
  app.add_option("--workers", settings.workers, "Threads that write")->capture_default_str();
  app.add_flag("--imex-on-hosts", settings.imex_on_hosts,
               "Plugins take IMEX to run on the hosts, as NVIDIA's with --imex-mode=hostManaged");
  app.add_flag("--paced-prepare", settings.paced_prepare,
               "Repeat a refused prepare no sooner than NVIDIA's plugin does");
  app.add_flag("--daemon-account", settings.daemon_account,
               "Daemons write with a token of their pod's ServiceAccount");
  app.add_flag("--imex-reports", settings.imex_reports,
               "Daemons of ours report what their IMEX runs with");
  app.add_flag(
      "--daemons-elsewhere", settings.daemons_elsewhere,
      "Play no daemons: real ones run elsewhere, and /unstall-daemon says when one is ready");
  app.add_flag("-v,--verbose", options.verbose, "Log every write");
  AddDuration(app, "--ready-delay", settings.ready_delay, "From a container's start to Ready");
  AddDuration(app, "--daemon-delay", settings.daemon_delay,
              "From a daemon's entry in its clique to Ready");
  AddDuration(app, "--stop-delay", settings.stop_delay,
              "How long a container takes to stop, at most its grace period");
  AddDuration(app, "--job-duration", settings.job_duration, "How long the pods of Jobs run");
  AddDuration(app, "--pod-duration", settings.pod_duration,
              "How long other pods run that may end; 0: as those of Jobs");
  AddDuration(app, "--lease-period", settings.lease_period, "Between renewals of a node's Lease");
  AddDuration(app, "--status-period", settings.status_period,
              "Between heartbeats in a Node's status");
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

std::string Describe(const nodesim::Settings& settings) {
  const auto nodes = nodesim::PlaceNodes(settings);
  return std::to_string(nodes.size()) + " nodes in " +
         std::to_string(nodesim::CountCliques(nodes)) + " cliques ready";
}

int Play(const Options& options) {
  // Before there is any other thread, so that all have the signals blocked and sigwait() gets them.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  const base::SystemClock clock;
  nodesim::StderrLogger logger(options.verbose ? base::LogLevel::kObjects : base::LogLevel::kInfo,
                               clock);
  auto config =
      kube::LoadConfig({.kubeconfig = options.kubeconfig, .environment = base::GetEnv}, clock);
  if (!config) return Fail(config.error().message);
  logger.Info("Plays nodes", {{"config", config->source}});

  nodesim::Simulator simulator(options.settings, config->endpoint, *config->credentials, clock,
                               logger, [&] { Say(Describe(options.settings)); });
  const auto quit = [] { kill(getpid(), SIGTERM); };
  nodesim::ControlServer control(simulator, quit);
  const auto port = control.Start(options.control_port);
  if (!port) return Fail(port.error().message);
  Say("control http://127.0.0.1:" + std::to_string(*port));

  std::jthread run([&](const std::stop_token& stop) { simulator.Run(stop); });
  int signal = 0;
  sigwait(&signals, &signal);
  logger.Info("Stops", {{"signal", std::to_string(signal)}});
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Plays GPU nodes, with kubelet, kubelet plugin and IMEX daemons, against an API server.",
      "nodesim");
  AddOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  if (const auto valid = nodesim::Validate(options.settings); !valid) {
    return Fail(valid.error().message);
  }
  return Play(options);
}
