// Checks certificates and keys before use, with actionable errors.
//
// Pure functions; thread-safe. No message contains a part of a key.
#pragma once

#include <string>
#include <string_view>

#include "pkg/base/result.h"

namespace tls {

// Decodes standard base64 with padding. Skips spaces and line breaks. kInvalid: `text` is something
// else.
base::Result<std::string> DecodeBase64(std::string_view text);
std::string EncodeBase64(std::string_view bytes);

// Returns kInvalid unless `pem` has at least one certificate, and all of them can be read.
base::Result<void> CheckCertificates(const std::string& pem);

// Returns kInvalid unless `pem` has a private key without a passphrase.
base::Result<void> CheckKey(const std::string& pem);

// Returns kInvalid unless the key belongs to the first certificate.
base::Result<void> CheckPair(const std::string& certificate_pem, const std::string& key_pem);

}  // namespace tls
