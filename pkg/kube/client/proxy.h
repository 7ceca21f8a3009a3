// Finds the HTTP proxy for a server.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pkg/base/result.h"

namespace kube {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// Returns the proxy for `url` from the environment. Empty if none. It is HTTPS_PROXY or HTTP_PROXY,
// by the scheme of `url`, unless NO_PROXY names the host. Upper case wins over lower case. Loopback
// never uses a proxy. kInvalid: the proxy's URL is invalid.
// Source: Go's golang.org/x/net/http/httpproxy, so that kubectl and cdom use the same proxy.
base::Result<std::string> ProxyFromEnvironment(const std::string& url,
                                               const Environment& environment);

// Returns the URL of a proxy, with "http://" added if it has no scheme. Returns kInvalid unless the
// scheme is http, https, socks5 or socks5h. The message does not contain the URL, because it may
// hold a password.
base::Result<std::string> CheckProxyUrl(const std::string& url);

}  // namespace kube
