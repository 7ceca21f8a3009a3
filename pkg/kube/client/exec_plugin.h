// Exec plugins: programs that print a user's credentials for a kubeconfig.
//
// All functions but RunExecPlugin() are pure. Errors name the file, user, field and fix. They
// contain the last line of the plugin's stderr, which is for people, but nothing of its stdout,
// which is secret.
// Source: the API client.authentication.k8s.io, v1 and v1beta1.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/http/endpoint.h"
#include "pkg/kube/client/kubeconfig.h"

namespace kube {

struct ExecPlugin {
  std::string where = {};  // `/path: users[2] "admin": exec`, for messages.
  std::string api_version = {};
  std::string command = {};  // A path if it has a '/', otherwise a name in PATH.
  std::vector<std::string> arguments = {};
  // Added to those of the process.
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::string install_hint = {};
  std::string info = {};  // Value of KUBERNETES_EXEC_INFO. Empty if not set.

  // Returns all fields as one text. Plugins with equal texts print the same credentials.
  std::string Identity() const;
};

struct ExecCredential {
  std::string token = {};  // Empty if there is only a certificate.
  std::string client_certificate_pem = {};
  std::string client_key_pem = {};  // Matches the certificate. Empty if that is empty.
  std::optional<base::Clock::WallTime> expires_at = {};
};

// Reads the field `exec` of `user`. If the plugin asks for cluster information, it gets `cluster`
// and `endpoint`.
base::Result<ExecPlugin> ReadExecPlugin(const Kubeconfig::Entry& user,
                                        const Kubeconfig::Entry& cluster,
                                        const http::Endpoint& endpoint);

// Decodes the output of a plugin with this API version. Returns kInvalid if it is invalid. The
// message continues a sentence that starts with the plugin: "printed ...".
base::Result<ExecCredential> DecodeExecCredential(std::string_view printed,
                                                  const std::string& api_version,
                                                  base::Clock::WallTime now);

// Runs the plugin once, for at most one minute. `environment` is that of the process, as
// "NAME=value".
base::Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin,
                                           const std::vector<std::string>& environment,
                                           const base::Clock& clock, const std::stop_token& stop);

}  // namespace kube
