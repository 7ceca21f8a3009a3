#include "controller/process/metrics.h"

#include <utility>

#include "pkg/base/version.h"

namespace process {

namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::ClientMetric;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Histogram;
using prometheus::MetricFamily;
using prometheus::MetricType;
using prometheus::Registry;
using Buckets = Histogram::BucketBoundaries;
using Labels = prometheus::Labels;

// Interval between samples of values that change with time.
constexpr std::chrono::seconds kSamplePeriod{5};

const Labels kQueue = {{"name", "compute-domain"}};
const Labels kController = {{"controller", "compute-domain"}};

const Buckets kReconcileBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
// These buckets, and those of requests, are client-go's.
const Buckets kQueueBuckets = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10};
const Buckets kRequestBuckets = {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};

Family<Counter>& Counters(Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry);
}
Family<Histogram>& Histograms(Registry& registry, const char* name, const char* help) {
  return BuildHistogram().Name(name).Help(help).Register(registry);
}
prometheus::Gauge& OneGauge(Registry& registry, const char* name, const char* help,
                            const Labels& labels) {
  return BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}

Counter& Reconciles(Registry& registry, const char* result) {
  Labels labels = kController;
  labels["result"] = result;
  return Counters(registry, "controller_runtime_reconcile_total",
                  "Reconciles by result. requeue_after: repeated at a set time")
      .Add(labels);
}

ClientMetric Metric(MetricType type, const Labels& labels, double value) {
  ClientMetric metric;
  for (const auto& [name, text] : labels) metric.label.push_back({.name = name, .value = text});
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  return metric;
}

MetricFamily OneOf(const char* name, const char* help, MetricType type, const Labels& labels,
                   double value) {
  return {.name = name, .help = help, .type = type, .metric = {Metric(type, labels, value)}};
}

void VisitViews(const compute_domain::Cache& cache, const DomainMetrics::ViewVisitor& visit) {
  cache.VisitDomains([&](const api::ComputeDomain& domain) {
    const kube::Uid& uid = domain.meta.uid;
    visit({.domain = domain,
           .nodes = cache.LabelledNodes(uid),
           .daemons = cache.DaemonPods(uid),
           .waiting = cache.WaitingClaims(uid)});
  });
}

// Metrics whose values other objects count.
class Sources final : public prometheus::Collectable {
 public:
  explicit Sources(const MetricSources& sources) : sources_(sources) {}

  std::vector<MetricFamily> Collect() const override {
    std::vector<MetricFamily> families = {DomainInfo()};
    const kube::WorkQueue::Stats queue = sources_.queue.Stats();
    const auto of_queue = [&](const char* name, const char* help, MetricType type, double value) {
      families.push_back(OneOf(name, help, type, kQueue, value));
    };
    of_queue("workqueue_depth", "Domains that wait for a worker", MetricType::Gauge,
             static_cast<double>(queue.depth));
    of_queue(
        "workqueue_adds_total",
        "Domains that were added to the queue. A domain that already waits does not count again",
        MetricType::Counter, static_cast<double>(queue.adds));
    of_queue("workqueue_retries_total", "Domains that were put back after an error",
             MetricType::Counter, static_cast<double>(queue.retries));
    of_queue("workqueue_unfinished_work_seconds",
             "Sum of the time that workers have spent so far on their current domains",
             MetricType::Gauge, Seconds(queue.unfinished));
    of_queue("workqueue_longest_running_processor_seconds",
             "Longest time that a worker has spent on its current domain", MetricType::Gauge,
             Seconds(queue.longest_held));
    families.push_back(OneOf("controller_runtime_active_workers",
                             "Workers that process a domain now", MetricType::Gauge, kController,
                             static_cast<double>(queue.in_progress)));
    const kube::EventRecorder::Counts events = sources_.events.counts();
    MetricFamily total =
        OneOf("cdom_events_total",
              "Events that the API server accepted (sent) and Events that were lost (dropped)",
              MetricType::Counter, {{"result", "sent"}}, static_cast<double>(events.sent));
    total.metric.push_back(
        Metric(MetricType::Counter, {{"result", "dropped"}}, static_cast<double>(events.dropped)));
    families.push_back(std::move(total));
    return families;
  }

 private:
  MetricFamily DomainInfo() const {
    double ready = 0;
    double not_ready = 0;
    sources_.cache.VisitDomains([&](const api::ComputeDomain& domain) {
      ++(domain.status.status == "Ready" ? ready : not_ready);
    });
    MetricFamily family = OneOf("nvidia_dra_compute_domain_info",
                                "ComputeDomains by status.status, as NVIDIA's controller counts "
                                "them. Every replica serves it",
                                MetricType::Gauge, {{"status", "Ready"}}, ready);
    family.metric.push_back(Metric(MetricType::Gauge, {{"status", "NotReady"}}, not_ready));
    return family;
  }

  const MetricSources sources_;
};

}  // namespace

Metrics::Metrics(const MetricSources& sources, std::string host, int workers)
    : clock_(sources.clock),
      host_(std::move(host)),
      registry_(std::make_shared<Registry>()),
      sources_(std::make_shared<Sources>(sources)),
      time_to_ready_(Histograms(*registry_, "cdom_domain_time_to_ready_seconds",
                                "Time from the creation of the first claim of a domain that was "
                                "idle until all its members were ready")
                         .Add({}, kFormationBuckets)),
      wait_(Histograms(*registry_, "cdom_claim_wait_seconds",
                       "Time from the creation of a claim for a channel until this leader saw that "
                       "it has a node")
                .Add({}, kFormationBuckets)),
      domains_(std::make_shared<DomainMetrics>(
          DomainMetrics::Sources{
              .versions = [&cache =
                               sources.cache](const auto& visit) { cache.VisitVersions(visit); },
              .domain = [&cache = sources.cache](const auto& key) { return cache.Domain(key); },
              .count_nodes = [&cache = sources.cache](
                                 const auto& uid) { return cache.CountLabelledNodes(uid); },
              .views = [&cache = sources.cache](const auto& visit) { VisitViews(cache, visit); },
              .capacity = sources.capacity,
              .memory_shared = sources.memory_shared,
              .leaving_taints = sources.leaving_taints},
          clock_, time_to_ready_,
          Histograms(*registry_, "cdom_domain_formation_phase_seconds",
                     "What each phase took of the time until all members of a domain that was idle "
                     "were ready, and after that until all its pods shared memory"),
          wait_)),
      leads_(OneGauge(*registry_, "leader_election_master_status",
                      "1 while this replica leads. Always 1 without leader election, always 0 in a "
                      "dry run",
                      {{"name", "compute-domain-controller"}})),
      can_serve_(OneGauge(*registry_, "cdom_can_serve",
                          "1 while this replica can serve domains, so that it may lead: it reads "
                          "ComputeDomains, and has read each other collection or gone without it",
                          {})),
      reconciled_(Reconciles(*registry_, "success")),
      requeued_(Reconciles(*registry_, "requeue_after")),
      failed_(Reconciles(*registry_, "error")),
      errors_(Counters(*registry_, "controller_runtime_reconcile_errors_total",
                       "Reconciles that failed and are retried")
                  .Add(kController)),
      reconcile_seconds_(Histograms(*registry_, "controller_runtime_reconcile_time_seconds",
                                    "Duration of a reconcile, including its requests")
                             .Add(kController, kReconcileBuckets)),
      queue_seconds_(Histograms(*registry_, "workqueue_queue_duration_seconds",
                                "Time for which a domain waited for a worker")
                         .Add(kQueue, kQueueBuckets)),
      work_seconds_(Histograms(*registry_, "workqueue_work_duration_seconds",
                               "Time for which a worker processed a domain")
                        .Add(kQueue, kQueueBuckets)),
      requests_(Counters(*registry_, "rest_client_requests_total",
                         "Finished requests by answer. The label code is <error> if there was no "
                         "answer. A watch counts when it ends")),
      request_seconds_(Histograms(*registry_, "rest_client_request_duration_seconds",
                                  "Duration of a request; for a watch, until its first byte")) {
  OneGauge(*registry_, "controller_runtime_max_concurrent_reconciles", "Number of workers",
           kController)
      .Set(workers);
  OneGauge(*registry_, "cdom_build_info", "1, with the version and the commit",
           {{"version", std::string(base::Version())}, {"revision", std::string(base::Revision())}})
      .Set(1);
  for (const Labels& labels : api::LabelsOf(sources.ignored_gates)) {
    OneGauge(*registry_, "cdom_feature_gates_ignored",
             "1 for each feature gate that has no effect, because it is unknown, or because cdom "
             "does not support this value",
             labels)
        .Set(1);
  }
}

void Metrics::Began(std::chrono::nanoseconds waited) { queue_seconds_.Observe(Seconds(waited)); }

void Metrics::Reconciled(const compute_domain::Outcome& outcome, std::chrono::nanoseconds took) {
  if (outcome.error) {
    failed_.Increment();
    errors_.Increment();
  } else {
    (outcome.requeue_after ? requeued_ : reconciled_).Increment();
  }
  reconcile_seconds_.Observe(Seconds(took));
  work_seconds_.Observe(Seconds(took));
}

void Metrics::Exchanged(const http::ExchangeReport& report) {
  const std::string method(http::ToString(report.method));
  const std::string code = report.status == 0 ? "<error>" : std::to_string(report.status);
  requests_.Add({{"code", code}, {"method", method}, {"host", host_}}).Increment();
  request_seconds_.Add({{"verb", method}, {"host", host_}}, kRequestBuckets)
      .Observe(Seconds(report.took));
}

void Metrics::Watched(const std::deque<kube::Reflector>& reflectors) {
  if (watches_.empty()) {
    auto& lists =
        Counters(*registry_, "cdom_reflector_lists_total",
                 "Full lists of a collection: the first one, and one after each lost position or 5 "
                 "minutes of a silent watch");
    auto& watches =
        Counters(*registry_, "cdom_reflector_watches_total",
                 "Started watches of a collection. A renewal every 5 to 10 minutes is normal");
    auto& gone_back = Counters(
        *registry_, "cdom_reflector_versions_gone_back_total",
        "How often the API server's resource versions went backwards. It should never happen");
    auto& failing = BuildGauge()
                        .Name("cdom_reflector_failing_seconds")
                        .Help("For how long a collection cannot be read. 0 while it can")
                        .Register(*registry_);
    for (const kube::Reflector& reflector : reflectors) {
      const Labels labels = {{"resource", reflector.options().resource.QualifiedName()},
                             {"namespace", reflector.options().ns}};
      watches_.push_back({.lists = lists.Add(labels),
                          .watches = watches.Add(labels),
                          .versions_gone_back = gone_back.Add(labels),
                          .failing = failing.Add(labels)});
    }
  }
  const auto catch_up = [](Counter& counter, std::uint64_t count) {
    counter.Increment(static_cast<double>(count) - counter.Value());
  };
  const base::Clock::TimePoint now = clock_.Now();
  for (std::size_t i = 0; i < reflectors.size(); ++i) {
    catch_up(watches_[i].lists, reflectors[i].lists());
    catch_up(watches_[i].watches, reflectors[i].watches());
    catch_up(watches_[i].versions_gone_back, reflectors[i].versions_gone_back());
    watches_[i].failing.Set(Seconds(now - reflectors[i].failing_since().value_or(now)));
  }
}

void Metrics::Refresh(bool leads) {
  leads_.Set(leads ? 1 : 0);
  const base::Clock::TimePoint now = clock_.Now();
  // Samples at once when leadership changes: only the leader has these series.
  const bool led = std::exchange(led_, leads);
  if (now < next_sample_ && led == leads) return;
  next_sample_ = now + kSamplePeriod;
  domains_->Sample(leads);
}

}  // namespace process
