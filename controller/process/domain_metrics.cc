#include "controller/process/domain_metrics.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "controller/api/names.h"
#include "controller/compute_domain/status/explanation/imex_health.h"
#include "controller/compute_domain/status/explanation/warnings.h"
#include "controller/compute_domain/status/status.h"
#include "pkg/base/find.h"
#include "pkg/base/rfc3339.h"

namespace process {

namespace {

using api::ComputeDomain;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using SeriesLabels = std::vector<ClientMetric::Label>;

std::optional<double> SecondsBetween(const std::string& from, base::Clock::WallTime to) {
  const auto began = base::ParseTime(from);
  if (!began) return std::nullopt;
  return std::max(0.0, Seconds(to - *began));
}

double ReadyMembers(const ComputeDomain& domain) {
  return static_cast<double>(std::ranges::count_if(domain.status.nodes, &api::Member::ready));
}

// Returns the value of a condition's status. Empty if it is neither True nor False.
std::optional<double> ValueOf(std::string_view status) {
  if (status == "True") return 1;
  if (status == "False") return 0;
  return {};
}

// Returns the number of ready members whose node is expected to leave.
double LeavingMembers(const DomainView& view, const std::vector<std::string>& taints) {
  std::set<std::string_view> ready;
  for (const api::Member& member : view.domain.status.nodes) {
    if (member.ready) ready.insert(member.node);
  }
  return static_cast<double>(std::ranges::count_if(view.nodes, [&](const auto& node) {
    return ready.contains(node->meta.key.name) && !compute_domain::NoticeOf(*node, taints).empty();
  }));
}

// If a domain sets no number of nodes, it expects the nodes that its pods were given.
double ExpectedMembers(const DomainView& view) {
  const std::int64_t asked = view.domain.num_nodes;
  return static_cast<double>(asked > 0 ? asked : static_cast<std::int64_t>(view.nodes.size()));
}

SeriesLabels With(SeriesLabels labels, const char* name, const std::string& value) {
  labels.push_back({.name = name, .value = value});
  return labels;
}

// Metric families, in the order in which they are first used.
class Families {
 public:
  void Add(const char* name, const char* help, const SeriesLabels& labels,
           std::optional<double> value, MetricType type = MetricType::Gauge) {
    if (!value) return;
    const auto [it, is_new] = index_.try_emplace(name, families_.size());
    if (is_new) families_.push_back({.name = name, .help = help, .type = type, .metric = {}});
    ClientMetric metric;
    metric.label = labels;
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = *value;
    families_[it->second].metric.push_back(std::move(metric));
  }
  std::vector<MetricFamily> Take() { return std::move(families_); }

 private:
  std::map<std::string_view, std::size_t> index_;
  std::vector<MetricFamily> families_;
};

void AddDomain(const DomainView& view, base::Clock::WallTime now, const SeriesLabels& labels,
               Families& families) {
  const ComputeDomain& domain = view.domain;
  families.Add("cdom_domain_ready", "1 if status.status is Ready", labels,
               domain.status.status == "Ready" ? 1 : 0);
  families.Add("cdom_domain_members_expected",
               "Nodes that are expected to join: spec.numNodes, or without one the nodes that "
               "carry the domain's label",
               labels, ExpectedMembers(view));
  families.Add("cdom_domain_members", "Nodes that have joined", labels,
               static_cast<double>(domain.status.nodes.size()));
  families.Add("cdom_domain_members_ready", "Joined nodes that are ready", labels,
               ReadyMembers(domain));
  families.Add("cdom_domain_nodes_held",
               "Nodes with the domain's label. No other domain can use them", labels,
               static_cast<double>(view.nodes.size()));
  families.Add("cdom_domain_in_use",
               "1 if a pod holds a channel of the domain (its condition InUse)", labels,
               domain.status.IsTrue(api::kConditionInUse) ? 1 : 0);
  families.Add("cdom_domain_deletion_blocked",
               "1 if the deletion waits. The condition DeletionBlocked says for what", labels,
               domain.status.IsTrue(api::kConditionDeletionBlocked) ? 1 : 0);
  families.Add("cdom_domain_conflicted",
               "1 if another client writes the same fields of the domain or its children (its "
               "condition Conflicted)",
               labels, domain.status.IsTrue(api::kConditionConflicted) ? 1 : 0);
  const bool has_outsiders =
      domain.status.Says(api::kConditionMembersReady, api::kReasonMemberWithoutClaim);
  families.Add("cdom_members_without_claim",
               "1 if a daemon of the domain runs on a node where the scheduler placed no pod of "
               "the domain (MemberWithoutClaim)",
               labels, has_outsiders ? 1 : 0);
  if (domain.meta.deleting) {
    families.Add("cdom_domain_deletion_age_seconds",
                 "Time since the deletion of the domain. Exists only during the deletion", labels,
                 SecondsBetween(domain.meta.deletion_timestamp, now));
  }
}

void AddCliques(const ComputeDomain& domain, const SeriesLabels& labels, Families& families) {
  const auto cliques = compute_domain::SummarizeCliques(domain.status.nodes);
  const bool has_others = base::Contains(cliques, "", &api::CliqueSummary::id);
  for (const api::CliqueSummary& clique : cliques) {
    const SeriesLabels of_clique = With(labels, "clique", clique.id);
    families.Add("cdom_clique_members",
                 "Nodes of a clique that have joined the domain. The label clique is empty for "
                 "nodes without fabric",
                 of_clique, clique.members);
    families.Add("cdom_clique_members_ready", "Joined nodes of a clique that are ready", of_clique,
                 clique.ready);
  }
  families.Add("cdom_domain_cliques",
               "Cliques in which the domain has members. Members without fabric are in none",
               labels, static_cast<double>(cliques.size()) - (has_others ? 1 : 0));
}

// Adds pods that wait for a node. Skips claims in other namespaces that name the domain.
void AddWaiting(const DomainView& view, base::Clock::WallTime now, const SeriesLabels& labels,
                Families& families) {
  double waiting = 0;
  std::optional<double> longest;
  for (const auto& claim : view.waiting) {
    if (claim->meta.key.ns != view.domain.meta.key.ns || claim->admin_access) continue;
    waiting += 1;
    longest = std::max(longest, SecondsBetween(claim->meta.creation_timestamp, now));
  }
  families.Add("cdom_domain_pods_waiting",
               "Claims for a channel of the domain without a node: one for each waiting pod",
               labels, waiting);
  families.Add("cdom_domain_wait_age_seconds",
               "How long the oldest of them has waited. Exists only while one waits", labels,
               longest);
}

void AddRooms(const compute_domain::CliqueCapacities& capacity, Families& families) {
  const auto add = [&](const std::string& clique, const char* state, int nodes) {
    families.Add("cdom_clique_nodes",
                 "Nodes of a clique by state, with or without domains, counted every 5 s. The "
                 "label clique is empty for GPU nodes without fabric",
                 {{.name = "clique", .value = clique}, {.name = "state", .value = state}}, nodes);
  };
  for (const auto& [clique, count] : capacity) {
    add(clique, "free", count.free);
    add(clique, "reserved", count.reserved);
    add(clique, "held", count.held);
    add(clique, "unusable", count.unusable);
  }
}

// Returns one of a few values, whatever the daemon wrote.
std::string StateOf(const api::DaemonPod& pod) {
  const std::string_view trouble = compute_domain::ImexTroubleOf(pod).reason;
  if (trouble == api::kReasonImexOnHost) return "on_host";
  if (trouble == api::kReasonImexWaitsForQuorum) return "waiting";
  if (pod.imex->state == api::kImexReady) return "ready";
  return pod.imex->state == api::kImexEnded ? "ended" : "other";
}

// Adds series of daemons that report. NVIDIA's daemons do not, so they have no series.
void AddImex(const DomainView& view, const SeriesLabels& labels, Families& families) {
  std::map<std::string, double> states = {
      {"ended", 0}, {"on_host", 0}, {"other", 0}, {"ready", 0}, {"waiting", 0}};
  bool any = false;
  double unreachable = 0;
  double restarts = 0;
  for (const auto& pod : view.daemons) {
    if (!pod->imex || pod->terminal || pod->meta.deleting) continue;
    any = true;
    states[StateOf(*pod)] += 1;
    unreachable += pod->imex->unreachable_count;
    restarts += pod->imex->restarts;
    const SeriesLabels of_node = With(labels, "node", pod->node);
    families.Add("cdom_node_imex_ready",
                 "1 if the node's daemon reports that IMEX is READY, else 0", of_node,
                 pod->imex->state == api::kImexReady ? 1 : 0);
    families.Add("cdom_node_imex_unreachable_peers",
                 "Peers to which the node's IMEX has had no connection for 15 s or more", of_node,
                 pod->imex->unreachable_count);
  }
  if (!any) return;
  for (const auto& [state, count] : states) {
    families.Add("cdom_domain_imex_daemons", "cdom's daemons by the state of their IMEX",
                 With(labels, "state", state), count);
  }
  families.Add(
      "cdom_domain_imex_unreachable_peers",
      "Missing connections of these IMEX processes, seen from each side (ImexPeersUnreachable)",
      labels, unreachable);
  families.Add("cdom_domain_imex_restarts",
               "How often IMEX ended by itself and was started again, over the current daemons "
               "(ImexRestartedUnderJob)",
               labels, restarts);
}

// Adds the nodes that need an IMEX daemon. A node without a series needs none.
void AddNodes(const DomainView& view, const SeriesLabels& labels, Families& families) {
  for (const auto& node : view.nodes) {
    families.Add("cdom_node_imex_expected",
                 "1 for each node on which the domain needs an IMEX daemon. Other nodes run none "
                 "and are healthy",
                 With(With(labels, "node", node->meta.key.name), "clique", node->clique), 1);
  }
}

// Then the status of a domain shows that a claim has a node.
constexpr std::chrono::seconds kStatusIsNew{10};

}  // namespace

DomainMetrics::DomainMetrics(Sources sources, const base::Clock& clock,
                             prometheus::Histogram& time_to_ready,
                             prometheus::Family<prometheus::Histogram>& phases,
                             prometheus::Histogram& wait)
    : sources_(std::move(sources)),
      clock_(clock),
      time_to_ready_(time_to_ready),
      phases_(phases),
      wait_(wait) {
  // With a series from the start, a rate has the first formation, too.
  for (const char* phase : {"scheduled", "labelled", "daemons_ready", "members_ready", "shared"}) {
    phases_.Add({{"phase", phase}}, kFormationBuckets);
  }
}

void DomainMetrics::Sample(bool leads) {
  if (!leads) {
    state_.With([](State& state) { state = {}; });
    return;
  }
  const base::Clock::TimePoint now = clock_.Now();
  state_.With([&](State& state) {
    if (!state.leads) {
      state = {.leads = true, .sampled = now};
    }
    const double took = Seconds(now - std::exchange(state.sampled, now));
    std::map<kube::Uid, Totals> totals;  // Of domains that still exist.
    sources_.versions([&](const kube::ObjectMeta& meta) {
      Totals& next = totals[meta.uid] = state.totals[meta.uid];
      if (next.facts.version != meta.resource_version) {
        const auto domain = sources_.domain(meta.key);
        if (domain && domain->meta.uid == meta.uid) next.facts = FactsOf(*domain);
      }
      const double held = took * static_cast<double>(sources_.count_nodes(meta.uid));
      next.held_node_seconds += held;
      if (!next.facts.in_use) next.idle_node_seconds += held;
      ObserveFormation(next);
    });
    state.totals = std::move(totals);
  });
}

DomainMetrics::Facts DomainMetrics::FactsOf(const ComputeDomain& domain) {
  Facts facts = {.version = domain.meta.resource_version};
  if (const auto* use = domain.status.Find(api::kConditionInUse)) {
    facts.in_use = use->status == "True";
    facts.has_no_claims = use->reason == api::kReasonNoClaims;
  }
  if (const auto* members = domain.status.Find(api::kConditionMembersReady)) {
    facts.has_no_members = members->reason == api::kReasonNoMembers;
    facts.members_ready = members->status == "True";
    facts.members_since = base::ParseTime(members->last_transition_time);
  }
  if (domain.status.IsTrue(api::kConditionMemoryShared)) {
    facts.shared_since =
        base::ParseTime(domain.status.Find(api::kConditionMemoryShared)->last_transition_time);
  }
  return facts;
}

void DomainMetrics::ObserveFormation(Totals& totals) {
  const Facts& facts = totals.facts;
  if (!facts.members_since) return;
  if (facts.has_no_members) {
    totals.was_idle = true;
    const bool has_no_claims =
        facts.has_no_claims && totals.scheduled && clock_.Wall() - *totals.scheduled > kStatusIsNew;
    // Of pods that have ended, perhaps before a node had the domain's label.
    if (totals.claimed && (*totals.claimed < *facts.members_since || has_no_claims)) {
      totals.claimed = totals.scheduled = totals.labelled = totals.daemon_ready =
          totals.formed = {};
      totals.has_shared = false;
    }
  }
  if (!totals.claimed) return;
  if (facts.members_ready && !totals.formed) {
    totals.formed = facts.members_since;
    if (*facts.members_since < *totals.claimed) return;
    time_to_ready_.Observe(Seconds(*facts.members_since - *totals.claimed));
    ObservePhases(totals);
  }
  if (!totals.formed || totals.has_shared || !facts.shared_since) return;
  if (*facts.shared_since < *totals.formed) return;
  totals.has_shared = true;
  ObservePhase("shared", *totals.formed, *facts.shared_since);
}

// A phase begins when the one before ends. One whose end was not seen counts to the next.
void DomainMetrics::ObservePhases(const Totals& totals) {
  base::Clock::WallTime from = *totals.claimed;
  for (const auto& [phase, end] : {std::pair{"scheduled", totals.scheduled},
                                   {"labelled", totals.labelled},
                                   {"daemons_ready", totals.daemon_ready},
                                   {"members_ready", totals.formed}}) {
    if (!end) continue;
    // Conditions have whole seconds.
    const base::Clock::WallTime to = std::clamp(*end, from, std::max(from, *totals.formed));
    ObservePhase(phase, from, to);
    from = to;
  }
}

void DomainMetrics::ObservePhase(const char* phase, base::Clock::WallTime from,
                                 base::Clock::WallTime to) {
  phases_.Add({{"phase", phase}}, kFormationBuckets).Observe(Seconds(to - from));
}

void DomainMetrics::Progressed(const kube::Uid& domain_uid,
                               compute_domain::Cache::Progress progress) {
  state_.With([&](State& state) {
    Totals* const totals = base::Find(state.totals, domain_uid);
    if (totals == nullptr || !totals->claimed || totals->formed) return;
    const bool is_label = progress == compute_domain::Cache::Progress::kLabelled;
    (is_label ? totals->labelled : totals->daemon_ready) = clock_.Wall();
  });
}

void DomainMetrics::Waited(const api::ResourceClaim& claim) {
  const auto created = base::ParseTime(claim.meta.creation_timestamp);
  if (!created) return;
  const bool leads = state_.With([&](State& state) {
    if (!state.leads) return false;
    const auto [found, is_new] = state.totals.try_emplace(claim.channel_domain);
    Totals& totals = found->second;
    if (!totals.claimed && (is_new || totals.was_idle)) totals.claimed = *created;
    if (totals.claimed && !totals.formed) totals.scheduled = clock_.Wall();
    return true;
  });
  if (leads) wait_.Observe(std::max(0.0, Seconds(clock_.Wall() - *created)));
}

std::vector<MetricFamily> DomainMetrics::Collect() const {
  const State state = state_.With([](const State& current) { return current; });
  if (!state.leads) return {};
  Families families;
  const base::Clock::WallTime now = clock_.Wall();
  const auto capacity = sources_.capacity ? sources_.capacity() : nullptr;
  if (capacity) AddRooms(*capacity, families);
  sources_.views([&](const DomainView& view) {
    const kube::ObjectMeta& meta = view.domain.meta;
    const SeriesLabels labels = {{.name = "namespace", .value = meta.key.ns},
                                 {.name = "name", .value = meta.key.name}};
    AddDomain(view, now, labels, families);
    if (sources_.memory_shared) {
      families.Add("cdom_domain_memory_shared",
                   "1 if all pods of the domain share memory, 0 if not (its condition "
                   "MemoryShared). Absent while that is unknown",
                   labels, ValueOf(sources_.memory_shared(view.domain)));
    }
    families.Add("cdom_domain_members_leaving",
                 "Ready members whose node is about to leave (NodeLeaving)", labels,
                 LeavingMembers(view, sources_.leaving_taints));
    AddImex(view, labels, families);
    AddWaiting(view, now, labels, families);
    AddCliques(view.domain, labels, families);
    AddNodes(view, labels, families);
    const Totals* const totals = base::Find(state.totals, meta.uid);
    if (totals == nullptr) return;
    families.Add("cdom_domain_held_node_seconds_total",
                 "Sum of the time for which nodes had the domain's label, sampled every 5 s",
                 labels, totals->held_node_seconds, MetricType::Counter);
    families.Add("cdom_domain_idle_node_seconds_total",
                 "The part of that time in which no pod held a channel", labels,
                 totals->idle_node_seconds, MetricType::Counter);
  });
  return families.Take();
}

}  // namespace process
