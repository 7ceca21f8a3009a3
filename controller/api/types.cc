#include "controller/api/types.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "controller/api/names.h"
#include "pkg/base/find.h"
#include "pkg/base/number.h"
#include "pkg/base/text.h"
#include "pkg/json/repair.h"
#include "pkg/json/utf8.h"
#include "pkg/kube/api/names.h"

namespace api {

namespace {

std::string Text(json::View value) { return std::string(value.AsString()); }

// Returns the text. Empty if it is longer than `most`, or has characters that are not `valid`.
std::string TextOf(std::string_view valid, std::size_t most, json::View value) {
  const std::string_view text = value.AsString();
  const bool is_odd = text.size() > most || text.find_first_not_of(valid) < text.size();
  return is_odd ? "" : std::string(text);
}

std::string Label(json::View object, std::string_view key) {
  return Text(object["metadata"]["labels"][key]);
}

// Returns a text that any user may write. Cut at kMax: a valid name is never that long.
std::string ShortText(json::View value) {
  constexpr std::size_t kMax = 254;  // One more than the longest name.
  return std::string(value.AsString().substr(0, kMax));
}

std::string Annotation(json::View object, std::string_view key) {
  return ShortText(object["metadata"]["annotations"][key]);
}

// Returns unknown keys of cdom.dev/: a limited number, because any user may write keys.
template <typename Known>
std::vector<std::string> FindUnknownKeys(json::View keys, const Known& known) {
  std::vector<std::string> unknown;
  constexpr std::size_t kKeysMax = 32;
  constexpr std::size_t kLengthMax = 100;
  keys.ForEachMember([&](std::string_view key, json::View) {
    if (!key.starts_with(kOwnPrefix) || base::Contains(known, key)) return;
    // Kubernetes stores no other keys.
    if (!kube::IsLabelKey(key) || key.size() > kLengthMax || unknown.size() >= kKeysMax) return;
    unknown.emplace_back(key);
  });
  return unknown;
}

// Returns ComputeDomain::foreign_write. Users may name themselves as they like when they write a
// domain, but only components may write its status.
std::string LastForeignWrite(json::View managed_fields) {
  constexpr std::size_t kTimeMax = 20;  // RFC 3339 in seconds.
  std::string_view last;
  managed_fields.ForEach([&](json::View entry) {
    const bool is_foreign = entry["manager"].AsString() == kForeignFieldManager &&
                            entry["subresource"].AsString() == "status";
    if (is_foreign) last = std::max(last, entry["time"].AsString());
  });
  return std::string(last.substr(0, kTimeMax));
}

// Returns ComputeDomain::last_writer, or that of its status.
std::string LastWriter(json::View managed_fields, std::string_view subresource = "") {
  constexpr std::size_t kManagerMax = 64;
  std::string_view own, last, manager;
  managed_fields.ForEach([&](json::View entry) {
    if (entry["subresource"].AsString() != subresource) return;
    const std::string_view time = entry["time"].AsString();
    if (entry["manager"].AsString() == kOwnFieldManager) {
      own = std::max(own, time);
    } else if (time >= last) {
      last = time;
      manager = entry["manager"].AsString();
    }
  });
  return last >= own ? json::OneLine(manager, kManagerMax) : std::string();
}

// Keeps few finalizers and owners, because any user may write them. See kube::KeepFew() for `many`.
base::Result<kube::ObjectMeta> DecodeFewOfMeta(json::View object, std::string_view many = {}) {
  kube::ObjectMeta meta = TRY(kube::DecodeMeta(object));
  kube::KeepFew(kFinalizer, meta, many);
  return meta;
}

// Returns the UID of a domain as the API server writes it. Empty if `value` is not a UID.
std::string DecodeUid(json::View value) {
  return TextOf("0123456789abcdefghijklmnopqrstuvwxyz-", 64, value);
}

bool HasTrueCondition(json::View conditions, std::string_view type) {
  bool found = false;
  conditions.ForEach([&](json::View condition) {
    if (condition["type"].AsString() == type) found = condition["status"].AsString() == "True";
  });
  return found;
}

// Returns -1 if the index is missing or does not fit an int.
int DecodeIndex(json::View index) {
  const std::int64_t value = index.AsInt().value_or(-1);
  return std::in_range<int>(value) ? static_cast<int>(value) : -1;
}

// Returns the address that a daemon wrote, which the API server does not check. Empty if invalid.
std::string DecodeAddress(json::View address) {
  return TextOf("0123456789abcdefABCDEF.:", 45, address);
}

Member DecodeMember(json::View entry, std::string_view name_key) {
  return {.node = Text(entry[name_key]),
          .ip = DecodeAddress(entry["ipAddress"]),
          .clique = Text(entry["cliqueID"]),
          .index = DecodeIndex(entry["index"]),
          .ready = entry["status"].AsString() == "Ready"};
}

json::Value EncodeMembers(const std::vector<Member>& members, std::string_view name_key) {
  return json::Value::ArrayOf(members, [&](const Member& member) {
    return json::Value::Object({{name_key, member.node},
                                {"ipAddress", member.ip},
                                {"cliqueID", member.clique},
                                {"index", member.index},
                                {"status", member.ready ? "Ready" : "NotReady"}});
  });
}

DomainStatus DecodeStatus(json::View status) {
  DomainStatus decoded;
  decoded.status = Text(status["status"]);
  status["nodes"].ForEach(
      [&](json::View node) { decoded.nodes.push_back(DecodeMember(node, "name")); });
  decoded.observed_generation = status["observedGeneration"].AsInt().value_or(0);
  status["conditions"].ForEach([&](json::View condition) {
    decoded.conditions.push_back(kube::DecodeCondition(condition));
  });
  decoded.members = Text(status["members"]);
  status["cliques"].ForEach([&](json::View clique) {
    decoded.cliques.push_back({.id = Text(clique["id"]),
                               .members = static_cast<int>(clique["members"].AsInt().value_or(0)),
                               .ready = static_cast<int>(clique["ready"].AsInt().value_or(0))});
  });
  return decoded;
}

// Returns the number. Empty if it is invalid or negative.
std::optional<int> DecodeCount(std::string_view digits) {
  const std::optional<int> count = base::ParseNumber<int>(digits);
  return count && *count >= 0 ? count : std::nullopt;
}

// Decodes held indices as EncodeHeld() writes them: "node-a=3@2026-01-01T12:00:00Z,...". Skips any
// other entry, because cdom did not write it.
std::vector<HeldIndex> DecodeHeld(std::string_view text) {
  std::vector<HeldIndex> held;
  while (!text.empty()) {
    std::string_view entry = base::TakePart(text, ',');
    const std::string_view node = base::TakePart(entry, '=');
    const std::optional<int> index = DecodeCount(base::TakePart(entry, '@'));
    if (!index || entry.empty()) continue;
    held.push_back({.node = std::string(node), .index = *index, .until = std::string(entry)});
  }
  return held;
}

// Returns the nodes that EncodeRebooted() named. Other text names none that waits for its daemon.
std::set<std::string> DecodeRebooted(std::string_view text, const std::vector<Member>& daemons) {
  std::set<std::string_view> named;
  while (!text.empty()) named.insert(base::TakePart(text, ','));
  std::set<std::string> rebooted;
  for (const Member& member : daemons) {
    if (!member.ready && named.contains(member.node)) rebooted.insert(member.node);
  }
  return rebooted;
}

std::string WithDetail(std::string reason, std::string_view detail) {
  constexpr std::size_t kDetailMax = 200;  // Enough to act on. The pod has the whole message.
  if (detail.empty()) return reason;
  return reason + ": " + json::OneLine(detail, kDetailMax);
}

// Returns the scheduler's condition. Null if the pod is scheduled or was not tried yet.
json::View UnscheduledIn(json::View status) {
  json::View found;
  status["conditions"].ForEach([&](json::View condition) {
    const bool unscheduled =
        condition["type"].AsString() == "PodScheduled" && condition["status"].AsString() == "False";
    if (unscheduled) found = condition;
  });
  return found;
}

// Returns the scheduler's message. Empty if there is none.
std::string SchedulerMessage(json::View status) {
  const json::View condition = UnscheduledIn(status);
  return WithDetail(Text(condition["reason"]), condition["message"].AsString());
}

// What is kept of a message may be cut, so the whole one is asked.
bool LacksDevice(json::View status) {
  return UnscheduledIn(status)["message"].AsString().find(kSchedulerLacksDevice) !=
         std::string_view::npos;
}

// The kubelet also reads the pod's own resources.claims.
std::set<std::string> UnlistedClaims(json::View pod) {
  const json::View spec = pod["spec"];
  std::set<std::string_view> listed;
  const auto add = [&](json::View container) {
    container["resources"]["claims"].ForEach(
        [&](json::View claim) { listed.insert(claim["name"].AsString()); });
  };
  spec["containers"].ForEach(add);
  spec["initContainers"].ForEach(add);
  add(spec);
  std::map<std::string_view, std::string_view> made;
  pod["status"]["resourceClaimStatuses"].ForEach([&](json::View claim) {
    made[claim["name"].AsString()] = claim["resourceClaimName"].AsString();
  });
  std::set<std::string> unlisted;
  spec["resourceClaims"].ForEach([&](json::View claim) {
    const std::string_view name = claim["name"].AsString();
    if (listed.contains(name)) return;
    unlisted.insert(Text(claim["resourceClaimName"]));
    if (const auto own = made.find(name); own != made.end()) unlisted.emplace(own->second);
  });
  unlisted.erase("");
  return unlisted;
}

// Appends `requirement` of a node selector, as a label selector has it.
void AppendRequirement(json::View requirement, std::string& selector) {
  const std::string key = Text(requirement["key"]);
  const std::string_view is = requirement["operator"].AsString();
  std::string values;
  requirement["values"].ForEach([&](json::View value) {
    values += (values.empty() ? "" : ",") + std::string(value.AsString());
  });
  if (!selector.empty()) selector += ",";
  if (is == "In") selector += key + " in (" + values + ")";
  if (is == "NotIn") selector += key + " notin (" + values + ")";
  if (is == "Exists") selector += key;
  if (is == "DoesNotExist") selector += "!" + key;
  if (is == "Gt") selector += key + ">" + values;
  if (is == "Lt") selector += key + "<" + values;
}

constexpr std::size_t kTermsMax = 5;
constexpr std::size_t kTolerationsMax = 64;  // Few pods have more than ten.
constexpr std::size_t kSelectorMax = 2048;   // Bytes of one, so that it fits into a URL.

// Returns the selection of one term of a node affinity, in addition to `selection`.
NodeSelection WithTerm(NodeSelection selection, json::View term) {
  term["matchExpressions"].ForEach([&](json::View one) {
    if (selection.labels.size() <= kSelectorMax) AppendRequirement(one, selection.labels);
  });
  // Kubernetes allows only metadata.name here, with one value.
  term["matchFields"].ForEach([&](json::View one) {
    if (selection.fields.size() > kSelectorMax) return;
    std::string_view name;
    one["values"].ForEach([&](json::View value) { name = value.AsString(); });
    const char* const is = one["operator"].AsString() == "NotIn" ? "!=" : "=";
    selection.fields += (selection.fields.empty() ? "" : ",") + Text(one["key"]) + is;
    selection.fields += name;
  });
  return selection;
}

// Returns the nodes that a pod's spec allows. Empty if these are all, or if it is too long. Users
// write it, so nothing is built beyond the bounds.
std::vector<NodeSelection> SelectionsOf(json::View spec) {
  const auto is_long = [](const NodeSelection& one) {
    return one.labels.size() + one.fields.size() > kSelectorMax;
  };
  NodeSelection everywhere;
  spec["nodeSelector"].ForEachMember([&](std::string_view key, json::View value) {
    if (is_long(everywhere)) return;
    everywhere.labels += everywhere.labels.empty() ? "" : ",";
    everywhere.labels += key;
    everywhere.labels += "=";
    everywhere.labels += value.AsString();
  });
  if (is_long(everywhere)) return {};
  const json::View terms =
      spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
          ["nodeSelectorTerms"];
  if (terms.size() > kTermsMax) return {};
  std::vector<NodeSelection> selections;
  terms.ForEach([&](json::View term) { selections.push_back(WithTerm(everywhere, term)); });
  if (std::ranges::any_of(selections, is_long)) return {};
  if (selections.empty() && !everywhere.labels.empty()) selections.push_back(everywhere);
  return selections;
}

// Returns the most useful line at the end of a log: IMEX's message that another process uses the
// channel, e.g. a service of the host. Otherwise the last line.
std::string_view LineThatTells(std::string_view log) {
  std::string_view best;
  while (!log.empty()) {
    const std::string_view line = base::TakePart(log, '\n');
    if (line.find(kImexInUse) != std::string_view::npos) return line;
    if (!line.empty()) best = line;
  }
  return best;
}

std::string TroubleOf(json::View status) {
  std::string trouble = SchedulerMessage(status);
  status["containerStatuses"].ForEach([&](json::View container) {
    const json::View waiting = container["state"]["waiting"];
    const std::string_view reason = waiting["reason"].AsString();
    const bool is_starting = reason == "ContainerCreating" || reason == "PodInitializing";
    if (reason.empty() || is_starting || !trouble.empty()) return;
    // After a crash, the daemon's last message says more than the kubelet's back-off. In all other
    // cases only the kubelet knows the cause.
    std::string_view last;
    if (reason == "CrashLoopBackOff") {
      last = LineThatTells(container["lastState"]["terminated"]["message"].AsString());
    }
    trouble = WithDetail(std::string(reason), last.empty() ? waiting["message"].AsString() : last);
  });
  return trouble;
}

// Reads the domain IDs of this driver's configs. `configs` is a claim's list of device configs.
void DecodeConfigs(json::View configs, ResourceClaim& claim) {
  configs.ForEach([&](json::View config) {
    const json::View opaque = config["opaque"];
    if (opaque["driver"].AsString() != kDriver) return;
    const json::View parameters = opaque["parameters"];
    const std::string domain = DecodeUid(parameters["domainID"]);
    if (parameters["kind"].AsString() == kChannelConfigKind) claim.channel_domain = domain;
    if (parameters["kind"].AsString() == kDaemonConfigKind) claim.daemon_domain = domain;
  });
}

// Keeps only what decisions need. There are thousands of these objects, and owners, finalizers and
// age would use more memory than that.
kube::ObjectMeta IdentityOf(kube::ObjectMeta meta) {
  return {.key = std::move(meta.key),
          .uid = std::move(meta.uid),
          .resource_version = std::move(meta.resource_version),
          .deleting = meta.deleting};
}

}  // namespace

base::Result<ComputeDomain> DecodeComputeDomain(json::View object) {
  ComputeDomain domain;
  domain.meta = TRY(DecodeFewOfMeta(object));
  const json::View spec = object["spec"];
  domain.has_spec = spec["channel"].IsObject();
  domain.num_nodes = spec["numNodes"].AsInt().value_or(0);
  domain.template_name = ShortText(spec["channel"]["resourceClaimTemplate"]["name"]);
  domain.allocation_mode = ShortText(spec["channel"]["allocationMode"]);
  if (domain.allocation_mode.empty()) domain.allocation_mode = "Single";
  domain.deletion_grace = Annotation(object, kDeletionGraceAnnotation);
  domain.paused = Annotation(object, kPausedAnnotation);
  domain.daemon_roll = Annotation(object, kDaemonRollAnnotation);
  domain.placement_group = Annotation(object, kPlacementGroupAnnotation);
  domain.gpus = Annotation(object, kGpusAnnotation);
  domain.gpu_class = Annotation(object, kGpuClassAnnotation);
  domain.placement = Label(object, kPlacementLabel);
  const json::View meta = object["metadata"];
  domain.unknown_annotations = FindUnknownKeys(meta["annotations"], kDomainAnnotations);
  domain.unknown_labels = FindUnknownKeys(meta["labels"], kDomainLabels);
  domain.status = DecodeStatus(object["status"]);
  domain.foreign_write = LastForeignWrite(meta["managedFields"]);
  domain.last_writer = LastWriter(meta["managedFields"]);
  domain.last_status_writer = LastWriter(meta["managedFields"], "status");
  return domain;
}

base::Result<DaemonSet> DecodeDaemonSet(json::View object) {
  DaemonSet set;
  set.meta = TRY(DecodeFewOfMeta(object));
  set.domain = Label(object, kDomainLabel);
  const std::string stamp = Annotation(object, kTemplateHashAnnotation);
  const std::size_t colon = std::min(stamp.find(':'), stamp.size());
  set.template_hash = stamp.substr(0, colon);
  const std::string_view digits = std::string_view(stamp).substr(std::min(colon + 1, stamp.size()));
  std::from_chars(digits.data(), digits.data() + digits.size(), set.template_generation);
  set.has_own_names =
      Annotation(object["spec"]["template"], kNodeNamesAnnotation) == kNodeNamesOfDomain;
  set.last_writer = LastWriter(object["metadata"]["managedFields"]);
  return set;
}

base::Result<ResourceClaimTemplate> DecodeResourceClaimTemplate(json::View object) {
  ResourceClaimTemplate decoded;
  decoded.meta = TRY(DecodeFewOfMeta(object));
  decoded.domain = Label(object, kDomainLabel);
  decoded.target = Label(object, kTargetLabel);
  decoded.template_hash = Annotation(object, kTemplateHashAnnotation);
  decoded.labels_claims =
      !decoded.domain.empty() && Label(object["spec"], kDomainLabel) == decoded.domain;
  decoded.last_writer = LastWriter(object["metadata"]["managedFields"]);
  return decoded;
}

base::Result<Clique> DecodeClique(json::View object) {
  Clique clique;
  // Each daemon adds its pod to the owners, and checks that it is listed.
  clique.meta = TRY(DecodeFewOfMeta(object, kube::kPods.kind));
  // The name identifies the domain even if a user changed the label.
  const std::string& name = clique.meta.key.name;
  const std::size_t dot = std::min(name.find('.'), name.size());
  clique.domain = name.substr(0, dot);
  clique.is_labelled = Label(object, kDomainLabel) == clique.domain;
  clique.id = name.substr(std::min(dot + 1, name.size()));
  // A pod's clique is a label, so an id that cannot be a label value names no clique.
  if (!kube::IsLabelValue(clique.id)) clique.id.clear();
  object["daemons"].ForEach([&](json::View daemon) {
    Member member = DecodeMember(daemon, "nodeName");
    if (kube::IsDnsSubdomain(member.node)) clique.daemons.push_back(std::move(member));
  });
  const json::View annotations = object["metadata"]["annotations"];
  clique.held = DecodeHeld(annotations[kHeldIndicesAnnotation].AsString());
  clique.rebooted = DecodeRebooted(annotations[kRebootedAnnotation].AsString(), clique.daemons);
  clique.joining = DecodeCount(Annotation(object, kJoiningAnnotation));
  clique.last_writer = LastWriter(object["metadata"]["managedFields"]);
  return clique;
}

base::Result<DaemonPod> DecodeDaemonPod(json::View object) {
  DaemonPod pod;
  pod.meta = TRY(DecodeFewOfMeta(object));
  pod.domain = Label(object, kDomainLabel);
  pod.node = Text(object["spec"]["nodeName"]);
  const json::View status = object["status"];
  pod.ip = Text(status["podIP"]);
  const json::View clique = object["metadata"]["labels"][kCliqueLabel];
  if (!clique.IsNull()) pod.clique = Text(clique);
  const std::string_view phase = status["phase"].AsString();
  pod.ready = phase == "Running" && HasTrueCondition(status["conditions"], "Ready");
  pod.terminal = phase == "Succeeded" || phase == "Failed";
  if (!pod.ready) pod.trouble = TroubleOf(status);
  status["containerStatuses"].ForEach([&](json::View container) {
    if (pod.started.empty()) pod.started = Text(container["state"]["running"]["startedAt"]);
  });
  pod.controller_writes = Label(object, kMembershipWriterLabel) == kMembershipWriterController;
  pod.has_own_names = Annotation(object, kNodeNamesAnnotation) == kNodeNamesOfDomain;
  pod.template_hash = Annotation(object, kTemplateHashAnnotation);
  if (pod.controller_writes) {
    pod.imex = DecodeImexReport(object["metadata"]["annotations"][kImexAnnotation].AsString());
  }
  return pod;
}

UserPod DecodeUserPod(std::string_view pod) {
  const auto object = json::ParseRepaired(pod);
  if (!object) return {};
  const std::string_view phase = (*object)["status"]["phase"].AsString();
  const json::View spec = (*object)["spec"];
  UserPod decoded = {.unschedulable = SchedulerMessage((*object)["status"]),
                     .has_started = !phase.empty() && phase != "Pending",
                     .lacks_device = LacksDevice((*object)["status"]),
                     .nodes = SelectionsOf(spec),
                     .unlisted_claims = UnlistedClaims(*object)};
  spec["tolerations"].ForEach([&](json::View toleration) {
    if (decoded.tolerations.size() >= kTolerationsMax) return;
    const std::string_view comparison = toleration["operator"].AsString();
    Toleration one = {.key = Text(toleration["key"]), .effect = Text(toleration["effect"])};
    // Of a comparison that is not known, any value may be tolerated.
    if (comparison.empty() || comparison == "Equal") one.value = Text(toleration["value"]);
    decoded.tolerations.insert(std::move(one));
  });
  return decoded;
}

std::string_view KeyOfTaint(std::string_view taint) {
  return taint.substr(0, taint.find_first_of("=:"));
}

bool Tolerates(const Toleration& toleration, std::string_view taint) {
  const std::size_t end = std::min(taint.rfind(':'), taint.size());
  const std::string_view effect = taint.substr(std::min(end + 1, taint.size()));
  if (!toleration.effect.empty() && toleration.effect != effect) return false;
  const std::string_view key = KeyOfTaint(taint);
  const std::string_view value = taint.substr(0, end).substr(std::min(key.size() + 1, end));
  return toleration.key.empty() ||
         (toleration.key == key && (!toleration.value || *toleration.value == value));
}

// Devices that are parts of a GPU have another type. While a plugin replaces its slices, there are
// those of two generations.
void CountGpus(json::View slice, GpusByNode& by_node) {
  const json::View spec = slice["spec"];
  const std::string_view node = spec["nodeName"].AsString();
  if (node.empty()) return;
  const std::int64_t generation = spec["pool"]["generation"].AsInt().value_or(0);
  NodeGpus& gpus = by_node[std::string(node)];
  if (generation < gpus.generation) return;
  if (generation > gpus.generation) gpus = {.generation = generation};
  spec["devices"].ForEach([&](json::View device) {
    for (const json::View attributes : {device["attributes"], device["basic"]["attributes"]}) {
      if (attributes["type"]["string"].AsString() == "gpu") ++gpus.count;
    }
  });
}

base::Result<ResourceClaim> DecodeResourceClaim(json::View object) {
  ResourceClaim claim;
  claim.meta = TRY(DecodeFewOfMeta(object));
  const json::View allocation = object["status"]["allocation"]["devices"];
  // Before the allocation, the request shows which domain the claim is for.
  DecodeConfigs(allocation.IsNull() ? object["spec"]["devices"]["config"] : allocation["config"],
                claim);
  allocation["results"].ForEach([&](json::View result) {
    if (result["driver"].AsString() != kDriver) return;
    claim.node = Text(result["pool"]);
    claim.admin_access = claim.admin_access || result["adminAccess"].AsBool();
    claim.has_channel =
        claim.has_channel || result["device"].AsString().starts_with(kChannelDevicePrefix);
  });
  claim.is_labelled =
      !claim.daemon_domain.empty() && Label(object, kDomainLabel) == claim.daemon_domain;
  if (!claim.node.empty()) claim.meta = IdentityOf(std::move(claim.meta));
  object["status"]["reservedFor"].ForEach([&](json::View consumer) {
    claim.consumers.push_back(Text(consumer["resource"]) + "/" + Text(consumer["name"]));
  });
  return claim;
}

base::Result<Node> DecodeNode(json::View object) {
  Node node;
  node.meta = IdentityOf(TRY(kube::DecodeMeta(object)));
  node.domain = Label(object, kDomainLabel);
  node.ready = HasTrueCondition(object["status"]["conditions"], "Ready");
  node.clique = Label(object, kNodeCliqueLabel);
  node.boot_id = Text(object["status"]["nodeInfo"]["bootID"]);
  node.unschedulable = object["spec"]["unschedulable"].AsBool();
  object["spec"]["taints"].ForEach([&](json::View taint) {
    const std::string_view key = taint["key"].AsString();
    // Kubernetes derives taints with its own prefix from facts that cdom reads elsewhere, such as
    // readiness and cordon. Exception: people set the out-of-service taint.
    const bool repeats = key.starts_with("node.kubernetes.io/") && key != kOutOfServiceTaint;
    const std::string_view effect = taint["effect"].AsString();
    if (repeats || effect == "PreferNoSchedule") return;
    std::string text(key);
    if (const auto value = taint["value"].AsString(); !value.empty())
      text.append("=").append(value);
    node.taints.push_back(std::move(text.append(":").append(effect)));
  });
  return node;
}

json::Value Encode(const DomainStatus& status) {
  // Null removes a field in a merge patch. The reference's readers expect `nodes` to be absent, not
  // empty.
  const json::Value nodes_or_none =
      status.nodes.empty() ? json::Value() : EncodeMembers(status.nodes, "name");
  // A status without conditions is for the reference's CRD, which has only these fields.
  if (status.conditions.empty()) {
    return json::Value::Object({{"status", status.status}, {"nodes", nodes_or_none}});
  }
  json::Value cliques = json::Value::ArrayOf(status.cliques, [](const CliqueSummary& clique) {
    return json::Value::Object(
        {{"id", clique.id}, {"members", clique.members}, {"ready", clique.ready}});
  });
  return json::Value::Object(
      {{"status", status.status},
       {"nodes", nodes_or_none},
       {"observedGeneration", status.observed_generation},
       {"conditions", json::Value::ArrayOf(status.conditions, kube::Encode)},
       {"members", status.members},
       {"cliqueCount", std::ranges::count_if(
                           status.cliques, [](const auto& clique) { return !clique.id.empty(); })},
       {"cliques", status.cliques.empty() ? json::Value() : std::move(cliques)}});
}

json::Value EncodeHeld(const std::vector<HeldIndex>& held) {
  std::string text;
  for (const HeldIndex& entry : held) {
    text += (text.empty() ? "" : ",") + entry.node + "=" + std::to_string(entry.index) + "@" +
            entry.until;
  }
  return text.empty() ? json::Value() : json::Value(std::move(text));
}

json::Value EncodeRebooted(const std::set<std::string>& nodes) {
  std::string text;
  for (const std::string& node : nodes) text += (text.empty() ? "" : ",") + node;
  return text.empty() ? json::Value() : json::Value(std::move(text));
}

json::Value EncodeDaemons(const std::vector<Member>& members) {
  return EncodeMembers(members, "nodeName");
}

}  // namespace api
