#include "pkg/kube/client/proxy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <sstream>
#include <string_view>

#include "pkg/base/number.h"
#include "pkg/kube/client/url.h"

namespace kube {
namespace {

using base::Invalid, base::Result;

// An IPv6 address. An IPv4 address is mapped, so that both compare alike.
using Address = std::array<unsigned char, 16>;
constexpr int kBits = 128;
constexpr int kMappedBits = 96;  // Bits of a mapped address before the four bytes of IPv4.

std::optional<Address> ParseAddress(const std::string& text) {
  Address address = {};
  if (::inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return address;
  address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (::inet_pton(AF_INET, text.c_str(), address.data() + kMappedBits / 8) == 1) return address;
  return std::nullopt;
}

bool HavePrefixInCommon(const Address& a, const Address& b, int bits) {
  for (int bit = 0; bit < bits; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    if (((a[byte] ^ b[byte]) & (0x80 >> bit % 8)) != 0) return false;
  }
  return true;
}

bool IsLoopback(const std::string& host, const std::optional<Address>& address) {
  if (host == "localhost") return true;
  return address && (HavePrefixInCommon(*address, *ParseAddress("127.0.0.0"), kMappedBits + 8) ||
                     *address == *ParseAddress("::1"));
}

// Returns whether `address` is in the network `entry`, such as 10.0.0.0/8. Empty if `entry` is not
// a network.
std::optional<bool> InNetwork(const std::string& entry, const std::optional<Address>& address) {
  const std::size_t slash = entry.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const std::string network_text = entry.substr(0, slash);
  const std::optional<Address> network = ParseAddress(network_text);
  const std::string_view length = std::string_view(entry).substr(slash + 1);
  int bits = base::ParseNumber<int>(length).value_or(-1);
  if (!network || bits < 0 || bits > kBits) return std::nullopt;
  if (network_text.find(':') == std::string::npos) bits += kMappedBits;
  if (bits > kBits) return std::nullopt;
  return address && HavePrefixInCommon(*address, *network, bits);
}

struct HostAndPort {
  std::string host;
  std::string port;  // Empty for any.
};

HostAndPort Split(const std::string& entry) {
  if (entry.starts_with('[')) {
    const std::size_t end = entry.find(']');
    if (end == std::string::npos) return {.host = entry, .port = {}};
    const bool has_port = entry.compare(end, 2, "]:") == 0;
    return {.host = entry.substr(1, end - 1), .port = has_port ? entry.substr(end + 2) : ""};
  }
  const std::size_t colon = entry.find(':');
  if (colon == std::string::npos || colon != entry.rfind(':')) return {.host = entry, .port = {}};
  return {.host = entry.substr(0, colon), .port = entry.substr(colon + 1)};
}

// Matches one entry of NO_PROXY: "*", a network, or a host or end of its name, perhaps with a port.
bool Matches(const std::string& entry, const Url& url, const std::optional<Address>& address) {
  if (entry == "*") return true;
  if (const std::optional<bool> in_network = InNetwork(entry, address)) return *in_network;
  auto [host, port] = Split(entry);
  if (!port.empty() && port != url.port) return false;
  if (const std::optional<Address> other = ParseAddress(host)) return address == other;
  if (host.starts_with("*.")) host.erase(0, 1);
  if (host.empty()) return false;
  // "a.example" is that host and all hosts below it. ".a.example" is only the hosts below.
  if (host.starts_with('.')) return url.host.ends_with(host);
  return url.host == host || url.host.ends_with("." + host);
}

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string Variable(const Environment& environment, const std::string& name) {
  if (!environment) return {};
  const std::string value = environment(name).value_or("");
  return value.empty() ? environment(Lower(name)).value_or("") : value;
}

bool IsExcluded(const std::string& no_proxy, const Url& url) {
  const std::optional<Address> address = ParseAddress(url.host);
  if (IsLoopback(url.host, address)) return true;
  std::istringstream entries(no_proxy);
  for (std::string entry; std::getline(entries, entry, ',');) {
    std::erase_if(entry, [](unsigned char c) { return std::isspace(c) != 0; });
    if (!entry.empty() && Matches(Lower(entry), url, address)) return true;
  }
  return false;
}

}  // namespace

Result<std::string> CheckProxyUrl(const std::string& url) {
  std::string with_scheme = url.find("://") == std::string::npos ? "http://" + url : url;
  const Result<Url> parsed = ParseUrl(with_scheme);
  static const std::set<std::string> kSchemes = {"http", "https", "socks5", "socks5h"};
  if (!parsed || !kSchemes.contains(parsed->scheme)) {
    return Invalid("not the URL of a proxy; write http://, https:// or socks5:// and host:port");
  }
  return with_scheme;
}

Result<std::string> ProxyFromEnvironment(const std::string& url, const Environment& environment) {
  Url parsed = TRY(ParseUrl(url));
  parsed.host = Lower(parsed.host);
  const std::string name = parsed.scheme == "http" ? "HTTP_PROXY" : "HTTPS_PROXY";
  const std::string proxy = Variable(environment, name);
  if (proxy.empty() || IsExcluded(Variable(environment, "NO_PROXY"), parsed)) return "";
  return CheckProxyUrl(proxy).map_error(base::While("$" + name));
}

}  // namespace kube
