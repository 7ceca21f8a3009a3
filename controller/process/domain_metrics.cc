#include "controller/process/domain_metrics.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "controller/api/names.h"
#include "pkg/base/rfc3339.h"

namespace process {

namespace {

using api::ComputeDomain;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

bool IsTrue(const ComputeDomain& domain, std::string_view type) {
  const kube::Condition* condition = domain.status.Find(type);
  return condition != nullptr && condition->status == "True";
}

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::optional<double> SecondsBetween(const std::string& from, base::Clock::WallTime to) {
  const auto began = base::ParseTime(from);
  if (!began) return std::nullopt;
  return std::max(0.0, Seconds(to - *began));
}

double ReadyMembers(const ComputeDomain& domain) {
  return static_cast<double>(std::ranges::count_if(domain.status.nodes, &api::Member::ready));
}

// A domain that asks for no number of nodes expects those that its pods were given.
double ExpectedMembers(const DomainView& view) {
  const std::int64_t asked = view.domain->num_nodes;
  return static_cast<double>(asked > 0 ? asked : static_cast<std::int64_t>(view.nodes.size()));
}

// Families in the order in which they were first added to.
class Families {
 public:
  void Add(const char* name, const char* help, const Labels& labels, std::optional<double> value,
           MetricType type = MetricType::Gauge) {
    if (!value) return;
    const auto [it, is_new] = index_.try_emplace(name, families_.size());
    if (is_new) families_.push_back({.name = name, .help = help, .type = type, .metric = {}});
    ClientMetric metric;
    metric.label = labels;
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = *value;
    families_[it->second].metric.push_back(std::move(metric));
  }
  [[nodiscard]] std::vector<MetricFamily> Take() { return std::move(families_); }

 private:
  std::map<std::string_view, std::size_t> index_;
  std::vector<MetricFamily> families_;
};

void AddDomain(const DomainView& view, base::Clock::WallTime now, const Labels& labels,
               Families& families) {
  const ComputeDomain& domain = *view.domain;
  families.Add("cdom_domain_ready", "1 if the domain is Ready", labels,
               domain.status.status == "Ready" ? 1 : 0);
  families.Add("cdom_domain_members_expected",
               "Nodes that shall join: spec.numNodes, or else the nodes that carry its label",
               labels, ExpectedMembers(view));
  families.Add("cdom_domain_members", "Nodes that have joined", labels,
               static_cast<double>(domain.status.nodes.size()));
  families.Add("cdom_domain_members_ready", "Nodes that have joined and are ready", labels,
               ReadyMembers(domain));
  families.Add("cdom_domain_nodes_held", "Nodes that carry the label of the domain", labels,
               static_cast<double>(view.nodes.size()));
  families.Add("cdom_domain_in_use", "1 if a pod holds a channel of the domain", labels,
               IsTrue(domain, api::kConditionInUse) ? 1 : 0);
  families.Add("cdom_domain_deletion_blocked", "1 if the deletion of the domain waits", labels,
               IsTrue(domain, api::kConditionDeletionBlocked) ? 1 : 0);
  if (domain.meta.deleting) {
    families.Add("cdom_domain_deletion_age_seconds", "Since the deletion was asked for", labels,
                 SecondsBetween(domain.meta.deletion_timestamp, now));
  }
}

void AddCliques(const ComputeDomain& domain, const Labels& labels, Families& families) {
  struct Count {
    double members = 0;
    double ready = 0;
  };
  std::map<std::string, Count> cliques;
  for (const api::Member& member : domain.status.nodes) {
    Count& count = cliques[member.clique];
    count.members += 1;
    count.ready += member.ready ? 1 : 0;
  }
  for (const auto& [id, count] : cliques) {
    Labels of_clique = labels;
    of_clique.push_back({.name = "clique", .value = id});
    families.Add("cdom_clique_members",
                 "Nodes of the clique that have joined the domain; without fabric, clique is empty",
                 of_clique, count.members);
    families.Add("cdom_clique_members_ready", "And are ready", of_clique, count.ready);
  }
}

// That a node is not here says that no IMEX daemon is expected on it.
void AddNodes(const DomainView& view, const Labels& labels, Families& families) {
  for (const auto& node : view.nodes) {
    Labels of_node = labels;
    of_node.push_back({.name = "node", .value = node->meta.key.name});
    families.Add("cdom_node_imex_expected",
                 "1 for each node on which the domain wants an IMEX daemon to run", of_node, 1);
  }
}

}  // namespace

DomainMetrics::DomainMetrics(View view, const base::Clock& clock,
                             prometheus::Histogram& time_to_ready)
    : view_(std::move(view)), clock_(clock), time_to_ready_(time_to_ready) {}

void DomainMetrics::Sample(bool leads) {
  if (!leads) {
    state_.With([](State& state) { state = {}; });
    return;
  }
  const std::vector<DomainView> views = view_();
  const base::Clock::TimePoint now = clock_.Now();
  state_.With([&](State& state) {
    if (!state.leads) {
      state = {.leads = true, .leads_since = clock_.Wall(), .sampled = now, .totals = {}};
    }
    const double took = Seconds(now - std::exchange(state.sampled, now));
    std::map<kube::Uid, Totals> totals;  // Of domains that are still there.
    for (const DomainView& view : views) {
      Totals& next = totals[view.domain->meta.uid] = state.totals[view.domain->meta.uid];
      const double held = took * static_cast<double>(view.nodes.size());
      next.held_node_seconds += held;
      if (!IsTrue(*view.domain, api::kConditionInUse)) next.idle_node_seconds += held;
      ObserveReady(*view.domain, state.leads_since, next);
    }
    state.totals = std::move(totals);
  });
}

void DomainMetrics::ObserveReady(const ComputeDomain& domain, base::Clock::WallTime leads_since,
                                 Totals& totals) {
  const kube::Condition* ready = domain.status.Find(api::kConditionReady);
  if (totals.was_ready || ready == nullptr || ready->status != "True") return;
  totals.was_ready = true;
  const auto created = base::ParseTime(domain.meta.creation_timestamp);
  const auto at = base::ParseTime(ready->last_transition_time);
  // An older domain may have been Ready before.
  if (created && at && *created >= leads_since) {
    time_to_ready_.Observe(std::max(0.0, Seconds(*at - *created)));
  }
}

std::vector<MetricFamily> DomainMetrics::Collect() const {
  const State state = state_.With([](const State& current) { return current; });
  if (!state.leads) return {};
  Families families;
  const base::Clock::WallTime now = clock_.Wall();
  for (const DomainView& view : view_()) {
    const kube::ObjectMeta& meta = view.domain->meta;
    const Labels labels = {{.name = "namespace", .value = meta.key.ns},
                           {.name = "name", .value = meta.key.name}};
    AddDomain(view, now, labels, families);
    AddCliques(*view.domain, labels, families);
    AddNodes(view, labels, families);
    const auto totals = state.totals.find(meta.uid);
    if (totals == state.totals.end()) continue;
    families.Add("cdom_domain_held_node_seconds_total",
                 "Time that nodes carried the label of the domain, over all of them", labels,
                 totals->second.held_node_seconds, MetricType::Counter);
    families.Add("cdom_domain_idle_node_seconds_total",
                 "The part of it in which no pod held a channel of the domain", labels,
                 totals->second.idle_node_seconds, MetricType::Counter);
  }
  return families.Take();
}

}  // namespace process
