// What a run comes to, as far as it must be the same with any fault.
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

// The states at each rest of a run; how many children any actor, and pods the controller, had
// created and deleted until then; the time, and the requests.
struct Course {
  std::vector<EndState> rests = {};
  std::vector<Deeds> deeds = {};
  std::vector<std::chrono::microseconds> times = {};
  std::vector<int> requests = {};  // Sent until then.
};

[[nodiscard]] EndState DescribeEnd(const ApiServer& server, const SystemUnderTest& system);
[[nodiscard]] Deeds CountDeeds(const ApiServer& server, const SystemUnderTest& system);
// Of the controller, but watches and the Lease, of which there are more the longer a run takes.
[[nodiscard]] int CountRequests(const ApiServer& server, const SystemUnderTest& system);

// D1: a run with a fault comes to the same states as the run without. `so_far`: it may have rested
// less often.
[[nodiscard]] Violations SameEnd(const Course& course, const Course& expected, bool so_far = false);
// L1: and to each of them at most so much later than the other, beside what came before.
[[nodiscard]] Violations SameTime(const Course& course, const Course& expected,
                                  std::chrono::seconds later);
// D2: and no child was created or deleted more or less often on the way. With a stale cache the
// controller may create a child again, and delete it.
[[nodiscard]] Violations SameDeeds(const Course& course, const Course& expected);
// D3: nor did it take more than so many requests more until any rest.
[[nodiscard]] Violations FewMoreRequests(const Course& course, const Course& expected, int more);

}  // namespace simulation
