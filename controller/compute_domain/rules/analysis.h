// What is found out about a domain, once a plan: rules and status read it. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/status/missing_plugins.h"
#include "controller/compute_domain/status/usage.h"

namespace compute_domain {

struct Findings {
  PodByNode pods = {};                               // They point into what was observed.
  Usage usage = {};                                  // Who uses the domain, and who waits for it.
  std::optional<Failure> shortage = {};              // Why pods find no channel.
  std::string rooms = {};                            // What SayRooms says of the cluster.
  std::map<std::string, std::string> occupied = {};  // Nodes that others hold, and by whom.
  std::vector<std::string> outdated = {};            // Daemon pods of an older template.
  MissingPlugins plugins = {};
};

// REQUIRES: observed.domain.
[[nodiscard]] Findings Find(const Observed& observed, const Instant& now);

// Who takes part, or should, with those who do not yet as not ready: the members that nobody says
// are leaving, the nodes that carry the domain's label, and those on which a channel of it is
// allocated. Sorted as members are. REQUIRES: observed.domain.
[[nodiscard]] std::vector<api::Member> FindExpected(const Observed& observed,
                                                    const Membership& membership);

}  // namespace compute_domain
