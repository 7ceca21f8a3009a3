// cdom-bench: measures rows of the table on a control plane that is there. See README.md.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "pkg/base/system_clock.h"
#include "test/bench/rows.h"

namespace {

const std::map<std::string, bench::Rows (*)(bench::Stage&, const bench::Sizes&)> kRows = {
    {"P1", bench::MeasureProvisioning}, {"P2", bench::MeasureFormation},
    {"P3", bench::MeasureReadyLatency}, {"P4", bench::MeasureNodeLossLatency},
    {"P5", bench::MeasureDeletion},     {"P6+P7", bench::MeasureIdleAndMemory},
    {"P8", bench::MeasureFailover},     {"P9", bench::MeasureStatusSize},
    {"P10", bench::MeasureLargeClaims}, {"P11", bench::MeasureCutWatches},
    {"P12", bench::MeasureFlapping},    {"P13", bench::MeasureWaiting},
    {"P14", bench::MeasurePlanning},    {"P15", bench::MeasurePlacement},
    {"P18", bench::MeasureFairness},
};

struct Options {
  std::vector<std::string> rows = {};
  bench::StageOptions stage = {};
  bench::Sizes sizes = {};
};

void AddCount(CLI::App& app, const char* name, int& count, const char* help) {
  app.add_option(name, count, help)
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void AddOptions(CLI::App& app, Options& options) {
  bench::Sizes& sizes = options.sizes;
  bench::StageOptions& stage = options.stage;
  app.add_option("rows", options.rows,
                 "P1, P2, P3, P4, P5, P6+P7, P8, P9, P10, P11, P12, P13, P14, P15, P18")
      ->required()
      ->check(CLI::IsMember(kRows));
  app.add_option("--plane", stage.plane, "Folder of the control plane")->required();
  app.add_option("--controller", stage.command, "Command that runs the controller")->required();
  app.add_option("--kubeconfig", stage.kubeconfigs, "Of the controller; twice, for P8")->required();
  app.add_option("--nodesim", stage.nodesim_url, "Where nodesim takes commands");
  app.add_option("--placement", stage.placement, "Folder of the policy, for P15");
  app.add_option("--log", stage.log, "Where the controllers' output is appended")->required();
  AddCount(app, "--domains", sizes.domains, "P1: domains created at once");
  AddCount(app, "--joining-nodes", sizes.joining_nodes, "P2: nodes that nodesim plays");
  AddCount(app, "--samples", sizes.samples, "P3, P4, P18: changes");
  AddCount(app, "--labelled-nodes", sizes.labelled_nodes, "P5: nodes of the domain");
  AddCount(app, "--idle-domains", sizes.idle_domains, "P6, P7: domains");
  AddCount(app, "--idle-nodes", sizes.idle_nodes, "P6, P7: nodes");
  AddCount(app, "--idle-claims", sizes.idle_claims, "P6, P7: claims");
  AddCount(app, "--foreign-claims", sizes.foreign_claims, "P7: claims of another driver");
  AddCount(app, "--idle-seconds", sizes.idle_seconds, "P6: how long nothing happens");
  AddCount(app, "--hand-overs", sizes.hand_overs, "P8: leaders told to stop");
  AddCount(app, "--crashes", sizes.crashes, "P8: leaders killed");
  AddCount(app, "--huge-nodes", sizes.huge_nodes, "P9: nodes of one domain");
  AddCount(app, "--large-claims", sizes.large_claims, "P10: claims");
  AddCount(app, "--cut-after", sizes.cut_after, "P11: seconds that a connection lasts");
  AddCount(app, "--cut-seconds", sizes.cut_seconds, "P11: for how long they are cut");
  AddCount(app, "--flapping-nodes", sizes.flapping_nodes, "P12: daemons of one domain");
  AddCount(app, "--flapping-seconds", sizes.flapping_seconds, "P12: for how long they flap");
  AddCount(app, "--waiting-domains", sizes.waiting_domains, "P13: domains");
  AddCount(app, "--waiting-seconds", sizes.waiting_seconds, "P13: for how long their pods wait");
  AddCount(app, "--unready-members", sizes.unready_members, "P14: members of the smaller domain");
  AddCount(app, "--placed-domains", sizes.placed_domains, "P15: domains");
  AddCount(app, "--placed-pods", sizes.placed_pods, "P15: pods of each figure");
}

int Fail(const std::string& why) {
  std::fprintf(stderr, "cdom-bench: %s\n", why.c_str());
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures rows; one line each, fields separated by tabs.", "cdom-bench");
  AddOptions(app, options);
  CLI11_PARSE(app, argc, argv);

  const base::SystemClock clock;
  auto admin = kube::LoadConfig({.kubeconfig = options.stage.plane + "/admin.kubeconfig"}, clock);
  if (!admin) return Fail(admin.error().message);
  bench::Stage stage(options.stage, *admin, clock);
  for (const std::string& name : options.rows) {
    const bench::Rows rows = kRows.at(name)(stage, options.sizes);
    if (!rows) return Fail(name + ": " + rows.error().message);
    for (const bench::Row& row : *rows) std::printf("%s\n", bench::ToLine(row).c_str());
    std::fflush(stdout);
  }
  return EXIT_SUCCESS;
}
