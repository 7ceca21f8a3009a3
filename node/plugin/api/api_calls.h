// What a plugin asks of the API server, one thing each. Over any Transport.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "node/plugin/rules/claim.h"
#include "node/plugin/rules/resource_slice.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/meta.h"
#include "pkg/kube/api/resource.h"

namespace plugin {

// kNotFound: there is none of that name, or it is another one by now.
[[nodiscard]] base::Result<ClaimToPrepare> ReadClaim(http::Transport& transport,
                                                     const std::string& version,
                                                     const kube::ObjectKey& key,
                                                     const std::string& uid);

// All of them, page by page, of which those stay that hold a device of ours on this node.
[[nodiscard]] base::Result<std::vector<ClaimToPrepare>> ReadClaimsOf(http::Transport& transport,
                                                                     const std::string& version,
                                                                     const std::string& node);

// UIDs of the domains that are in the namespace now; empty: of all that there are.
[[nodiscard]] base::Result<std::set<std::string>> ReadDomains(http::Transport& transport,
                                                              const std::string& ns);

// Whether the node's entry in the clique says Ready. No clique has no entries.
[[nodiscard]] base::Result<bool> ReadIsReady(http::Transport& transport, const kube::ObjectKey& key,
                                             const std::string& node);

// What a node says of itself, as far as a plugin goes by it.
struct NodeView {
  kube::Uid uid = {};
  std::string version = {};  // Of the object.
  std::string domain = {};   // Labels; empty: none.
  std::string clique = {};
  friend bool operator==(const NodeView&, const NodeView&) = default;
};
[[nodiscard]] base::Result<NodeView> ReadNode(http::Transport& transport, const std::string& node);

// The container runtime and its version, as the node says it: "containerd://2.1.4".
[[nodiscard]] base::Result<std::string> ReadRuntime(http::Transport& transport,
                                                    const std::string& node);

// One label, `from` what it has to be before; empty: not there.
struct LabelChange {
  enum class Which { kDomain, kClique } which = Which::kDomain;
  std::string from = {};
  std::string to = {};
};
// Makes the change if the label is as it should be before, and otherwise nothing; how the node is
// after that. `seen`: what is known of the node, which may be old.
[[nodiscard]] base::Result<NodeView> ChangeLabel(http::Transport& transport,
                                                 const std::string& node, NodeView seen,
                                                 const LabelChange& change);

// Makes the node's slices be this one alone, whatever there is, in a version that is served.
struct SliceWritten {
  kube::Uid uid = {};
  std::string version = {};  // Of the object.
  // Whether it says what it should. A server may drop what it does not know, such as taints; then
  // the slice is gone again.
  bool holds = false;
  friend bool operator==(const SliceWritten&, const SliceWritten&) = default;
};
[[nodiscard]] base::Result<SliceWritten> WriteSlice(http::Transport& transport, const Slice& slice,
                                                    SliceApi api,
                                                    const std::vector<kube::ObjectMeta>& found);

}  // namespace plugin
