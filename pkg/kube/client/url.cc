#include "pkg/kube/client/url.h"

#include "pkg/base/check.h"
#include "pkg/http/curl_url.h"

namespace kube {

base::Result<Url> ParseUrl(const std::string& text) {
  const http::CurlUrl url(curl_url());
  CHECK(url != nullptr);
  const CURLUcode code =
      curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME);
  if (code != CURLUE_OK) return base::Invalid(curl_url_strerror(code));
  Url parsed = {.scheme = http::PartOf(url, CURLUPART_SCHEME),
                .host = http::PartOf(url, CURLUPART_HOST),
                .port = http::PartOf(url, CURLUPART_PORT, CURLU_DEFAULT_PORT),
                .has_user = !http::PartOf(url, CURLUPART_USER).empty() ||
                            !http::PartOf(url, CURLUPART_PASSWORD).empty(),
                // Also an empty one, which would absorb the path that follows.
                .has_query_or_fragment = text.find_first_of("?#") != std::string::npos};
  if (parsed.host.starts_with('[')) parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  if (parsed.host.empty()) return base::Invalid("no host in it");
  return parsed;
}

}  // namespace kube
