// Connections of daemons with their own credentials.
//
// Each uses a token of its pod's ServiceAccount that is bound to the pod, as its kubelet would
// mount it. So permissions and policies apply to its writes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pkg/base/result.h"
#include "pkg/http/endpoint.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/meta.h"
#include "test/cluster/nodesim/action.h"
#include "test/cluster/nodesim/state.h"

namespace nodesim {

struct DaemonPod {
  kube::ObjectKey key = {};
  kube::Uid uid = {};
};

// Returns the daemon that makes this write. Empty if a kubelet or plugin does.
std::optional<DaemonPod> DaemonOf(const Action& action, const NodeState& node);

// The connection of a node's daemon. If there are several, of the last writer. Not thread-safe.
class DaemonAccount {
 public:
  explicit DaemonAccount(http::Endpoint endpoint);
  ~DaemonAccount();
  DaemonAccount(const DaemonAccount&) = delete;
  DaemonAccount& operator=(const DaemonAccount&) = delete;

  // Sends a request as this daemon. Uses `kubelet` to request a token if it has no valid token.
  base::Result<http::Response> Send(const DaemonPod& daemon, const http::Request& request,
                                    http::Transport& kubelet);

 private:
  struct Connection;

  http::Endpoint endpoint_;
  kube::Uid daemon_ = {};
  std::unique_ptr<Connection> connection_;  // Of `daemon_`.
};

}  // namespace nodesim
