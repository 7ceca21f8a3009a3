#include "node/plugin/rules/claim.h"

#include <utility>

#include "node/cdi/files.h"
#include "pkg/json/slices.h"
#include "pkg/json/utf8.h"

namespace plugin {

using base::Invalid, base::Result;

Result<ClaimToPrepare> DecodeResourceClaim(std::string_view text) {
  std::string_view metadata;
  std::string_view status;
  TRY(json::ForEachSlice(text, [&](std::string_view name, std::string_view value) {
    if (name == "metadata") metadata = value;
    if (name == "status") status = value;
  }));
  ClaimToPrepare claim = {.uid = json::TextOf(metadata, "uid"),
                          .name = json::TextOf(metadata, "name"),
                          .ns = json::TextOf(metadata, "namespace"),
                          .is_allocated = json::SliceOf(status, "allocation").starts_with('{')};
  if (claim.name.empty()) return Invalid("metadata has no name");
  if (!cdi::IsFileSafe(claim.uid)) {
    return Invalid("UID \"" + json::OneLine(claim.uid, kShownMax) + "\" is not a UID");
  }
  const auto own = OwnPart(status);
  const auto decoded = own ? ClaimStatus::Decode(*own) : tl::unexpected(own.error());
  if (!decoded) {
    claim.wanted = tl::unexpected(decoded.error());
    return claim;
  }
  claim.status = *decoded;
  // Not from the ClaimStatus, which keeps the last of two members with the same name.
  claim.wanted = WantedBy(*own, Decoding::kStrict);
  return claim;
}

}  // namespace plugin
