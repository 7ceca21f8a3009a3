// Maps failures of libcurl to errors of Transport.
#pragma once

#include <curl/curl.h>

#include <string>

#include "pkg/base/result.h"

namespace http {

// Facts about a failed exchange.
struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string detail = {};        // libcurl's message. May be empty.
  int os_error = 0;               // errno of connect(). 0 if none.
  bool is_write = false;          // Not a GET.
  bool sent = false;              // Sending started, so the server may have acted.
  bool passed_its_bound = false;  // We ended it, because the body was too large.
  std::string host_and_port = {};
  std::string server_name = {};  // The name that the certificate must have.
};

// Returns the matching error of Transport. The message names the server and the cause.
base::Error ToError(const CurlFailure& failure);

}  // namespace http
