// The address of a server, and the credentials of its client.
#pragma once

#include <string>

namespace http {

// The server of requests, and how client and server authenticate. PEM texts are contents, not
// paths.
struct Endpoint {
  // Such as "https://10.0.0.1:6443", with the path prefix of a proxy if it has one.
  std::string url = {};
  std::string ca_pem = {};           // Empty for the system's CAs.
  bool insecure = false;             // Do not verify the server. Never set with a CA.
  std::string tls_server_name = {};  // Name to verify. Empty for the host in `url`.
  std::string client_certificate_pem = {};
  std::string client_key_pem = {};
  std::string proxy_url = {};

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Provides the bearer token of each request. Thread-safe.
class Credentials {
 public:
  virtual ~Credentials() = default;

  // Returns the token. Empty if there is none. Must not block: it may read a file, at most once a
  // minute. If renewal fails, it returns the last token.
  virtual std::string BearerToken() = 0;
  // A reply was 401: get another token for the next request, or as soon as possible.
  virtual void Invalidate() = 0;
  // Names the source. Credentials of equal sources are interchangeable. Do not log it. Empty if
  // unknown.
  virtual std::string Source() const { return {}; }
};

}  // namespace http
