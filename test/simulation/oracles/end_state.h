// What a life comes to, as far as it must be the same whatever struck on the way.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "test/simulation/oracles/oracles.h"

namespace simulation {

// At one rest: a line for each object that matters to domains, in order. UIDs, versions, times and
// generated names are left out, and so are indices, which may be given in another order.
using EndState = std::vector<std::string>;

using Deeds = std::map<std::string, int>;  // Such as "created DaemonSet".

// At each rest of a life; how many children were made and ended until then, by whomever, and pods
// by the controller; and how long it has lasted.
struct Course {
  std::vector<EndState> rests = {};
  std::vector<Deeds> deeds = {};
  std::vector<std::chrono::microseconds> times = {};
};

[[nodiscard]] EndState DescribeEnd(const ApiServer& server, const Suspects& suspects);
[[nodiscard]] Deeds CountDeeds(const ApiServer& server, const Suspects& suspects);

// D1: a life that was struck comes to the same states as the one that was not. `so_far`: it may
// have rested less often.
[[nodiscard]] Violations SameEnd(const Course& course, const Course& expected, bool so_far = false);
// L1: and to each of them at most so much later than the other, beside what came before.
[[nodiscard]] Violations SameTime(const Course& course, const Course& expected,
                                  std::chrono::seconds later);
// D2: and nothing was made or deleted more or less often on the way. Who has an old view makes
// things once more, and takes them down.
[[nodiscard]] Violations SameDeeds(const Course& course, const Course& expected);

}  // namespace simulation
