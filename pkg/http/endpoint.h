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
  virtual ~Credentials() = default;

  // Empty: none. Asked for by threads that serve many: at most a file is read, once a minute. What
  // cannot be renewed stays as it was.
  [[nodiscard]] virtual std::string BearerToken() = 0;
  // A reply was 401: for the next request, or as soon as may be, look for another.
  virtual void Invalidate() = 0;
  // Where they come from: others of an equal source need not take their place. Not for logs.
  [[nodiscard]] virtual std::string Source() const { return {}; }
};

}  // namespace http
