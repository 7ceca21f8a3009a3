#include "test/simulation/cluster/tiny_controller.h"

#include <set>

#include "test/simulation/apiserver/contract.h"
#include "test/simulation/apiserver/fixtures.h"

namespace simulation {

namespace {

using json::Value;

const kube::Resource kDomains = Describe(Kind::kComputeDomain).resource;
const kube::Resource kCliques = Describe(Kind::kClique).resource;
const std::string kSystem(kDriverNamespace);

kube::ObjectKey KeyOf(const Value& object) {
  return {.ns = object["metadata"]["namespace"].AsString(),
          .name = object["metadata"]["name"].AsString()};
}

bool IsReady(const Value& pod) {
  return FindCondition(pod, "Ready")["status"].AsString() == "True" &&
         pod["metadata"].Find("deletionTimestamp") == nullptr;
}

const char* Word(bool ready) { return ready ? "Ready" : "NotReady"; }

}  // namespace

bool TinyController::Pass() {
  const Revision before = server_.store().revision();
  if (before == quiet_at_) return false;
  const Value domains = List(kDomains, "");
  for (const Value& domain : domains["items"].items()) PassOver(domain);
  const bool wrote = server_.store().revision() != before;
  quiet_at_ = wrote ? 0 : before;
  return wrote;
}

Value TinyController::Send(const http::Request& request) {
  return *json::Parse(server_.Handle(client_, request).body);
}

Value TinyController::List(const kube::Resource& resource, const std::string& selector,
                           const std::string& ns) {
  return Send(kube::ListRequest(resource, {.ns = ns, .label_selector = selector}));
}

void TinyController::PassOver(const Value& domain) {
  if (domain["metadata"].Find("deletionTimestamp") != nullptr) {
    TakeDown(domain);
  } else {
    BringUp(domain);
  }
}

void TinyController::SetFinalizers(const Value& domain, Value finalizers) {
  const Value patch = Value::Object(
      {{"metadata", Value::Object({{"resourceVersion", domain["metadata"]["resourceVersion"]},
                                   {"finalizers", std::move(finalizers)}})}});
  Send(kube::MergePatchRequest(kDomains, KeyOf(domain), patch));
}

void TinyController::BringUp(const Value& domain) {
  const std::string& uid = domain["metadata"]["uid"].AsString();
  const kube::ObjectKey key = KeyOf(domain);
  if (domain["metadata"]["finalizers"].items().empty()) {
    SetFinalizers(domain, Value::Array({kFinalizer}));
    const std::string& name =
        At(domain, {"spec", "channel", "resourceClaimTemplate", "name"}).AsString();
    Send(kube::CreateRequest(kube::kResourceClaimTemplates, kSystem, DaemonTemplateObject(uid)));
    Send(kube::CreateRequest(kube::kDaemonSets, kSystem, DaemonSetObject(uid, writes_cliques_)));
    Send(kube::CreateRequest(kube::kResourceClaimTemplates, key.ns,
                             WorkloadTemplateObject(uid, key.name, name)));
  }
  const std::string selector = std::string(kDomainLabel) + "=" + uid;
  const Value pods = List(kube::kPods, selector, kSystem);
  if (writes_cliques_) WriteCliques(uid, pods);
  const Value status = DecideStatus(domain, pods, List(kCliques, selector, kSystem));
  if (SameValue(status, domain["status"])) return;
  const Value patch = Value::Object({{"status", status}});
  Send(kube::MergePatchRequest(kDomains, key, patch, "status"));
}

void TinyController::WriteCliques(const std::string& domain, const Value& pods) {
  std::set<std::string> ids;
  for (const Value& pod : pods["items"].items()) {
    ids.insert(pod["metadata"]["labels"][kCliqueLabel].AsString());
  }
  ids.erase("");
  for (const std::string& id : ids) {
    const kube::ObjectKey key = {.ns = kSystem, .name = CliqueName(domain, id)};
    Value clique = Send(kube::GetRequest(kCliques, key));
    if (clique["kind"].AsString() == "Status") {
      const Value set =
          Send(kube::GetRequest(kube::kDaemonSets, {.ns = kSystem, .name = DaemonName(domain)}));
      const Value owner = Value::Object({{"apiVersion", "apps/v1"},
                                         {"kind", "DaemonSet"},
                                         {"name", set["metadata"]["name"]},
                                         {"uid", set["metadata"]["uid"]}});
      Value labels =
          Value::Object({{std::string(kDomainLabel), domain}, {std::string(kCliqueLabel), id}});
      clique = Send(kube::CreateRequest(
          kCliques, kSystem,
          Value::Object(
              {{"apiVersion", kCliques.ApiVersion()},
               {"kind", kCliques.kind},
               {"metadata", Value::Object({{"name", key.name},
                                           {"labels", std::move(labels)},
                                           {"ownerReferences", Value::Array({owner})}})}})));
    }
    Value daemons = Value::Array();
    for (const Value& pod : pods["items"].items()) {
      const std::string& ip = pod["status"]["podIP"].AsString();
      if (pod["metadata"]["labels"][kCliqueLabel].AsString() != id || ip.empty()) continue;
      const std::string& node = pod["spec"]["nodeName"].AsString();
      daemons.Append(Value::Object({{"nodeName", node},
                                    {"ipAddress", ip},
                                    {"cliqueID", id},
                                    {"index", daemons.items().size()},
                                    {"status", Word(IsReady(pod))}}));
    }
    if (SameValue(daemons, clique["daemons"])) continue;
    Value changed = clique;
    changed["daemons"] = std::move(daemons);
    Send(kube::UpdateRequest(kCliques, key, changed));
  }
}

Value TinyController::DecideStatus(const Value& domain, const Value& pods, const Value& cliques) {
  Value nodes = Value::Array();
  bool all_ready = true;
  for (const Value& pod : pods["items"].items()) {
    const Value* label = pod["metadata"]["labels"].Find(kCliqueLabel);
    const std::string& node = pod["spec"]["nodeName"].AsString();
    if (label == nullptr) continue;
    const ObjectPtr object = server_.store().Get(Kind::kNode, {.name = node});
    const bool node_is_live =
        object && FindCondition(object->value(), "Ready")["status"].AsString() == "True";
    Value member = Value::Object({{"name", node},
                                  {"ipAddress", pod["status"]["podIP"]},
                                  {"cliqueID", *label},
                                  {"index", -1},
                                  {"status", Word(IsReady(pod) && node_is_live)}});
    bool is_listed = label->AsString().empty();
    for (const Value& clique : cliques["items"].items()) {
      for (const Value& entry : clique["daemons"].items()) {
        if (entry["nodeName"].AsString() != node) continue;
        is_listed = true;
        member["index"] = entry["index"];
      }
    }
    if (!is_listed) continue;
    all_ready = all_ready && member["status"].AsString() == "Ready";
    nodes.Append(std::move(member));
  }
  const auto wanted = static_cast<std::size_t>(domain["spec"]["numNodes"].AsInt().value_or(0));
  const bool is_ready = all_ready && nodes.items().size() >= wanted;
  Value status = Value::Object({{"status", Word(is_ready)}});
  if (!nodes.items().empty()) status["nodes"] = std::move(nodes);
  return status;
}

bool TinyController::DeleteAll(const kube::Resource& resource, const std::string& selector,
                               const std::string& ns) {
  const Value found = List(resource, selector, ns);
  for (const Value& object : found["items"].items()) {
    if (object["metadata"].Find("deletionTimestamp") != nullptr) continue;
    Send(kube::DeleteRequest(resource, KeyOf(object), object["metadata"]["uid"].AsString(),
                             kube::Propagation::kBackground));
  }
  return found["items"].items().empty();
}

void TinyController::TakeDown(const Value& domain) {
  const std::string& uid = domain["metadata"]["uid"].AsString();
  const kube::ObjectKey key = KeyOf(domain);
  if (domain["metadata"]["finalizers"].items().empty()) return;
  const std::string selector = std::string(kDomainLabel) + "=" + uid;
  bool is_empty = DeleteAll(kube::kResourceClaimTemplates, selector, key.ns);
  const Value claims = List(kube::kResourceClaims, "");
  bool in_use = false;
  for (const Value& claim : claims["items"].items()) {
    const Value::Items& configs = At(claim, {"spec", "devices", "config"}).items();
    const bool is_of_domain =
        !configs.empty() && configs.front()["opaque"]["parameters"]["domainID"].AsString() == uid;
    const bool is_daemons = claim["metadata"]["namespace"].AsString() == kSystem;
    is_empty = is_empty && !is_of_domain;
    in_use = in_use || (is_of_domain && !is_daemons && !claim["status"]["reservedFor"].IsNull());
  }
  if (in_use) return;
  is_empty = DeleteAll(kube::kDaemonSets, selector, kSystem) && is_empty;
  is_empty = DeleteAll(kube::kResourceClaimTemplates, selector, kSystem) && is_empty;
  is_empty = DeleteAll(kCliques, selector, kSystem) && is_empty;
  const Value nodes = List(kube::kNodes, selector);
  for (const Value& node : nodes["items"].items()) {
    const Value patch =
        *json::Parse(R"({"metadata":{"labels":{"resource.nvidia.com/computeDomain":null}}})");
    Send(kube::MergePatchRequest(kube::kNodes, KeyOf(node), patch));
  }
  is_empty = is_empty && nodes["items"].items().empty();
  is_empty = List(kube::kPods, selector, kSystem)["items"].items().empty() && is_empty;
  if (is_empty) SetFinalizers(domain, Value::Array());
}

}  // namespace simulation
