// Takes the finalizer of ComputeDomains off everything that holds it. For uninstalling: afterwards
// nothing waits for a controller that is gone.
//
// It deletes nothing. Every write names the incarnation and version of the object that was read, so
// that it may be repeated at any time. Bounds: one request in flight, 1000 pages of 500 objects for
// each kind, a few attempts for each object, two minutes for the Leases.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/meta.h"

namespace uninstall {

struct UninstallOptions {
  std::vector<std::string> driver_namespaces = {};  // Where DaemonSets are looked for.
  // By which controllers may lead, in one namespace; that of this cluster's controller first.
  std::vector<kube::ObjectKey> leases = {};
  bool force = false;    // Do not look at Leases.
  bool dry_run = false;  // Say what would be done, and write nothing.
};

// What the command needs of the world.
struct World {
  http::Transport& transport;
  std::function<void(std::chrono::seconds)> wait = {};    // Returns when they have passed.
  std::function<void(const std::string& line)> say = {};  // One line for each object.
};

// kConflict: a controller leads, and would put the finalizers back, or there is no Lease that could
// say that none does; nothing was done. Where the namespace of the Leases does not exist, or is
// being deleted, the Leases of all namespaces count, and none is needed. Anything else: what could
// not be read or released, after everything that could.
[[nodiscard]] base::Result<void> ReleaseFinalizers(const UninstallOptions& options,
                                                   const World& world);

}  // namespace uninstall
