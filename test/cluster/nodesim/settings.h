#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace nodesim {

// What the command line says. See README.md for the meaning of each.
struct Settings {
  int nodes = 36;
  int cliques = 2;
  int clique_size = 0;  // 0: as many as make `cliques` of them.
  int no_fabric = 0;
  int gpus = 0;  // Of each node, by the driver for GPUs; 0: that driver is not there.
  std::string node_prefix = "node-";
  std::string driver_namespace = "cdom-system";

  std::chrono::milliseconds ready_delay{100};
  std::chrono::milliseconds daemon_delay{500};
  std::chrono::milliseconds stop_delay{100};
  std::chrono::milliseconds job_duration{5'000};
  // A quarter of the time after which test/cluster/controlplane calls a node lost, 10 s; elsewhere
  // 10 s of 40.
  std::chrono::milliseconds lease_period{2'500};
  std::chrono::milliseconds status_period{300'000};
  // IMEX runs on the hosts, and is ready: plugins give channels without label and daemon.
  bool imex_on_hosts = false;
  // Whether a prepare that is refused waits as long as NVIDIA's plugin does before it tries again.
  // If not it is tried whenever something changes.
  bool paced_prepare = false;
  // Daemons write with a token of their pod's ServiceAccount, so that its rights and the policies
  // hold for them.
  bool daemon_account = false;
  // Daemons of ours report what their IMEX runs with.
  bool imex_reports = false;
  // Daemons are real ones, which somebody else starts; that one is ready is told by a command.
  bool daemons_elsewhere = false;
  // How long a node that says Ready keeps a taint of the node lifecycle controller before it is
  // removed here.
  std::chrono::milliseconds taint_patience{20'000};

  int workers = 16;
  std::uint64_t seed = 1;
};

}  // namespace nodesim
