// The part of a ResourceClaim that a plugin needs. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "node/dra/rules/claim_status.h"
#include "pkg/base/result.h"

namespace dra {

// The kubelet times out after 45 s, and its error has no reason. So every call is answered earlier,
// with the reason for the wait.
inline constexpr std::chrono::seconds kAnswerAfter{40};

// `Wanted` is as in ClaimStatus.
template <typename Wanted>
struct ClaimToPrepare {
  std::string uid = {};  // IsFileSafe() holds.
  std::string name = {};
  std::string ns = {};
  bool is_allocated = false;
  ClaimStatus<Wanted> status = {};
  base::Result<Wanted> wanted = {};  // Decoded strictly.
};

// Metadata of an object, and its status as JSON.
struct ClaimObject {
  std::string uid = {};
  std::string name = {};
  std::string ns = {};
  std::string_view status = {};
};
// Returns kInvalid if `text` is not a claim with a name and a UID.
base::Result<ClaimObject> DecodeClaimObject(std::string_view text);
bool IsAllocated(std::string_view status);

// Decodes `text`, the object as the API server returns it. Reads past what is for other drivers.
// Returns kInvalid if it is not a claim.
template <typename Wanted>
base::Result<ClaimToPrepare<Wanted>> DecodeResourceClaim(std::string_view text) {
  ClaimObject object = TRY(DecodeClaimObject(text));
  ClaimToPrepare<Wanted> claim = {.uid = std::move(object.uid),
                                  .name = std::move(object.name),
                                  .ns = std::move(object.ns),
                                  .is_allocated = IsAllocated(object.status)};
  const auto own = OwnPart(object.status, Wanted::kDriver);
  const auto decoded = own ? ClaimStatus<Wanted>::Decode(*own) : tl::unexpected(own.error());
  if (!decoded) {
    claim.wanted = tl::unexpected(decoded.error());
    return claim;
  }
  claim.status = *decoded;
  // Not from the ClaimStatus, which keeps the last of two members with the same name.
  claim.wanted = Wanted::Decode(*own, Decoding::kStrict);
  return claim;
}

}  // namespace dra
