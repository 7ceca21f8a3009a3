#pragma once

#include <string>

#include "pkg/base/result.h"
#include "pkg/tls/identity.h"

namespace tls {

// Returns a new key (ECDSA P-256) and a self-signed certificate for `dns_name` and "localhost". The
// certificate is valid for one year, from one hour ago. It encrypts the traffic, but proves nothing
// to a client that does not know it. kInvalid: `dns_name` is not a host name of at most 63
// characters. kUnavailable: OpenSSL failed.
base::Result<Identity> MakeSelfSigned(const std::string& dns_name);

}  // namespace tls
