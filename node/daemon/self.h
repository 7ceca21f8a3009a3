// Who a daemon is: what its container was given.
#pragma once

#include <string>

#include "pkg/kube/api/meta.h"

namespace imexd {

struct Self {
  std::string domain = {};  // UID of the ComputeDomain.
  std::string clique = {};  // "<uuid>.<n>"; empty: no fabric here, so no IMEX.
  std::string node = {};
  std::string ip = {};  // Of the pod.
  kube::ObjectKey pod = {};
  kube::Uid pod_uid = {};
  int nodes_max = 18;  // Of the clique.

  [[nodiscard]] kube::ObjectKey CliqueKey() const {
    return {.ns = pod.ns, .name = domain + "." + clique};
  }
};

}  // namespace imexd
