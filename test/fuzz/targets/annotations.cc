// The annotations of a domain, which its owner writes:
//  - the grace of its deletion is what it says if that is a duration, else what goes for all, and
//    at most 1000 hours;
//  - what is not heeded is said, in one line, and what is heeded is not.
#include "controller/compute_domain/acceptance.h"
#include "pkg/base/duration.h"
#include "pkg/json/utf8.h"
#include "test/fixtures/observed.h"
#include "test/fuzz/hostile.h"

FUZZ_TARGET(annotations, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  compute_domain::Observed observed = fixtures::Converged();
  api::ComputeDomain& domain = *observed.domain;
  domain.paused = fuzz::Text(input);
  domain.daemon_roll = fuzz::Text(input);
  domain.deletion_grace = input.ConsumeRemainingBytesAsString();

  const auto grace = base::ParseDuration(domain.deletion_grace);
  const auto heeded = compute_domain::DeletionGrace(observed);
  CHECK(heeded ==
        (grace ? std::chrono::ceil<std::chrono::seconds>(*grace) : observed.facts.deletion_grace));
  CHECK(heeded >= std::chrono::seconds(0) && heeded <= std::chrono::hours(1000));

  const bool is_paused_fine =
      domain.paused.empty() || domain.paused == "true" || domain.paused == "false";
  const bool is_roll_fine = domain.daemon_roll.empty() || domain.daemon_roll == "Always" ||
                            domain.daemon_roll == "WhenIdle";
  const bool is_fine = is_paused_fine && is_roll_fine && (domain.deletion_grace.empty() || grace);
  const auto invalid = compute_domain::FindInvalidAnnotation(observed);
  CHECK(invalid.has_value() == !is_fine);
  CHECK(compute_domain::IsPaused(observed) == (domain.paused == "true"));
  if (!invalid) return;
  fuzz::CheckSame(json::OneLine(invalid->message, 4096), invalid->message);
}
