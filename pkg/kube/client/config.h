// Finds the API server and the credentials, as kubectl and client-go do.
//
// Order: the path of --kubeconfig; $KUBECONFIG, a colon-separated list of files that are merged
// (the first file that sets a value wins); the pod's ServiceAccount; ~/.kube/config. If a context
// is named, the ServiceAccount is skipped, because a context is in a kubeconfig. Every error names
// the file, the field and the fix.
//
// A user with an exec plugin gets the credentials that the plugin prints, renewed while they are
// used (see exec_runner.h). Rejected: users with auth-provider or with a password, and
// impersonation. cdom does not implement impersonation; to ignore it would give more permissions
// than the user asked for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/http/endpoint.h"

namespace kube {

class ExecRunner;

struct ConfigSource {
  std::string kubeconfig = {};  // Path from the flag. Empty if not given.
  std::string context = {};     // Name of a context. Empty for current-context.
  // Reads an environment variable. A parameter, so that tests do not depend on the process. If
  // empty, no variable is set.
  std::function<std::optional<std::string>(const std::string& name)> environment = {};
  std::string service_account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";
  ExecRunner* exec = nullptr;  // Runs exec plugins. If null, users with a plugin are rejected.
};

struct ClientConfig {
  http::Endpoint endpoint = {};
  std::shared_ptr<http::Credentials> credentials = {};  // Never null.
  std::string ns = "default";                           // Of the context or the pod.
  std::string source = {};  // "kubeconfig /path, context x" or "in-cluster", for the log.
};

// Returns kInvalid if it finds no configuration, or an invalid one; kUnavailable if an exec plugin
// has not answered yet: call again. Reads files. Waits for the first run of a plugin, as long as
// the runner allows. `clock` outlives the credentials.
base::Result<ClientConfig> LoadConfig(const ConfigSource& source, const base::Clock& clock);

}  // namespace kube
