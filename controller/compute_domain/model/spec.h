// Validation of a domain's spec, annotations and labels. Pure.
#pragma once

#include <optional>

#include "controller/compute_domain/model/observed.h"
#include "controller/resource_claim_template/render.h"

namespace compute_domain {

// Returns whether the children were created: status says so, or the cache shows them. A daemon pod
// shows a DaemonSet and templates that cannot be read. REQUIRES: observed.domain, here and below.
bool IsProvisioned(const Observed& observed);

// Returns the unknown kind that is needed to create and repair children. Empty if there is none. A
// domain that is provisioned keeps running.
std::optional<Failure> FindUnreadableDependency(const Observed& observed);

// Returns why no children are created for the domain. Empty if it is valid.
std::optional<Failure> ValidateDomain(const Observed& observed);

// Returns all invalid or unknown annotations and labels of cdom.dev/ in one message. Empty if there
// are none.
std::optional<Failure> FindInvalidAnnotation(const Observed& observed);

// The GPUs that each claim of the workload requests, beside the channel.
struct GpuRequest {
  bool is_clear = true;  // False if an annotation is invalid, so the number is unknown.
  std::optional<resource_claim_template::Gpus> gpus = {};  // Empty if no GPUs are requested.
};
GpuRequest FindGpus(const Observed& observed);
// Returns how many GPUs each claim asks for, if the GPUs of nodes can be counted: the class has the
// name of the driver, so all of its whole GPUs are of the class. Otherwise 0.
int NumberOfGpus(const Observed& observed);

// Returns whether all pods of the domain, or of each of its groups, must run in one clique.
bool IsPlaced(const api::ComputeDomain& domain);
bool IsPlaced(const Observed& observed);
// Returns whether the user says that the pods may run in several cliques.
bool MaySpanCliques(const Observed& observed);

// Returns whether the domain's annotation pauses reconciliation.
bool IsPaused(const Observed& observed);

// Returns the grace period of a deletion: the annotation if it is valid, otherwise the setting.
std::chrono::seconds DeletionGrace(const Observed& observed);

}  // namespace compute_domain
