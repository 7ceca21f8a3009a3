// The identity of a daemon, from its container's environment.
#pragma once

#include <string>

#include "node/imex/names.h"
#include "pkg/kube/api/meta.h"

namespace imex_daemon {

struct DaemonIdentity {
  std::string domain = {};  // UID of the ComputeDomain.
  std::string clique = {};  // "<uuid>.<n>". Empty if the node has no fabric, and so no IMEX.
  std::string node = {};
  std::string ip = {};  // Address of the pod.
  kube::ObjectKey pod = {};
  kube::Uid pod_uid = {};
  int nodes_max = 18;                                          // Capacity of the clique.
  std::string name_prefix = std::string(imex::kSharedPrefix);  // Of IMEX's node names.

  imex::NodeNames Names() const { return {.prefix = name_prefix, .count = nodes_max}; }
  kube::ObjectKey CliqueKey() const { return {.ns = pod.ns, .name = domain + "." + clique}; }
};

}  // namespace imex_daemon
