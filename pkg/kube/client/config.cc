#include "pkg/kube/client/config.h"

#include <filesystem>
#include <sstream>
#include <system_error>
#include <vector>

#include "pkg/base/file.h"
#include "pkg/kube/client/kubeconfig.h"
#include "pkg/kube/client/kubeconfig_reader.h"
#include "pkg/kube/client/proxy.h"
#include "pkg/kube/client/token_file.h"
#include "pkg/tls/pem.h"

namespace kube {
namespace {

using base::Result;

constexpr std::size_t kFileBytesMax = 1U << 20;
constexpr std::size_t kNamespaceBytesMax = 4096;

std::string Variable(const ConfigSource& source, const std::string& name) {
  return source.environment ? source.environment(name).value_or("") : "";
}

std::string Trimmed(const std::string& text) {
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::vector<std::string> SplitPaths(const std::string& list) {
  std::vector<std::string> paths;
  std::istringstream stream(list);
  for (std::string path; std::getline(stream, path, ':');) {
    if (!path.empty()) paths.push_back(path);
  }
  return paths;
}

// All codes become kInvalid: whatever the cause, a person has to fix it.
base::Error AsInvalid(base::Error error) {
  error.code = base::ErrorCode::kInvalid;
  return error;
}

// `given_by` is the flag or variable that names the file.
Result<ClientConfig> FromFile(const std::string& path, const std::string& given_by,
                              const ConfigSource& source, const base::Clock& clock) {
  const std::string text = TRY(
      base::ReadFile(path, kFileBytesMax).map_error(AsInvalid).map_error(base::While(given_by)));
  const Kubeconfig kubeconfig = TRY(ParseKubeconfig(text, path));
  return ReadKubeconfig(kubeconfig, path, source, clock);
}

// Skips files that are missing or empty, as kubectl does.
Result<ClientConfig> FromFiles(const std::string& list, const ConfigSource& source,
                               const base::Clock& clock) {
  Kubeconfig merged;
  bool found = false;
  for (const std::string& path : SplitPaths(list)) {
    const Result<std::string> text = base::ReadFile(path, kFileBytesMax);
    if (!text && text.error().code == base::ErrorCode::kNotFound) continue;
    if (!text) return tl::unexpected(base::While("$KUBECONFIG")(AsInvalid(text.error())));
    if (Trimmed(*text).empty()) continue;
    Merge(merged, TRY(ParseKubeconfig(*text, path)));
    found = true;
  }
  if (!found) {
    return base::Invalid("$KUBECONFIG is " + list +
                         ", where no file exists that says anything;"
                         " correct it or unset it");
  }
  return ReadKubeconfig(merged, list, source, clock);
}

bool IsInCluster(const ConfigSource& source) {
  return !Variable(source, "KUBERNETES_SERVICE_HOST").empty() &&
         !Variable(source, "KUBERNETES_SERVICE_PORT").empty() &&
         Exists(source.service_account_folder + "/token");
}

Result<ClientConfig> FromServiceAccount(const ConfigSource& source, const base::Clock& clock) {
  const std::string folder = source.service_account_folder;
  const std::string host = Variable(source, "KUBERNETES_SERVICE_HOST");
  const bool is_ipv6 = host.find(':') != std::string::npos && !host.starts_with('[');
  ClientConfig config;
  config.source = "in-cluster";
  config.endpoint.url = "https://" + (is_ipv6 ? "[" + host + "]" : host) + ":" +
                        Variable(source, "KUBERNETES_SERVICE_PORT");
  TRY(CheckServerUrl(config.endpoint.url)
          .map_error(base::While("$KUBERNETES_SERVICE_HOST and _PORT")));
  config.endpoint.proxy_url = TRY(ProxyFromEnvironment(config.endpoint.url, source.environment));
  config.endpoint.ca_pem =
      TRY(base::ReadFile(folder + "/ca.crt", kFileBytesMax).map_error(AsInvalid));
  TRY(tls::CheckCertificates(config.endpoint.ca_pem).map_error(base::While(folder + "/ca.crt")));
  const std::string token = TRY(ReadTokenFile(folder + "/token").map_error(AsInvalid));
  config.credentials = std::make_unique<TokenFile>(folder + "/token", token, clock);
  const Result<std::string> ns = base::ReadFile(folder + "/namespace", kNamespaceBytesMax);
  if (ns && !Trimmed(*ns).empty()) config.ns = Trimmed(*ns);
  return config;
}

}  // namespace

Result<ClientConfig> LoadConfig(const ConfigSource& source, const base::Clock& clock) {
  if (!source.kubeconfig.empty()) return FromFile(source.kubeconfig, "--kubeconfig", source, clock);
  const std::string list = Variable(source, "KUBECONFIG");
  if (!list.empty()) return FromFiles(list, source, clock);
  if (source.context.empty() && IsInCluster(source)) return FromServiceAccount(source, clock);
  const std::string home = Variable(source, "HOME") + "/.kube/config";
  if (Exists(home)) return FromFile(home, "$HOME", source, clock);
  return base::Invalid("no API server is known: --kubeconfig and $KUBECONFIG are not given, " +
                       std::string(source.context.empty()
                                       ? "this is not a pod with a ServiceAccount token in " +
                                             source.service_account_folder
                                       : "a context is asked for, which a pod does not have") +
                       ", and " + home + " does not exist; give --kubeconfig");
}

}  // namespace kube
