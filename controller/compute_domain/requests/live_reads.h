// Requests of each live read, and how their replies become evidence.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/compute_domain/requests/action_result.h"
#include "pkg/kube/client/page_limit.h"

namespace compute_domain {

using Requests = std::vector<http::Request>;
using Replies = std::vector<Reply>;

// One page of a collection in a live read.
struct Page {
  Kind kind = {};
  std::string ns = {};              // Empty for all namespaces.
  std::string continue_token = {};  // Empty for the first page.
  kube::PageLimit limit = kube::PageLimit(400);
  bool by_label = true;  // Read only objects with the domain's label.
  // The reply was too large for one page. Until then, a read by label has no limit: with a limit,
  // API servers up to 1.32 read all objects of the kind from etcd.
  bool is_paged = false;
  bool asks_if_served = false;  // Asks which kinds the API server serves, after a 404.
};

// Progress of ReadPodConditions: the pods, then the nodes where they may run, and their GPUs.
struct PodsRead {
  SchedulerMessagesRead found = {};
  std::map<std::string, api::UserPod> lacking = {};  // Those that find no device, by name.
  std::vector<api::NodeSelection> selections = {};   // All of them, each once, until they are read.
  // Names of the nodes that a selection gives. Empty if they are too many, or were not read.
  std::map<api::NodeSelection, std::optional<std::set<std::string>>> nodes = {};
  std::optional<Page> slices = {};  // The next page of the GPU driver's slices.
  api::GpusByNode gpus = {};
};

// Progress of an action that takes several requests, one after the other.
struct ActionProgress {
  // For reads of collections. Keeps only the domain's objects of each page, so that memory does not
  // grow with other objects of the namespace.
  std::vector<Page> pages = {};  // Next pages. Empty at the start.
  Children found = {};
  std::optional<kube::ObjectMeta> owner = {};
  bool cliques_are_served = true;  // False if discovery no longer lists them.
  // For patches. If PATCH is forbidden, the object is read and written with PUT.
  enum class Method { kPatch, kRead, kPut } method = Method::kPatch;
  http::Request put = {};  // Only for kPut.
  // For a DELETE that was answered with this 409: the object is read to see how it ended.
  std::optional<base::Error> conflict = {};
  PodsRead pods = {};
  UsesRead uses = {};  // Of ReadUses, so far.
};

Requests RequestsOf(const ReadOwner&, const Observed&, const ActionProgress&);
base::Result<void> HandleReplies(const ReadOwner&, const Replies&, ActionProgress&, ReplyContext&);

Requests RequestsOf(const ReadChildren&, const Observed&, const ActionProgress&);
base::Result<void> HandleReplies(const ReadChildren&, const Replies&, ActionProgress&,
                                 ReplyContext&);

Requests RequestsOf(const ReadDaemons&, const Observed&, const ActionProgress&);
base::Result<void> HandleReplies(const ReadDaemons&, const Replies&, ActionProgress&,
                                 ReplyContext&);

Requests RequestsOf(const ReadClaims&, const Observed&, const ActionProgress&);
base::Result<void> HandleReplies(const ReadClaims&, const Replies&, ActionProgress&, ReplyContext&);

Requests RequestsOf(const ReadNodes&, const Observed&, const ActionProgress&);
base::Result<void> HandleReplies(const ReadNodes&, const Replies&, ActionProgress&, ReplyContext&);

Requests RequestsOf(const ReadDaemonSetEvents&, const Observed&, const ActionProgress&);
base::Result<void> HandleReplies(const ReadDaemonSetEvents&, const Replies&, ActionProgress&,
                                 ReplyContext&);
Requests RequestsOf(const ReadPodConditions&, const Observed&, const ActionProgress&);
base::Result<void> HandleReplies(const ReadPodConditions&, const Replies&, ActionProgress&,
                                 ReplyContext&);

Requests RequestsOf(const ReadUses&, const Observed&, const ActionProgress&);
base::Result<void> HandleReplies(const ReadUses&, const Replies&, ActionProgress&, ReplyContext&);

Requests RequestsOf(const ReadTaken&, const Observed&, const ActionProgress&);
base::Result<void> HandleReplies(const ReadTaken&, const Replies&, ActionProgress&, ReplyContext&);

}  // namespace compute_domain
