// P3, P4 and P18: from a change that somebody else wrote to the status that says so, both by the
// time stamps of the API server, one change at a time.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "controller/api/names.h"
#include "pkg/kube/client/request.h"
#include "test/bench/objects.h"
#include "test/bench/rows.h"
#include "test/bench/workload.h"

namespace bench {

namespace {

using base::ErrorCode;
using base::Result;
using json::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Changed in turn, so that each is at rest between two changes, and changes less than ten times a
// minute. The controller writes the same content no more often in turn with other content.
constexpr int kWorkloads = 12;
constexpr int kNodesOfWorkload = 3;  // 36 nodes in all.
constexpr seconds kFormsMost{180};
constexpr seconds kMost{10};  // What takes longer is not told from what never comes.
// Longer than the window (500 ms) in which changes of a status wait for one another.
constexpr milliseconds kRest{750};
constexpr double kBudgetMillis = 100;

struct Latencies {
  std::vector<double> millis = {};
  std::vector<double> write_millis = {};  // That the server needed for the status write itself.
  int missed = 0;                         // Not seen within kMost.
};

using IsCause = std::function<bool(const AuditEvent&)>;

// The last event that `matches`, null without one.
const AuditEvent* Last(std::span<const AuditEvent> events, const IsCause& matches) {
  const auto it = std::find_if(events.rbegin(), events.rend(), matches);
  return it == events.rend() ? nullptr : &*it;
}

// Makes one change and waits until `workload`'s status has `node` as `ready` says. What changed it
// is the last event that `is_cause`, what says so the last status write of the domain after it.
Result<void> Sample(Stage& stage, const Workload& workload, const std::string& node, bool ready,
                    const std::function<Result<void>()>& change, const IsCause& is_cause,
                    Latencies& latencies) {
  constexpr milliseconds kPoll{10};
  TRY(stage.audit().Read());
  const std::size_t mark = stage.audit().Mark();
  TRY(change());
  const std::string what = node + " is " + (ready ? "Ready" : "not Ready") + " in " + workload.name;
  const Result<void> seen = stage.Await(
      what, kMost,
      [&]() -> Result<bool> { return TRY(IsReadyMember(stage, workload, node)) == ready; }, kPoll);
  if (!seen) {
    if (seen.error().code != ErrorCode::kDeadlineExceeded) return seen;
    ++latencies.missed;
    return {};
  }
  return stage.Await("the audit log shows why " + what, kMost, [&]() -> Result<bool> {
    TRY(stage.audit().Read());
    const auto events = stage.audit().Since(mark);
    const AuditEvent* cause = Last(events, is_cause);
    if (cause == nullptr) return false;
    const AuditEvent* effect = Last(events, [&](const AuditEvent& event) {
      return IsStatusWrite(event) && event.name == workload.name &&
             event.received >= cause->received;
    });
    if (effect == nullptr) return false;
    latencies.millis.push_back(Millis(effect->completed - cause->completed));
    latencies.write_millis.push_back(Millis(effect->completed - effect->received));
    return true;
  });
}

Result<std::vector<Workload>> StartWorkloads(Stage& stage, const std::string& prefix) {
  std::vector<Workload> workloads;
  for (int i = 0; i < kWorkloads; ++i) {
    workloads.push_back(TRY(StartWorkload(stage, prefix + std::to_string(i), kNodesOfWorkload)));
  }
  for (Workload& workload : workloads) {
    TRY(AwaitReady(stage, workload, kNodesOfWorkload, kFormsMost));
  }
  return workloads;
}

Result<void> EndWorkloads(Stage& stage, const std::vector<Workload>& workloads) {
  for (const Workload& workload : workloads) TRY(EndWorkload(stage, workload, kFormsMost));
  return {};
}

Result<void> AwaitMember(Stage& stage, const Workload& workload, const std::string& node,
                         bool ready) {
  return stage.Await(
      node + (ready ? " is Ready" : " is not Ready"), kFormsMost,
      [&]() -> Result<bool> { return TRY(IsReadyMember(stage, workload, node)) == ready; });
}

Row RowOf(const std::string& id, const std::string& what, const Latencies& latencies) {
  const auto count = std::ssize(latencies.millis) + latencies.missed;
  Row row = {
      .id = id,
      .what = what + " (" + std::to_string(count) + " isolated changes)",
      .budget = Budget{.text = "p99 <= 100 ms", .value = Millis(kMost), .aim = kBudgetMillis}};
  const std::string missed =
      latencies.missed == 0 ? "" : std::to_string(latencies.missed) + " not within 10 s";
  if (latencies.millis.empty()) {
    row.ours = missed;
    row.figure = Millis(kMost);
    return row;
  }
  const double median = Percentile(latencies.millis, 0.5);
  const double tail = Percentile(latencies.millis, 0.99);
  const double write = Percentile(latencies.write_millis, 0.5);
  row.yardstick = "the status write itself: p50 " + Number(write) + " ms";
  row.ours = "p50 " + Number(median) + " ms, p99 " + Number(tail) + " ms" +
             (missed.empty() ? "" : ", " + missed);
  row.figure = tail;
  row.ratio = median / write;
  if (latencies.missed == 0) row.budget->value = tail;
  return row;
}

// Returns what this share of the changes took, for the README.
std::string CellOf(const Latencies& latencies, double share) {
  if (latencies.missed > 0 || latencies.millis.empty()) return "not within 10 s";
  const double millis = Percentile(latencies.millis, share);
  return millis < 1000 ? std::to_string(std::lround(millis)) + " ms" : Number(millis / 1000) + " s";
}

// The daemon says that it is ready: in its clique entry, or, if the controller writes that, in the
// status of its pod.
IsCause DaemonSaysReady(const Workload& workload, bool controller_writes) {
  return [&workload, controller_writes](const AuditEvent& event) {
    if (event.user != kNodesimUser || !event.Succeeded() || !event.IsWrite()) return false;
    if (controller_writes) {
      return event.IsOn("pods/status") && event.name.starts_with(api::DaemonName(workload.uid));
    }
    return event.IsOn("computedomaincliques") && event.name.starts_with(workload.uid);
  };
}

Result<Latencies> SampleReady(Stage& stage, const std::vector<Workload>& workloads,
                              const std::string& writer, int samples) {
  Latencies latencies;
  const auto taken = [&] { return std::ssize(latencies.millis) + latencies.missed; };
  for (std::size_t round = 0; taken() < samples; ++round) {
    const auto node_of = [&](const Workload& workload) {
      return workload.nodes[round % workload.nodes.size()];
    };
    for (const Workload& workload : workloads) {
      TRY(stage.Nodesim("stall-daemon?node=" + node_of(workload)));
    }
    for (const Workload& workload : workloads) {
      TRY(AwaitMember(stage, workload, node_of(workload), false));
    }
    stage.Pause(kRest);
    for (const Workload& workload : workloads) {
      const std::string node = node_of(workload);
      TRY(Sample(
          stage, workload, node, true, [&] { return stage.Nodesim("unstall-daemon?node=" + node); },
          DaemonSaysReady(workload, writer == "controller"), latencies));
    }
    for (const Workload& workload : workloads) {
      TRY(AwaitMember(stage, workload, node_of(workload), true));
    }
  }
  return latencies;
}

Result<Row> MeasureReady(Stage& stage, const Sizes& sizes, const std::string& writer) {
  const auto controller = TRY(stage.StartController({{"MEMBERSHIP_WRITER", writer}}));
  const auto workloads = TRY(StartWorkloads(stage, "ready-" + writer + "-"));
  const Latencies latencies = TRY(SampleReady(stage, workloads, writer, sizes.samples));
  TRY(EndWorkloads(stage, workloads));
  TRY(stage.Stop(*controller));
  const bool by_daemons = writer == "daemon";
  Row row = RowOf("P3",
                  std::string("daemon Ready -> status; cliques written by ") +
                      (by_daemons ? "the daemons" : "the controller"),
                  latencies);
  if (by_daemons) row.recorded = CellOf(latencies, 0.5);
  return row;
}

// Somebody who creates domains in a namespace of their own and deletes them, again and again, on a
// thread of its own.
class BusyTenant {
 public:
  explicit BusyTenant(const Stage& stage)
      : load_(stage.NewLoad()),
        connection_(stage.NewConnection()),
        thread_([this](const std::stop_token& stop) { result_ = Run(stop); }) {}

  // Ends it, once the domains of its last turn are gone. Says how many it made.
  Result<int> Stop() {
    thread_.request_stop();
    thread_.join();
    return result_;
  }

 private:
  static constexpr int kAtOnce = 2 * kInFlight;
  static constexpr const char* kNamespaceOfLoop = "busy-tenant";

  Result<int> Run(const std::stop_token& stop) {
    load_.Add(kube::CreateRequest(
        kube::kNamespaces, "",
        Value::Object({{"apiVersion", "v1"},
                       {"kind", "Namespace"},
                       {"metadata", Value::Object({{"name", kNamespaceOfLoop}})}})));
    TRY(load_.Run());
    int made = 0;
    for (; !stop.stop_requested(); made += kAtOnce) TRY(TakeTurn(made));
    return made;
  }

  Result<void> TakeTurn(int first) {
    const auto name_of = [&](int i) { return "busy-" + std::to_string(first + i); };
    for (int i = 0; i < kAtOnce; ++i) {
      Value domain = Domain(name_of(i));
      domain["metadata"]["namespace"] = kNamespaceOfLoop;
      load_.Add(kube::CreateRequest(api::kComputeDomains, kNamespaceOfLoop, domain));
    }
    TRY(load_.Run());
    for (int i = 0; i < kAtOnce; ++i) {
      const kube::ObjectKey key = {.ns = kNamespaceOfLoop, .name = name_of(i)};
      load_.Add(kube::DeleteRequest(api::kComputeDomains, key, "", kube::Propagation::kBackground));
    }
    TRY(load_.Run());
    const auto list = kube::ListRequest(api::kComputeDomains, {.ns = kNamespaceOfLoop});
    for (;;) {
      const http::Response reply = TRY(kube::CheckStatus(connection_->Send(list), list.method));
      if (TRY(json::Parse(reply.body))["items"].items().empty()) return {};
      std::this_thread::sleep_for(milliseconds(50));
    }
  }

  Load load_;
  std::unique_ptr<http::Transport> connection_;
  Result<int> result_ = 0;
  std::jthread thread_;
};

// What the node lifecycle controller writes 40 s after it last heard of a node.
Result<void> SayNotReady(Stage& stage, const std::string& node) {
  const Value conditions = Value::Array({Value::Object({{"type", "Ready"},
                                                        {"status", "Unknown"},
                                                        {"reason", "NodeStatusUnknown"},
                                                        {"message", "said by the benchmark"}})});
  http::Request request = kube::MergePatchRequest(
      kube::kNodes, {.name = node},
      Value::Object({{"status", Value::Object({{"conditions", conditions}})}}), "status");
  request.content_type = "application/strategic-merge-patch+json";  // Conditions merge by type.
  TRY(stage.Send(request));
  return {};
}

Result<void> SampleNotReady(Stage& stage, const std::vector<Workload>& workloads, std::size_t round,
                            Latencies& latencies) {
  const auto node_of = [&](const Workload& workload) {
    return workload.nodes[round % workload.nodes.size()];
  };
  for (const Workload& workload : workloads) {
    TRY(stage.Nodesim("kill?node=" + node_of(workload)));
  }
  for (const Workload& workload : workloads) {
    const std::string node = node_of(workload);
    TRY(Sample(
        stage, workload, node, false, [&] { return SayNotReady(stage, node); },
        [&](const AuditEvent& event) {
          return event.user == kAdminUser && event.IsOn("nodes/status") && event.name == node;
        },
        latencies));
  }
  for (const Workload& workload : workloads) {
    TRY(stage.Nodesim("revive?node=" + node_of(workload)));
  }
  for (const Workload& workload : workloads) {
    TRY(AwaitMember(stage, workload, node_of(workload), true));
  }
  stage.Pause(kRest);
  return {};
}

Result<void> SampleGone(Stage& stage, const std::vector<Workload>& workloads, std::size_t round,
                        Latencies& latencies) {
  for (const Workload& workload : workloads) {
    const std::string node = workload.nodes.at(round);
    TRY(Sample(
        stage, workload, node, false, [&] { return stage.Nodesim("remove?node=" + node); },
        [&](const AuditEvent& event) {
          return event.verb == "delete" && event.IsOn("nodes") && event.name == node;
        },
        latencies));
  }
  stage.Pause(kRest);
  return {};
}

}  // namespace

Rows MeasureReadyLatency(Stage& stage, const Sizes& sizes) {
  std::vector<Row> rows;
  rows.push_back(TRY(MeasureReady(stage, sizes, "daemon")));
  rows.push_back(TRY(MeasureReady(stage, sizes, "controller")));
  return rows;
}

Rows MeasureFairness(Stage& stage, const Sizes& sizes) {
  const auto controller = TRY(stage.StartController());
  const auto workloads = TRY(StartWorkloads(stage, "fair-"));
  const Latencies calm = TRY(SampleReady(stage, workloads, "daemon", sizes.samples));
  BusyTenant tenant(stage);
  const Latencies busy = TRY(SampleReady(stage, workloads, "daemon", sizes.samples));
  const int made = TRY(tenant.Stop());
  TRY(EndWorkloads(stage, workloads));
  TRY(stage.Stop(*controller));
  Row row = RowOf("P18",
                  "daemon Ready -> status, while another namespace makes and deletes " +
                      std::to_string(made) + " domains",
                  busy);
  const Row alone = RowOf("", "", calm);
  row.budget.reset();
  row.yardstick = "without it: " + alone.ours + "; the status write itself: p50 " +
                  Number(Percentile(calm.write_millis, 0.5)) + ", with it " +
                  Number(Percentile(busy.write_millis, 0.5)) + " ms";
  row.ratio = row.figure / alone.figure;
  return std::vector<Row>{row};
}

Rows MeasureNodeLossLatency(Stage& stage, const Sizes& sizes) {
  const auto controller = TRY(stage.StartController());
  const auto workloads = TRY(StartWorkloads(stage, "loses-"));
  const auto count = [](const Latencies& latencies) {
    return std::ssize(latencies.millis) + latencies.missed;
  };
  stage.Pause(kRest);
  Latencies not_ready;
  for (std::size_t round = 0; count(not_ready) < sizes.samples; ++round) {
    TRY(SampleNotReady(stage, workloads, round, not_ready));
  }
  Latencies gone;  // A node goes only once.
  for (std::size_t round = 0; round < kNodesOfWorkload && count(gone) < sizes.samples; ++round) {
    TRY(SampleGone(stage, workloads, round, gone));
  }
  TRY(stage.Stop(*controller));
  Row row = RowOf("P4", "Node is NotReady -> its member in status", not_ready);
  row.recorded = CellOf(not_ready, 1);
  if (not_ready.missed == 0) row.recorded += " at most";
  return std::vector<Row>{std::move(row),
                          RowOf("P4", "Node is deleted -> its member in status", gone)};
}

}  // namespace bench
