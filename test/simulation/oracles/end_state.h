// The end states of a run, which no fault may change.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "test/simulation/oracles/oracles.h"

namespace simulation {

// The state at one rest: a sorted list with a line for each object that matters to domains. UIDs,
// versions, times, generated names and indices are omitted: they may differ between correct runs.
using EndState = std::vector<std::string>;

using Deeds = std::map<std::string, int>;  // Such as "created DaemonSet".

// The states at each rest of a run, and the counts until then: children that any actor created and
// deleted, and pods that the controller did; the time; the requests.
struct Course {
  std::vector<EndState> rests = {};
  std::vector<Deeds> deeds = {};
  std::vector<std::chrono::microseconds> times = {};
  std::vector<int> requests = {};  // Sent until then.
};

EndState DescribeEnd(const ApiServer& server, const SystemUnderTest& system);
Deeds CountDeeds(const ApiServer& server, const SystemUnderTest& system);
// Counts the controller's requests, without watches and Lease requests: their number grows with the
// time of a run.
int CountRequests(const ApiServer& server, const SystemUnderTest& system);

// D1: a run with a fault has the same states as the run without. With `so_far` it may have fewer
// rests.
Violations SameEnd(const Course& course, const Course& expected, bool so_far = false);
// L1: each phase takes at most `later` longer than in the run without the fault.
Violations SameTime(const Course& course, const Course& expected, std::chrono::seconds later);
// D2: children are created and deleted as often as without the fault. Do not apply it to a run with
// a stale cache: there the controller may create a child again and delete it.
Violations SameDeeds(const Course& course, const Course& expected);
// D3: until each rest the run sends at most `more` more requests.
Violations FewMoreRequests(const Course& course, const Course& expected, int more);

}  // namespace simulation
