// Runs exec plugins, each on a thread while its credentials are used.
//
// A kubeconfig that is read again finds its plugin running, and does not start another run.
//
// Thread-safe. `clock` and `logger` outlive the runner and the credentials that it returned.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/base/result.h"
#include "pkg/http/endpoint.h"
#include "pkg/kube/client/exec_plugin.h"

namespace kube {

class ExecRunner {
 public:
  // `environment` is that of the process, as "NAME=value". `patience` is how long Get() waits for
  // the first answer of a plugin. The plugin itself has one minute.
  ExecRunner(std::vector<std::string> environment, std::chrono::milliseconds patience,
             const base::Clock& clock, base::Logger& logger);

  struct User {
    // The plugin keeps running while these exist.
    std::shared_ptr<http::Credentials> credentials = {};
    std::string client_certificate_pem = {};  // The current one. Empty if none.
    std::string client_key_pem = {};
  };
  // Returns kInvalid if the plugin is invalid or failed; kUnavailable if it has not answered yet:
  // call again.
  base::Result<User> Get(const ExecPlugin& plugin);

 private:
  struct Running;
  using All = std::map<std::string, std::shared_ptr<Running>>;  // By Identity().

  const std::vector<std::string> environment_;
  const std::chrono::milliseconds patience_;
  const base::Clock& clock_;
  base::Logger& logger_;
  base::Guarded<All> all_;
};

}  // namespace kube
