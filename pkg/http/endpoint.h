#pragma once

#include <string>

namespace http {

// Where requests go, and how the connection is proven. All PEM texts are the content, not paths.
struct Endpoint {
  std::string url =
      {};  // "https://10.0.0.1:6443", with the path prefix of a proxy if there is one.
  std::string ca_pem = {};           // Empty: the system's.
  bool insecure = false;             // Do not verify the server. Never with a CA.
  std::string tls_server_name = {};  // The name to verify, if not the one in `url`.
  std::string client_certificate_pem = {};
  std::string client_key_pem = {};
  std::string proxy_url = {};

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// The bearer token of each request. Thread-safe.
class Credentials {
 public:
  Credentials() = default;
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;
  virtual ~Credentials() = default;

  // Empty: none. A file is read again at most once a minute; if it cannot be read or is empty the
  // last good token stays.
  [[nodiscard]] virtual std::string BearerToken() = 0;
  // A reply was 401: read again for the next request.
  virtual void Invalidate() = 0;
  // Where they come from: others of an equal source need not take their place. Not for logs.
  [[nodiscard]] virtual std::string Source() const { return {}; }
};

}  // namespace http
