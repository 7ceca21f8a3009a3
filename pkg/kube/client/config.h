// Finds the API server and the credentials, as kubectl and client-go do.
//
// Order: the path given by --kubeconfig; $KUBECONFIG (a colon-separated list, merged: the first
// file to set something wins); the pod's ServiceAccount; ~/.kube/config. A context that is asked
// for by name is in a kubeconfig, so the ServiceAccount is then left out. Every error names the
// file, the field and the fix.
//
// A user of an exec plugin has the credentials that it prints, kept fresh as long as they are used
// (see exec_runner.h). Refused rather than half done: auth-provider users, a user name with a
// password, and impersonation, which would otherwise act with more rights than were asked for.
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
  std::string kubeconfig = {};  // The flag; empty: not given.
  std::string context = {};     // Empty: current-context.
  // Passed in, so that tests do not depend on the process. Absent: no variable is set.
  std::function<std::optional<std::string>(const std::string& name)> environment = {};
  std::string service_account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";
  ExecRunner* exec = nullptr;  // Runs exec plugins; nullptr: users that need one are refused.
};

struct ClientConfig {
  http::Endpoint endpoint = {};
  std::shared_ptr<http::Credentials> credentials = {};  // Never nullptr.
  std::string ns = "default";                           // The context's, or the pod's.
  std::string source = {};  // "kubeconfig /path, context x" or "in-cluster", for the log.
};

// kInvalid: nothing usable was found, or what was found is wrong. kUnavailable: an exec plugin
// takes its time; ask again. Reads files, and waits for a plugin that runs for the first time, for
// as long as the runner does; `clock` outlives the credentials.
[[nodiscard]] base::Result<ClientConfig> LoadConfig(const ConfigSource& source,
                                                    const base::Clock& clock);

}  // namespace kube
