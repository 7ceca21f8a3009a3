// What the process remembers of one domain between two passes. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "controller/compute_domain/model/kind.h"
#include "controller/compute_domain/model/requeue_after.h"
#include "controller/daemon_set/render.h"
#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/kube/api/meta.h"

namespace compute_domain {

// A replaced daemon, until its replacement has settled.
struct Replacement {
  std::string node = {};
  kube::Uid replaced = {};
  base::Clock::TimePoint began = {};
  // Since when the replacement serves, also according to clique and status. Empty if it does not.
  std::optional<base::Clock::TimePoint> serves_since = {};
  friend bool operator==(const Replacement&, const Replacement&) = default;
};

// Writes of one clique by this process, each soon after the one before.
struct CliqueBatching {
  base::Clock::TimePoint last = {};
  // Changes within this time after a write are written together.
  std::chrono::milliseconds window{0};
  friend bool operator==(const CliqueBatching&, const CliqueBatching&) = default;
};

// The IMEX instance with which the pods of a claim started. Hashes suffice to detect a restart, and
// keep this small: there is one for each claim in use.
struct ImexOfJob {
  std::size_t claim = 0;  // Hash of the claim's UID.
  // Hash of the instance's start time, as the daemon first reported it. Empty if no pod has
  // started.
  std::optional<std::size_t> began = {};
  bool is_another = false;            // IMEX was started again since then.
  bool is_elsewhere = false;          // Or on some node where a pod ran then.
  base::Clock::TimePoint since = {};  // When the claim was first seen in use.
  friend bool operator==(const ImexOfJob&, const ImexOfJob&) = default;
};

// Whether the daemon of a node has yet to serve, serves, or is no longer needed.
struct MemberPhase {
  enum class Is { kStarting, kServing, kLeaving };
  Is is = Is::kStarting;
  // When the phase began. Empty if that was before this process first saw the domain.
  std::optional<base::Clock::TimePoint> since = {};
  // Of a member that was ready: when its daemon was first seen to end. Empty if it runs, or was not
  // ready before.
  std::optional<base::Clock::TimePoint> ends_since = {};
  friend bool operator==(const MemberPhase&, const MemberPhase&) = default;
};

// Writes of a domain's status by another controller.
struct ForeignWrites {
  std::string last = {};  // ComputeDomain::foreign_write.
  // When this process saw the last one. Empty if it was before the process first saw the domain.
  std::optional<base::Clock::TimePoint> seen = {};
  friend bool operator==(const ForeignWrites&, const ForeignWrites&) = default;
};

// Hashes of the rendered children that depend only on the domain's UID, the settings and `names`.
// Rendering them again is most of the cost of a plan. Empty if not yet rendered.
struct RenderedHashes {
  std::string daemon_set = {};
  daemon_set::NodeNames names = {};  // With which `daemon_set` was rendered.
  std::string daemon_template = {};
};

// Areas of work for one domain. Each fails, waits and is retried independently.
enum class Concern {
  kFinalizer,   // The domain's finalizer: stored before the first child, removed last.
  kChildren,    // DaemonSet and claim templates.
  kMembership,  // Cliques.
  kLabels,      // Node labels.
  kRollout,     // Replacement of daemons.
  kReads,       // Live reads. Only the rule that needs one waits for it.
  kStatus,
};

// Which action on which object. Two actions with the same ID differ only in content.
struct ActionId {
  std::size_t type = 0;  // Index in the variant Action.
  Kind kind = {};
  kube::ObjectKey key = {};
  friend auto operator<=>(const ActionId&, const ActionId&) = default;
};

// Content that an action wrote.
struct Written {
  std::size_t content = 0;  // ContentOf() the action.
  int times = 0;            // How often, in the minute from `since` on.
  base::Clock::TimePoint since = {};
  base::Clock::TimePoint until = {};  // It is not written again before this time.
};
inline constexpr std::size_t kWrittenMax = 4;

// An action that failed and is retried, or that succeeded and waits if it is wanted again, because
// another client undid it.
struct Retry {
  Concern concern = {};
  base::Backoff backoff = {};  // Of failures since the last success.
  base::Backoff pace = {};     // Of successes with the same content.
  // What it wrote, the newest last, at most kWrittenMax. Empty if it did not succeed.
  std::vector<Written> written = {};
  // Who undoes the action and what to do, for people. Empty if it was not undone several times.
  std::string undone = {};
  // Not retried before this time, unless it failed for the first time and something has changed
  // since, or other content is to be written.
  base::Clock::TimePoint until = {};
  bool is_first = false;     // It failed for the first time.
  bool is_wanted = true;     // The last plan contains the action.
  bool is_conflict = false;  // It failed because the cache was behind, or a webhook answers 409.
  // After a conflict: the resourceVersion that it was for, and when it may be tried for another.
  std::string version = {};
  base::Clock::TimePoint until_newer = {};
  // Apart, since there are several Retries for each domain, and hardly one of them has these.
  // What to report to users. Null if the failure passes without a person's help.
  std::shared_ptr<const Failure> failure = {};
  std::shared_ptr<const NameTaken> taken = {};  // Null unless an object holds this child's name.

  bool HasFailed() const { return backoff.delay() > std::chrono::nanoseconds(0); }
};

// Where a pending pod may run, as a live read showed.
struct PodReach {
  // Names of the nodes. Empty if it may run on all, or if they are too many to tell.
  std::optional<std::set<std::string>> nodes = {};
  std::set<api::Toleration> tolerations = {};
  friend bool operator==(const PodReach&, const PodReach&) = default;
};

enum class ChildRole { kDaemonTemplate, kDaemonSet, kWorkloadTemplate };

// What this process remembers of a domain between two passes. It only paces and explains: a new
// process works without it.
struct Memory {
  std::optional<base::Clock::TimePoint> status_written = {};
  std::optional<base::Clock::TimePoint> deletion_seen = {};
  // A live read has shown that the domain is being deleted. The API server never takes that back.
  bool deletion_is_proven = false;
  std::optional<ForeignWrites> foreign_writes = {};  // Empty before the first look.
  RenderedHashes rendered = {};
  std::map<std::string, CliqueBatching> clique_batching = {};  // Key: name of the clique.
  // Labelled nodes without an allocated channel claim of the domain, and when this was first seen.
  std::map<std::string, base::Clock::TimePoint> idle_since = {};
  std::optional<base::Clock::TimePoint> claims_read = {};  // Live, the last time.
  // Nodes that are not ready, and when this was first seen.
  std::map<std::string, base::Clock::TimePoint> lost_since = {};
  // Nodes of `lost_since` that have been lost for 5 minutes.
  std::set<std::string> lost_for_long = {};
  // Daemon pods that are being deleted, by UID, and when this was first seen.
  std::map<kube::Uid, base::Clock::TimePoint> leaving_since = {};
  // Daemon pods that do not serve, by UID, and when this was first seen. The time is empty if that
  // was before this process first saw the domain.
  std::map<kube::Uid, std::optional<base::Clock::TimePoint>> unready_since = {};
  // Members that write their own entries and whose nodes had rebooted when this process first saw
  // the domain, as its status said. Kept until the daemon is ready, or its kubelet says what is
  // wrong.
  std::set<std::string> rebooted_before = {};
  // Key: node. Contains members and nodes that will be members.
  std::map<std::string, MemberPhase> phases = {};
  // Nodes that pods of the domain use without its label, and when this was first seen.
  std::map<std::string, base::Clock::TimePoint> unlabelled_since = {};
  // Nodes whose label cdom removed, until a live read shows that no claim arrived meanwhile.
  std::set<std::string> labels_removed = {};
  // Nodes with pods of the domain and without a ResourceSlice of the driver, and when this was
  // first seen.
  std::map<std::string, base::Clock::TimePoint> silent_since = {};
  std::map<std::string, Replacement> replacements = {};  // Key: clique.
  // Key: node. Kept while the claim is in use there.
  std::map<std::string, ImexOfJob> imex_of_jobs = {};
  // What MemoryShared says of a restarted IMEX is in `imex_of_jobs`, or was until its jobs ended.
  bool restart_is_known = false;
  // What MemoryShared said last, where the installed CRD drops conditions. Otherwise empty.
  std::string memory_shared = {};  // "True", "False" or "Unknown".
  std::string memory_shared_reason = {};
  // All claims of its daemons have the domain label, so that a label selector finds them.
  bool claims_are_labelled = false;
  // Children that were seen or created. If one is missing now, the domain may be deleted.
  std::set<ChildRole> children_seen = {};
  // Scheduler messages about pending pods, by pod name, and when they were last read.
  std::map<std::string, std::string> scheduler_messages = {};
  // Pods that were read with them and have started, by name. The cached claim is out of date.
  std::set<std::string> started_pods = {};
  // Where those may run that find no channel, by name. Pods that may run on the same nodes share
  // one.
  std::map<std::string, std::shared_ptr<const PodReach>> reach = {};
  std::optional<base::Clock::TimePoint> scheduler_messages_read = {};
  // Whether a container of the pod lists the claim, by KeyOfUse(). Kept while the claim is in use.
  // Each is read once, and at most kUsesReadMax of a domain.
  std::map<std::string, bool> lists_claim = {};
  // Why the DaemonSet's pods are not created, as its Events say, and when they were last read.
  // Empty if they do not say so.
  std::string creation_trouble = {};
  std::optional<base::Clock::TimePoint> creation_trouble_read = {};
  // Reasons of the Events that were sent about pending pods, by the pod's UID.
  std::map<kube::Uid, std::string> event_reasons = {};
  std::map<ActionId, Retry> retries = {};

  // Returns whether this process has not looked at the domain before.
  bool IsFirstLook() const { return rendered.daemon_set.empty(); }
};

// After this time without a retry, a failure counts as the first one again, and so does a write.
inline constexpr std::chrono::minutes kForgotten{2};

// Returns the time until all `memory.retries` are forgotten. Empty if they are.
inline RequeueAfter UntilForgotten(const Memory& memory, base::Clock::TimePoint now) {
  base::Clock::TimePoint last = now;
  for (const auto& [action, retry] : memory.retries)
    last = std::max(last, retry.until + kForgotten);
  RequeueAfter requeue_after;
  requeue_after.RequeueUnlessDue(last - now);
  return requeue_after;
}

// The changes that an action makes to a Memory.
struct StatusWritten {};
struct ChildMade {
  ChildRole role = {};
};
struct CliqueWritten {
  std::string clique = {};
  std::chrono::milliseconds first_window{0};  // The first window of a clique that was at rest.
};
struct ReplacementBegan {
  std::string clique = {};
  std::string node = {};
  kube::Uid replaced = {};
};
struct ReplacementFailed {
  std::string clique = {};
};
struct LabelRemoved {
  std::string node = {};
};
struct LabelRestored {
  std::string node = {};
};
// A live read showed that the domain is being deleted.
struct DeletionProven {};
// A live read of the domain's claims.
struct ClaimsRead {
  std::set<std::string> nodes_in_use = {};
};
struct SchedulerMessagesRead {
  std::map<std::string, std::string> messages = {};                   // Key: name of the pod.
  std::set<std::string> started_pods = {};                            // By name.
  std::map<std::string, std::shared_ptr<const PodReach>> reach = {};  // As in Memory.
};
struct UsesRead {
  std::map<std::string, bool> lists_claim = {};  // As in Memory.
};
struct CreationTroubleRead {
  std::optional<std::string> trouble = {};  // Empty if the read failed: what was read stays.
};
struct EventsSent {
  std::map<kube::Uid, std::string> reasons = {};  // Key: UID of the pending pod.
};
// What MemoryShared says now, where the installed CRD drops conditions.
struct MemorySharedFound {
  std::string status = {};
  std::string reason = {};
};
// The plan wants the action, and the back-off of an earlier failure is not over.
struct ActionWaits {
  ActionId action = {};
  base::Clock::TimePoint until = {};  // When it is due. The earliest time: as it is.
};
// The action failed. It is not sent again before a back-off is over.
struct ActionFailed {
  ActionId action = {};
  Concern concern = {};
  std::chrono::nanoseconds at_least{0};  // Minimum delay, as the server asked.
  double spread = 0;         // From 0 to 1. Spreads the retries of domains that failed together.
  bool is_conflict = false;  // The cache was stale, which passes soon.
  std::string version = {};  // VersionOf() the action.
  std::optional<Failure> failure = {};
  std::string passing = {};  // The failure if it should pass by itself. Told if it lasts.
  std::optional<NameTaken> taken = {};
};
struct ActionDone {
  ActionId action = {};
  Concern concern = {};
  std::optional<std::size_t> content = {};  // ContentOf() the action. Empty for a read.
  double spread = 0;                        // As above.
  std::string undone = {};                  // Kept if the same content was written before.
};
// A plan was made. Actions that are not in it are not retried.
struct PlanMade {};
using MemoryChange =
    std::variant<StatusWritten, ChildMade, CliqueWritten, ReplacementBegan, ReplacementFailed,
                 LabelRemoved, LabelRestored, DeletionProven, ClaimsRead, SchedulerMessagesRead,
                 UsesRead, CreationTroubleRead, EventsSent, MemorySharedFound, ActionWaits,
                 ActionFailed, ActionDone, PlanMade>;

}  // namespace compute_domain
