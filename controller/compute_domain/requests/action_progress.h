// How far an action has come that takes several requests, one after the other.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/observed.h"
#include "pkg/http/transport.h"
#include "pkg/kube/client/page_limit.h"

namespace compute_domain {

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

}  // namespace compute_domain
