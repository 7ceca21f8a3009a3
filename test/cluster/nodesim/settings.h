// The simulator's settings. README.md describes each.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace nodesim {

struct Settings {
  int nodes = 36;
  int cliques = 2;
  int clique_size = 0;  // Nodes in a clique. If 0, chosen to make `cliques` of them.
  int no_fabric = 0;
  int gpus = 0;  // GPUs of each node. 0 if there is no GPU driver.
  std::string node_prefix = "node-";
  std::string driver_namespace = "cdom-system";

  std::chrono::milliseconds ready_delay{100};
  std::chrono::milliseconds daemon_delay{500};
  std::chrono::milliseconds stop_delay{100};
  std::chrono::milliseconds job_duration{5'000};
  // Of pods that may end, and that no Job owns. If 0, as those of Jobs.
  std::chrono::milliseconds pod_duration{0};
  // A quarter of the 10 s after which test/cluster/controlplane treats a node as lost. Other
  // clusters use 10 s of 40 s.
  std::chrono::milliseconds lease_period{2'500};
  std::chrono::milliseconds status_period{300'000};
  // IMEX runs on the hosts and is ready: plugins prepare channels without label and daemon.
  bool imex_on_hosts = false;
  // Whether a refused prepare waits as long as NVIDIA's plugin does before it retries. If false, it
  // retries whenever something changes.
  bool paced_prepare = false;
  // Daemons write with a token of their pod's ServiceAccount, so that permissions and policies
  // apply to them.
  bool daemon_account = false;
  // The product's daemons report the state of their IMEX.
  bool imex_reports = false;
  // Daemons are real processes, started by another program. A command reports that a daemon is
  // ready.
  bool daemons_elsewhere = false;
  // How long a Ready node keeps a taint of the node lifecycle controller before the simulator
  // removes it.
  std::chrono::milliseconds taint_patience{20'000};

  int workers = 16;
  std::uint64_t seed = 1;
};

}  // namespace nodesim
