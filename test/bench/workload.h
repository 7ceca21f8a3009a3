// A domain with a Job, for rows with simulated nodes.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "pkg/base/result.h"
#include "test/bench/stage.h"

namespace bench {

struct Workload {
  std::string name = {};  // Name of the domain and its Job.
  kube::Uid uid = {};
  std::vector<std::string> nodes = {};  // Members, in the order of its status.
};

// Creates both. Returns at once; `pods` nodes will join.
base::Result<Workload> StartWorkload(Stage& stage, const std::string& name, int pods);
// Waits until `pods` nodes are members and all are Ready in the status. Then fills in `nodes`.
base::Result<void> AwaitReady(Stage& stage, Workload& workload, int pods,
                              std::chrono::seconds most);
// Deletes Job and domain. Returns once both are deleted.
base::Result<void> EndWorkload(Stage& stage, const Workload& workload, std::chrono::seconds most);

// Creates domains `prefix`0 and so on, without claims. Returns once the controller is done.
base::Result<void> MakeDomains(Stage& stage, const std::string& prefix, int count);
// Returns the workload templates of all domains, by name.
base::Result<std::map<std::string, json::Value>> WorkloadTemplates(Stage& stage);

// Returns whether `node` is a Ready member in the domain's status now.
base::Result<bool> IsReadyMember(Stage& stage, const Workload& workload, const std::string& node);

}  // namespace bench
