#include "pkg/kube/client/kubeconfig_reader.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <utility>

#include "pkg/base/file.h"
#include "pkg/kube/client/exec_plugin.h"
#include "pkg/kube/client/exec_runner.h"
#include "pkg/kube/client/proxy.h"
#include "pkg/kube/client/token_file.h"
#include "pkg/kube/client/url.h"
#include "pkg/tls/pem.h"

namespace kube {
namespace {

using base::Invalid, base::Result;
using Entry = Kubeconfig::Entry;

constexpr std::size_t kPemBytesMax = 1U << 20;

// A token that never changes. Empty if there is none.
class StaticToken final : public http::Credentials {
 public:
  explicit StaticToken(std::string token) : token_(std::move(token)) {}
  std::string BearerToken() override { return token_; }
  void Invalidate() override {}
  std::string Source() const override { return "token " + token_; }

 private:
  const std::string token_;
};

tl::unexpected<base::Error> FieldFails(const Entry& entry, const std::string& field,
                                       const std::string& message) {
  return Invalid(entry.where + ": " + field + ": " + message);
}

// For map_error: adds the same prefix to an error from elsewhere.
auto In(const Entry& entry, const std::string& field) {
  return [prefix = entry.where + ": " + field + ": "](const base::Error& error) {
    return base::Error{.code = base::ErrorCode::kInvalid, .message = prefix + error.message};
  };
}

std::string PathOf(const Entry& entry, const std::string& field) {
  return std::filesystem::path(entry.folder) / entry.Text(field);
}

// A text and the field that it came from.
struct Content {
  std::string field;
  std::string text;  // Empty if neither form is set.
};

// Returns `field`-data if it is set, else the content of the file that `field` names.
Result<Content> DataOrFile(const Entry& entry, const std::string& field) {
  const std::string data_field = field + "-data";
  if (const std::string data = entry.Text(data_field); !data.empty()) {
    std::string text = TRY(tls::DecodeBase64(data).map_error(In(entry, data_field)));
    if (text.empty()) return FieldFails(entry, data_field, "nothing in it");
    return Content{.field = data_field, .text = std::move(text)};
  }
  if (entry.Text(field).empty()) return Content{.field = field, .text = {}};
  std::string text =
      TRY(base::ReadFile(PathOf(entry, field), kPemBytesMax).map_error(In(entry, field)));
  if (text.empty()) return FieldFails(entry, field, PathOf(entry, field) + " is empty");
  return Content{.field = field, .text = std::move(text)};
}

Result<bool> Flag(const Entry& entry, const std::string& field) {
  std::string text = entry.Text(field);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  if (text == "true") return true;
  if (text.empty() || text == "false") return false;
  return FieldFails(entry, field, "write true or false");
}

Result<void> ReadProxy(const Entry& cluster, const Environment& environment,
                       http::Endpoint& endpoint) {
  const std::string own = cluster.Text("proxy-url");
  endpoint.proxy_url = own.empty() ? TRY(ProxyFromEnvironment(endpoint.url, environment))
                                   : TRY(CheckProxyUrl(own).map_error(In(cluster, "proxy-url")));
  return {};
}

Result<http::Endpoint> ReadCluster(const Entry& cluster, const Environment& environment) {
  http::Endpoint endpoint = {.url = cluster.Text("server")};
  if (endpoint.url.empty()) {
    return FieldFails(cluster, "server", "missing; write https://host:port");
  }
  TRY(CheckServerUrl(endpoint.url).map_error(In(cluster, "server")));
  TRY(ReadProxy(cluster, environment, endpoint));

  endpoint.tls_server_name = cluster.Text("tls-server-name");
  const bool is_name = std::ranges::all_of(endpoint.tls_server_name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
  });
  if (!is_name) return FieldFails(cluster, "tls-server-name", "not the name of a host");

  endpoint.insecure = TRY(Flag(cluster, "insecure-skip-tls-verify"));
  const Content ca = TRY(DataOrFile(cluster, "certificate-authority"));
  if (ca.text.empty()) return endpoint;
  if (endpoint.insecure) {
    return FieldFails(cluster, "insecure-skip-tls-verify",
                      "cannot be true together with " + ca.field + "; remove one");
  }
  TRY(tls::CheckCertificates(ca.text).map_error(In(cluster, ca.field)));
  endpoint.ca_pem = ca.text;
  return endpoint;
}

Result<void> ReadClientCertificate(const Entry& user, http::Endpoint& endpoint) {
  const Content certificate = TRY(DataOrFile(user, "client-certificate"));
  const Content key = TRY(DataOrFile(user, "client-key"));
  if (certificate.text.empty() && key.text.empty()) return {};
  if (key.text.empty()) {
    return FieldFails(user, certificate.field, "its client-key or client-key-data is missing");
  }
  if (certificate.text.empty()) {
    return FieldFails(user, key.field,
                      "its client-certificate or client-certificate-data is missing");
  }
  TRY(tls::CheckCertificates(certificate.text).map_error(In(user, certificate.field)));
  TRY(tls::CheckPair(certificate.text, key.text).map_error(In(user, key.field)));
  endpoint.client_certificate_pem = certificate.text;
  endpoint.client_key_pem = key.text;
  return {};
}

// Kubernetes has removed gcp and azure, and recommends plugins instead.
Result<void> RefuseAuthProvider(const Entry& user) {
  if (!user.Has("auth-provider")) return {};
  const json::Value provider = user.Structure("auth-provider");
  const std::string& name = provider["name"].AsString();
  std::string plugin = "with a plugin";
  if (name == "gcp") {
    plugin =
        "with gke-gcloud-auth-plugin, as `gcloud container clusters get-credentials` writes it";
  } else if (name == "azure") {
    plugin = "with kubelogin, as `kubelogin convert-kubeconfig` writes it";
  } else if (name == "oidc") {
    plugin = "with `kubectl oidc-login get-token`";
  }
  return FieldFails(user, "auth-provider", "not supported; in its place use exec " + plugin);
}

// Refuses fields that would change the user's identity if they were ignored.
Result<void> RefuseWhatIsNotSupported(const Entry& user, bool has_static_credentials) {
  for (const char* field : {"as", "as-uid", "as-groups", "as-user-extra"}) {
    if (user.Has(field)) {
      return FieldFails(
          user, field, "impersonation is not supported yet; use a user with the rights themselves");
    }
  }
  for (const char* field : {"username", "password"}) {
    if (user.Has(field)) {
      return FieldFails(user, field,
                        "a password is not supported; use token, tokenFile or client-certificate");
    }
  }
  if (has_static_credentials) return {};  // These come first in client-go, too.
  return RefuseAuthProvider(user);
}

// What the user's plugin prints completes the endpoint.
Result<std::shared_ptr<http::Credentials>> ReadExecUser(const Entry& user, const Entry& cluster,
                                                        ExecRunner* runner,
                                                        http::Endpoint& endpoint) {
  const ExecPlugin plugin = TRY(ReadExecPlugin(user, cluster, endpoint));
  if (runner == nullptr) {
    return FieldFails(user, "exec",
                      "this program runs no plugins; use token, tokenFile or client-certificate");
  }
  ExecRunner::User ran = TRY(runner->Get(plugin));
  endpoint.client_certificate_pem = std::move(ran.client_certificate_pem);
  endpoint.client_key_pem = std::move(ran.client_key_pem);
  return std::move(ran.credentials);
}

Result<std::shared_ptr<http::Credentials>> ReadUser(const Entry& user, const Entry& cluster,
                                                    ExecRunner* runner, http::Endpoint& endpoint,
                                                    const base::Clock& clock) {
  TRY(ReadClientCertificate(user, endpoint));
  const std::string static_token = user.Text("token");
  const bool has_file = !user.Text("tokenFile").empty();
  TRY(RefuseWhatIsNotSupported(
      user, has_file || !static_token.empty() || !endpoint.client_key_pem.empty()));
  if (has_file) {
    const std::string path = PathOf(user, "tokenFile");
    const std::string token = TRY(ReadTokenFile(path).map_error(In(user, "tokenFile")));
    return std::make_unique<TokenFile>(path, token, clock);
  }
  const bool has_exec = user.Has("exec") && endpoint.client_key_pem.empty();
  if (static_token.empty() && has_exec) return ReadExecUser(user, cluster, runner, endpoint);
  if (static_token.empty()) return std::make_unique<StaticToken>("");
  const std::string token = TRY(CheckToken(static_token).map_error(In(user, "token")));
  return std::make_unique<StaticToken>(token);
}

// Returns the entry that `field` of `context` names.
Result<Entry> Referred(const Entry& context, const std::string& field,
                       const Kubeconfig::Entries& entries) {
  const std::string name = context.Text(field);
  const auto it = entries.find(name);
  if (it != entries.end()) return it->second;
  return FieldFails(context, field,
                    name.empty() ? "missing; there are: " + Names(entries)
                                 : "\"" + name + "\" does not exist; there are: " + Names(entries));
}

Result<std::string> PickContext(const Kubeconfig& kubeconfig, const std::string& label,
                                const std::string& asked_for) {
  std::string name = asked_for.empty() ? kubeconfig.current_context : asked_for;
  const std::string there_are = "; there are: " + Names(kubeconfig.contexts);
  if (name.empty()) {
    return Invalid(label +
                   ": current-context: not set; give --context or run"
                   " `kubectl config use-context`" +
                   there_are);
  }
  if (kubeconfig.contexts.contains(name)) return name;
  return Invalid(label + ": " + (asked_for.empty() ? "current-context" : "context") + ": \"" +
                 name + "\" does not exist" + there_are);
}

}  // namespace

Result<void> CheckServerUrl(const std::string& url) {
  const Result<Url> parsed = ParseUrl(url);
  const bool is_http = parsed && (parsed->scheme == "https" || parsed->scheme == "http");
  if (!is_http || url.find("://") == std::string::npos) {
    return Invalid("\"" + url + "\" is not the URL of a server; write https://host:port");
  }
  if (parsed->has_user) {  // The message does not repeat the password.
    return Invalid("a user in the URL is not supported; remove it");
  }
  if (parsed->has_query_or_fragment) {
    return Invalid("\"" + url + "\" has a '?' or '#'; remove it and what follows");
  }
  return {};
}

Result<ClientConfig> ReadKubeconfig(const Kubeconfig& kubeconfig, const std::string& label,
                                    const ConfigSource& source, const base::Clock& clock) {
  const std::string name = TRY(PickContext(kubeconfig, label, source.context));
  const Entry& context = kubeconfig.contexts.at(name);
  ClientConfig config;
  config.source = "kubeconfig " + label + ", context " + name;
  const Entry cluster = TRY(Referred(context, "cluster", kubeconfig.clusters));
  config.endpoint = TRY(ReadCluster(cluster, source.environment));
  // A context without a user is for a server without authentication, such as `kubectl proxy`.
  const Entry user =
      context.Text("user").empty() ? Entry() : TRY(Referred(context, "user", kubeconfig.users));
  config.credentials = TRY(ReadUser(user, cluster, source.exec, config.endpoint, clock));
  if (const std::string ns = context.Text("namespace"); !ns.empty()) config.ns = ns;
  return config;
}

}  // namespace kube
