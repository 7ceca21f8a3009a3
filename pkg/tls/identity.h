#pragma once

#include <string>

namespace tls {

// What a server proves itself with, as PEM texts: its certificate with those of its issuers behind
// it, and the key of the first.
struct Identity {
  std::string certificate_pem = {};
  std::string key_pem = {};

  friend bool operator==(const Identity&, const Identity&) = default;
};

}  // namespace tls
