// Replaces a PATCH by GET and PUT, for identities without `patch` permission.
//
// The identity needs `update`. The PUT carries the resourceVersion of the GET, so it cannot
// overwrite another writer's change. Pure functions.
#pragma once

#include <string_view>

#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/permission.h"

namespace kube {

// Returns the permission that `request` needs. Empty unless it is for one object or creates one.
Permission PermissionFor(const http::Request& request);

// Returns whether the API server refused because a permission is missing. If false, a policy or a
// quota refused, which no permission can change.
bool IsMissingPermission(const base::Error& error);

// Returns the GET of the object that `patch` changes. REQUIRES: PermissionFor(patch).verb is
// "patch".
http::Request ReadBeforePut(const http::Request& patch);

// `cause` of the error if a JSON patch cannot be applied, for example because its test failed.
inline constexpr std::string_view kTestFailed = "TestFailed";

// Returns the PUT of `object` with the patch applied. `object` is the body of the reply to
// ReadBeforePut(). Errors are those of a server that applies the patch itself: kConflict if the
// patch is for another resourceVersion or UID, kInvalid if a JSON patch cannot be applied.
base::Result<http::Request> PutInstead(const http::Request& patch, std::string_view object);

}  // namespace kube
