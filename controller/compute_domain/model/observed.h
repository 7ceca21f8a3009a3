// Everything known about one domain UID, as values: what the planner decides by.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/api/names.h"
#include "controller/api/types.h"
#include "controller/daemon_set/render.h"
#include "pkg/base/clock.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/api/right.h"

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

// What has the name of a child.
struct NameHolder {
  kube::ObjectMeta meta = {};
  std::string domain = {};
  std::string target = {};
  std::string template_hash = {};
};

// What is known of the name under which a child is to be created.
struct NameCheck {
  enum class Is {
    kNotAsked,
    kTaken,  // A create was refused, and who has it was not read yet.
    kFree,   // As a live read says.
    kFound,  // A live read or the reply to a write says who has it.
  };
  Is is = Is::kNotAsked;
  NameHolder holder = {};  // kFound.
};
[[nodiscard]] inline NameCheck Found(NameHolder holder) {
  return {NameCheck::Is::kFound, std::move(holder)};
}

// What live reads found in this pass; absent: not read.
struct Evidence {
  // The ComputeDomain with this UID; the inner one is empty if there is none.
  std::optional<std::optional<kube::ObjectMeta>> owner = {};
  std::optional<Children> children = {};
  std::optional<std::vector<api::DaemonPod>> daemon_pods = {};
  std::vector<api::Clique> cliques = {};               // Read together with them.
  std::optional<std::vector<api::Claim>> claims = {};  // Of the domain's namespace.
  // Why pods wait, by name: the scheduler's own words; empty: it said nothing.
  std::optional<std::map<std::string, std::string>> words = {};
  std::map<std::pair<Kind, kube::ObjectKey>, NameCheck> names = {};  // Of children.

  // Of a name that nobody asked for: kNotAsked.
  [[nodiscard]] const NameCheck& NameOf(Kind kind, const kube::ObjectKey& key) const {
    static const NameCheck not_asked;
    const auto it = names.find({kind, key});
    return it == names.end() ? not_asked : it->second;
  }
};

// Whether daemons are replaced under a job, which ends with its IMEX.
enum class RollPolicy { kWhenIdle, kAlways };

struct RollSettings {
  RollPolicy policy = RollPolicy::kWhenIdle;  // Of domains that do not say it themselves.
  int cliques_max = 3;                        // Of the whole cluster, at a time.
  std::chrono::seconds settle{10};            // A replacement has to serve for so long.
  std::chrono::seconds deadline{300};         // And must begin to within this.
};

// A daemon that was replaced, until its replacement has settled.
struct Replacement {
  std::string node = {};
  kube::Uid replaced = {};
  base::Clock::TimePoint began = {};
  std::optional<base::Clock::TimePoint> serves_since = {};  // As clique and status say, too.
  friend bool operator==(const Replacement&, const Replacement&) = default;
};

// How well a kind is seen without which we go on.
enum class Sight {
  kNone,     // It is not served, or we have no right to it.
  kOld,      // As it was some time ago.
  kCurrent,  // As it is.
};

// How well everything is seen.
struct Views {
  Sight slices = Sight::kNone;  // ResourceSlices of our driver.
  Sight nodes = Sight::kCurrent;
  std::string nodes_problem = {};  // Why they are not read, and what to do; empty: they are.
  bool claims_are_read = true;
  // False: we have no right to them, and go on without. Who uses a domain is not known then.
  bool claims_are_granted = true;
  std::string claims_problem = {};  // Why they are not read, and what to do; empty: they are.
  // Of resource.k8s.io, for each kind of ours on its own: what the API server serves; empty: none.
  std::string template_version = kube::kResourceClaimTemplates.version;
  std::string claim_version = kube::kResourceClaims.version;
  // A kind that cannot be read, and without which no child is made: the reason for the condition
  // (DRANotServed, RightMissing) and a sentence that says what to do. Empty: all is well.
  std::string problem_reason = {};
  std::string problem = {};
  friend bool operator==(const Views&, const Views&) = default;
};

// What goes for every domain.
struct Facts {
  std::vector<std::string> driver_namespaces = {};  // The first is where children are made.
  daemon_set::Settings daemons = {};
  // IMEX is somebody else's, on the hosts: domains have a claim template for their workload, and
  // no daemons, cliques or labels of nodes.
  bool imex_on_hosts = false;
  std::chrono::seconds deletion_grace{600};
  std::chrono::milliseconds status_window{500};  // And the first of a clique's.
  // Whether a domain's owner reads the names of what lies in other namespaces.
  bool names_others = false;
  // As api::kLeavingTaints, whose they are unless somebody knows better.
  std::vector<std::string> leaving_taints = {api::kLeavingTaints.begin(),
                                             api::kLeavingTaints.end()};
  // An index is kept this long for a node whose daemon went.
  std::chrono::seconds index_hold{60};
  // A node keeps the domain's label this long after the last claim on it: its plugin comes first.
  std::chrono::seconds label_hold{30};
  RollSettings roll = {};
  // A daemon of the new template that does not serve, and where: no more are replaced anywhere.
  std::string roll_stopped = {};
  // A node may be without for this long before that is said: while its plugin starts, for instance.
  // A kubelet that restarts takes its slices away, and the plugin needs 30 s to put them back.
  std::chrono::seconds plugin_patience{60};
  Views views = {};
  // Rights that the API server refused us, and until when we do without: any may be granted later.
  std::map<kube::Right, base::Clock::TimePoint> refused = {};
  bool status_is_pruned = false;  // The installed CRD knows only the reference's status fields.

  // Until when we do without the right; empty: it is not known to be missing.
  [[nodiscard]] std::optional<base::Clock::TimePoint> LackUntil(
      const char* verb, const kube::Resource& resource) const {
    const auto lacked = refused.find({.verb = verb, .resource = resource.plural});
    if (lacked == refused.end()) return {};
    return lacked->second;
  }
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

// The IMEX that the pods of a claim began with. There are as many as claims in use, and hashes are
// enough to tell that it is another one by now.
struct ImexOfJob {
  std::size_t claim = 0;    // UID of the claim.
  std::size_t began = 0;    // When the instance was started, as its daemon reported first.
  bool is_another = false;  // It was started again since.
  friend bool operator==(const ImexOfJob&, const ImexOfJob&) = default;
};

// What was rendered of the children that depend on the domain's UID and the settings alone, as
// their hashes: these are for good, and to render them anew is most of a plan. Empty: not known.
struct RenderedHashes {
  std::string daemon_set = {};
  std::string daemon_template = {};
};

enum class ChildRole { kDaemonTemplate, kDaemonSet, kWorkloadTemplate };

// What this process remembers of the domain from one pass to the next. It paces and explains: a new
// process does without.
struct Memory {
  std::optional<base::Clock::TimePoint> status_written = {};
  std::optional<base::Clock::TimePoint> deletion_seen = {};
  RenderedHashes rendered = {};
  std::map<std::string, Pace> clique_paces = {};  // By the name of the clique.
  // Labelled nodes without an allocated channel claim of the domain, and since when they are seen
  // so.
  std::map<std::string, base::Clock::TimePoint> idle_since = {};
  // Nodes that we took the label off, until a live read shows that no claim came meanwhile.
  std::set<std::string> labels_removed = {};
  // Nodes that pods of the domain are on and that publish no ResourceSlice of our driver, and since
  // when they are seen so.
  std::map<std::string, base::Clock::TimePoint> silent_since = {};
  std::map<std::string, Replacement> replacements = {};  // By clique.
  // By node, for as long as the claim is in use there.
  std::map<std::string, ImexOfJob> imex_of_jobs = {};
  // The claims of its daemons all carry its label, so that they can be asked for by it.
  bool claims_are_labelled = false;
  // Children that were seen, or made. If one is missing now, the domain may be gone.
  std::set<ChildRole> children_seen = {};
  // Why pods wait, as it was read last, and when.
  std::map<std::string, std::string> words = {};
  std::optional<base::Clock::TimePoint> words_read = {};
  // What was told of pods that wait: the reason, by the pod's UID.
  std::map<kube::Uid, std::string> told = {};
};

// Nodes of a clique by what became of them; those that a domain holds count as held, even broken.
struct RoomCount {
  int free = 0;
  int held = 0;
  int unusable = 0;
  friend bool operator==(const RoomCount&, const RoomCount&) = default;
};
using Rooms = std::map<std::string, RoomCount>;  // By clique; "": without fabric.

// Who else has to do with what the domain uses or lacks: it explains, and decides nothing. Domains
// are named "namespace/name".
struct Others {
  std::map<std::string, std::string> domains = {};              // Who hold one of `nodes`, by UID.
  std::map<std::string, std::set<std::string>> in_clique = {};  // With members in ours, by clique.
  // Where pods find no channel: claims that hold one and are nobody's, and the domains that hold
  // nodes.
  std::vector<api::Claim> stray_claims = {};
  std::set<std::string> holders = {};
  Rooms rooms = {};  // Of the whole cluster, while pods wait and the scheduler has said why.
};

struct Observed {
  std::string uid = {};
  // From the cache.
  std::optional<api::ComputeDomain> domain = {};
  Children children = {};
  // Those the domain has to do with: labelled, with a daemon pod, a member, or an allocated claim.
  std::map<std::string, api::Node> nodes = {};
  std::set<std::string> without_slices = {};  // Those of `nodes` that publish none of our driver.
  // What the kubelet plugin of each of `nodes` says that its fabric lacks, by node.
  std::map<std::string, std::string> fabric_errors = {};
  bool nobody_publishes = false;  // No node of the whole cluster does.
  // Nodes that rebooted, and whose daemon has not come up since; its pod may still look ready.
  std::set<std::string> rebooted = {};

  Facts facts = {};
  Evidence evidence = {};
  Memory memory = {};
  Others others = {};
  std::optional<Failure> failure = {};  // Of this pass.
  // The same of what the domain is served without, such as a label of a node that nobody uses.
  std::optional<Failure> left_undone = {};
};

}  // namespace compute_domain
