// What a daemon does next. Pure: everything that it knows goes in, everything that it does comes
// out, and what became of that is handed in again.
//
// Two manners, and the pod says which. In one the daemon writes its own entry into its clique, as
// NVIDIA's daemons do, so that it works under any controller. In the other, of pods that carry the
// controller's marker, the controller writes the clique: the daemon labels its pod once, waits for
// its entry, and tells by an annotation on its pod what IMEX runs with.
//
// IMEX is started once the daemon's index is known and no more peers come for a moment, and from
// then on it is kept: whoever restarts it ends the jobs that use it. What goes wrong before ends
// the process with a sentence that says what to do; what goes wrong afterwards is told, and tried
// again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/imex_report.h"
#include "controller/api/types.h"
#include "node/daemon/identity.h"
#include "node/daemon/pace.h"
#include "node/imex/answers.h"
#include "node/imex/hosts_file.h"
#include "node/imex/signal_pace.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/base/result.h"

namespace imexd {

using TimePoint = base::Clock::TimePoint;

enum class Manner { kUnknown, kDaemon, kController };

// The IMEX process, as far as it can be seen from here.
struct Imex {
  bool runs = false;
  TimePoint since = {};           // That it runs.
  std::string started = {};       // The same, RFC 3339.
  int ends = 0;                   // How often it ended by itself.
  std::optional<int> index = {};  // That it says it runs with.
  bool in_use = false;            // It said so.
};

// What nvidia-imex-ctl said of the instance that runs.
struct Answers {
  std::string state = std::string(imex::kUnknown);
  std::optional<imex::OwnView> own = {};  // Nothing: peers could not be learned of.
};

struct Observed {
  bool pod_ready = false;    // As the API server has it.
  bool clique_read = false;  // Else it is not known whether there is one.
  std::shared_ptr<const api::Clique> clique = {};
  Imex imex = {};
  std::optional<Answers> answers = {};
  bool writing = false;  // A write is under way; at most one is.
  bool asking = false;   // The same of nvidia-imex-ctl.
  bool stopping = false;
  TimePoint now = {};
};

enum class Write {
  kLabel,   // The pod, with the clique.
  kCreate,  // The clique.
  kEntry,   // This daemon's, into the clique.
  kLeave,   // It is taken out.
  kReport,  // On the pod.
};

// What outlives a step. Changed by the functions below, and by nobody else.
struct Memory {
  Manner manner = Manner::kUnknown;  // Known from when the pod is labelled.
  std::string fatal = {};            // Why it must end, if IMEX was never started.
  Pace writes = {};
  std::string written_version = {};  // Of the clique, as we wrote it last.
  TimePoint written_at = {};
  std::optional<std::vector<imex::Host>> hosts = {};  // As they stand in the file.
  TimePoint hosts_at = {};                            // Since when they do.
  TimePoint hosts_first = {};                         // When any were written first.
  Pace hosts_pace = {};
  imex::SignalPace signals = {};
  Pace starts = {};
  TimePoint ask_next = {};
  std::chrono::milliseconds ask_period{0};
  std::optional<api::ImexReport> reported = {};
  TimePoint reported_at = {};
  bool left = false;
  std::optional<TimePoint> stopping_since = {};
};

struct Step {
  std::optional<std::vector<imex::Host>> hosts = {};  // To be written.
  bool start = false;                                 // IMEX.
  bool signal = false;                                // Tell it to look names up again.
  bool stop = false;                                  // Tell it to end.
  bool ask = false;                                   // nvidia-imex-ctl, of
  int runs_as = -1;                                   // the index that IMEX runs with.
  std::optional<Write> write = {};
  api::ImexReport report = {};  // Of Write::kReport.
  bool over = false;            // Nothing is left to do.
  std::string fatal = {};       // End with this sentence.
  std::string state = {};       // For the log, when it changes.
  TimePoint look_again = {};    // If nothing happens before.
};

[[nodiscard]] Step Decide(const DaemonIdentity& self, const Observed& observed,
                          const Memory& memory);

// What became of it.
void OnStopping(Memory& memory, TimePoint now);
void OnLabelled(Memory& memory, Manner manner, TimePoint now, base::Random& random);
// `version`: the clique's, of what was written into it; else empty.
void OnWritten(Memory& memory, Write write, const std::string& version, TimePoint now);
void OnReported(Memory& memory, const api::ImexReport& report, TimePoint now);
void OnWriteFailed(Memory& memory, Write write, const base::Error& error, TimePoint now,
                   base::Random& random);
void OnHostsWritten(Memory& memory, std::vector<imex::Host> hosts, bool imex_runs, TimePoint now);
void OnHostsFailed(Memory& memory, const std::string& error, TimePoint now, base::Random& random);
void OnStarted(Memory& memory, TimePoint now);
void OnStartFailed(Memory& memory, const std::string& error, TimePoint now, base::Random& random);
void OnSignalled(Memory& memory, TimePoint now);
// It ended although nobody told it to, after `lived`.
void OnEnded(Memory& memory, std::chrono::nanoseconds lived, TimePoint now, base::Random& random);
void OnAnswered(Memory& memory, const Answers& answers, TimePoint now);

// Of the indices that stand in `hosts`, those of peers that IMEX has no connection with. Who has
// `own_ip` is no peer, under whatever index its clique has it by now.
[[nodiscard]] std::vector<int> UnreachableIn(const std::vector<imex::Host>& hosts,
                                             const std::string& own_ip, const imex::OwnView& view);

}  // namespace imexd
