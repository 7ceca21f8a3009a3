// All that decides one life in the simulation: what is lived, by whom, and what strikes it where.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace simulation {

// What happens at the request that is struck. The first five befall the request itself, those after
// them its reply, and the rest the world just before it.
enum class Strike {
  kNone,
  kCrashBefore,      // The process dies; the request never leaves.
  kCrashAfter,       // It takes effect, and the process dies before the reply.
  kReplyLost,        // It takes effect, and nobody says so.
  kConflict,         // 409; nothing happens. Writes only.
  kForbidden,        // 403; nothing happens.
  kTooManyRequests,  // 429, to be tried again after a second; nothing happens.
  kServerError,      // 500; nothing happens.
  kUserDeletes,      // The user deletes the domain.
  kUserRecreates,    // And makes a new one of the same name as soon as that is free.
  kWatchesExpire,    // The server forgets all earlier versions: every watch is 410.
  kNodeLost,         // A node falls silent, and is booted anew once everybody has come to rest.
  kFreezes,          // It takes effect, and the process stands still for longer than its Lease
                     // lasts.
  kWatchBreaks,      // Half an event arrives, and no more: the watch is cut. At an opening, of that
                     // watch; at another request, of every one that is open.
  kViewsStall,       // Nobody dies, and what is stale says how old a view the process is left with.
  kImexEnds,         // An IMEX ends by itself. Own daemons only, as the next.
  kDaemonDies,       // A daemon's process dies, and its IMEX with it.
};
inline constexpr std::array kAllStrikes = {
    Strike::kCrashBefore,   Strike::kCrashAfter,      Strike::kReplyLost,   Strike::kConflict,
    Strike::kForbidden,     Strike::kTooManyRequests, Strike::kServerError, Strike::kUserDeletes,
    Strike::kUserRecreates, Strike::kWatchesExpire,   Strike::kNodeLost,    Strike::kFreezes,
    Strike::kWatchBreaks,   Strike::kViewsStall,      Strike::kImexEnds,    Strike::kDaemonDies};

// What a process sees of some kinds (by plural): what was there at that revision.
using Views = std::map<std::string, std::int64_t>;

// Equal plans give equal lives.
struct Plan {
  std::string workload = "W1";  // See scripts.h.
  bool controller_writes = false;
  bool own_daemons =
      false;  // The product's step is what runs in daemon pods; else they are played.
  Strike strike = Strike::kNone;
  // The request that is struck, from 1. Not among them are the openings of watches, which have
  // numbers of their own, and of each process all requests for the Lease but the first four: its
  // renewals are one request over and over. Nor is what is sent while all is at rest and nothing
  // but renewals may be.
  int at = 0;
  int watch = 0;  // Or the opening of a watch that is struck, from 1; one that is renewed counts.
  // The process that follows a crash first sees these kinds, such as "nodes+pods@1017", as they
  // were at that revision or, without one, when the life began, until it has come to rest. Where
  // views stall the process itself is left with the newest. Empty: it sees the truth.
  std::string stale = {};
  // The seed says who moves next, how late each actor of the cluster hears of things, and the
  // controller of each kind, and in which order the requests of a step are sent, of eight workers.
  // Else everybody moves in turn, at once, and one worker keeps the order.
  bool mixed = false;
  // A watch of the controller that has lived for a second is cut amid its next event: so watches
  // are opened while much goes on.
  bool frail_watches = false;
  bool two_leaders = false;  // Two replicas act, without knowing of each other; `seed` mixes them.
  bool standby = false;      // Two replicas stand for election.
  std::uint64_t seed = 1;
  // Once it has come to rest after the strike, its script is left: jobs finish, and domains end.
  // What else the script does is as before, so it is for others to live.
  bool brief = false;
  std::string mutant = {};  // Name of a wrong rule, see mutants.h; empty: none.
};

// Whether nothing goes wrong in it, and everybody moves in turn.
[[nodiscard]] bool IsPlain(const Plan& plan);

// Whether, once all has come to rest, it is as if nothing had struck and one replica had led.
[[nodiscard]] bool ChangesNothing(const Plan& plan);

// Of kinds without a revision it is `first`.
[[nodiscard]] Views ParseStale(const std::string& stale, std::int64_t first);

[[nodiscard]] std::string ToString(Strike strike);
// "workload=W1 manner=cdom strike=crash-before at=17 ...": as `simulate` takes it.
[[nodiscard]] std::string ToString(const Plan& plan);
// Says what is wrong with it in `error`; then the plan is of no use.
[[nodiscard]] Plan ParsePlan(const std::vector<std::string>& words, std::string& error);

}  // namespace simulation
