// Owns a libcurl URL, and reads its parts.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

namespace http {

struct CurlUrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using CurlUrl = std::unique_ptr<CURLU, CurlUrlDeleter>;

// Returns a part of the URL. Empty if it has no such part.
inline std::string PartOf(const CurlUrl& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return {};
  std::string copy = text;
  curl_free(text);
  return copy;
}

}  // namespace http
