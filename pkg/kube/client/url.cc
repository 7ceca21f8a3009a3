#include "pkg/kube/client/url.h"

#include <curl/curl.h>

#include <memory>

#include "pkg/base/check.h"

namespace kube {
namespace {

struct CurlUrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string PartOf(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  std::string copy = text;
  curl_free(text);
  return copy;
}

}  // namespace

base::Result<Url> ParseUrl(const std::string& text) {
  const std::unique_ptr<CURLU, CurlUrlDeleter> url(curl_url());
  CHECK(url != nullptr);
  const CURLUcode code =
      curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME);
  if (code != CURLUE_OK) return base::Fail(base::ErrorCode::kInvalid, curl_url_strerror(code));
  Url parsed = {.scheme = PartOf(url.get(), CURLUPART_SCHEME),
                .host = PartOf(url.get(), CURLUPART_HOST),
                .port = PartOf(url.get(), CURLUPART_PORT),
                .has_user = !PartOf(url.get(), CURLUPART_USER).empty() ||
                            !PartOf(url.get(), CURLUPART_PASSWORD).empty(),
                // Also an empty one, which would take the path that is put behind it.
                .has_query_or_fragment = text.find_first_of("?#") != std::string::npos};
  if (parsed.host.starts_with('[')) parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  if (parsed.host.empty()) return base::Fail(base::ErrorCode::kInvalid, "no host in it");
  return parsed;
}

}  // namespace kube
