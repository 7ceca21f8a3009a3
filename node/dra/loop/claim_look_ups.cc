#include "node/dra/loop/claim_look_ups.h"

#include <chrono>

#include "node/dra/api/requests.h"

namespace dra {

constexpr std::chrono::minutes kMissingFor{1};

void ClaimLookUps::LookUp(DriverApi& api, const kubelet::ClaimName& claim) {
  api.Enqueue(DriverApi::Queue::kReads,
              [this, claim, version = api.dra_version()](http::Transport& transport) {
                const auto exists = ClaimExists(transport, version,
                                                {.ns = claim.ns, .name = claim.name}, claim.uid);
                return [this, claim, exists] {
                  if (exists) OnLookUp(claim, *exists);
                };
              });
}

void ClaimLookUps::OnLookUp(const kubelet::ClaimName& claim, bool exists) {
  const auto state = uses_.state(claim.uid);
  if (exists || !state) {
    missing_.erase(claim.uid);
    if (!state || *state == ClaimState::kCompleted) return;
    // In the words of NVIDIA's plugin, by which tools look for it.
    logger_.Log(base::LogLevel::kObjects,
                "Checkpointed RC cleanup: partially prepared claim not stale: " + claim.ns + "/" +
                    claim.name,
                {});
    return;
  }
  const TimePoint now = clock_.Now();
  const TimePoint since = missing_.emplace(claim.uid, now).first->second;
  if (*state == ClaimState::kCompleted && now < since + kMissingFor) {
    return uses_.look_again(since + kMissingFor);
  }
  missing_.erase(claim.uid);
  uses_.take_back(claim);
}

}  // namespace dra
