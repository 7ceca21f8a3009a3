// P2: many nodes join one domain at once. First with daemons that write their own clique entries,
// as NVIDIA's do, as the yardstick; then with the controller as the only writer.
#include <algorithm>
#include <cmath>
#include <map>

#include "test/bench/rows.h"
#include "test/bench/workload.h"

namespace bench {

namespace {

using base::Result;
using std::chrono::seconds;

constexpr seconds kFormsMost{1200};
constexpr int kWritesPerClique = 5;
constexpr int kWritesPerDomain = 5;  // And one for each second of formation.

struct Formation {
  double seconds = 0;     // From the first label on a node to the status that says all are ready.
  int clique_writes = 0;  // By the controller, to the clique that took most of them.
  int daemon_writes = 0;  // By the daemons, the same.
  int refused = 0;        // Of the daemons' writes, by conflict, to all cliques.
  int status_writes = 0;
};

bool IsCliqueWrite(const AuditEvent& event) {
  return event.IsWrite() && event.IsOn("computedomaincliques");
}

int Most(const std::map<std::string, int>& counts) {
  int most = 0;
  for (const auto& [name, count] : counts) most = std::max(most, count);
  return most;
}

Formation Judge(std::span<const AuditEvent> events) {
  Formation formation;
  std::map<std::string, int> by_controller;
  std::map<std::string, int> by_daemons;
  WallTime begin = WallTime::max();
  WallTime end = WallTime::min();
  for (const AuditEvent& event : events) {
    const bool of_nodes = event.user == kNodesimUser;
    if (of_nodes && event.IsOn("nodes") && event.IsWrite()) begin = std::min(begin, event.received);
    if (IsStatusWrite(event)) {
      ++formation.status_writes;
      end = std::max(end, event.completed);
    }
    if (!IsCliqueWrite(event)) continue;
    if (event.user == kControllerUser) ++by_controller[event.name];
    if (!of_nodes) continue;
    ++by_daemons[event.name];
    if (!event.Succeeded()) ++formation.refused;
  }
  formation.seconds = begin < end ? Seconds(end - begin) : 0;
  formation.clique_writes = Most(by_controller);
  formation.daemon_writes = Most(by_daemons);
  return formation;
}

Result<Formation> Form(Stage& stage, int nodes, const std::string& writer) {
  // Others' controllers do not know the variable and leave the cliques to the daemons.
  const auto controller = TRY(stage.StartController({{"MEMBERSHIP_WRITER", writer}}));
  TRY(stage.audit().Read());
  const std::size_t mark = stage.audit().Mark();
  Workload workload = TRY(StartWorkload(stage, "forms-" + writer, nodes));
  TRY(AwaitReady(stage, workload, nodes, kFormsMost));
  TRY(stage.audit().Read());
  const Formation formation = Judge(stage.audit().Since(mark));
  TRY(EndWorkload(stage, workload, kFormsMost));
  TRY(stage.Stop(*controller));
  return formation;
}

}  // namespace

Rows MeasureFormation(Stage& stage, const Sizes& sizes) {
  const Formation theirs = TRY(Form(stage, sizes.joining_nodes, "daemon"));
  const Formation ours = TRY(Form(stage, sizes.joining_nodes, "controller"));
  const std::string what = std::to_string(sizes.joining_nodes) + " nodes join a domain at once: ";
  const int allowed = kWritesPerDomain + static_cast<int>(std::ceil(ours.seconds));
  return std::vector<Row>{
      {.id = "P2",
       .what = what + "our writes to the busiest clique",
       .budget = "<= " + std::to_string(kWritesPerClique),
       .yardstick = "daemons that write themselves: " + std::to_string(theirs.daemon_writes) +
                    ", " + std::to_string(theirs.refused) + " refused in all",
       .ours = std::to_string(ours.clique_writes),
       .figure = static_cast<double>(ours.clique_writes),
       .holds = ours.clique_writes <= kWritesPerClique},
      {.id = "P2",
       .what = what + "writes of the domain's status",
       .budget = "<= 5 + 1/s = " + std::to_string(allowed),
       .yardstick = "daemons that write themselves: " + std::to_string(theirs.status_writes),
       .ours = std::to_string(ours.status_writes),
       .figure = static_cast<double>(ours.status_writes),
       .holds = ours.status_writes <= allowed},
      {.id = "P2",
       .what = what + "first label to all ready",
       .yardstick = "daemons that write themselves: " + Number(theirs.seconds) + " s",
       .ours = Number(ours.seconds) + " s",
       .figure = ours.seconds,
       .ratio = ours.seconds / std::max(theirs.seconds, 0.001)}};
}

}  // namespace bench
