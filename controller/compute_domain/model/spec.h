// Whether a domain can be provided for at all. Pure.
#pragma once

#include <optional>

#include "controller/compute_domain/model/observed.h"
#include "controller/resource_claim_template/render.h"

namespace compute_domain {

// Whether its children were made, as status says. REQUIRES: observed.domain, here and below.
[[nodiscard]] bool IsProvisioned(const Observed& observed);

// A kind that children are made and repaired by and that is not read; empty: none. A domain that is
// provisioned goes on as it is.
[[nodiscard]] std::optional<Failure> FindUnreadableDependency(const Observed& observed);

// What keeps anything from being made for the domain; empty: nothing.
[[nodiscard]] std::optional<Failure> ValidateDomain(const Observed& observed);

// All annotations and labels of cdom.dev/ that are invalid or unknown, in one message. Empty if
// there are none.
// REQUIRES: observed.domain.
[[nodiscard]] std::optional<Failure> FindInvalidAnnotation(const Observed& observed);

// The GPUs that each claim of the workload asks for beside the channel.
struct GpuRequest {
  bool is_clear = true;  // False if an annotation is invalid, so that the number is unknown.
  std::optional<resource_claim_template::Gpus> gpus = {};  // Empty: none.
};
// REQUIRES: observed.domain.
[[nodiscard]] GpuRequest FindGpus(const Observed& observed);

// Whether all its pods are to be in one clique, or in one for each of their groups.
// REQUIRES: observed.domain.
[[nodiscard]] bool IsPlaced(const api::ComputeDomain& domain);
[[nodiscard]] bool IsPlaced(const Observed& observed);

// Whether somebody wants nothing to be done about the domain. REQUIRES: observed.domain.
[[nodiscard]] bool IsPaused(const Observed& observed);

// How long its deletion waits for those who use the domain: by its annotation, else by the facts.
// REQUIRES: observed.domain.
[[nodiscard]] std::chrono::seconds DeletionGrace(const Observed& observed);

}  // namespace compute_domain
