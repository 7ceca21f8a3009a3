#include "test/bench/daemons.h"

#include "controller/api/names.h"
#include "pkg/kube/client/request.h"
#include "test/bench/objects.h"
#include "test/bench/workload.h"

namespace bench {

namespace {

using base::Result;
using json::Value;
using std::chrono::seconds;

// The pod that `daemon_set` would make on `node`, of which the controller reads no more than this.
Value DaemonPod(const Value& daemon_set, const Value& node) {
  const Value& meta = daemon_set["metadata"];
  const Value& pod_template = daemon_set["spec"]["template"]["metadata"];
  const Value owner = Value::Object({{"apiVersion", "apps/v1"},
                                     {"kind", "DaemonSet"},
                                     {"name", meta["name"]},
                                     {"uid", meta["uid"]},
                                     {"controller", true}});
  Value labels = pod_template["labels"];
  labels[api::kCliqueLabel] = node["metadata"]["labels"][api::kNodeCliqueLabel];
  Value pod_meta = Value::Object({{"name", DaemonKey(daemon_set, node).name},
                                  {"namespace", kDriverNamespace},
                                  {"labels", std::move(labels)},
                                  {"ownerReferences", Value::Array({owner})}});
  if (const Value* annotations = pod_template.Find("annotations"); annotations != nullptr) {
    pod_meta["annotations"] = *annotations;
  }
  const Value container =
      Value::Object({{"name", "daemon"}, {"image", "registry.example.com/daemon:1"}});
  return Value::Object({{"apiVersion", "v1"},
                        {"kind", "Pod"},
                        {"metadata", std::move(pod_meta)},
                        {"spec", Value::Object({{"nodeName", node["metadata"]["name"]},
                                                {"containers", Value::Array({container})}})}});
}

Value RunningAt(int i) {
  const std::string address = "10." + std::to_string(200 + i / 62'500) + "." +
                              std::to_string(i / 250 % 250) + "." + std::to_string(i % 250 + 1);
  const Value ready = Value::Object({{"type", "Ready"}, {"status", "True"}});
  const Value status = Value::Object(
      {{"phase", "Running"}, {"podIP", address}, {"conditions", Value::Array({ready})}});
  return Value::Object({{"status", status}});
}

Result<Value> AwaitTemplate(Stage& stage, const Value& uid) {
  Value template_of_domain;
  const auto is_there = [&]() -> Result<bool> {
    for (const auto& [name, found] : TRY(WorkloadTemplates(stage))) {
      if (found["metadata"]["labels"][api::kDomainLabel] == uid) template_of_domain = found;
    }
    return !template_of_domain.IsNull();
  };
  TRY(stage.Await("the domain has a claim template", seconds(60), is_there));
  return template_of_domain;
}

}  // namespace

bool AreReady(const Value& domain, std::size_t count) {
  std::size_t ready = 0;
  for (const Value& node : domain["status"]["nodes"].items()) {
    if (node["status"].AsString() == "Ready") ++ready;
  }
  return ready == count;
}

kube::ObjectKey DaemonKey(const Value& daemon_set, const Value& node) {
  return {.ns = kDriverNamespace,
          .name = daemon_set["metadata"]["name"].AsString() + "-" +
                  node["metadata"]["name"].AsString()};
}

Result<Value> AwaitDaemonSet(Stage& stage, const Value& domain) {
  const std::string uid = domain["metadata"]["uid"].AsString();
  Value found;
  const auto is_there = [&]() -> Result<bool> {
    const auto sets =
        TRY(stage.List(kube::kDaemonSets, std::string(api::kDomainLabel) + "=" + uid));
    if (!sets.empty()) found = sets.front();
    return !sets.empty();
  };
  TRY(stage.Await("the domain has a DaemonSet", seconds(60), is_there));
  return found;
}

Result<void> MakeDaemons(Stage& stage, const Value& daemon_set, const std::vector<Value>& nodes) {
  const Value claims =
      TRY(AwaitTemplate(stage, daemon_set["metadata"]["labels"][api::kDomainLabel]));
  Load load = stage.NewLoad();
  int i = 0;
  for (const Value& node : nodes) {
    const std::string& where = node["metadata"]["name"].AsString();
    const std::string name = where + "-claim";
    load.Add(kube::CreateRequest(kube::kResourceClaims, kNamespace, Claim(name, claims)),
             [&load, name, where](const http::Response& reply) -> Result<void> {
               const Value claim = TRY(json::Parse(reply.body));
               load.AddNext(kube::MergePatchRequest(
                   kube::kResourceClaims, {.ns = kNamespace, .name = name},
                   Value::Object({{"status", ClaimStatus(claim, where)}}), "status"));
               return {};
             });
    const Value pod = DaemonPod(daemon_set, node);
    const kube::ObjectKey key = DaemonKey(daemon_set, node);
    load.Add(kube::CreateRequest(kube::kNodes, "", node));
    load.Add(kube::CreateRequest(kube::kPods, kDriverNamespace, pod),
             [&load, key, i](const http::Response& /*reply*/) -> Result<void> {
               load.AddNext(kube::MergePatchRequest(kube::kPods, key, RunningAt(i), "status"));
               return {};
             });
    ++i;
  }
  return load.Run();
}

}  // namespace bench
