// The plugin's requests to the API server, as blocking calls over any Transport.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "node/dra/api/requests.h"
#include "node/plugin/rules/claim.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/meta.h"

namespace plugin {

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

}  // namespace plugin
