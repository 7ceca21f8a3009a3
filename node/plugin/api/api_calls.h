// The plugin's requests to the API server, as blocking calls over any Transport.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "node/plugin/rules/claim.h"
#include "node/plugin/rules/resource_slice.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/meta.h"

namespace plugin {

// Returns kNotFound if there is no claim of that name, or if its UID differs.
base::Result<ClaimToPrepare> ReadClaim(http::Transport& transport, SliceApi version,
                                       const kube::ObjectKey& key, const std::string& uid);

// Returns whether that claim exists. An answer that proves neither, such as a proxy's 404, is an
// error.
base::Result<bool> ClaimExists(http::Transport& transport, SliceApi version,
                               const kube::ObjectKey& key, const std::string& uid);

// Lists all claims, page by page, and returns those that hold a device of this driver and node.
base::Result<std::vector<ClaimToPrepare>> ReadClaimsOf(http::Transport& transport, SliceApi version,
                                                       const std::string& node);

// Returns the UIDs of the domains in the namespace, or of all if `ns` is empty.
base::Result<std::set<std::string>> ReadDomains(http::Transport& transport, const std::string& ns);

// Returns whether the node's entry in the clique is Ready. False if it has none.
bool IsReadyIn(const api::Clique& clique, const std::string& node);
// Reads the clique live, and returns the same. False if the clique does not exist.
base::Result<bool> ReadIsReady(http::Transport& transport, const kube::ObjectKey& key,
                               const std::string& node);

// Returns the container runtime and its version in the node's status: "containerd://2.1.4".
base::Result<std::string> ReadRuntime(http::Transport& transport, const std::string& node);

// A change of one label of a node. An empty value means that the label is absent.
struct LabelChange {
  enum class Which { kDomain, kClique } which = Which::kDomain;
  std::string from = {};
  std::string to = {};
};
// Changes the label if it is `from`, and returns the node after the change. `seen` is the cached
// node, which may be stale. NVIDIA's chart lets the plugin update nodes, but not patch them: then
// this function reads the node, writes it with PUT, and sets `may_patch` to false for later calls.
base::Result<api::Node> ChangeLabel(http::Transport& transport, const std::string& node,
                                    api::Node seen, const LabelChange& change, bool& may_patch);

// A slice as the server stored it.
struct SliceWritten {
  kube::ObjectMeta meta = {};
  // Whether the server kept all of it. It may drop unknown fields, such as taints; then the slice
  // is deleted again.
  bool holds = false;
};
// Makes `slice` the only slice of the node. `found` has the slices that exist. If the server's
// slice already has that error, its time is kept, so that two instances of the plugin do not
// overwrite each other.
base::Result<SliceWritten> WriteSlice(http::Transport& transport, ResourceSlice slice, SliceApi api,
                                      const std::vector<kube::ObjectMeta>& found);

}  // namespace plugin
