// Uninstall command: removes the ComputeDomain finalizer from all objects.
//
// Afterwards no object waits for a controller that does not exist. It deletes nothing. Every write
// names the UID and resourceVersion that was read, so the command may be repeated at any time.
// Bounds: one request at a time; 1000 pages of 500 objects per kind; five attempts per object; two
// minutes for the Leases.
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
  std::vector<std::string> driver_namespaces = {};  // Namespaces whose DaemonSets are read.
  // Leases of possible controllers, in one namespace. The Lease of this cluster's controller is
  // first.
  std::vector<kube::ObjectKey> leases = {};
  bool force = false;    // Do not check Leases.
  bool dry_run = false;  // Only report what would be done.
};

// The command's access to the outside.
struct World {
  http::Transport& transport;
  std::function<void(std::chrono::seconds)> wait = {};    // Returns when the time has passed.
  std::function<void(const std::string& line)> say = {};  // Prints one line for each object.
};

// Fails with kConflict, before any write, if a controller leads: it would add the finalizers again.
// Also fails so if no Lease exists, because then nothing shows whether a controller leads. If the
// namespace of the Leases does not exist, or is being deleted, the Leases of all namespaces count,
// and none is needed. Any other error names an object that could not be read or released; the
// command has tried all others.
base::Result<void> ReleaseFinalizers(const UninstallOptions& options, const World& world);

}  // namespace uninstall
