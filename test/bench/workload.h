// A domain with a Job whose pods bring nodes into it, as the rows with simulated nodes use it.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "pkg/base/result.h"
#include "test/bench/stage.h"

namespace bench {

struct Workload {
  std::string name = {};  // Of the domain and its Job.
  kube::Uid uid = {};
  std::vector<std::string> nodes = {};  // Members, in the order of its status.
};

// Returns at once; `pods` nodes will join.
[[nodiscard]] base::Result<Workload> StartWorkload(Stage& stage, const std::string& name, int pods);
// Until status says that `pods` nodes are members and all of them Ready; then fills in `nodes`.
[[nodiscard]] base::Result<void> AwaitReady(Stage& stage, Workload& workload, int pods,
                                            std::chrono::seconds most);
// Deletes Job and domain, and returns once both are gone.
[[nodiscard]] base::Result<void> EndWorkload(Stage& stage, const Workload& workload,
                                             std::chrono::seconds most);

// Domains `prefix`0 and so on, with nobody who claims from them; returns once the controller is
// done.
[[nodiscard]] base::Result<void> MakeDomains(Stage& stage, const std::string& prefix, int count);
// The workload templates of all domains, by name.
[[nodiscard]] base::Result<std::map<std::string, json::Value>> WorkloadTemplates(Stage& stage);

// Whether `node` is a Ready member, by the domain's status now.
[[nodiscard]] base::Result<bool> IsReadyMember(Stage& stage, const Workload& workload,
                                               const std::string& node);

}  // namespace bench
