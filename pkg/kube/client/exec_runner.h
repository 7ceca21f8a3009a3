// Runs exec plugins, each on a thread of its own for as long as somebody uses what it prints. A
// kubeconfig that is read again finds its plugin running: reading is no reason to run it.
//
// Thread-safe. `clock` and `logger` outlive it and the credentials that it gave.
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
  // `environment` is that of the process, as "NAME=value". `patience` is how long a caller waits
  // for the first answer of a plugin, which has a minute: as long as its thread can be spared.
  ExecRunner(std::vector<std::string> environment, std::chrono::milliseconds patience,
             const base::Clock& clock, base::Logger& logger);

  struct User {
    std::shared_ptr<http::Credentials> credentials = {};  // Their plugin runs as long.
    std::string client_certificate_pem = {};              // As of now; empty: none.
    std::string client_key_pem = {};
  };
  // kInvalid: what is wrong with the plugin, or what it did. kUnavailable: ask again.
  [[nodiscard]] base::Result<User> Get(const ExecPlugin& plugin);

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
