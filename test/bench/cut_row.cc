// P11: for how long nothing is watched while a load balancer ends every connection at a certain
// age.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "pkg/base/file.h"
#include "pkg/kube/client/request.h"
#include "test/bench/coverage.h"
#include "test/bench/cutting_proxy.h"
#include "test/bench/rows.h"

namespace bench {

namespace {

using base::Result;
using std::chrono::microseconds;
using std::chrono::seconds;

constexpr double kBudgetPercent = 1;
constexpr int kProbes = 20;

// The replica's kubeconfig, but for the port: the certificate is for 127.0.0.1.
Result<std::string> KubeconfigBehind(const CuttingProxy& proxy, const Stage& stage) {
  constexpr std::size_t kBytesMax = 1U << 20;
  const std::string& path = stage.options().kubeconfigs.front();
  std::string text = TRY(base::ReadFile(path, kBytesMax));
  const std::size_t at = text.find(stage.url());
  if (at == std::string::npos) {
    return base::Fail(base::ErrorCode::kInvalid, path + " does not name " + stage.url());
  }
  text.replace(at, stage.url().size(), "https://127.0.0.1:" + std::to_string(proxy.port()));
  std::string behind = path + ".cut";
  std::ofstream(behind) << text;
  std::filesystem::permissions(behind, std::filesystem::perms::owner_read);
  return behind;
}

// How long a new connection and one request over it take, in the middle.
Result<double> FreshConnectionMillis(Stage& stage) {
  std::vector<double> millis;
  for (int i = 0; i < kProbes; ++i) {
    const auto transport = stage.NewConnection();
    const auto began = stage.clock().Now();
    TRY(kube::CheckStatus(transport->Send({.path = "/version"}), http::Method::kGet));
    millis.push_back(Millis(std::chrono::duration_cast<microseconds>(stage.clock().Now() - began)));
  }
  return Percentile(millis, 0.5);
}

}  // namespace

Rows MeasureCutWatches(Stage& stage, const Sizes& sizes) {
  const double fresh = TRY(FreshConnectionMillis(stage));
  const int port = std::stoi(stage.url().substr(stage.url().rfind(':') + 1));
  const CuttingProxy proxy(port, seconds(sizes.cut_after), stage.clock());
  const std::string kubeconfig = TRY(KubeconfigBehind(proxy, stage));
  TRY(stage.audit().Read());
  const std::size_t mark = stage.audit().Mark();
  const auto controller = TRY(stage.StartController({{"KUBECONFIG", kubeconfig}}));
  const WallTime from = stage.clock().Wall();
  stage.Pause(seconds(sizes.cut_seconds));
  const WallTime until = stage.clock().Wall();
  TRY(stage.Stop(*controller));  // Which ends the last watches, too.
  stage.Pause(seconds(1));       // Until the API server has said so.
  TRY(stage.audit().Read());

  const auto blind = FindBlind(stage.audit().Since(mark), kControllerUser, from, until);
  if (blind.empty()) return base::Fail(base::ErrorCode::kNotFound, "nothing was watched");
  Blind all;
  microseconds worst{0};
  for (const auto& [collection, its] : blind) {
    all.time += its.time;
    all.longest = std::max(all.longest, its.longest);
    all.gaps += its.gaps;
    worst = std::max(worst, its.time);
  }
  const double percent = 100 * Seconds(worst) / sizes.cut_seconds;
  const double mean = all.gaps == 0 ? 0 : Millis(all.time) / all.gaps;
  return std::vector<Row>{
      {.id = "P11",
       .what = "every connection is cut after " + std::to_string(sizes.cut_after) + " s, for " +
               std::to_string(sizes.cut_seconds) + " s: time without a watch, of the worst of " +
               std::to_string(blind.size()) + " collections",
       .budget = Budget{.text = "<= 1 %", .value = percent, .aim = kBudgetPercent},
       .yardstick = "a new connection and a request: " + Number(fresh) + " ms",
       .ours = Number(percent) + " %, " + std::to_string(all.gaps) + " gaps of " + Number(mean) +
               " ms, the longest " + Number(Millis(all.longest)) + " ms",
       .figure = percent,
       .ratio = mean / std::max(fresh, 0.001)}};
}

}  // namespace bench
