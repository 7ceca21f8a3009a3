#include "test/bench/fixed_world_parts.h"

#include <utility>

#include "controller/compute_domain/plan/next_memory.h"
#include "controller/compute_domain/requests/writes.h"

namespace fixed_world {

using compute_domain::Observed;

void Fill(kube::Reflector& reflector, std::string page) {
  reflector.OnReply(fixtures::Now().monotonic,
                    http::Response{.status = 200, .body = std::move(page)});
}

Observed Gather(const compute_domain::Cache& cache, const std::string& uid) {
  return cache.Read(uid);
}

fixtures::Plan Decide(Observed& observed) {
  compute_domain::UpdateMemory(observed, fixtures::Now());
  return fixtures::PlanReconcile(observed, fixtures::Now());
}

std::string Encode(const compute_domain::WriteStatus& write, const Observed& observed) {
  return compute_domain::RequestOf(write, observed).body;
}

}  // namespace fixed_world
