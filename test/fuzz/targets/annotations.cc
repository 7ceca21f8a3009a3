// The annotations of a domain, and the label of its placement, which its owner writes:
//  - the grace of its deletion is what it says if that is a duration, else what goes for all, and
//    at most 1000 hours;
//  - GPUs are asked for in a number and of a class that a claim can have, or not at all;
//  - what is invalid is said, in one line, and what is valid is not.
#include "controller/compute_domain/model/spec.h"
#include "pkg/base/duration.h"
#include "pkg/json/utf8.h"
#include "pkg/kube/api/names.h"
#include "test/fixtures/observed.h"
#include "test/fuzz/hostile.h"

FUZZ_TARGET(annotations, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  compute_domain::Observed observed = fixtures::Converged();
  api::ComputeDomain& domain = *observed.domain;
  domain.paused = fuzz::Text(input);
  domain.daemon_roll = fuzz::Text(input);
  domain.placement = fuzz::Text(input);
  domain.placement_group = fuzz::Text(input);
  domain.gpus = fuzz::Text(input);
  domain.gpu_class = fuzz::Text(input);
  domain.deletion_grace = input.ConsumeRemainingBytesAsString();

  const auto grace = base::ParseDuration(domain.deletion_grace);
  const auto heeded = compute_domain::DeletionGrace(observed);
  CHECK(heeded == (grace ? std::chrono::ceil<std::chrono::seconds>(*grace)
                         : observed.facts.settings->deletion_grace));
  CHECK(heeded >= std::chrono::seconds(0) && heeded <= std::chrono::hours(1000));

  const bool is_paused_fine =
      domain.paused.empty() || domain.paused == "true" || domain.paused == "false";
  const bool is_roll_fine = domain.daemon_roll.empty() || domain.daemon_roll == "Always" ||
                            domain.daemon_roll == "WhenIdle";
  const bool is_placed = domain.placement == "clique" || domain.placement == "exclusive-clique";
  CHECK(compute_domain::IsPlaced(observed) == is_placed);
  const bool is_placement_fine = domain.placement.empty() || is_placed;
  const bool is_group_fine =
      domain.placement_group.empty() || kube::IsLabelKey(domain.placement_group);
  const auto wish = compute_domain::FindGpus(observed);
  CHECK(wish.gpus.has_value() == (wish.is_clear && !domain.gpus.empty()));
  if (wish.gpus) {
    CHECK(wish.gpus->count >= 0 && wish.gpus->count <= 31);
    CHECK((wish.gpus->count == 0) == (domain.gpus == "All"));
    CHECK(kube::IsDnsSubdomain(wish.gpus->device_class));
  }
  const bool is_fine = is_paused_fine && is_roll_fine && is_placement_fine && is_group_fine &&
                       wish.is_clear && (domain.deletion_grace.empty() || grace);
  const auto invalid = compute_domain::FindInvalidAnnotation(observed);
  CHECK(invalid.has_value() == !is_fine);
  CHECK(compute_domain::IsPaused(observed) == (domain.paused == "true"));
  if (!invalid) return;
  fuzz::CheckSame(json::OneLine(invalid->message, 4096), invalid->message);
}
