// libcurl settings of an Endpoint, shared by all exchanges with one server.
//
// Immutable. Outlives the exchanges, which point to its texts.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>
#include <string_view>

#include "pkg/http/endpoint.h"

namespace http {

struct CurlListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, CurlListDeleter>;

// Returns `list` with `text` appended. REQUIRES: enough memory.
CurlList Append(CurlList list, const std::string& text);

class CurlTarget {
 public:
  // If the URL is malformed, every exchange fails with kInvalid.
  CurlTarget(Endpoint endpoint, std::string user_agent);

  // Sets the options for the server, for its certificate and ours, and for sockets and proxies.
  void ApplyTo(CURL* easy) const;

  std::string UrlOf(std::string_view path) const { return base_url_ + std::string(path); }
  // Such as "10.0.0.1:6443", for messages.
  const std::string& host_and_port() const { return host_and_port_; }
  // The name that the certificate must have.
  const std::string& server_name() const { return server_name_; }
  // The Host header. Empty if it is that of the URL.
  const std::string& host_header() const { return host_header_; }

 private:
  void ApplyTls(CURL* easy) const;

  const Endpoint endpoint_;
  const std::string user_agent_;
  std::string base_url_;  // Without a '/' at the end.
  std::string scheme_;
  std::string host_and_port_;
  std::string server_name_;
  std::string host_header_;
  CurlList connect_to_;  // Null unless the name to verify differs from the host to connect to.
};

}  // namespace http
