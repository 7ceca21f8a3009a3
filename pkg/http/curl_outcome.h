#pragma once

#include <curl/curl.h>

#include <string>

#include "pkg/base/result.h"

namespace http {

// What is known of an exchange that failed.
struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string detail = {};        // libcurl's words; may be empty.
  int os_error = 0;               // Of the connect(), else 0.
  bool is_write = false;          // Everything but GET.
  bool sent = false;              // Sending began, so the server may have acted.
  bool passed_its_bound = false;  // We ended it, because the body grew too large.
  std::string host_and_port = {};
  std::string server_name = {};  // What the certificate must name.
};

// Which error it is, in the terms of Transport, with a message that names the server and the cause.
[[nodiscard]] base::Error ToError(const CurlFailure& failure);

}  // namespace http
