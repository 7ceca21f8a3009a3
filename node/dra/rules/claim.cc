#include "node/dra/rules/claim.h"

#include "node/cdi/files.h"
#include "pkg/json/slices.h"
#include "pkg/json/utf8.h"

namespace dra {

using base::Invalid, base::Result;

Result<ClaimObject> DecodeClaimObject(std::string_view text) {
  ClaimObject claim;
  std::string_view metadata;
  TRY(json::ForEachSlice(text, [&](std::string_view name, std::string_view value) {
    if (name == "metadata") metadata = value;
    if (name == "status") claim.status = value;
  }));
  claim.uid = json::TextOf(metadata, "uid");
  claim.name = json::TextOf(metadata, "name");
  claim.ns = json::TextOf(metadata, "namespace");
  if (claim.name.empty()) return Invalid("metadata has no name");
  if (!cdi::IsFileSafe(claim.uid)) {
    return Invalid("UID \"" + json::OneLine(claim.uid, kShownMax) + "\" is not a UID");
  }
  return claim;
}

bool IsAllocated(std::string_view status) {
  return json::SliceOf(status, "allocation").starts_with('{');
}

}  // namespace dra
