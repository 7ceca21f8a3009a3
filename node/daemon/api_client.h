// A daemon's connection to the API server: watches, and writes.
//
// It sends one write at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "controller/api/types.h"
#include "node/daemon/identity.h"
#include "node/daemon/writes.h"
#include "pkg/base/log.h"
#include "pkg/base/system_random.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/cache/store.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/runtime/api_session.h"

namespace imex_daemon {

class DaemonApiClient {
 public:
  // `on_change` is called on another thread. The arguments must outlive the client.
  DaemonApiClient(kube::ClientConfig config, const DaemonIdentity& self, const base::Clock& clock,
                  base::Logger& logger, std::function<void()> on_change);

  const kube::ClientConfig& config() const { return session_.config(); }

  // Begins to watch the clique and, if `pod_too`, the daemon's pod. Call it once.
  void Watch(bool pod_too);
  // State as of the watches. False and null until they are read. Thread-safe.
  bool clique_read() const { return clique_read_; }
  std::shared_ptr<const api::Clique> clique() const { return cliques_.Get(self_.CliqueKey()); }
  bool pod_ready() const;

  // `done` is called on another thread.
  void SendWrite(const WriteOrder& order, std::function<void(base::Result<Written>)> done);

 private:
  const DaemonIdentity& self_;
  const std::function<void()> on_change_;
  base::SystemRandom random_;
  kube::Store<api::Clique> cliques_;
  kube::Store<api::DaemonPod> pods_;
  kube::Reflector clique_reflector_;
  kube::Reflector pod_reflector_;
  std::atomic<bool> clique_read_ = false;
  // Last: they use the other members.
  kube::ThreadedApiSession session_;
  kube::ApiSession::WatchHandle watch_;
};

}  // namespace imex_daemon
