#include "pkg/kube/client/proxy.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace kube {
namespace {

using base::Result;
using Variables = std::map<std::string, std::string>;

std::string ProxyOf(const std::string& url, const Variables& variables) {
  const Result<std::string> proxy =
      ProxyFromEnvironment(url, [&](const std::string& name) -> std::optional<std::string> {
        const auto it = variables.find(name);
        if (it == variables.end()) return std::nullopt;
        return it->second;
      });
  return proxy ? *proxy : "error: " + proxy.error().message;
}

TEST(Proxy, KC4_VariableOfTheSchemeCountsUpperCaseFirst) {
  struct Row {
    std::string url;
    Variables variables;
    std::string want;
  };
  const std::vector<Row> rows = {
      {"https://a", {}, ""},
      {"https://a", {{"HTTPS_PROXY", "http://p:1"}}, "http://p:1"},
      {"https://a", {{"https_proxy", "http://p:1"}}, "http://p:1"},
      {"https://a", {{"HTTPS_PROXY", "http://p:1"}, {"https_proxy", "http://q:1"}}, "http://p:1"},
      {"https://a", {{"HTTP_PROXY", "http://p:1"}}, ""},
      {"http://a", {{"HTTP_PROXY", "http://p:1"}}, "http://p:1"},
      {"http://a", {{"HTTPS_PROXY", "http://p:1"}}, ""},
      {"https://a", {{"HTTPS_PROXY", "p:1"}}, "http://p:1"},
      {"https://a", {{"HTTPS_PROXY", "socks5://p:1"}}, "socks5://p:1"},
      {"https://a", {{"HTTPS_PROXY", "p:1"}, {"no_proxy", "a"}}, ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ProxyOf(row.url, row.variables), row.want) << row.url << " -> " << row.want;
  }
}

TEST(Proxy, KC4_NoProxyNamesHostsDomainsAddressesAndNetworks) {
  struct Row {
    std::string url;
    std::string no_proxy;
    bool direct;
  };
  const std::vector<Row> rows = {
      {"https://a.example", "", false},
      {"https://a.example", "*", true},
      {"https://a.example", "b.example, a.example", true},
      {"https://A.EXAMPLE", "a.Example", true},
      {"https://a.example", "example", true},
      {"https://ba.example", "a.example", false},
      {"https://a.example", ".a.example", false},
      {"https://b.a.example", ".a.example", true},
      {"https://b.a.example", "*.a.example", true},
      {"https://a.example", "*.a.example", false},
      {"https://a.example:6443", "a.example:6443", true},
      {"https://a.example:6443", "a.example:443", false},
      {"https://a.example", "a.example:443", true},
      {"https://10.1.2.3:6443", "10.1.2.3", true},
      {"https://10.1.2.3:6443", "10.1.2.4", false},
      {"https://10.1.2.3:6443", "10.1.0.0/16", true},
      {"https://10.1.2.3:6443", "10.2.0.0/16", false},
      {"https://10.1.2.3:6443", "10.1.2.3:6443", true},
      {"https://10.1.2.3:6443", "10.1.2.3:443", false},
      {"https://10.1.2.3", "10.1.0.0/99", false},
      {"https://10.1.2.3", "10.1.0.0/x", false},
      {"https://10.1.2.3", "10.1.0.0/2147483647", false},
      {"https://10.1.2.3", "10.1.0.0/-2147483648", false},
      {"https://10.1.2.3", "0.0.0.0/0", true},
      {"https://[fd00::1]:6443", "fd00::/8", true},
      {"https://[fd00::1]:6443", "[fd00::1]:6443", true},
      {"https://[fd00::1]:6443", "fd00:0::1", true},
      {"https://[fd00::1]:6443", "fd00::2", false},
      {"https://localhost:6443", "", true},
      {"https://127.0.0.1:6443", "", true},
      {"https://127.9.9.9:6443", "", true},
      {"https://[::1]:6443", "", true},
      {"https://128.0.0.1:6443", "", false},
      {"https://a.example", " , ,,.", false},
      {"https://a.example", "[,[]:,:,*.,/,/8", false},
  };
  for (const Row& row : rows) {
    const Variables variables = {{"HTTPS_PROXY", "http://p:1"}, {"NO_PROXY", row.no_proxy}};
    EXPECT_EQ(ProxyOf(row.url, variables).empty(), row.direct)
        << row.url << " with NO_PROXY=" << row.no_proxy;
  }
}

TEST(Proxy, WrongProxyIsAnErrorThatNamesTheVariableAndNotThePassword) {
  const std::string error = ProxyOf("https://a", {{"HTTPS_PROXY", "gopher://me:canary@p"}});
  EXPECT_TRUE(error.starts_with("error: $HTTPS_PROXY: not the URL of a proxy")) << error;
  EXPECT_EQ(error.find("canary"), std::string::npos);
}

}  // namespace
}  // namespace kube
