#include "controller/process/domain_totals.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <string>

namespace process {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::map<std::string, std::string>;

class Fixed final : public prometheus::Collectable {
 public:
  // To a family of that name, which is the last one or a new one.
  void Add(const char* name, const Labels& labels, double value,
           MetricType type = MetricType::Gauge) {
    if (families_.empty() || families_.back().name != name) {
      families_.push_back({.name = name, .help = "", .type = type, .metric = {}});
    }
    ClientMetric metric;
    for (const auto& [label, text] : labels) metric.label.push_back({.name = label, .value = text});
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    families_.back().metric.push_back(std::move(metric));
  }
  std::vector<MetricFamily> Collect() const override { return families_; }

 private:
  std::vector<MetricFamily> families_;
};

Labels Of(const char* name) { return {{"namespace", "victim"}, {"name", name}}; }

// As Prometheus reads it.
std::string TextOf(const std::shared_ptr<Fixed>& domains, Readers readers) {
  return prometheus::TextSerializer().Serialize(DomainTotals(domains, readers).Collect());
}

std::shared_ptr<Fixed> TwoDomains() {
  auto domains = std::make_shared<Fixed>();
  domains->Add("cdom_clique_nodes", {{"clique", "rack-1"}, {"state", "free"}}, 3);
  domains->Add("cdom_clique_nodes", {{"clique", "rack-1"}, {"state", "held"}}, 4);
  domains->Add("cdom_clique_nodes", {{"clique", "rack-2"}, {"state", "free"}}, 5);
  domains->Add("cdom_domain_members", Of("secret-project"), 2);
  domains->Add("cdom_domain_members", Of("other"), 16);
  domains->Add("cdom_domain_wait_age_seconds", Of("secret-project"), 7);
  domains->Add("cdom_domain_wait_age_seconds", Of("other"), 90);
  domains->Add("cdom_domain_held_node_seconds_total", Of("other"), 8, MetricType::Counter);
  domains->Add("cdom_node_imex_expected", {{"name", "secret-project"}, {"node", "node-7"}}, 1);
  return domains;
}

TEST(DomainTotals, REV3_X8_AnyoneGetsTotalsWithoutNames) {
  const std::string text = TextOf(TwoDomains(), Readers::kAnyone);
  for (const char* name : {"victim", "secret-project", "other", "rack-1", "node-7", "namespace",
                           "name=", "clique=", "node="}) {
    EXPECT_EQ(text.find(name), std::string::npos) << name << " in " << text;
  }
  for (const char* line :
       {"\ncdom_members 18\n", "\ncdom_longest_wait_age_seconds 90\n",
        "\ncdom_nodes{state=\"free\"} 8\n", "\ncdom_nodes{state=\"held\"} 4\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << " not in " << text;
  }
  EXPECT_EQ(text.find("held_node_seconds"), std::string::npos) << text;
}

TEST(DomainTotals, REV3_X8_AllowedReadersGetBoth) {
  const std::string text = TextOf(TwoDomains(), Readers::kAllowed);
  EXPECT_NE(text.find("cdom_domain_members{name=\"secret-project\",namespace=\"victim\"} 2\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\ncdom_members 18\n"), std::string::npos) << text;
}

TEST(DomainTotals, REV3_X8_ReplicaThatDoesNotLeadHasNoTotals) {
  EXPECT_EQ(TextOf(std::make_shared<Fixed>(), Readers::kAnyone), "");
}

}  // namespace
}  // namespace process
