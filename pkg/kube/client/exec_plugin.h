// Exec plugins: programs that a kubeconfig names, and that print a user's credentials.
//
// All but RunExecPlugin() is pure. Errors name file, user, field and fix. None repeats what a
// plugin printed, which is secret; the last line that it wrote to stderr, which is for people, is
// in them. Source: the API client.authentication.k8s.io, v1 and v1beta1.
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
  std::string command = {};  // A path if it has a '/', else a name to look for in PATH.
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> variables = {};  // Beside those of the process.
  std::string install_hint = {};
  std::string info = {};  // KUBERNETES_EXEC_INFO.

  // All of it in one text: plugins of an equal one print the same.
  [[nodiscard]] std::string Identity() const;
};

struct ExecCredential {
  std::string token = {};  // Empty: there is a certificate.
  std::string client_certificate_pem = {};
  std::string client_key_pem = {};  // Is that of the certificate, or empty with it.
  std::optional<base::Clock::WallTime> expires_at = {};
};

// The field `exec` of `user`. `cluster` and what was made of it are what the plugin is told of, if
// it wants to be.
[[nodiscard]] base::Result<ExecPlugin> ReadExecPlugin(const Kubeconfig::Entry& user,
                                                      const Kubeconfig::Entry& cluster,
                                                      const http::Endpoint& endpoint);

// What a plugin of that API version printed. kInvalid, as the end of a sentence that begins with
// the plugin: "printed ...".
[[nodiscard]] base::Result<ExecCredential> DecodeExecCredential(std::string_view printed,
                                                                const std::string& api_version,
                                                                base::Clock::WallTime now);

// Runs it once, for a minute at most. `environment` is the process's, as "NAME=value".
[[nodiscard]] base::Result<ExecCredential> RunExecPlugin(
    const ExecPlugin& plugin, const std::vector<std::string>& environment, const base::Clock& clock,
    const std::stop_token& stop);

}  // namespace kube
