// Everything that decides one simulated run: scenario, membership writer, fault and schedule.
//
// A value: equal specs give equal runs. Its text form is what `simulate` reads, see ToString().
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace simulation {

// A fault at one request. The first five and the last two happen to the request, the next two to
// its reply, and the others to the cluster just before the request.
enum class Fault {
  kNone,
  kCrashBefore,      // The process dies; the request never leaves.
  kCrashAfter,       // The request takes effect, and the process dies before the reply.
  kReplyLost,        // The request takes effect, and no reply arrives. At even requests: a proxy
                     // answers 504 with a Retry-After.
  kConflict,         // 409; nothing happens. Writes only.
  kForbidden,        // 403; nothing happens.
  kTooManyRequests,  // 429 with a Retry-After of one second; nothing happens.
  kServerError,      // 500; nothing happens.
  kUserDeletes,      // The user deletes the domain.
  kUserRecreates,    // The user also creates a domain of the same name once that is free.
  kWatchesExpire,    // The server forgets all earlier versions: every watch is 410.
  kNodeLost,         // A node falls silent, and boots again once everything is at rest.
  kFreezes,          // The request takes effect, and the process pauses for longer than its Lease.
  kWatchBreaks,      // The connection breaks in the middle of an event. At an opening: of that
                     // watch; at another request: of every open watch.
  kViewsStall,       // The process keeps running and sees an old state, see RunSpec::stale.
  kReadsFail,        // For minutes the controller's reads of RunSpec::stale are 503.
  kImexEnds,         // An IMEX ends by itself. Own daemons only, as the next.
  kDaemonDies,       // A daemon's process dies, and its IMEX with it.
  kForeignNotFound,  // A proxy answers with its own page: 404, or 409; nothing happens.
  kForeignConflict,
  kWatchesSilent,  // From now on the controller's watches of RunSpec::stale deliver nothing, and
                   // end each minute. Reads tell the truth.
  kRestored,       // A LIST of RunSpec::stale goes back, as after a restore of etcd. The watches
                   // of the other kinds are silent until their next LIST.
  kKindUnknown,    // The process dies, and for minutes the next one cannot read RunSpec::stale.
};
inline constexpr std::array kAllFaults = {
    Fault::kCrashBefore,   Fault::kCrashAfter,      Fault::kReplyLost,       Fault::kConflict,
    Fault::kForbidden,     Fault::kTooManyRequests, Fault::kServerError,     Fault::kUserDeletes,
    Fault::kUserRecreates, Fault::kWatchesExpire,   Fault::kNodeLost,        Fault::kFreezes,
    Fault::kWatchBreaks,   Fault::kViewsStall,      Fault::kReadsFail,       Fault::kImexEnds,
    Fault::kDaemonDies,    Fault::kForeignNotFound, Fault::kForeignConflict, Fault::kWatchesSilent,
    Fault::kRestored,      Fault::kKindUnknown};

// The revision at which a process sees a kind (by plural).
using Views = std::map<std::string, std::int64_t>;

struct RunSpec {
  std::string scenario = "create-ready-delete";  // See scenarios.h.
  bool controller_writes = false;                // The membership writer. If false, daemons.
  bool own_daemons = false;  // Daemon pods run the product's code. If false, they are simulated.
  Fault fault = Fault::kNone;
  // Number of the request with the fault, from 1. Three kinds are not counted: openings of watches,
  // which have their own numbers; a process's requests for the Lease after its first four; and
  // requests while everything is at rest.
  int at = 0;
  int watch = 0;  // Or number of the opening of a watch, from 1. Renewals count.
  // The stale kinds, such as "nodes+pods@1017". After a crash the next process sees them at that
  // revision, or at the start of the run if there is none, until it comes to rest. With kViewsStall
  // the running process sees them at that revision, or in the newest state. With kReadsFail and
  // kKindUnknown reads of them fail, with kWatchesSilent their watches are silent, and with
  // kRestored a LIST of them shows that revision, or the start of the run. Empty if none.
  std::string stale = {};
  // If true, the seed decides which actor moves next, and how late each actor and each cache of the
  // controller is. It also decides in which order eight workers send the requests of a step. If
  // false, actors move in turn without delay, and one worker keeps the order.
  bool mixed = false;
  // A watch of the controller breaks at its next event once it is a second old, so that watches
  // are opened during all phases.
  bool flaky_watches = false;
  bool two_leaders = false;  // Two replicas act without knowing of each other; see `seed`.
  bool standby = false;      // Two replicas take part in leader election.
  std::uint64_t seed = 1;
  // The run leaves its scenario at the first rest after the fault: jobs finish and domains end.
  // Other runs cover what the scenario does after that.
  bool short_tail = false;
  std::string mutant = {};  // Name of a wrong rule, see mutants.h. Empty if none.
};

// Returns whether the fault affects the kinds that RunSpec::stale names.
bool IsOfKinds(Fault fault);
// Returns whether these kinds cannot be read for minutes.
bool FailsReads(Fault fault);

// Returns whether the run has no fault, one replica and no flaky watches, and actors move in turn.
bool IsPlain(const RunSpec& spec);

// Returns whether the run has the same states at rest as without a fault and with one leader.
bool ChangesNothing(const RunSpec& spec);

// Parses RunSpec::stale. Kinds without a revision get `first`.
Views ParseStale(const std::string& stale, std::int64_t first);

std::string ToString(Fault fault);
// Returns "controller" or "daemon".
std::string WriterName(bool controller_writes);
// Returns "scenario=create-ready-delete writer=controller fault=crash-before at=17 ...", which
// `simulate` reads.
std::string ToString(const RunSpec& spec);
// On error sets `error`, and the spec is invalid.
RunSpec ParseRunSpec(const std::vector<std::string>& words, std::string& error);

}  // namespace simulation
