#pragma once

#include <string>

#include "pkg/base/result.h"
#include "pkg/tls/identity.h"

namespace tls {

// A new key (ECDSA P-256) and a certificate for it that it signed itself, for `dns_name` and
// "localhost", valid for a year from an hour before now. It protects against readers of the
// network, and proves nothing to a client that does not know it. kInvalid: `dns_name` is no name of
// a host of at most 63 characters; kUnavailable: OpenSSL has made none.
[[nodiscard]] base::Result<Identity> MakeSelfSigned(const std::string& dns_name);

}  // namespace tls
