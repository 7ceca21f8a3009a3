// P1: many domains created at once, beside the same writes sent by nobody's controller; and deleted
// at once, beside their creation.
#include <algorithm>
#include <memory>
#include <set>

#include "controller/api/names.h"
#include "pkg/kube/client/request.h"
#include "test/bench/objects.h"
#include "test/bench/rows.h"

namespace bench {

namespace {

using base::Result;
using json::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kChildren = 3;                          // DaemonSet and two claim templates.
constexpr int kWritesForChildren = 2 + kChildren;     // The domain itself, and its finalizer.
constexpr int kWritesInAll = kWritesForChildren + 1;  // And its status.
constexpr double kShareOfRaw = 0.8;
constexpr seconds kSettles{120};
// As measured last. Goes away once a deletion reads its proofs in fewer lists.
constexpr double kRequestsOfRemoval = 1.2;
constexpr const char* kModel = "model";

struct Child {
  const kube::Resource* resource = nullptr;
  Value object = {};
};

// A domain and its children as the controller made them, to make more of the same.
struct Model {
  Value domain = {};
  std::vector<Child> children = {};
};

Result<Model> ReadModel(Stage& stage) {
  Model model = {.domain =
                     TRY(stage.Get(api::kComputeDomains, {.ns = kNamespace, .name = kModel}))};
  const std::string selector =
      std::string(api::kDomainLabel) + "=" + model.domain["metadata"]["uid"].AsString();
  for (const auto* resource : {&kube::kDaemonSets, &kube::kResourceClaimTemplates}) {
    for (Value& object : TRY(stage.List(*resource, selector))) {
      // Items of a list do not say what they are.
      object["apiVersion"] = resource->ApiVersion();
      object["kind"] = resource->kind;
      model.children.push_back({.resource = resource, .object = std::move(object)});
    }
  }
  return model;
}

Result<Model> MakeModel(Stage& stage) {
  TRY(stage.Send(kube::CreateRequest(api::kComputeDomains, kNamespace, Domain(kModel))));
  Model model;
  const auto is_complete = [&]() -> Result<bool> {
    model = TRY(ReadModel(stage));
    return model.children.size() == kChildren && !model.domain["status"]["status"].IsNull();
  };
  TRY(stage.Await("the first domain has its children and status", seconds(60), is_complete));
  return model;
}

Value LockedMeta(const Value& object) {
  return Value::Object({{"uid", object["metadata"]["uid"]},
                        {"resourceVersion", object["metadata"]["resourceVersion"]}});
}

http::Request PatchStatus(const Model& model, const Value& domain) {
  return kube::MergePatchRequest(
      api::kComputeDomains, {.ns = kNamespace, .name = domain["metadata"]["name"].AsString()},
      Value::Object({{"metadata", LockedMeta(domain)}, {"status", model.domain["status"]}}),
      "status");
}

// One domain in the order of the controller: finalizer; children side by side; status.
void AddDomain(Load& load, const Model& model, const std::string& name) {
  const auto make_children = [&load, &model, name](const http::Response& reply) -> Result<void> {
    const Value domain = TRY(json::Parse(reply.body));
    const std::map<std::string, std::string> names = {
        {model.domain["metadata"]["uid"].AsString(), domain["metadata"]["uid"].AsString()},
        {kModel, name}};
    const auto missing = std::make_shared<std::size_t>(model.children.size());
    for (const Child& child : model.children) {
      const Value copy = CopyOf(child.object, names);
      load.AddNext(
          kube::CreateRequest(*child.resource, copy["metadata"]["namespace"].AsString(), copy),
          [&load, &model, domain, missing](const http::Response&) -> Result<void> {
            if (--*missing == 0) load.AddNext(PatchStatus(model, domain));
            return {};
          });
    }
    return {};
  };
  load.Add(kube::CreateRequest(api::kComputeDomains, kNamespace, Domain(name)),
           [&load, make_children, name](const http::Response& reply) -> Result<void> {
             const Value domain = TRY(json::Parse(reply.body));
             Value meta = LockedMeta(domain);
             meta["finalizers"].Append(api::kFinalizer);
             load.AddNext(
                 kube::MergePatchRequest(api::kComputeDomains, {.ns = kNamespace, .name = name},
                                         Value::Object({{"metadata", std::move(meta)}})),
                 make_children);
             return {};
           });
}

struct Times {
  double children = 0;  // Seconds from the first domain that was created to the last child.
  double statuses = 0;
  std::set<std::string> with_status = {};
};

// Of the domains whose name begins with `prefix`, when `user` made their children.
Times TimesOf(std::span<const AuditEvent> events, std::string_view user,
              const std::string& prefix) {
  Times times;
  WallTime begin = WallTime::max();
  WallTime last_child = WallTime::min();
  WallTime last_status = WallTime::min();
  for (const AuditEvent& event : events) {
    if (!event.Succeeded() || !event.IsWrite()) continue;
    if (event.verb == "create" && event.IsOn("computedomains") && event.name.starts_with(prefix)) {
      begin = std::min(begin, event.received);
    }
    if (event.user != user) continue;
    const bool is_child = event.IsOn("daemonsets") || event.IsOn("resourceclaimtemplates");
    if (event.verb == "create" && is_child) last_child = std::max(last_child, event.completed);
    // The first status that is written counts, not those that follow.
    if (event.IsOn("computedomains/status") && event.name.starts_with(prefix) &&
        times.with_status.insert(event.name).second) {
      last_status = std::max(last_status, event.completed);
    }
  }
  if (begin == WallTime::max()) return times;
  times.children = Seconds(last_child - begin);
  times.statuses = Seconds(last_status - begin);
  return times;
}

std::vector<std::string> NamesOf(const std::string& prefix, int count) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

Result<Times> MeasureRaw(Stage& stage, const Model& model, int domains) {
  TRY(stage.audit().Read());
  const std::size_t mark = stage.audit().Mark();
  Load load = stage.NewLoad();
  for (const std::string& name : NamesOf("raw-", domains)) AddDomain(load, model, name);
  TRY(load.Run());
  Times times;
  const auto is_shown = [&]() -> Result<bool> {
    TRY(stage.audit().Read());
    times = TimesOf(stage.audit().Since(mark), kAdminUser, "raw-");
    return std::ssize(times.with_status) == domains;
  };
  TRY(stage.Await("the audit log shows what was written", seconds(30), is_shown));
  return times;
}

Value MetadataOf(const std::string& field, Value value) {
  return Value::Object({{"metadata", Value::Object({{field, std::move(value)}})}});
}

// Sends `second` once `first` succeeded.
void Then(Load& load, http::Request first, http::Request second) {
  load.Add(std::move(first),
           [&load, second = std::move(second)](const http::Response&) -> Result<void> {
             load.AddNext(second);
             return {};
           });
}

// Takes the raw domains away with all that was made for them, which a policy wants to be meant.
Result<void> RemoveRaw(Stage& stage, int domains) {
  const Value allowed = Value::Object({{"cdom.dev/allow-deletion", Value("true")}});
  Load load = stage.NewLoad();
  for (const auto* resource : {&kube::kDaemonSets, &kube::kResourceClaimTemplates}) {
    for (const Value& object : TRY(stage.List(*resource, std::string(api::kDomainLabel)))) {
      const kube::ObjectKey key = {.ns = object["metadata"]["namespace"].AsString(),
                                   .name = object["metadata"]["name"].AsString()};
      Then(load, kube::MergePatchRequest(*resource, key, MetadataOf("annotations", allowed)),
           kube::DeleteRequest(*resource, key, "", kube::Propagation::kBackground));
    }
  }
  TRY(load.Run());
  for (std::string& name : NamesOf("raw-", domains)) {
    const kube::ObjectKey key = {.ns = kNamespace, .name = std::move(name)};
    Then(load,
         kube::MergePatchRequest(api::kComputeDomains, key, MetadataOf("finalizers", Value())),
         kube::DeleteRequest(api::kComputeDomains, key, "", kube::Propagation::kBackground));
  }
  return load.Run();
}

// Requests of the controller since the mark, for each domain.
double RequestsSince(Stage& stage, std::size_t mark, int domains) {
  return static_cast<double>(std::ranges::count_if(stage.audit().Since(mark), IsOurs)) / domains;
}

struct Creation {
  Times times = {};
  double requests = 0;  // For each domain.
};

Result<Creation> MeasureController(Stage& stage, int domains) {
  constexpr seconds kMost{1200};  // NVIDIA's controller takes 593 s for 500.
  TRY(stage.audit().Read());
  const std::size_t mark = stage.audit().Mark();
  Load load = stage.NewLoad();
  for (const std::string& name : NamesOf("many-", domains)) {
    load.Add(kube::CreateRequest(api::kComputeDomains, kNamespace, Domain(name)));
  }
  TRY(load.Run());
  Times times;
  const auto is_done = [&]() -> Result<bool> {
    TRY(stage.audit().Read());
    times = TimesOf(stage.audit().Since(mark), kControllerUser, "many-");
    return std::ssize(times.with_status) == domains;
  };
  TRY(stage.Await("every domain has a status", kMost, is_done));
  TRY(stage.AwaitQuiet("the cluster is quiet once more", milliseconds(2000), kSettles, IsOurs));
  return Creation{.times = times, .requests = RequestsSince(stage, mark, domains)};
}

struct Removal {
  double seconds = 0;  // From the first domain that was deleted to the last that is gone.
  double reads = 0;    // For each domain. The same for `requests`.
  double requests = 0;
};

Result<Removal> MeasureRemoval(Stage& stage, int domains) {
  constexpr seconds kMost{1200};
  TRY(stage.audit().Read());
  const std::size_t mark = stage.audit().Mark();
  Load load = stage.NewLoad();
  for (std::string& name : NamesOf("many-", domains)) {
    load.Add(kube::DeleteRequest(api::kComputeDomains, {.ns = kNamespace, .name = std::move(name)},
                                 "", kube::Propagation::kBackground));
  }
  TRY(load.Run());
  const auto are_gone = [&]() -> Result<bool> {
    return std::ranges::none_of(TRY(stage.List(api::kComputeDomains, "")), [](const Value& domain) {
      return domain["metadata"]["name"].AsString().starts_with("many-");
    });
  };
  TRY(stage.Await("all domains are gone", kMost, are_gone, milliseconds(200)));
  TRY(stage.audit().Read());
  Removal removal;
  WallTime begin = WallTime::max();
  WallTime end = WallTime::min();
  for (const AuditEvent& event : stage.audit().Since(mark)) {
    const bool is_delete = event.verb == "delete" && event.IsOn("computedomains");
    if (is_delete && event.user == kAdminUser) begin = std::min(begin, event.received);
    if (!IsOurs(event)) continue;
    if (event.verb == "get" || event.verb == "list") removal.reads += 1.0 / domains;
    // Our finalizer goes last, and the domain with it.
    if (event.IsOn("computedomains") && event.IsWrite()) end = std::max(end, event.completed);
  }
  removal.seconds = begin < end ? Seconds(end - begin) : 0;
  removal.requests = RequestsSince(stage, mark, domains);
  return removal;
}

Row RowOf(int domains, const std::string& until, int writes, double raw, double ours) {
  const double count = static_cast<double>(domains) * writes;
  return {.id = "P1",
          .what = std::to_string(domains) + " domains created at once, until " + until,
          .budget = Budget{.text = ">= 80 % of the raw rate",
                           .gate = Gate::kStrict,
                           .value = ours / raw,
                           .aim = 1 / kShareOfRaw},
          .yardstick = "raw " + Number(raw) + " s (" + Number(count / raw) + " writes/s)",
          .ours = Number(ours) + " s (" + Number(count / ours) + " writes/s)",
          .figure = ours,
          .ratio = raw / ours};
}

}  // namespace

Rows MeasureProvisioning(Stage& stage, const Sizes& sizes) {
  auto controller = TRY(stage.StartController());
  const Model model = TRY(MakeModel(stage));
  TRY(stage.Stop(*controller));
  const auto is_write = [](const AuditEvent& event) {
    return event.IsWrite() && event.resource != "leases";
  };
  TRY(stage.AwaitQuiet("the cluster is quiet", milliseconds(2000), kSettles, is_write));
  const Times raw = TRY(MeasureRaw(stage, model, sizes.domains));
  TRY(RemoveRaw(stage, sizes.domains));
  controller = TRY(stage.StartController());
  TRY(stage.AwaitQuiet("the cluster is quiet again", milliseconds(2000), kSettles, is_write));
  const Creation creation = TRY(MeasureController(stage, sizes.domains));
  const Times& ours = creation.times;
  const Removal removal = TRY(MeasureRemoval(stage, sizes.domains));
  TRY(stage.Stop(*controller));
  Row statuses =
      RowOf(sizes.domains, "all statuses are written", kWritesInAll, raw.statuses, ours.statuses);
  statuses.recorded = Number(ours.statuses) + " s";
  return std::vector<Row>{
      RowOf(sizes.domains, "all children exist", kWritesForChildren, raw.children, ours.children),
      std::move(statuses),
      {.id = "P1",
       .what = std::to_string(sizes.domains) + " domains deleted at once, until the last is gone",
       .budget = Budget{.text = "no longer than creating them",
                        .gate = Gate::kStrict,
                        .value = removal.seconds / std::max(ours.statuses, 0.001),
                        .aim = 1},
       .yardstick = "creating them: " + Number(ours.statuses) + " s",
       .ours = Number(removal.seconds) + " s",
       .figure = removal.seconds,
       .ratio = removal.seconds / std::max(ours.statuses, 0.001)},
      {.id = "P1",
       .what = "requests for each of these deletions",
       .budget = Budget{.text = "no more than for a creation",
                        .gate = Gate::kAlways,
                        .value = removal.requests / std::max(creation.requests, 0.001),
                        .aim = 1,
                        .limit = kRequestsOfRemoval},
       .yardstick = "creating one: " + Number(creation.requests),
       .ours = Number(removal.requests) + ", " + Number(removal.reads) + " of them reads",
       .figure = removal.requests,
       .ratio = removal.requests / std::max(creation.requests, 0.001)}};
}

}  // namespace bench
