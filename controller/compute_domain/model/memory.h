// What the process remembers of one domain from one pass to the next. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "controller/compute_domain/model/concern.h"
#include "controller/compute_domain/model/kind.h"
#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/kube/api/meta.h"

namespace compute_domain {

// A daemon that was replaced, until its replacement has settled.
struct Replacement {
  std::string node = {};
  kube::Uid replaced = {};
  base::Clock::TimePoint began = {};
  std::optional<base::Clock::TimePoint> serves_since = {};  // As clique and status say, too.
  friend bool operator==(const Replacement&, const Replacement&) = default;
};

// The writes of one clique by this process that followed one another closely.
struct CliqueBatching {
  base::Clock::TimePoint last = {};
  std::chrono::milliseconds window{0};  // What changes soon after it is written together.
  friend bool operator==(const CliqueBatching&, const CliqueBatching&) = default;
};

// The IMEX that the pods of a claim began with. There are as many as claims in use, and hashes are
// enough to tell that it is another one by now.
struct ImexOfJob {
  std::size_t claim = 0;  // UID of the claim.
  // When the instance was started, as its daemon reported first. Absent: no pod has begun.
  std::optional<std::size_t> began = {};
  bool is_another = false;            // It was started again since.
  base::Clock::TimePoint since = {};  // Seen in use.
  friend bool operator==(const ImexOfJob&, const ImexOfJob&) = default;
};

// Whether the daemon of a node has yet to serve, serves, or is no longer needed.
struct MemberPhase {
  enum class Is { kStarting, kServing, kLeaving };
  Is is = Is::kStarting;
  // When the phase began. Absent if it began before this process looked at the domain first.
  std::optional<base::Clock::TimePoint> since = {};
  base::Clock::WallTime since_wall = {};
  friend bool operator==(const MemberPhase&, const MemberPhase&) = default;
};

// What was rendered of the children that depend on the domain's UID and the settings alone, as
// their hashes: these are for good, and to render them again is most of a plan. Empty: not known.
struct RenderedHashes {
  std::string daemon_set = {};
  std::string daemon_template = {};
};

// An action that failed, and is tried again; or one that was done and is not repeated at once.
struct Retry {
  Concern concern = {};
  base::Backoff backoff = {};
  // Not before, unless it failed for the first time and something has changed since.
  base::Clock::TimePoint until = {};
  bool is_first = false;
  bool is_wanted = true;  // The last plan has it.
  // What a person has to know of it. Empty: it passes by itself.
  std::optional<Failure> failure = {};
  std::optional<NameTaken> taken = {};  // Of a child that cannot be created.
};

enum class ChildRole { kDaemonTemplate, kDaemonSet, kWorkloadTemplate };

// What this process remembers of the domain from one pass to the next. It paces and explains: a new
// process does without.
struct Memory {
  std::optional<base::Clock::TimePoint> status_written = {};
  std::optional<base::Clock::TimePoint> deletion_seen = {};
  RenderedHashes rendered = {};
  std::map<std::string, CliqueBatching> clique_batching = {};  // By the name of the clique.
  // Labelled nodes without an allocated channel claim of the domain, and since when they are seen
  // so.
  std::map<std::string, base::Clock::TimePoint> idle_since = {};
  // Nodes that are not ready, and since when they are seen so.
  std::map<std::string, base::Clock::TimePoint> lost_since = {};
  std::set<std::string> lost_for_long = {};  // Those of them for which it has been five minutes.
  // Daemon pods that are being deleted, by UID, and since when they are seen so.
  std::map<kube::Uid, base::Clock::TimePoint> leaving_since = {};
  // Daemon pods that do not serve, by UID, and since when they are seen so. Unset: since before
  // this process looked at the domain first.
  std::map<kube::Uid, std::optional<base::Clock::TimePoint>> unready_since = {};
  std::map<std::string, MemberPhase> phases = {};  // By node; of members and nodes that will be.
  // Nodes that pods of the domain use without its label, and since when they are seen so.
  std::map<std::string, base::Clock::TimePoint> unlabelled_since = {};
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
  std::map<std::string, std::string> scheduler_messages = {};
  std::optional<base::Clock::TimePoint> scheduler_messages_read = {};
  // What was told of pods that wait: the reason, by the pod's UID.
  std::map<kube::Uid, std::string> event_reasons = {};
  std::map<std::string, Retry> retries = {};  // By what Describe() says of the action.
};

// What an action changes in what is remembered.
struct StatusWritten {};
struct ChildMade {
  ChildRole role = {};
};
struct CliqueWritten {
  std::string clique = {};
  std::chrono::milliseconds first_window{0};  // Of a clique that was at rest.
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
// A live read of the domain's claims.
struct ClaimsRead {
  std::set<std::string> nodes_in_use = {};
};
struct SchedulerMessagesRead {
  std::map<std::string, std::string> messages = {};  // By the pod's name.
};
struct EventsSent {
  std::map<kube::Uid, std::string> reasons = {};  // By the UID of a pod that waits.
};
// It is not sent (again) before a back-off is over.
struct ActionDelayed {
  std::string action = {};  // As Describe() says it, here and below.
  bool is_waiting = false;  // For one that began before. Nothing else is set then.
  Concern concern = {};
  std::chrono::nanoseconds at_least{0};  // As the server asked.
  double spread = 0;         // From 0 to 1: so that domains that failed together are apart then.
  bool is_conflict = false;  // The cache was behind, which passes soon.
  bool is_done = false;      // It succeeded, and is not to be repeated at once.
  std::optional<Failure> failure = {};
  std::optional<NameTaken> taken = {};
};
struct ActionDone {
  std::string action = {};
};
// A plan was made: what it does not have is not tried again.
struct PlanMade {};
using MemoryChange =
    std::variant<StatusWritten, ChildMade, CliqueWritten, ReplacementBegan, ReplacementFailed,
                 LabelRemoved, LabelRestored, ClaimsRead, SchedulerMessagesRead, EventsSent,
                 ActionDelayed, ActionDone, PlanMade>;

}  // namespace compute_domain
