// P2: many nodes join one domain at once. First with daemons that write their own clique entries,
// as NVIDIA's do, as the yardstick; then with the controller as the only writer.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "test/bench/objects.h"
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
  std::string phases = {};
  std::string who = {};
};

// What has to be done for the nodes of a Job to join, in its order.
struct Phase {
  const char* what = "";
  const char* verb = "";
  std::string_view resource = {};
  const char* ns = "";
  std::string_view user = {};  // Empty: any.
};
const Phase kPhases[] = {
    {"pods made", "create", "pods", kNamespace},
    {"claims made", "create", "resourceclaims", kNamespace},
    {"claims allocated", "patch", "resourceclaims/status", kNamespace},
    {"pods bound", "create", "pods/binding", kNamespace},
    {"nodes labelled", "patch", "nodes", "", kNodesimUser},
    {"daemons made", "create", "pods", kDriverNamespace},
    {"their claims made", "create", "resourceclaims", kDriverNamespace},
    {"daemons bound", "create", "pods/binding", kDriverNamespace},
    {"daemons ready", "patch", "pods/status", kDriverNamespace, kNodesimUser},
    {"cliques written", "patch", "computedomaincliques", kDriverNamespace},
    {"status written", "patch", "computedomains/status", kNamespace},
};

// The last of each phase, in seconds since the Job was made.
std::string DescribePhases(std::span<const AuditEvent> events) {
  WallTime begin = WallTime::max();
  std::map<std::string, WallTime> last;
  for (const AuditEvent& event : events) {
    if (!event.Succeeded()) continue;
    if (event.IsOn("jobs") && event.verb == "create") begin = std::min(begin, event.received);
    for (const Phase& phase : kPhases) {
      const bool is_it = event.IsOn(phase.resource) && event.verb == phase.verb &&
                         event.ns == phase.ns && (phase.user.empty() || event.user == phase.user);
      if (is_it) last[phase.what] = std::max(last[phase.what], event.completed);
    }
  }
  std::string text;
  for (const Phase& phase : kPhases) {
    if (!last.contains(phase.what)) continue;
    text += (text.empty() ? "" : ", ") + std::string(phase.what) + " " +
            Number(Seconds(last[phase.what] - begin));
  }
  return text;
}

struct Asked {
  int requests = 0;
  double seconds = 0;  // That the server was at it, all requests together.
};

// Who asked for how much; watches, which only wait, left out.
std::string DescribeWho(std::span<const AuditEvent> events) {
  std::map<std::string, Asked> by_user;
  for (const AuditEvent& event : events) {
    if (event.verb == "watch") continue;
    const std::string user = event.user == kControllerUser ? "ours"
                             : event.user == kNodesimUser  ? "nodes"
                             : event.user == kAdminUser    ? "the benchmark"
                             : event.user.find("scheduler") != std::string::npos
                                 ? "scheduler"
                                 : "controller manager and others";
    Asked& asked = by_user[user];
    ++asked.requests;
    asked.seconds += Seconds(event.completed - event.received);
  }
  std::string text;
  for (const auto& [user, asked] : by_user) {
    text += (text.empty() ? "" : ", ") + user + " " + std::to_string(asked.requests) + " in " +
            Number(asked.seconds) + " s";
  }
  return text;
}

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
  formation.phases = DescribePhases(events);
  formation.who = DescribeWho(events);
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

Budget Writes(const std::string& text, int writes, int most) {
  return {.text = text,
          .gate = Gate::kAlways,
          .value = static_cast<double>(writes),
          .aim = static_cast<double>(most),
          .at_any_size = true};
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
       .budget =
           Writes("<= " + std::to_string(kWritesPerClique), ours.clique_writes, kWritesPerClique),
       .yardstick = "daemons that write themselves: " + std::to_string(theirs.daemon_writes) +
                    ", " + std::to_string(theirs.refused) + " refused in all",
       .ours = std::to_string(ours.clique_writes),
       .figure = static_cast<double>(ours.clique_writes)},
      {.id = "P2",
       .what = what + "writes of the domain's status",
       .budget = Writes("<= 5 + 1/s = " + std::to_string(allowed), ours.status_writes, allowed),
       .yardstick = "daemons that write themselves: " + std::to_string(theirs.status_writes),
       .ours = std::to_string(ours.status_writes),
       .figure = static_cast<double>(ours.status_writes)},
      {.id = "P2",
       .what = what + "first label to all ready",
       .yardstick = "daemons that write themselves: " + Number(theirs.seconds) + " s",
       .ours = Number(ours.seconds) + " s",
       .figure = ours.seconds,
       .ratio = ours.seconds / std::max(theirs.seconds, 0.001)},
      {.id = "P2",
       .what = what + "the last of each phase, s after the Job",
       .ours = ours.phases,
       .figure = ours.seconds},
      {.id = "P2",
       .what = what + "requests, and for how long they were under way in all",
       .ours = ours.who,
       .figure = ours.seconds}};
}

}  // namespace bench
