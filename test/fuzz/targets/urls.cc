// URLs, paths and proxies.
#include <arpa/inet.h>
#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "pkg/kube/client/kubeconfig_reader.h"
#include "pkg/kube/client/proxy.h"
#include "pkg/kube/client/request.h"
#include "pkg/kube/client/url.h"
#include "test/fuzz/hostile.h"

namespace {

std::string Unescape(std::string_view text) {
  int size = 0;
  char* const plain =
      curl_easy_unescape(nullptr, text.data(), static_cast<int>(text.size()), &size);
  std::string copy(plain, static_cast<std::size_t>(size));
  curl_free(plain);
  return copy;
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// A name that may stand in a path: a request without one is for a collection.
std::string Name(fuzz::Input& input) {
  const std::string name = fuzz::Text(input);
  return name.empty() ? "x" : name;
}

bool IsDots(const std::string& name) { return name == "." || name == ".."; }

}  // namespace

// A server's URL that is taken:
//  - is one of http or https with a host and a port, and no user, query or fragment;
//  - so it is for libcurl, which will go there.
FUZZ_TARGET(url, bytes) {
  const std::string text(bytes);
  const auto parsed = kube::ParseUrl(text);
  if (!parsed) CHECK(parsed.error().code == base::ErrorCode::kInvalid);
  if (parsed) CHECK(!parsed->host.empty());
  const bool is_taken = kube::CheckServerUrl(text).has_value();
  if (!is_taken) return;
  CHECK(parsed && !parsed->has_user && !parsed->has_query_or_fragment);
  CHECK(parsed->scheme == "http" || parsed->scheme == "https");
  CHECK(!parsed->port.empty());
  // A path behind it stays behind it.
  const auto below = kube::ParseUrl(text + "/api/v1/nodes");
  CHECK(below && below->host == parsed->host && below->port == parsed->port);
  CHECK(below->scheme == parsed->scheme && !below->has_user && !below->has_query_or_fragment);
}

// A request's path and selectors:
//  - no name leaves its place in the path: there are as many segments as there should be, and each
//    reads as what it was made from (save "." and "..", which must not);
//  - each value of the query reads as what it was made from, and there is no other one.
FUZZ_TARGET(request_path, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  const kube::ObjectKey key = {.ns = Name(input), .name = Name(input)};
  const std::string path = kube::ResourcePath(kube::kDaemonSets, key);
  const std::vector<std::string> segments = Split(path, '/');
  CHECK(segments.size() == 8);  // "", apis, apps, v1, namespaces, NS, daemonsets, NAME
  for (const auto& [segment, name] :
       {std::pair(segments[5], key.ns), std::pair(segments[7], key.name)}) {
    CHECK(IsDots(name) ? !IsDots(Unescape(segment)) : Unescape(segment) == name);
    CHECK(segment.find_first_of("?# \r\n\\") == std::string::npos);
  }

  const kube::ListOptions options = {.ns = key.ns,
                                     .label_selector = Name(input),
                                     .field_selector = Name(input),
                                     .continue_token = Name(input),
                                     .limit = input.ConsumeIntegralInRange(1, 500)};
  const std::string target = kube::ListRequest(kube::kDaemonSets, options).path;
  const std::size_t mark = target.find('?');
  CHECK(mark != std::string::npos);
  const std::vector<std::string> query = Split(target.substr(mark + 1), '&');
  const std::vector<std::pair<std::string, std::string>> meant = {
      {"labelSelector", options.label_selector},
      {"fieldSelector", options.field_selector},
      {"limit", std::to_string(options.limit)},
      {"continue", options.continue_token}};
  CHECK(query.size() == meant.size());
  for (std::size_t i = 0; i < meant.size(); ++i) {
    const std::size_t equals = query[i].find('=');
    fuzz::CheckSame(query[i].substr(0, equals), meant[i].first);
    fuzz::CheckSame(Unescape(query[i].substr(equals + 1)), meant[i].second);
  }
}

namespace {

bool IsDirect(const std::string& host, const std::string& no_proxy) {
  const auto proxy = kube::ProxyFromEnvironment(
      "https://" + host + ":6443", [&](const std::string& name) -> std::optional<std::string> {
        if (name == "HTTPS_PROXY") return "http://proxy.example:3128";
        if (name == "NO_PROXY") return no_proxy;
        return std::nullopt;
      });
  CHECK(proxy);
  CHECK(proxy->empty() || *proxy == "http://proxy.example:3128");
  return proxy->empty();
}

// Whether the network, of IPv4, has the address; absent: it is no such network.
std::optional<bool> TheyHave(const std::string& network, std::uint32_t address) {
  in_addr parsed = {};
  const int bits = ::inet_net_pton(AF_INET, network.c_str(), &parsed, sizeof parsed);
  const std::vector<std::string> bytes = Split(network.substr(0, network.find('/')), '.');
  const bool is_whole = bits >= 0 && bytes.size() == 4 && network.find('/') != std::string::npos;
  if (!is_whole || !std::ranges::all_of(bytes, [](const std::string& byte) {
        return byte == "0" || (!byte.starts_with('0') && !byte.empty());
      })) {
    return std::nullopt;
  }
  const std::uint32_t mask = bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits);
  return (ntohl(parsed.s_addr) & mask) == (address & mask);
}

}  // namespace

// NO_PROXY (S10):
//  - a list excludes what one of its entries excludes, in whatever order they stand;
//  - a network of IPv4 excludes those addresses that the C library finds in it.
FUZZ_TARGET(no_proxy, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  const auto address = input.ConsumeIntegral<std::uint32_t>();
  const in_addr as_they_have_it = {.s_addr = htonl(address)};
  const std::string ip = ::inet_ntoa(as_they_have_it);
  const std::string host =
      input.ConsumeBool() ? ip : input.PickValueInArray({"api.example.com", "[fd00::1]", "x"});
  const std::string list = input.ConsumeRemainingBytesAsString().c_str();  // A variable has no NUL.

  const bool is_direct = IsDirect(host, list);
  std::vector<std::string> entries = Split(list, ',');
  const bool is_loopback = IsDirect(host, "");
  CHECK(!is_loopback || is_direct);
  const bool any =
      std::ranges::any_of(entries, [&](const std::string& entry) { return IsDirect(host, entry); });
  CHECK(is_direct == (any || is_loopback));
  std::ranges::reverse(entries);
  std::string reversed;
  for (const std::string& entry : entries) reversed += entry + ",";
  CHECK(IsDirect(host, reversed) == is_direct);

  if (host != ip || is_loopback || entries.size() != 1) return;
  if (const std::optional<bool> theirs = TheyHave(list, address)) CHECK(is_direct == *theirs);
}
