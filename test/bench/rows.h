// The rows of the benchmark table, which README.md describes.
//
// Each row runs on its own control plane. An Error means that the row could not be measured, not
// that a budget does not hold.
#pragma once

#include <vector>

#include "pkg/base/result.h"
#include "test/bench/figures.h"
#include "test/bench/stage.h"

namespace bench {

struct Sizes {
  int domains = 500;          // P1: created at once.
  int joining_nodes = 18;     // P2: the number of nodesim's nodes.
  int samples = 100;          // P3, P4, P18: isolated changes.
  int labelled_nodes = 1000;  // P5
  int idle_domains = 1000;    // P6, P7
  int idle_nodes = 5000;
  int idle_claims = 20'000;
  int foreign_claims = 20'000;  // P7: claims of another driver.
  int idle_seconds = 60;
  int hand_overs = 5;  // P8
  int crashes = 2;
  int huge_nodes = 5000;   // P9
  int large_claims = 120;  // P10
  int cut_after = 20;      // P11: seconds that a connection lasts.
  int cut_seconds = 180;
  int flapping_nodes = 1000;  // P12: nodes of one domain.
  int flapping_seconds = 20;
  int waiting_domains = 1000;  // P13
  int waiting_seconds = 1200;
  int unready_members = 1000;  // P14: and four times as many.
  int placed_domains = 1000;   // P15
  int placed_pods = 50;        // Each figure is their median.
};

using Rows = base::Result<std::vector<Row>>;

Rows MeasureProvisioning(Stage& stage, const Sizes& sizes);     // P1
Rows MeasureFormation(Stage& stage, const Sizes& sizes);        // P2
Rows MeasureReadyLatency(Stage& stage, const Sizes& sizes);     // P3
Rows MeasureNodeLossLatency(Stage& stage, const Sizes& sizes);  // P4
Rows MeasureDeletion(Stage& stage, const Sizes& sizes);         // P5
Rows MeasureIdleAndMemory(Stage& stage, const Sizes& sizes);    // P6 and P7
Rows MeasureFailover(Stage& stage, const Sizes& sizes);         // P8
Rows MeasureStatusSize(Stage& stage, const Sizes& sizes);       // P9
Rows MeasureLargeClaims(Stage& stage, const Sizes& sizes);      // P10
Rows MeasureCutWatches(Stage& stage, const Sizes& sizes);       // P11
Rows MeasureFlapping(Stage& stage, const Sizes& sizes);         // P12
Rows MeasureWaiting(Stage& stage, const Sizes& sizes);          // P13
Rows MeasurePlanning(Stage& stage, const Sizes& sizes);         // P14
Rows MeasurePlacement(Stage& stage, const Sizes& sizes);        // P15
Rows MeasureFairness(Stage& stage, const Sizes& sizes);         // P18

}  // namespace bench
