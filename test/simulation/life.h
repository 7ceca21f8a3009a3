// One life of a domain in the simulation, with one fault placed at one request; and what came of
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/compute_domain/plan.h"
#include "test/simulation/oracles.h"

namespace simulation {

// What happens to the request that is struck.
enum class Strike {
  kNone,
  kCrashBefore,  // The process dies; the request never leaves.
  kCrashAfter,   // It takes effect, and the process dies before the reply.
  kReplyLost,    // It takes effect, and nobody says so.
  kConflict,     // 409; nothing happens. Writes only.
  kUserDeletes,  // The user deletes the domain just before it.
};

// All that decides a life. Equal plans give equal lives.
struct Plan {
  // W1: create, ready, delete. W3: the same, and a new domain of the same name at once.
  std::string workload = "W1";
  bool controller_writes = false;
  Strike strike = Strike::kNone;
  int at = 0;  // The request that is struck, from 1, of all but watches and renewals of the Lease.
  // The process that follows a crash first sees this kind (plural) as it was when the life began,
  // until it has come to rest. Empty: it sees the truth.
  std::string stale = {};
  bool two_leaders = false;  // Two replicas act, without knowing of each other; `seed` mixes them.
  std::uint64_t seed = 1;
  std::string mutant = {};  // Name of a wrong rule in the planner, see mutants.h; empty: none.
};

// "workload=W1 manner=cdom strike=crash-before at=17 ...": as `simulate` takes it.
[[nodiscard]] std::string ToString(const Plan& plan);
// Says what is wrong with it in `error`; then the plan is of no use.
[[nodiscard]] Plan ParsePlan(const std::vector<std::string>& words, std::string& error);

struct Outcome {
  Violations violations = {};
  bool struck = false;                  // The fault happened.
  int requests = 0;                     // That could have been struck.
  std::vector<std::string> trace = {};  // Every request and restart, for people; only if asked for.
};

[[nodiscard]] Outcome Live(const Plan& plan, bool trace = false);

// A life that was lived, and the plan that lives it again.
struct Life {
  Plan plan = {};
  Outcome outcome = {};
};

// The lives in which one of `strikes` hits something, for each request of the life without: in the
// order of the requests, and last the life that none hits, under the first strike at request 0. A
// life begins as the one that is not struck, so it branches off from that at its request.
// `base` has no strike.
[[nodiscard]] std::vector<Life> Sweep(const Plan& base, std::vector<Strike> strikes,
                                      bool trace = false);

}  // namespace simulation
