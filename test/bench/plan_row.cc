// P14: how long the planner takes for a domain none of whose many members is ready, which is where
// it has most to say. Needs no API server: the planner is values in, values out.
#include <algorithm>

#include "controller/compute_domain/plan/planner.h"
#include "test/bench/rows.h"
#include "test/fixtures/observed.h"
#include "test/fixtures/plan.h"

namespace bench {

namespace {

using compute_domain::Observed;

constexpr int kCliqueSize = 18;
constexpr int kRounds = 5;
constexpr int kFactor = 4;            // How much larger the large domain is.
constexpr double kBudgetRatio = 1.5;  // Of the times for one member each.

// Each has a daemon that is not ready, and an entry in a clique and in status.
Observed Unready(int members) {
  Observed observed = fixtures::Marked();
  observed.children.cliques.clear();
  observed.children.daemon_pods.clear();
  observed.children.claims.clear();
  observed.children.labelled_nodes.clear();
  observed.nodes.clear();
  observed.domain->status.nodes.clear();
  for (int i = 0; i < members; ++i) {
    const std::string node = "node-" + std::to_string(i);
    const std::string clique = "clique-" + std::to_string(i / kCliqueSize);
    if (i % kCliqueSize == 0) {
      api::Clique made = fixtures::MakeClique();
      made.meta.key.name = fixtures::kUid + "." + clique;
      made.meta.uid = clique;
      made.id = clique;
      made.daemons.clear();
      observed.children.cliques.push_back(std::move(made));
    }
    api::Member member = fixtures::MakeMember(node, i % kCliqueSize, false);
    member.clique = clique;
    observed.children.cliques.back().daemons.push_back(member);
    observed.domain->status.nodes.push_back(member);
    api::DaemonPod pod = fixtures::MakePod(node, i % kCliqueSize);
    pod.clique = clique;
    pod.controller_writes = true;
    pod.ready = false;
    pod.trouble = "CrashLoopBackOff";
    observed.children.daemon_pods.push_back(std::move(pod));
    observed.children.claims.push_back(fixtures::MakeChannelClaim(node, "train-" + node));
    observed.children.labelled_nodes.push_back(fixtures::MakeNode(node));
    observed.nodes[node] = fixtures::MakeNode(node);
  }
  return observed;
}

// Milliseconds of the fastest of several rounds: what slows one down is the machine.
double Measure(const base::Clock& clock, const Observed& observed) {
  std::chrono::nanoseconds best = std::chrono::nanoseconds::max();
  for (int round = 0; round < kRounds; ++round) {
    const auto began = clock.Now();
    const fixtures::Plan plan =
        fixtures::PlanReconcile(observed, fixtures::Now(), compute_domain::kRules);
    best = std::min<std::chrono::nanoseconds>(best, clock.Now() - began);
    if (plan.steps.size() > observed.nodes.size()) return 0;  // So that nobody leaves it out.
  }
  return std::chrono::duration<double, std::milli>(best).count();
}

}  // namespace

Rows MeasurePlanning(Stage& stage, const Sizes& sizes) {
  const int large = kFactor * sizes.unready_members;
  const double few = Measure(stage.clock(), Unready(sizes.unready_members));
  const double many = Measure(stage.clock(), Unready(large));
  const double ratio = many / (kFactor * std::max(few, 0.001));
  return std::vector<Row>{
      {.id = "P14",
       .what = "a plan for " + std::to_string(large) + " members that are not ready",
       .budget = Budget{.text = "<= 1.5 times as long for each",
                        .gate = Gate::kAlways,  // Each time is the best of several rounds.
                        .value = ratio,
                        .aim = kBudgetRatio},
       .yardstick = "for " + std::to_string(sizes.unready_members) + ": " + Number(few) + " ms",
       .ours = Number(many) + " ms",
       .figure = many,
       .ratio = ratio}};
}

}  // namespace bench
