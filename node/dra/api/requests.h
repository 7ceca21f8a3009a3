// Requests of a driver to the API server, as blocking calls over any Transport.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "node/dra/rules/claim.h"
#include "node/dra/rules/resource_slice.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/meta.h"
#include "pkg/kube/api/resource.h"

namespace dra {

// Sends the request with the bounds of this file, and returns an error for a status that is one.
base::Result<http::Response> Send(http::Request request, http::Transport& transport);

// Calls `use(text)` for each object of a collection, page by page. Tenants write the objects, and
// none becomes a tree. All namespaces if `ns` is empty.
base::Result<void> ForEachObject(http::Transport& transport, const kube::Resource& resource,
                                 const std::string& ns,
                                 const std::function<void(std::string_view text)>& use);

// Returns the claim's object. Returns kNotFound if there is no claim of that name.
base::Result<http::Response> ReadClaimObject(http::Transport& transport, SliceApi version,
                                             const kube::ObjectKey& key);

// Returns kNotFound if there is no claim of that name, or if its UID differs. `Wanted` is as in
// ClaimStatus.
template <typename Wanted>
base::Result<ClaimToPrepare<Wanted>> ReadClaim(http::Transport& transport, SliceApi version,
                                               const kube::ObjectKey& key, const std::string& uid) {
  const http::Response reply = TRY(ReadClaimObject(transport, version, key));
  ClaimToPrepare<Wanted> claim = TRY(DecodeResourceClaim<Wanted>(reply.body));
  if (claim.uid != uid) {
    return base::Fail(
        base::ErrorCode::kNotFound,
        "claim " + kube::ToString(key) + " was created again: its UID is " + claim.uid);
  }
  return claim;
}

// Returns whether that claim exists. An answer that proves neither, such as a proxy's 404, is an
// error.
base::Result<bool> ClaimExists(http::Transport& transport, SliceApi version,
                               const kube::ObjectKey& key, const std::string& uid);

kube::Resource ClaimsIn(SliceApi version);

// Lists all claims, page by page, and returns those that hold a device of this driver and node:
// `Wanted` also has `bool IsOn(const std::string& node) const`. Claims are decoded leniently:
// another plugin may have prepared what this one refuses.
template <typename Wanted>
base::Result<std::vector<ClaimToPrepare<Wanted>>> ReadClaimsOn(http::Transport& transport,
                                                               SliceApi version,
                                                               const std::string& node) {
  std::vector<ClaimToPrepare<Wanted>> claims;
  TRY(ForEachObject(transport, ClaimsIn(version), "", [&](std::string_view item) {
    auto claim = DecodeResourceClaim<Wanted>(item);
    if (!claim) return;
    const auto& wanted = claim->status.wanted();
    if (wanted && wanted->IsOn(node)) claims.push_back(*std::move(claim));
  }));
  return claims;
}

// Of an error of ReadClaimsOn(), says which permission is missing, and how to grant it. An account
// may list claims of all tenants only while a checkpoint is unreadable. `ns` is the account's.
base::Error AdviseOnListing(base::Error error, const std::string& ns);

// A slice as the server stored it.
struct SliceWritten {
  kube::ObjectMeta meta = {};
  // Whether the server kept all of it. It may drop unknown fields, such as taints; then the slice
  // is deleted again.
  bool holds = false;
};
// Makes `slice` the only slice of the node. `found` has the slices that exist. If the server's
// slice already has a taint of the slice, its time is kept, so that two instances of the plugin do
// not overwrite each other.
base::Result<SliceWritten> WriteSlice(http::Transport& transport, ResourceSlice slice, SliceApi api,
                                      const std::vector<kube::ObjectMeta>& found);

}  // namespace dra
