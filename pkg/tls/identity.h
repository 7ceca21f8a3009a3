#pragma once

#include <string>

namespace tls {

// The identity of a server, as PEM texts: its certificate, followed by those of its issuers, and
// the key of the first certificate.
struct Identity {
  std::string certificate_pem = {};
  std::string key_pem = {};

  friend bool operator==(const Identity&, const Identity&) = default;
};

}  // namespace tls
