// Everything known about one domain UID, as values: what the planner decides by.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/daemon_set/render.h"
#include "pkg/base/clock.h"
#include "pkg/kube/api/resource.h"

namespace compute_domain {

enum class Kind { kComputeDomain, kDaemonSet, kClaimTemplate, kClique, kDaemonPod, kClaim, kNode };

// What carries the domain's UID, or was made for it. `daemon_pods` have the domain's label and a
// DaemonSet as controller; `claims` name the domain in a device config.
struct Children {
  std::vector<api::DaemonSet> daemon_sets = {};
  std::vector<api::ClaimTemplate> templates = {};
  std::vector<api::Clique> cliques = {};
  std::vector<api::DaemonPod> daemon_pods = {};
  std::vector<api::Claim> claims = {};
  std::vector<api::Node> labelled_nodes = {};
};

// What live reads found in this pass; absent: not read.
struct Evidence {
  // The ComputeDomain with this UID; the inner one is empty if there is none.
  std::optional<std::optional<kube::ObjectMeta>> owner = {};
  std::optional<Children> children = {};
  std::optional<std::vector<api::DaemonPod>> daemon_pods = {};
  std::optional<std::vector<api::Claim>> claims = {};  // Of the domain's namespace.
  // Why pods wait, by name: the scheduler's own words; empty: it said nothing.
  std::optional<std::map<std::string, std::string>> words = {};
  // Names of children that cannot be created (any more): what a reply or a live read says is there.
  // The outer optional is empty if only a refused create says so; the inner one, if it is gone
  // again.
  struct Taken {
    kube::ObjectMeta meta = {};
    std::string domain = {};
    std::string target = {};
    std::string template_hash = {};
  };
  std::map<std::pair<Kind, kube::ObjectKey>, std::optional<std::optional<Taken>>> taken = {};
};

// How well a kind is seen without which we go on.
enum class Sight {
  kNone,     // It is not served, or we have no right to it.
  kOld,      // As it was some time ago.
  kCurrent,  // As it is.
};

// What goes for every domain.
struct Facts {
  std::vector<std::string> driver_namespaces = {};  // The first is where children are made.
  daemon_set::Settings daemons = {};
  std::chrono::seconds deletion_grace{600};
  std::chrono::milliseconds status_window{500};  // And the first of a clique's.
  // An index is kept this long for a node whose daemon went.
  std::chrono::seconds index_hold{60};
  // A node keeps the domain's label this long after the last claim on it: its plugin comes first.
  std::chrono::seconds label_hold{30};
  Sight slices = Sight::kNone;  // ResourceSlices of our driver.
  // A node may be without for this long before that is said: while its plugin starts, for instance.
  std::chrono::seconds plugin_patience{30};
  // Of resource.k8s.io, for each kind of ours on its own: what the API server serves; empty: none.
  std::string template_version = kube::kResourceClaimTemplates.version;
  std::string claim_version = kube::kResourceClaims.version;
  // A kind that cannot be read: the reason for the condition (DRANotServed, RightMissing) and a
  // sentence that says what to do. Empty: all is well.
  std::string problem_reason = {};
  std::string problem = {};
  bool status_is_pruned = false;  // The installed CRD knows only the reference's status fields.
};

// What failed or stands in the way, for the domain's condition.
struct Failure {
  std::string reason = {};
  std::string message = {};
  friend bool operator==(const Failure&, const Failure&) = default;
};

// The writes of one clique by this process that followed one another closely.
struct Pace {
  base::Clock::TimePoint last = {};
  std::chrono::milliseconds window{0};  // What changes soon after it is written together.
  friend bool operator==(const Pace&, const Pace&) = default;
};

struct Observed {
  std::string uid = {};
  std::optional<api::ComputeDomain> domain = {};  // From the cache, like all below but `evidence`.
  Children children = {};
  // Those the domain has to do with: labelled, with a daemon pod, a member, or an allocated claim.
  std::map<std::string, api::Node> nodes = {};
  Evidence evidence = {};
  Facts facts = {};
  std::optional<Failure> failure = {};                        // Of this pass.
  std::optional<base::Clock::TimePoint> status_written = {};  // By this process.
  std::map<std::string, Pace> clique_paces = {};              // By the name of the clique.
  // Labelled nodes without an allocated channel claim of the domain, and since when this process
  // has seen them so.
  std::map<std::string, base::Clock::TimePoint> idle_since = {};
  // Those of `nodes` that publish no ResourceSlice of our driver; and of these the ones that pods
  // of the domain are on, with since when this process has seen them so.
  std::set<std::string> without_slices = {};
  std::map<std::string, base::Clock::TimePoint> silent_since = {};
  // Other domains that hold one of `nodes`: "namespace/name" by UID.
  std::map<std::string, std::string> other_domains = {};
  // Other domains with members in a clique of this one: "namespace/name", by clique.
  std::map<std::string, std::set<std::string>> clique_shared_with = {};
  // Nodes that rebooted, and whose daemon has not come up since; its pod may still look ready.
  std::set<std::string> rebooted = {};
  // Why pods wait, as this process read it last, and when.
  std::map<std::string, std::string> words = {};
  std::optional<base::Clock::TimePoint> words_read = {};
  // What this process has told of pods that wait: the reason, by the pod's UID.
  std::map<kube::Uid, std::string> told = {};
  // Where pods find no channel: claims that hold one and are nobody's, and the other domains
  // ("namespace/name") that hold nodes.
  std::vector<api::Claim> stray_claims = {};
  std::set<std::string> holders = {};
};

}  // namespace compute_domain
