#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pkg/base/result.h"

namespace kube {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// The proxy that the environment has for `url`, empty for none: HTTPS_PROXY or HTTP_PROXY, by the
// scheme of `url`, unless NO_PROXY names its host. Loopback is always reached directly. Upper case
// counts before lower case. kInvalid: the proxy's URL is wrong.
// Source: Go's golang.org/x/net/http/httpproxy, so that kubectl and we go the same way.
[[nodiscard]] base::Result<std::string> ProxyFromEnvironment(const std::string& url,
                                                             const Environment& environment);

// A proxy's URL as given, with "http://" before it if it has no scheme. kInvalid unless the scheme
// is http, https, socks5 or socks5h. The message does not repeat the URL, which may hold a
// password.
[[nodiscard]] base::Result<std::string> CheckProxyUrl(const std::string& url);

}  // namespace kube
