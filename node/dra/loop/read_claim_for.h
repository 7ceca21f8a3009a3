// Reads the claim of a call from the API server.
#pragma once

#include <optional>
#include <utility>

#include "node/dra/api/driver_api.h"
#include "node/dra/api/requests.h"
#include "node/dra/loop/claim_queue.h"
#include "node/dra/rules/claim.h"

namespace dra {

// Starts the request. Its result goes into `claim`, which lives as long as the call's work. A claim
// that does not exist, or is none, refuses the call. Without effect until `api` knows the version
// in which claims are served. `Wanted` is as in ClaimStatus.
template <typename Wanted>
void ReadClaimFor(DriverApi& api, ClaimCall& call, std::optional<ClaimToPrepare<Wanted>>& claim) {
  if (!api.slices()) return;
  call.asking = true;
  api.Enqueue(DriverApi::Queue::kClaims, [&call, &claim, version = api.dra_version(),
                                          name = call.name](http::Transport& transport) {
    auto read = ReadClaim<Wanted>(transport, version, {.ns = name.ns, .name = name.name}, name.uid);
    return [&call, &claim, read = std::move(read)] {
      if (read) {
        claim = *read;
        return call.Ended({});
      }
      const auto code = read.error().code;
      const bool is_final = code == base::ErrorCode::kNotFound || code == base::ErrorCode::kInvalid;
      if (!is_final) return call.Ended(tl::unexpected(read.error()));
      call.asking = false;
      call.refused = read.error().message;
    };
  });
}

}  // namespace dra
