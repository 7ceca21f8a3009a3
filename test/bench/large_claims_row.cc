// P10: memory of a controller that starts where a user has made claims as large as the API server
// takes them.
#include "pkg/kube/client/request.h"
#include "test/bench/objects.h"
#include "test/bench/rows.h"

namespace bench {

namespace {

using base::Result;
using json::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kSettles{60};
constexpr double kBudgetMib = 40;

Result<double> PeakMibOfAStart(Stage& stage) {
  const auto controller = TRY(stage.StartController());
  TRY(stage.AwaitQuiet("the controller is at rest", milliseconds(1000), kSettles, IsOurs));
  const auto kib = static_cast<double>(TRY(PeakResidentKib(controller->pid())));
  TRY(stage.Stop(*controller));
  return kib / 1024;
}

}  // namespace

Rows MeasureLargeClaims(Stage& stage, const Sizes& sizes) {
  TRY(stage.PauseClusterControllers());
  const double without = TRY(PeakMibOfAStart(stage));
  Load load = stage.NewLoad();
  std::size_t bytes = 0;
  for (int i = 0; i < sizes.large_claims; ++i) {
    const Value claim = LargeClaim("large-" + std::to_string(i));
    bytes += json::Serialize(claim).size();
    load.Add(kube::CreateRequest(kube::kResourceClaims, kNamespace, claim));
  }
  TRY(load.Run());
  const double with = TRY(PeakMibOfAStart(stage));
  const std::size_t each = bytes / static_cast<std::size_t>(sizes.large_claims);
  return std::vector<Row>{
      {.id = "P10",
       .what = "memory at the peak of a start with " + std::to_string(sizes.large_claims) +
               " claims of " + std::to_string(each / 1000) + " KB",
       .budget =
           Budget{.text = "<= 40 MiB", .gate = Gate::kAlways, .value = with, .aim = kBudgetMib},
       .yardstick = "without them: " + Number(without) + " MiB; they have " +
                    Number(static_cast<double>(bytes) / (1U << 20U)) + " MiB",
       .ours = Number(with) + " MiB",
       .figure = with,
       .ratio = with / without}};
}

}  // namespace bench
