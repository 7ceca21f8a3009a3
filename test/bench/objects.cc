#include "test/bench/objects.h"

#include "controller/api/names.h"
#include "test/cluster/nodesim/render.h"
#include "test/cluster/nodesim/seeded_random.h"
#include "test/cluster/nodesim/settings.h"
#include "test/cluster/nodesim/state.h"
#include "test/cluster/nodesim/topology.h"

namespace bench {

namespace {

using json::Value;

void Replace(Value& value, const std::map<std::string, std::string>& names) {
  if (value.IsString()) {
    std::string text = value.AsString();
    for (const auto& [from, to] : names) {
      for (std::size_t at = text.find(from); at != std::string::npos;
           at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
      }
    }
    value = Value(std::move(text));
  } else if (value.IsArray()) {
    for (Value& item : value.MutableItems()) Replace(item, names);
  } else if (value.IsObject()) {
    for (auto& [name, member] : value.MutableMembers()) Replace(member, names);
  }
}

// Its pod waits for a device of another driver, which gets `configs` times `bytes` of parameters.
Value ForeignClaimOf(const std::string& name, int configs, std::size_t bytes) {
  constexpr const char* kForeignDriver = "gpu.example.com";
  const Value opaque =
      Value::Object({{"driver", kForeignDriver},
                     {"parameters", Value::Object({{"text", std::string(bytes, 'x')}})}});
  Value config = Value::Array();
  for (int i = 0; i < configs; ++i) config.Append(Value::Object({{"opaque", opaque}}));
  const Value request = Value::Object(
      {{"name", "gpu"}, {"exactly", Value::Object({{"deviceClassName", kForeignDriver}})}});
  return Value::Object(
      {{"apiVersion", kube::kResourceClaims.ApiVersion()},
       {"kind", kube::kResourceClaims.kind},
       {"metadata", Value::Object({{"name", name}, {"namespace", kNamespace}})},
       {"spec", Value::Object({{"devices", Value::Object({{"requests", Value::Array({request})},
                                                          {"config", config}})}})}});
}

}  // namespace

std::string TemplateName(const std::string& domain) { return domain + "-channel"; }

Value Domain(const std::string& name) {
  const Value claim_template = Value::Object({{"name", TemplateName(name)}});
  const Value channel = Value::Object({{"resourceClaimTemplate", claim_template}});
  // NVIDIA's older CRDs want numNodes.
  return Value::Object({{"apiVersion", api::kComputeDomains.ApiVersion()},
                        {"kind", api::kComputeDomains.kind},
                        {"metadata", Value::Object({{"name", name}, {"namespace", kNamespace}})},
                        {"spec", Value::Object({{"numNodes", 0}, {"channel", channel}})}});
}

Value Job(const std::string& domain, int pods) {
  const Value container = Value::Object(
      {{"name", "worker"},
       {"image", "registry.example.com/worker:1"},
       {"resources",
        Value::Object({{"claims", Value::Array({Value::Object({{"name", "channel"}})})}})}});
  const Value claim =
      Value::Object({{"name", "channel"}, {"resourceClaimTemplateName", TemplateName(domain)}});
  const Value toleration = Value::Object({{"operator", "Exists"}});
  const Value pod = Value::Object(
      {{"metadata",
        Value::Object({{"labels", Value::Object({{"app", domain}})},
                       // Never ends by itself.
                       {"annotations", Value::Object({{"nodesim.cdom.dev/run-seconds", "-1"}})}})},
       {"spec", Value::Object({{"restartPolicy", "Never"},
                               {"terminationGracePeriodSeconds", 1},
                               {"tolerations", Value::Array({toleration})},
                               {"resourceClaims", Value::Array({claim})},
                               {"containers", Value::Array({container})}})}});
  return Value::Object(
      {{"apiVersion", kJobs.ApiVersion()},
       {"kind", kJobs.kind},
       {"metadata", Value::Object({{"name", domain}, {"namespace", kNamespace}})},
       {"spec", Value::Object({{"completions", pods}, {"parallelism", pods}, {"template", pod}})}});
}

std::vector<Value> Nodes(int count, const std::string& prefix) {
  nodesim::Settings settings;
  settings.nodes = count;
  settings.clique_size = 18;
  settings.node_prefix = prefix;
  nodesim::SeededRandom random(settings.seed);
  std::vector<Value> nodes;
  for (nodesim::PlacedNode& placed : nodesim::PlaceNodes(settings)) {
    nodesim::NodeState state;
    state.identity = std::move(placed.identity);
    state.clique_id = std::move(placed.clique_id);
    state.boot_id = nodesim::RandomUuid(random);
    nodes.push_back(nodesim::RenderNode(state, {}));
  }
  return nodes;
}

Value Claim(const std::string& name, const Value& claim_template) {
  // Nobody looks for the pod: its UID only has to be as long as one.
  const Value pod = Value::Object({{"apiVersion", "v1"},
                                   {"kind", "Pod"},
                                   {"name", name + "-pod"},
                                   {"uid", claim_template["metadata"]["uid"]},
                                   {"controller", true}});
  return Value::Object(
      {{"apiVersion", kube::kResourceClaims.ApiVersion()},
       {"kind", kube::kResourceClaims.kind},
       {"metadata", Value::Object({{"name", name},
                                   {"namespace", kNamespace},
                                   {"ownerReferences", Value::Array({pod})},
                                   {"finalizers",
                                    Value::Array({"resource.kubernetes.io/delete-protection"})}})},
       {"spec", claim_template["spec"]["spec"]}});
}

Value ClaimStatus(const Value& claim, const std::string& node) {
  const Value& devices = claim["spec"]["devices"];
  const Value result = Value::Object({{"request", devices["requests"].items().at(0)["name"]},
                                      {"driver", api::kDriver},
                                      {"pool", node},
                                      {"device", "channel-0"}});
  Value config = devices["config"].items().at(0);
  config["source"] = "FromClaim";
  const Value allocation =
      Value::Object({{"devices", Value::Object({{"results", Value::Array({result})},
                                                {"config", Value::Array({std::move(config)})}})}});
  const Value& pod = claim["metadata"]["ownerReferences"].items().at(0);
  const Value consumer =
      Value::Object({{"resource", "pods"}, {"name", pod["name"]}, {"uid", pod["uid"]}});
  return Value::Object({{"allocation", allocation}, {"reservedFor", Value::Array({consumer})}});
}

Value ForeignClaim(const std::string& name) { return ForeignClaimOf(name, 1, 500); }

Value LargeClaim(const std::string& name) {
  constexpr int kConfigsMax = 32;
  constexpr std::size_t kParametersMax = 10U << 10;
  return ForeignClaimOf(name, kConfigsMax, kParametersMax - 100);
}

Value CopyOf(const Value& object, const std::map<std::string, std::string>& names) {
  Value copy = object;
  copy.Erase("status");
  const Value& meta = object["metadata"];
  Value kept = Value::Object();
  for (const char* name : {"name", "namespace", "labels", "annotations", "ownerReferences"}) {
    if (const Value* member = meta.Find(name); member != nullptr) kept[name] = *member;
  }
  copy["metadata"] = std::move(kept);
  Replace(copy, names);
  return copy;
}

}  // namespace bench
