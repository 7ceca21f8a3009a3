// What a PATCH does, by GET and PUT: for an identity that may `update` a resource and not `patch`
// it. The PUT carries the resourceVersion of what was read, so nobody's change is undone. Pure.
#pragma once

#include <string_view>

#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/permission.h"

namespace kube {

// The right to send the request, which is for one object or creates one; of anything else empty.
[[nodiscard]] Permission PermissionFor(const http::Request& request);

// Whether the API server refused for want of a right; else somebody else did, such as a policy or a
// quota, and who has every right is refused too.
[[nodiscard]] bool IsMissingPermission(const base::Error& error);

// Reads the object that `patch` would change. REQUIRES: PermissionFor(patch).verb is "patch".
[[nodiscard]] http::Request ReadBeforePut(const http::Request& patch);

// `cause` of the error when a test of a JSON patch did not hold.
inline constexpr std::string_view kTestFailed = "TestFailed";

// Writes what the patch makes of `object`, which is the body of a reply to ReadBeforePut(). The
// errors are those of a server that took the patch itself: kConflict if it is for another
// resourceVersion or UID, kInvalid if a JSON patch cannot be applied.
[[nodiscard]] base::Result<http::Request> PutInstead(const http::Request& patch,
                                                     std::string_view object);

}  // namespace kube
