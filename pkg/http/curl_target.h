// An Endpoint in the terms of libcurl: what every exchange with one server shares.
//
// Immutable; outlives the exchanges, which refer to its texts.
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

// `list` with `text` at its end. REQUIRES: memory is left.
[[nodiscard]] CurlList Append(CurlList list, const std::string& text);

class CurlTarget {
 public:
  // A malformed URL is not an error here: every exchange then fails with kInvalid.
  CurlTarget(Endpoint endpoint, std::string user_agent);

  // Sets everything about the server, the proof of its name and ours, sockets and proxies.
  void ApplyTo(CURL* easy) const;

  [[nodiscard]] std::string UrlOf(std::string_view path) const {
    return base_url_ + std::string(path);
  }
  // "10.0.0.1:6443", for messages.
  [[nodiscard]] const std::string& host_and_port() const { return host_and_port_; }
  // What the certificate must name.
  [[nodiscard]] const std::string& server_name() const { return server_name_; }
  // The Host header, if it is not what the URL says; else empty.
  [[nodiscard]] const std::string& host_header() const { return host_header_; }

 private:
  void ApplyTls(CURL* easy) const;

  const Endpoint endpoint_;
  const std::string user_agent_;
  std::string base_url_;  // Without a '/' at the end.
  std::string scheme_;
  std::string host_and_port_;
  std::string server_name_;
  std::string host_header_;
  CurlList connect_to_;  // Set where the name to verify is not the host to connect to.
};

}  // namespace http
