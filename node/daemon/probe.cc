#include "node/daemon/probe.h"

#include <algorithm>
#include <sstream>
#include <stop_token>

#include "node/daemon/imex_setup.h"
#include "node/imex/answers.h"
#include "node/imex/names.h"
#include "pkg/base/subprocess.h"
#include "pkg/base/task_queue.h"
#include "pkg/json/utf8.h"

namespace imex_daemon {

namespace {

using base::Result;

constexpr std::chrono::milliseconds kCheckTime{8000};  // A probe has 10 s.
// A pod that is not ready keeps its whole domain waiting, and IMEX answers within milliseconds.
constexpr std::chrono::milliseconds kAskAgain{25};
constexpr std::chrono::seconds kYoung{30};
constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kSaidMax = 200;

Result<void> CheckReady(const base::Program& ctl, std::chrono::milliseconds time,
                        const base::Clock& clock) {
  const auto end = TRY(base::RunProgram(ctl, {.time = time}, clock, std::stop_token())
                           .map_error(base::While(ctl.path)));
  if (end.Succeeded() && end.complaints.empty() && imex::SaysReady(end.output)) return {};
  const std::string said = json::OneLine(end.output + end.complaints, kSaidMax);
  return base::Unavailable("IMEX is not ready: " +
                           (said.empty() ? ctl.path + " did not answer" : said));
}

}  // namespace

Result<void> Check(const Settings& settings, const std::string& search,
                   const std::vector<std::string>& environment, std::chrono::milliseconds patience,
                   const base::Clock& clock) {
  if (settings.self.clique.empty()) return {};
  const base::Program ctl = {.path = TRY(FindImex(settings.ctl_program, search)),
                             .arguments = {"-c", settings.PathOf(imex::kConfigFile), "-q"},
                             .environment = environment};
  const auto began = clock.Now();
  base::TaskQueue nothing;
  for (;;) {
    const auto until_now = std::chrono::floor<std::chrono::milliseconds>(clock.Now() - began);
    Result<void> ready = CheckReady(ctl, kCheckTime - until_now, clock);
    if (ready || clock.Now() - began + kAskAgain > patience) return ready;
    static_cast<void>(nothing.Wait(kAskAgain));
  }
}

std::chrono::milliseconds PatienceFor(std::chrono::milliseconds age) {
  return age < kYoung ? kPatience : std::chrono::milliseconds(0);
}

std::optional<std::chrono::milliseconds> AgeOf(const std::string& stat, const std::string& uptime,
                                               long ticks_per_second) {
  constexpr int kStarted = 22;  // Fields count from 1; the second is a name in parentheses.
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos || ticks_per_second <= 0) return {};
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int i = 3; i < kStarted; ++i) fields >> field;
  double started = 0;
  double up = 0;
  if (!(fields >> started) || !(std::istringstream(uptime) >> up)) return {};
  const double age = std::max(0.0, up - started / static_cast<double>(ticks_per_second));
  return std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double>(age));
}

}  // namespace imex_daemon
