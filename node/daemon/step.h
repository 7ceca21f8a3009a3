// What a daemon does next.
//
// Pure: Decide() takes everything that is known and returns everything to do. The On...() functions
// take the results.
//
// A marker on the pod selects one of two modes. Without it the daemon writes its own entry into its
// clique, as NVIDIA's daemons do, and works under any controller. With it the controller writes the
// clique: the daemon labels its pod once, waits for its entry, and reports IMEX in an annotation on
// its pod.
//
// IMEX starts once the daemon's index is known and no peer has joined for a moment. Then it keeps
// running, because a restart ends the jobs that use it. An error before IMEX was ever ready ends
// the process with a message that says what to do. A later error is reported and retried.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/imex_report.h"
#include "controller/api/types.h"
#include "node/daemon/identity.h"
#include "node/imex/answers.h"
#include "node/imex/hosts_file.h"
#include "node/imex/signal_schedule.h"
#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/base/result.h"

namespace imex_daemon {

using TimePoint = base::Clock::TimePoint;

enum class MembershipWriter { kUnknown, kDaemon, kController };

// The IMEX process, as the daemon sees it.
struct Imex {
  bool runs = false;
  TimePoint since = {};           // When it started.
  std::string started = {};       // The same, RFC 3339.
  int ends = 0;                   // Number of unexpected ends.
  std::optional<int> index = {};  // The index that IMEX printed. Empty until then.
  bool in_use = false;            // IMEX printed that its resources are in use.
};

// Answers of nvidia-imex-ctl about the running instance.
struct ImexAnswers {
  std::string state = std::string(imex::kUnknown);
  bool asks_peers = false;                // Whether the question included its peers.
  std::optional<imex::OwnView> own = {};  // Empty if the peers could not be read.
};

struct DaemonObservation {
  bool pod_ready = false;    // In the API server.
  bool clique_read = false;  // Else it is unknown whether one exists.
  std::shared_ptr<const api::Clique> clique = {};
  Imex imex = {};
  std::optional<ImexAnswers> answers = {};
  bool writing = false;  // A write is in flight; at most one is.
  bool asking = false;   // A question to nvidia-imex-ctl is in flight.
  bool stopping = false;
  TimePoint now = {};
};

enum class Write {
  kLabel,   // The pod, with the clique.
  kCreate,  // The clique.
  kEntry,   // This daemon's entry in the clique.
  kLeave,   // Removes that entry.
  kReport,  // On the pod.
};

// When a failed action is tried again.
struct DaemonRetry {
  TimePoint next = TimePoint::min();  // Not before then.
  base::Backoff backoff = {};
};

// State carried from one step to the next. Only the On...() functions below modify it.
struct DaemonMemory {
  MembershipWriter membership_writer =
      MembershipWriter::kUnknown;  // Known once the pod is labelled.
  std::string fatal = {};          // Why the daemon must end unless IMEX runs or was ready once.
  bool was_ready = false;          // Whether IMEX was ready in this container.
  DaemonRetry writes = {};
  TimePoint no_room_until = TimePoint::min();  // No retry before then if the clique is full.
  std::string written_version = {};  // resourceVersion of the clique after our last write.
  TimePoint written_at = {};
  std::optional<std::vector<imex::HostsEntry>> hosts =
      {};                      // Content of the hosts file. Empty until it is written.
  TimePoint hosts_at = {};     // When it was last written.
  TimePoint hosts_first = {};  // When it was first written.
  DaemonRetry hosts_retry = {};
  imex::SignalSchedule signals = {};
  DaemonRetry starts = {};
  TimePoint ask_next = {};
  std::chrono::milliseconds ask_period{0};
  int peers_unanswered = 0;  // Consecutive answers of this IMEX without peers.
  std::optional<api::ImexReport> reported = {};
  TimePoint reported_at = {};
  bool left = false;
  std::optional<TimePoint> stopping_since = {};
};

struct DaemonStep {
  std::optional<std::vector<imex::HostsEntry>> hosts = {};  // Hosts to write. Empty if up to date.
  bool start = false;                                       // Start IMEX.
  bool signal = false;                                      // Tell IMEX to resolve names again.
  bool stop = false;                                        // Tell IMEX to end.
  bool ask = false;                                         // Ask nvidia-imex-ctl about
  int runs_as = -1;                                         // this index, which IMEX runs with.
  std::optional<Write> write = {};
  api::ImexReport report = {};  // Content of Write::kReport.
  bool over = false;            // The daemon may exit.
  std::string fatal = {};       // Why to end. Empty if there is no reason.
  std::string state = {};       // For the log, when it changes.
  TimePoint requeue_at = {};    // When to decide again if nothing changes.
};

DaemonStep Decide(const DaemonIdentity& self, const DaemonObservation& observed,
                  const DaemonMemory& memory);

// Results of a step.
void OnStopping(DaemonMemory& memory, TimePoint now);
void OnLabelled(DaemonMemory& memory, MembershipWriter writer, TimePoint now, base::Random& random);
// `version` is the clique's resourceVersion after the write. Empty if it was not written.
void OnWritten(DaemonMemory& memory, Write write, const std::string& version, TimePoint now);
void OnReported(DaemonMemory& memory, const api::ImexReport& report, TimePoint now);
void OnWriteFailed(DaemonMemory& memory, Write write, const base::Error& error, TimePoint now,
                   base::Random& random);
void OnHostsWritten(DaemonMemory& memory, std::vector<imex::HostsEntry> hosts, bool imex_runs,
                    TimePoint now);
void OnHostsFailed(DaemonMemory& memory, const std::string& error, TimePoint now,
                   base::Random& random);
void OnStarted(DaemonMemory& memory, TimePoint now);
void OnStartFailed(DaemonMemory& memory, const std::string& error, TimePoint now,
                   base::Random& random);
void OnSignalled(DaemonMemory& memory, TimePoint now);
// IMEX ended unexpectedly after it had run for `lived`.
void OnEnded(DaemonMemory& memory, std::chrono::nanoseconds lived, TimePoint now,
             base::Random& random);
void OnAnswered(DaemonMemory& memory, const ImexAnswers& answers, TimePoint now);

}  // namespace imex_daemon
