#include "controller/process/domain_totals.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace process {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

enum class Method { kSum, kMost };

// A family that combines another one over all domains. None combines counters: their sum falls when
// a domain is deleted, and Prometheus would read that as a restart.
struct Total {
  std::string_view of = {};
  const char* name = "";
  const char* help = "";
  Method method = Method::kSum;
  std::string_view label = {};  // The label that is kept. Empty if none is.
};

constexpr auto kTotals = std::to_array<Total>({
    {.of = "cdom_domain_in_use",
     .name = "cdom_domains_in_use",
     .help = "Domains with a pod that holds a channel"},
    {.of = "cdom_domain_deletion_blocked",
     .name = "cdom_domains_deletion_blocked",
     .help = "Domains whose deletion waits"},
    {.of = "cdom_domain_members_expected",
     .name = "cdom_members_expected",
     .help = "Nodes that are expected to join, over all domains"},
    {.of = "cdom_domain_members",
     .name = "cdom_members",
     .help = "Nodes that have joined, over all domains"},
    {.of = "cdom_domain_members_ready",
     .name = "cdom_members_ready",
     .help = "Nodes that have joined and are ready, over all domains"},
    {.of = "cdom_domain_members_leaving",
     .name = "cdom_members_leaving",
     .help = "Ready members whose node is about to leave, over all domains"},
    {.of = "cdom_domain_nodes_held",
     .name = "cdom_nodes_held",
     .help = "Nodes that carry the label of a domain"},
    {.of = "cdom_domain_imex_daemons",
     .name = "cdom_imex_daemons",
     .help = "Daemons by the states of cdom_domain_imex_daemons, over all domains",
     .label = "state"},
    {.of = "cdom_domain_imex_unreachable_peers",
     .name = "cdom_imex_unreachable_peers",
     .help = "Missing IMEX connections between members, over all domains"},
    {.of = "cdom_domain_pods_waiting",
     .name = "cdom_pods_waiting",
     .help = "Claims for a channel without a node, over all domains"},
    {.of = "cdom_domain_wait_age_seconds",
     .name = "cdom_longest_wait_age_seconds",
     .help = "How long the oldest of them has waited. Exists only while one waits",
     .method = Method::kMost},
    {.of = "cdom_clique_nodes",
     .name = "cdom_nodes",
     .help = "Nodes of all cliques, by the states of cdom_clique_nodes",
     .label = "state"},
});

std::string LabelOf(const ClientMetric& metric, std::string_view name) {
  const auto label = std::ranges::find(metric.label, name, &ClientMetric::Label::name);
  return label == metric.label.end() ? "" : label->value;
}

MetricFamily Make(const Total& total, const MetricFamily& family) {
  std::map<std::string, double> values;  // Key: the label that is kept.
  for (const ClientMetric& metric : family.metric) {
    double& value = values[total.label.empty() ? "" : LabelOf(metric, total.label)];
    value = total.method == Method::kSum ? value + metric.gauge.value
                                         : std::max(value, metric.gauge.value);
  }
  MetricFamily made = {
      .name = total.name, .help = total.help, .type = MetricType::Gauge, .metric = {}};
  for (const auto& [label, value] : values) {
    ClientMetric metric;
    if (!total.label.empty()) {
      metric.label = {{.name = std::string(total.label), .value = label}};
    }
    metric.gauge.value = value;
    made.metric.push_back(std::move(metric));
  }
  return made;
}

}  // namespace

DomainTotals::DomainTotals(std::shared_ptr<const prometheus::Collectable> domains, Readers readers)
    : domains_(std::move(domains)), readers_(readers) {}

std::vector<MetricFamily> DomainTotals::Collect() const {
  std::vector<MetricFamily> families = domains_->Collect();
  std::vector<MetricFamily> totals;
  for (const Total& total : kTotals) {
    const auto of = std::ranges::find(families, total.of, &MetricFamily::name);
    if (of != families.end()) totals.push_back(Make(total, *of));
  }
  if (readers_ == Readers::kAnyone) return totals;
  std::ranges::move(totals, std::back_inserter(families));
  return families;
}

}  // namespace process
