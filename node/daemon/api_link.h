// A daemon's connection to the API server: watches, and writes, one at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "controller/api/types.h"
#include "node/daemon/identity.h"
#include "node/daemon/writes.h"
#include "pkg/base/log.h"
#include "pkg/base/system_random.h"
#include "pkg/base/worker.h"
#include "pkg/http/curl_transport.h"
#include "pkg/http/gate.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/cache/store.h"
#include "pkg/kube/client/config.h"

namespace imexd {

class ApiLink {
 public:
  // `on_change` is called on another thread. The arguments must outlive the link.
  ApiLink(kube::ClientConfig config, const DaemonIdentity& self, const base::Clock& clock,
          base::Logger& logger, std::function<void()> on_change);
  ~ApiLink();
  ApiLink(const ApiLink&) = delete;
  ApiLink& operator=(const ApiLink&) = delete;

  [[nodiscard]] const kube::ClientConfig& config() const { return config_; }

  // Begins to watch the clique and, if `pod_too`, the daemon's pod. To be called once.
  void Watch(bool pod_too);
  // As of the watches. False and null until then. Thread-safe.
  [[nodiscard]] bool clique_read() const { return clique_read_; }
  [[nodiscard]] std::shared_ptr<const api::Clique> clique() const {
    return cliques_.Get(self_.CliqueKey());
  }
  [[nodiscard]] bool pod_ready() const;

  // `done` is called on another thread.
  void Do(const WriteOrder& order, std::function<void(base::Result<Written>)> done);

 private:
  kube::ClientConfig config_;
  const DaemonIdentity& self_;
  const base::Clock& clock_;
  base::Logger& logger_;
  const std::function<void()> on_change_;
  base::SystemRandom random_;
  kube::Store<api::Clique> cliques_;
  kube::Store<api::DaemonPod> pods_;
  kube::Reflector clique_reflector_;
  std::optional<kube::Reflector> pod_reflector_;
  std::atomic<bool> clique_read_ = false;
  http::Gate gate_;
  http::CurlTransport transport_;
  // Last: they use the other members.
  base::Worker writer_;
  std::jthread watch_;
};

}  // namespace imexd
