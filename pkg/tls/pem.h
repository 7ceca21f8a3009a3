// Checks of certificates and keys before they are used, with errors that people can act on.
// Pure functions; thread-safe. No message holds any part of a key.
#pragma once

#include <string>
#include <string_view>

#include "pkg/base/result.h"

namespace tls {

// Standard base64 with padding; blanks and line breaks are skipped. kInvalid otherwise.
[[nodiscard]] base::Result<std::string> DecodeBase64(std::string_view text);
[[nodiscard]] std::string EncodeBase64(std::string_view bytes);

// kInvalid unless `pem` holds at least one certificate and each that it holds can be read.
[[nodiscard]] base::Result<void> CheckCertificates(const std::string& pem);

// kInvalid unless `pem` holds a private key without a passphrase.
[[nodiscard]] base::Result<void> CheckKey(const std::string& pem);

// kInvalid unless the key is that of the first certificate.
[[nodiscard]] base::Result<void> CheckPair(const std::string& certificate_pem,
                                           const std::string& key_pem);

}  // namespace tls
