#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "pkg/base/rfc3339.h"
#include "test/simulation/oracles/ground_truth.h"
#include "test/simulation/oracles/oracles.h"

namespace simulation {

namespace {

using json::Value;

// One node of a domain, as its status should have it.
struct Member {
  std::string ip = {};
  std::string clique = {};
  std::int64_t index = -1;
  bool ready = false;
  friend bool operator==(const Member&, const Member&) = default;
};
using Members = std::map<std::string, Member>;  // By node.

std::string ToString(const Member& member) {
  return "{" + member.ip + " " + (member.clique.empty() ? "no clique" : member.clique) + " index " +
         std::to_string(member.index) + (member.ready ? " Ready" : " NotReady") + "}";
}

Member ReadEntry(const Value& entry) {
  return {.ip = entry["ipAddress"].AsString(),
          .clique = entry["cliqueID"].AsString(),
          .index = entry["index"].AsInt().value_or(-1),
          .ready = entry["status"].AsString() == "Ready"};
}

// How many of the nodes are ready members.
std::size_t CountReady(const Members& members, const std::set<std::string>& nodes) {
  const auto ready = std::ranges::count_if(nodes, [&](const std::string& node) {
    const auto it = members.find(node);
    return it != members.end() && it->second.ready;
  });
  return static_cast<std::size_t>(ready);
}

// Looks at one domain at rest.
class DomainCheck {
 public:
  DomainCheck(const GroundTruth& truth, const SystemUnderTest& system, const Object& domain,
              Violations& violations)
      : truth_(truth), system_(system), domain_(domain), violations_(violations) {}

  void CheckAll() {
    if (domain_.value().Find("spec") != nullptr) CheckChildren();
    CheckLabels();
    CheckPlugins();
    CheckTrouble();
    const Members members = CheckMembership();
    CheckStatus(members);
    CheckWarnings(members);
    const bool is_told = !FindCondition(domain_.value(), "Conflicted").IsNull();
    // Of two leaders each undoes what the other writes.
    if (is_told && !system_.repairs_are_undone && system_.elect) {
      Say("says that another controller writes it, and no scenario has one");
    }
  }

 private:
  void Say(const std::string& sentence) {
    violations_.push_back("L1 ChildrenAndStatusMatch: " + kube::ToString(domain_.key()) + " " +
                          sentence);
  }
  void Expect(const Object& child, bool condition, const std::string& what) {
    if (!condition) Say("has " + kube::ToString(child.key()) + " with a wrong " + what);
  }

  void CheckChildren();
  ObjectPtr FindChild(Role role, Kind kind);
  void CheckDaemonSet(const Object& set);
  void CheckDaemonsAreCurrent(const Object& set);
  bool HasChannelOn(const std::string& node) const;
  void CheckLabels();
  void CheckPlugins();
  void CheckTrouble();
  void CheckTemplate(const Object& found, bool is_channel);
  bool IsStranger(const std::string& node) const;
  Members CheckMembership();
  void AddIdle(const Object& pod, Members& members) const;
  // Of one whose daemon has its entry nowhere else.
  void TakeIndexFromStatus(const std::string& node, Members& members) const;
  void CheckEntries(const Members& members);
  void CheckStatus(const Members& members);
  void CheckSummary(const Members& members, const std::set<std::string>& expected);
  void CheckConditions(const Members& members, const std::set<std::string>& expected);
  bool HasPodWithoutRoom() const;
  void CheckWarnings(const Members& members);
  void CheckWhoLeaves(const Members& members, const std::string& message);
  std::set<std::string> CliquesInUse(const Members& members) const;
  std::set<std::string> ExpectedNodes() const;
  bool HasWaitingPod() const;
  bool SaysOfMembers(std::string_view words) const;
  const char* SharesMemory(const Members& members, const std::set<std::string>& expected) const;

  const GroundTruth& truth_;
  const SystemUnderTest& system_;
  const Object& domain_;
  bool is_accepted_ = true;     // Nothing that its user asks for is in the way of its being ready,
  bool is_provisioned_ = true;  // nor is a child missing.
  std::set<std::string> strangers_ = {};  // Nodes that run a daemon, but are no members.
  Violations& violations_;
};

// The child in that role, which must be there once, and to stay.
ObjectPtr DomainCheck::FindChild(Role role, Kind kind) {
  ObjectPtr found;
  for (const auto& [key, object] : truth_.Live(kind)) {
    const bool is_it = object->Label(kDomainLabel) == domain_.uid() &&
                       RoleOf(truth_, system_, kind, *object) == role;
    if (!is_it) continue;
    if (found) Say(std::string("has two children in the role ") + simulation::ToString(role));
    if (object->deleting()) Say("has " + Show(kind, key) + ", which is being deleted");
    found = object;
  }
  return found;
}

void DomainCheck::CheckChildren() {
  if (!domain_.HasFinalizer(kFinalizer)) Say("has no finalizer");
  if (const ObjectPtr set = FindChild(Role::kDaemonSet, Kind::kDaemonSet)) {
    CheckDaemonSet(*set);
  } else {
    Say("has no DaemonSet");
  }
  if (const ObjectPtr found = FindChild(Role::kDaemonTemplate, Kind::kClaimTemplate)) {
    CheckTemplate(*found, false);
  } else {
    Say("has no daemon template");
  }
  if (const ObjectPtr found = FindChild(Role::kWorkloadTemplate, Kind::kClaimTemplate)) {
    CheckTemplate(*found, true);
    return;
  }
  const std::string& name =
      At(domain_.value(), {"spec", "channel", "resourceClaimTemplate", "name"}).AsString();
  const bool is_taken =
      truth_.Get(Kind::kClaimTemplate, {.ns = domain_.key().ns, .name = name}) != nullptr;
  const bool is_full = system_.full_namespaces.contains(domain_.key().ns);
  is_provisioned_ = false;
  if (!is_taken && is_full) {
    const Value& ready = FindCondition(domain_.value(), "Ready");
    const bool says_so = ready["status"].AsString() == "False" &&
                         ready["message"].AsString().find("exceeded quota") != std::string::npos;
    if (!says_so) Say("does not say that a quota leaves no room for its workload template");
    return;
  }
  if (!is_taken) Say("has no workload template");
  is_accepted_ = false;
}

void DomainCheck::CheckDaemonSet(const Object& set) {
  const Value& spec = set["spec"];
  const auto label = [&](std::initializer_list<std::string_view> path) {
    return At(spec, path)[kDomainLabel].AsString();
  };
  Expect(set, label({"selector", "matchLabels"}) == domain_.uid(), "selector");
  Expect(set, label({"template", "metadata", "labels"}) == domain_.uid(), "pod label");
  Expect(set, label({"template", "spec", "nodeSelector"}) == domain_.uid(), "nodeSelector");
  const Value::Items& claims = At(spec, {"template", "spec", "resourceClaims"}).items();
  Expect(set,
         claims.size() == 1 &&
             claims.front()["resourceClaimTemplateName"].AsString() == DaemonName(domain_.uid()),
         "claim template");
  Expect(set, set.meta()["ownerReferences"].items().empty(), "owner: it is in another namespace");
  for (const Value& container : At(spec, {"template", "spec", "containers"}).items()) {
    const bool is_right =
        system_.daemon_image.empty() || container["image"].AsString() == system_.daemon_image;
    Expect(set, is_right, "image " + container["image"].AsString());
  }
  CheckDaemonsAreCurrent(set);
}

// Unless their clique is in use, or a node of the domain is without its daemon: then they wait.
void DomainCheck::CheckDaemonsAreCurrent(const Object& set) {
  const auto hash_of = [](const Value& metadata) {
    return At(metadata, {"annotations", kTemplateHashAnnotation}).AsString();
  };
  const std::string current = hash_of(At(set.value(), {"spec", "template", "metadata"}));
  std::map<std::string, std::string> cliques;  // Of nodes.
  for (const auto& [key, pod] : truth_.Live(Kind::kPod)) {
    const std::string* clique = pod->FindLabel(kCliqueLabel);
    if (clique == nullptr || !IsDaemonPod(system_, *pod, domain_.uid())) continue;
    cliques[(*pod)["spec"]["nodeName"].AsString()] = *clique;
  }
  std::set<std::string> in_use;
  for (const auto& [key, claim] : truth_.Live(Kind::kClaim)) {
    if (MayRollUnderJob(domain_) || !HoldsChannel(*claim, domain_)) continue;
    const auto it = cliques.find(AllocatedNode(*claim));
    if (it == cliques.end()) return;  // It may be in any.
    in_use.insert(it->second);
  }
  std::set<std::string> served;
  std::string outdated;
  for (const auto& [key, pod] : truth_.Live(Kind::kPod)) {
    if (!IsDaemonPod(system_, *pod, domain_.uid())) continue;
    const std::string& node = (*pod)["spec"]["nodeName"].AsString();
    if (IsPodReady(*pod) && !pod->deleting() && !IsNodeLost(truth_, node)) served.insert(node);
    const auto clique = cliques.find(node);
    const bool waits = clique != cliques.end() && in_use.contains(clique->second);
    if (!waits && hash_of(pod->meta()) != current) outdated = key.name;
  }
  for (const auto& [key, node] : truth_.Live(Kind::kNode)) {
    if (node->Label(kDomainLabel) == domain_.uid() && !served.contains(key.name)) return;
  }
  if (!outdated.empty()) Say("has " + outdated + ", which was made from an older template");
}

// No node is kept from other domains that no claim of this one is on. Who may not read claims
// cannot know: a plugin whose node rebooted when the pod ended leaves the label there.
void DomainCheck::CheckLabels() {
  if (!system_.may_read_claims) return;
  for (const auto& [key, node] : truth_.Live(Kind::kNode)) {
    if (node->Label(kDomainLabel) != domain_.uid()) continue;
    if (!HasChannelOn(key.name)) Say("keeps " + key.name + ", which no claim of it is on");
  }
}

bool DomainCheck::HasChannelOn(const std::string& node) const {
  return std::ranges::any_of(truth_.Live(Kind::kClaim), [&](const auto& item) {
    const auto config = FindConfig(*item.second);
    return config && config->is_channel && config->domain == domain_.uid() &&
           AllocatedNode(*item.second) == node;
  });
}

// Of the nodes where a pod of the domain has a channel, those without a plugin are named, and no
// others.
void DomainCheck::CheckPlugins() {
  const std::string& message = FindCondition(domain_.value(), "MembersReady")["message"].AsString();
  const std::size_t at = std::min(message.find("is registered on "), message.size());
  const std::string named = message.substr(at, message.find(':', at) - at);
  for (const auto& [key, node] : truth_.Live(Kind::kNode)) {
    if (!HasChannelOn(key.name)) continue;
    const bool is_missing =
        !truth_.Get(Kind::kSlice, {.name = SliceName(key.name)}) && !IsNodeLost(truth_, key.name);
    const bool is_named = named.find(key.name) != std::string::npos;
    if (is_missing && !is_named) Say("does not say that " + key.name + " has no plugin");
    if (is_named && !is_missing) Say("says that " + key.name + " has no plugin");
  }
}

// Of daemons that crash over and over the last words are told, and of no others; but of a node that
// is lost nobody knows how they are.
void DomainCheck::CheckTrouble() {
  const std::string& message = FindCondition(domain_.value(), "MembersReady")["message"].AsString();
  std::set<std::string> crashing;
  for (const auto& [key, pod] : truth_.Live(Kind::kPod)) {
    if (!IsDaemonPod(system_, *pod, domain_.uid()) || pod->deleting()) continue;
    if (IsNodeLost(truth_, TargetNode(*pod))) continue;
    for (const Value& container : (*pod)["status"]["containerStatuses"].items()) {
      const Value& waiting = container["state"]["waiting"];
      if (waiting["reason"].AsString() != "CrashLoopBackOff") continue;
      const std::string& last = At(container, {"lastState", "terminated", "message"}).AsString();
      crashing.insert((*pod)["spec"]["nodeName"].AsString() + " (CrashLoopBackOff: " + last + ")");
    }
  }
  for (const std::string& words : crashing) {
    if (message.find(words) == std::string::npos) Say("does not say \"" + words + "\"");
  }
  const bool is_said = message.find("CrashLoopBackOff") != std::string::npos;
  if (is_said && crashing.empty()) Say("says that a daemon crashes");
}

void DomainCheck::CheckTemplate(const Object& found, bool is_channel) {
  const Value& devices = At(found.value(), {"spec", "spec", "devices"});
  const Value::Items& requests = devices["requests"].items();
  const Value::Items& configs = devices["config"].items();
  const bool is_one = requests.size() == 1 && configs.size() == 1;
  Expect(found, is_one, "number of requests and configs");
  if (!is_one) return;
  const Value& request = requests.front();
  const Value& opaque = configs.front()["opaque"];
  const Value& parameters = opaque["parameters"];
  Expect(found,
         request["exactly"]["deviceClassName"].AsString() ==
             (is_channel ? kChannelClass : kDaemonClass),
         "device class");
  Expect(found, configs.front()["requests"] == Value::Array({request["name"]}), "request name");
  Expect(found, opaque["driver"].AsString() == kDriver, "driver");
  Value wanted = Value::Object({{"apiVersion", "resource.nvidia.com/v1beta1"},
                                {"kind", is_channel ? kChannelConfig : kDaemonConfig},
                                {"domainID", domain_.uid()}});
  if (is_channel) {
    wanted["allocationMode"] = At(domain_.value(), {"spec", "channel", "allocationMode"});
  }
  Expect(found, SameValue(parameters, wanted), "device configuration");
  const Value::Items& owners = found.meta()["ownerReferences"].items();
  const bool is_owned = std::ranges::any_of(
      owners, [&](const Value& owner) { return owner["uid"].AsString() == domain_.uid(); });
  Expect(found, is_owned == is_channel, "owner");
}

// The members of the domain, by its daemon pods and their entries in cliques.
// Its label, its daemon and its clique are the word of the node alone.
bool DomainCheck::IsStranger(const std::string& node) const {
  const bool is_shown =
      std::ranges::any_of(domain_["status"]["nodes"].items(),
                          [&](const Value& entry) { return entry["name"].AsString() == node; });
  return system_.may_read_claims && !is_shown && !NodesWithChannels(truth_, domain_).contains(node);
}

Members DomainCheck::CheckMembership() {
  Members members;
  for (const auto& [key, pod] : truth_.Live(Kind::kPod)) {
    const std::string* clique = pod->FindLabel(kCliqueLabel);
    const std::string& ip = (*pod)["status"]["podIP"].AsString();
    const std::string& node = (*pod)["spec"]["nodeName"].AsString();
    if (!IsDaemonPod(system_, *pod, domain_.uid()) || IsTerminal(*pod)) continue;
    if (IsStranger(node)) {
      strangers_.insert(node);
      continue;
    }
    if (clique == nullptr || ip.empty()) {
      AddIdle(*pod, members);
      continue;
    }
    const bool ready = IsPodReady(*pod) && !pod->deleting() && !IsNodeLost(truth_, node);
    members[node] = {.ip = ip, .clique = *clique, .index = -1, .ready = ready};
    if (clique->empty()) continue;
    if (pod->meta()["annotations"].Find(kKeepsNoCliqueAnnotation) != nullptr) {
      TakeIndexFromStatus(node, members);
      // It may fall silent before it has written its entry.
      const bool only_starts = members[node].index < 0 && IsNodeLost(truth_, node);
      if (!pod->deleting() && !only_starts) continue;
      members.erase(node);
      AddIdle(*pod, members);
      continue;
    }
    const ObjectPtr object =
        truth_.Get(Kind::kClique,
                   {.ns = system_.driver_namespace, .name = CliqueName(domain_.uid(), *clique)});
    bool is_listed = false;
    for (const Value& entry : object ? (*object)["daemons"].items() : Value::Items()) {
      if (entry["nodeName"].AsString() != node) continue;
      is_listed = true;
      members[node].index = ReadEntry(entry).index;
      if (pod->Label(kMembershipWriterLabel) == "controller") continue;
      // What a daemon writes is so; under another address than its own its peers do not find it.
      members[node].ip = ReadEntry(entry).ip;
      if (members[node].ip != ip) members[node].ready = false;
    }
    const bool is_ours_to_list =
        pod->Label(kMembershipWriterLabel) == "controller" && !pod->deleting();
    const std::size_t listed = object ? (*object)["daemons"].items().size() : 0;
    if (!is_listed && is_ours_to_list && std::cmp_less(listed, system_.members_max)) {
      Say("has no clique entry for " + Show(Kind::kPod, key));
    }
    if (!is_listed) members.erase(node);
    // One that writes its own entry may fall silent before it has.
    const bool only_starts = !is_listed && !is_ours_to_list && IsNodeLost(truth_, node);
    if (pod->deleting() || only_starts) AddIdle(*pod, members);
  }
  CheckEntries(members);
  return members;
}

// A node whose pod does not take part, for it only starts or ends, is a member, if not a ready one,
// as long as a clique lists it or, of one that is in none, status shows it.
void DomainCheck::AddIdle(const Object& pod, Members& members) const {
  const std::string& node = pod["spec"]["nodeName"].AsString();
  const bool keeps_none = pod.meta()["annotations"].Find(kKeepsNoCliqueAnnotation) != nullptr;
  const auto add = [&](const Value& entries, const char* name, bool any_clique) {
    for (const Value& entry : entries.items()) {
      if (entry[name].AsString() != node) continue;
      if (!any_clique && !entry["cliqueID"].AsString().empty()) continue;
      Member idle = ReadEntry(entry);
      idle.ready = false;
      members.try_emplace(node, std::move(idle));
    }
  };
  for (const auto& [key, clique] : truth_.Live(Kind::kClique)) {
    const bool is_its = DomainOfClique(*clique) == domain_.uid() &&
                        RoleOf(truth_, system_, Kind::kClique, *clique) == Role::kClique;
    if (is_its) add((*clique)["daemons"], "nodeName", true);
  }
  // Status is no witness of who is in a clique, unless daemons write there, or nobody knows more.
  add(domain_["status"]["nodes"], "name", keeps_none || IsNodeLost(truth_, node));
}

void DomainCheck::TakeIndexFromStatus(const std::string& node, Members& members) const {
  for (const Value& entry : domain_["status"]["nodes"].items()) {
    if (entry["name"].AsString() == node) members[node].index = ReadEntry(entry).index;
  }
}

void DomainCheck::CheckEntries(const Members& members) {
  for (const auto& [key, clique] : truth_.Live(Kind::kClique)) {
    if (DomainOfClique(*clique) != domain_.uid()) continue;
    if (RoleOf(truth_, system_, Kind::kClique, *clique) != Role::kClique) continue;
    std::set<std::int64_t> used;
    for (const Value& entry : (*clique)["daemons"].items()) {
      const std::string& node = entry["nodeName"].AsString();
      const auto member = members.find(node);
      if (member == members.end() && strangers_.contains(node)) continue;  // Its daemon's word.
      if (member == members.end()) {
        Say("lists " + node + ", which has no daemon pod");
      } else if (member->second.clique != clique->Label(kCliqueLabel)) {
        Say("lists " + node + " in a clique that it has left");
      }
      if (!used.insert(entry["index"].AsInt().value_or(-1)).second) {
        Say("gives the index of " + node + " twice");
      }
    }
  }
}

void DomainCheck::CheckStatus(const Members& members) {
  const Value& status = domain_["status"];
  Members shown;
  for (const Value& entry : status["nodes"].items()) {
    shown[entry["name"].AsString()] = ReadEntry(entry);
  }
  for (const auto& [node, member] : members) {
    const auto it = shown.find(node);
    if (it == shown.end()) {
      Say("does not show " + node);
    } else if (it->second != member) {
      Say("shows " + node + " as " + ToString(it->second) + " instead of " + ToString(member));
    }
  }
  for (const auto& [node, member] : shown) {
    if (!members.contains(node)) Say("shows " + node + ", which is no member");
  }
  const std::set<std::string> expected = ExpectedNodes();
  const auto wanted = static_cast<std::size_t>(domain_["spec"]["numNodes"].AsInt().value_or(0));
  const bool is_ready = is_provisioned_ && CountReady(members, expected) == expected.size() &&
                        members.size() >= wanted;
  if (status["status"].AsString() != (is_ready ? "Ready" : "NotReady")) {
    Say("says \"" + status["status"].AsString() + "\"");
  }
  // A domain without members counts as ready, for clients that wait until it is provisioned.
  const bool is_usable = (expected.empty() ? is_provisioned_ : is_ready) && !HasWaitingPod() &&
                         !SaysOfMembers("IMEX was started again");
  const std::string& said = FindCondition(domain_.value(), "Ready")["status"].AsString();
  const bool has_conditions = status.Find("conditions") != nullptr;
  if (has_conditions && (said == "True") != is_usable) {
    Say("has the condition Ready=" + said + (is_usable ? " though it is" : " though it is not"));
  }
  CheckSummary(members, expected);
  if (system_.says_all) CheckConditions(members, expected);
}

// By labels, and claims that may be read, alone: those that are reserved for the domain, or have a
// channel of it. A member that is neither is leaving.
std::set<std::string> DomainCheck::ExpectedNodes() const {
  std::set<std::string> nodes;
  for (const auto& [key, node] : truth_.Live(Kind::kNode)) {
    const bool counts = !IsStranger(key.name);
    if (node->Label(kDomainLabel) == domain_.uid() && counts) nodes.insert(key.name);
  }
  if (system_.may_read_claims) nodes.merge(NodesWithChannels(truth_, domain_));
  return nodes;
}

bool DomainCheck::SaysOfMembers(std::string_view words) const {
  const Value& said = FindCondition(domain_.value(), "MembersReady");
  return said["message"].AsString().find(words) != std::string::npos;
}

// Whether all pods of the domain run on ready members of one clique.
const char* DomainCheck::SharesMemory(const Members& members,
                                      const std::set<std::string>& expected) const {
  if (!system_.may_read_claims || !system_.serves_cliques) return "Unknown";
  const auto wanted = static_cast<std::size_t>(domain_["spec"]["numNodes"].AsInt().value_or(0));
  const bool all_ready =
      CountReady(members, expected) == expected.size() && members.size() >= wanted;
  if (!all_ready || HasPodWithoutRoom() || HasWaitingPod()) return "False";
  std::set<std::string> cliques;
  for (const auto& [key, claim] : truth_.Live(Kind::kClaim)) {
    if (!IsConsumer(*claim, domain_) || AllocatedNode(*claim).empty()) continue;
    const auto member = members.find(AllocatedNode(*claim));
    if (member == members.end() || !member->second.ready) return "False";
    cliques.insert(member->second.clique);
  }
  if (cliques.empty()) return "False";  // Nobody uses it.
  // Other oracles compare what daemons report with their IMEX.
  for (const char* words :
       {"with another index", "IMEX has no connection", "IMEX was started again"}) {
    if (SaysOfMembers(words)) return "False";
  }
  if (SaysOfMembers("does not say which peers")) return "Unknown";
  if (cliques.contains("")) return "False";
  const Spanning spanning = cliques.size() == 1 ? Spanning::kYes : SpanningOf(domain_);
  return spanning == Spanning::kYes ? "True" : spanning == Spanning::kNo ? "False" : "Unknown";
}

// One that finds no channel.
bool DomainCheck::HasWaitingPod() const {
  return std::ranges::any_of(truth_.Live(Kind::kClaim), [&](const auto& item) {
    const Object& claim = *item.second;
    const auto config = FindConfig(claim);
    return config && config->is_channel && config->domain == domain_.uid() && !claim.deleting() &&
           claim.key().ns == domain_.key().ns && AllocatedNode(claim).empty() &&
           claim.ControllerOwner()["kind"].AsString() == "Pod";
  });
}

// Each of them is there, and is what it should be.
void DomainCheck::CheckConditions(const Members& members, const std::set<std::string>& expected) {
  const auto expect = [&](const char* type, const char* status) {
    const std::string& said = FindCondition(domain_.value(), type)["status"].AsString();
    if (said != status) {
      Say("has the condition " + std::string(type) + "=" + said + " instead of " + status);
    }
  };
  const auto wanted = static_cast<std::size_t>(domain_["spec"]["numNodes"].AsInt().value_or(0));
  const bool all_ready = CountReady(members, expected) == expected.size();
  expect("Accepted", is_accepted_ ? "True" : "False");
  expect("Provisioned", is_provisioned_ ? "True" : "False");
  const bool is_used = std::ranges::any_of(truth_.Live(Kind::kClaim), [&](const auto& item) {
    return IsConsumer(*item.second, domain_);
  });
  expect("MemoryShared", SharesMemory(members, expected));
  expect("InUse", !system_.may_read_claims ? "Unknown" : is_used ? "True" : "False");
  const bool finds_no_room = HasPodWithoutRoom();
  expect("MembersReady", finds_no_room                           ? "False"
                         : expected.empty()                      ? "Unknown"
                         : all_ready && members.size() >= wanted ? "True"
                                                                 : "False");
  for (const char* name : {"members", "observedGeneration", "conditions"}) {
    if (domain_["status"].Find(name) == nullptr) Say("has no " + std::string(name) + " in status");
  }
  std::set<std::string> shown;
  for (const Value& clique : domain_["status"]["cliques"].items()) {
    shown.insert(clique["id"].AsString());
  }
  for (const auto& [node, member] : members) {
    if (!member.clique.empty() && !shown.contains(member.clique)) {
      Say("does not sum up the clique " + member.clique);
    }
  }
}

// A daemon whose clique is full, of those whose entries the controller writes.
bool DomainCheck::HasPodWithoutRoom() const {
  return std::ranges::any_of(truth_.Live(Kind::kPod), [&](const auto& item) {
    const Object& pod = *item.second;
    const std::string* clique = pod.FindLabel(kCliqueLabel);
    if (clique == nullptr || clique->empty() || IsTerminal(pod) || pod.deleting()) return false;
    if (!IsDaemonPod(system_, pod, domain_.uid())) return false;
    if (pod.Label(kMembershipWriterLabel) != "controller") return false;
    const ObjectPtr object =
        truth_.Get(Kind::kClique,
                   {.ns = system_.driver_namespace, .name = CliqueName(domain_.uid(), *clique)});
    if (!object) return false;
    const Value::Items& entries = (*object)["daemons"].items();
    return std::ssize(entries) >= system_.members_max &&
           std::ranges::none_of(entries, [&](const Value& entry) {
             return entry["nodeName"].AsString() == pod["spec"]["nodeName"].AsString();
           });
  });
}

// What our status says beside the reference's; a CRD of the reference prunes it.
void DomainCheck::CheckSummary(const Members& members, const std::set<std::string>& expected) {
  const Value& status = domain_["status"];
  const std::string summary =
      std::to_string(CountReady(members, expected)) + "/" + std::to_string(expected.size());
  const Value* shown = status.Find("members");
  if (shown != nullptr && shown->AsString() != summary) {
    Say("sums up " + shown->AsString() + " instead of " + summary);
  }
  const Value* generation = status.Find("observedGeneration");
  if (generation != nullptr && *generation != domain_.meta()["generation"]) {
    Say("describes another generation than its own");
  }
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> cliques;
  for (const auto& [node, member] : members) {
    ++cliques[member.clique].first;
    cliques[member.clique].second += member.ready ? 1 : 0;
  }
  for (const Value& clique : status["cliques"].items()) {
    const auto& [count, count_ready] = cliques[clique["id"].AsString()];
    if (clique["members"].AsInt() != count || clique["ready"].AsInt() != count_ready) {
      Say("miscounts the clique " + clique["id"].AsString());
    }
  }
}

bool IsAboutToGo(const Object& node) {
  return node["spec"]["unschedulable"].AsBool() ||
         std::ranges::any_of(node["spec"]["taints"].items(), [](const Value& taint) {
           return taint["key"].AsString() == kDisruptedTaint;
         });
}

// Those in which pods hold channels of the domain, as far as the controller may know.
std::set<std::string> DomainCheck::CliquesInUse(const Members& members) const {
  std::set<std::string> cliques;
  if (!system_.may_read_claims) return cliques;
  for (const auto& [key, claim] : truth_.Live(Kind::kClaim)) {
    if (!HoldsChannel(*claim, domain_)) continue;
    const auto member = members.find(AllocatedNode(*claim));
    if (member != members.end()) cliques.insert(member->second.clique);
  }
  cliques.erase("");
  return cliques;
}

// Of the nodes where the domain is served, those that are about to go are named, and no others.
void DomainCheck::CheckWhoLeaves(const Members& members, const std::string& message) {
  const std::size_t at = std::min(message.find("About to leave: "), message.size());
  const std::string named = message.substr(at, message.find(". ", at) - at);
  for (const std::string& name : ExpectedNodes()) {
    const ObjectPtr node = truth_.Get(Kind::kNode, {.name = name});
    const auto member = members.find(name);
    const bool leaves =
        node && member != members.end() && member->second.ready && IsAboutToGo(*node);
    const bool is_named = named.find(name) != std::string::npos;
    if (leaves && !is_named) Say("does not say that " + name + " is about to leave");
    if (is_named && !leaves) Say("says that " + name + " is about to leave");
  }
}

// What its members should know although all of them serve, and the gravest of it as the reason.
void DomainCheck::CheckWarnings(const Members& members) {
  const Value& said = FindCondition(domain_.value(), "MembersReady");
  const std::string& message = said["message"].AsString();
  if (!said.IsNull()) CheckWhoLeaves(members, message);
  const std::string& reason = said["reason"].AsString();
  // Both pass by themselves.
  if (reason == "MembersStarting" || reason == "MembersLeaving") Say("says " + reason + " at rest");
  if (said["status"].AsString() != "True") return;
  const auto says = [&](const std::string& words) {
    return message.find(words) != std::string::npos;
  };
  const std::set<std::string> expected = ExpectedNodes();
  const auto has_fabric = [&](const std::string& node) {
    const auto member = members.find(node);
    return member != members.end() && !member->second.clique.empty();
  };
  const auto with_fabric = static_cast<std::size_t>(std::ranges::count_if(expected, has_fabric));
  if (says("No member has NVLink fabric") != (with_fabric == 0)) {
    Say(with_fabric == 0 ? "does not say that it has no fabric" : "says that it has no fabric");
  }
  const bool has_some = with_fabric > 0 && with_fabric < expected.size();
  if (says("Without NVLink fabric: ") != has_some) {
    Say(has_some ? "does not say who has no fabric" : "says of somebody that he has no fabric");
  }
  const bool may_span = SpanningOf(domain_) != Spanning::kNo;
  const std::size_t cliques = may_span ? 1 : CliquesInUse(members).size();
  const std::string spread = "in " + std::to_string(cliques) + " cliques";
  if (says(" cliques") != (cliques > 1) || (cliques > 1 && !says(spread))) {
    Say("does not say that it is in use in " + std::to_string(cliques) + " cliques, or that it is");
  }
  if (says("No kubelet plugin")) return;  // Which is graver.
  if (says("Cliques are not served") == system_.serves_cliques) {
    Say(system_.serves_cliques ? "says that cliques are not served"
                               : "does not say that cliques are not served");
  }
  const std::string_view gravest = says("Cliques are not served")     ? "DaemonsNotRead"
                                   : says("About to leave")           ? "NodeLeaving"
                                   : says("with another index")       ? "ImexIndexDiffers"
                                   : says("IMEX has no connection")   ? "ImexPeersUnreachable"
                                   : says("does not say which peers") ? "ImexPeersUnknown"
                                   : says("IMEX was started again")   ? "ImexRestartedUnderJob"
                                   : cliques > 1                      ? "SpansCliques"
                                   : says("Other domains")            ? "CliqueShared"
                                   : with_fabric == 0                 ? "NoFabric"
                                                                      : "AllMembersReady";
  if (reason != gravest) Say("has the reason " + reason + " instead of " + std::string(gravest));
}

// One of the pods that own it is being deleted on a node that is lost, which does not end it.
bool HasOwnerThatHangs(const GroundTruth& truth, const Object& owned) {
  return std::ranges::any_of(owned.meta()["ownerReferences"].items(), [&](const Value& owner) {
    const ObjectPtr pod = FindByUid(truth.Live(Kind::kPod), owner["uid"].AsString());
    return pod && pod->deleting() && IsNodeLost(truth, (*pod)["spec"]["nodeName"].AsString());
  });
}

// What still holds a domain that is being deleted.
std::vector<kube::ObjectKey> FindHolders(const GroundTruth& truth, const SystemUnderTest& system,
                                         const Object& domain) {
  std::vector<kube::ObjectKey> holders;
  for (const auto& [key, claim] : truth.Live(Kind::kClaim)) {
    const bool holds = IsConsumer(*claim, domain) || IsDaemonClaim(system, *claim, domain.uid());
    if (holds && !IsNodeLost(truth, AllocatedNode(*claim))) holders.push_back(key);
  }
  for (const auto& [key, pod] : truth.Live(Kind::kPod)) {
    const bool holds = IsDaemonPod(system, *pod, domain.uid()) &&
                       !IsNodeLost(truth, (*pod)["spec"]["nodeName"].AsString());
    if (holds) holders.push_back(key);
  }
  // A controller that may not delete cliques waits for the garbage collector, and that for the pods
  // that own them: also for one that hangs on a node that is lost.
  for (const auto& [key, clique] : truth.Live(Kind::kClique)) {
    const bool waits = !system.may_read_claims && DomainOfClique(*clique) == domain.uid() &&
                       HasOwnerThatHangs(truth, *clique);
    if (waits) holders.push_back(key);
  }
  return holders;
}

}  // namespace

Violations ChildrenAndStatusMatch(const ApiServer& server, const SystemUnderTest& system) {
  const GroundTruth truth = FinalGroundTruth(server.store().history());
  Violations violations;
  for (const auto& [key, domain] : truth.Live(Kind::kComputeDomain)) {
    if (!domain->deleting()) DomainCheck(truth, system, *domain, violations).CheckAll();
  }
  return violations;
}

Violations DeletionCompletes(const ApiServer& server, const SystemUnderTest& system) {
  const GroundTruth truth = FinalGroundTruth(server.store().history());
  Violations violations;
  for (const auto& [key, domain] : truth.Live(Kind::kComputeDomain)) {
    if (!domain->deleting() || !domain->HasFinalizer(kFinalizer)) continue;
    const auto say = [&](const std::string& sentence) {
      violations.push_back("L2 DeletionCompletes: " + kube::ToString(domain->key()) + " " +
                           sentence);
    };
    const std::vector<kube::ObjectKey> holders = FindHolders(truth, system, *domain);
    if (holders.empty()) {
      say("is still being deleted although nothing holds it");
      continue;
    }
    const Value& blocked = FindCondition(domain->value(), "DeletionBlocked");
    const std::string& message = blocked["message"].AsString();
    const bool names_nodes =
        !system.may_read_claims && message.find("pods on ") != std::string::npos;
    const bool names_one =
        names_nodes || std::ranges::any_of(holders, [&](const kube::ObjectKey& holder) {
          return message.find(holder.name) != std::string::npos;
        });
    if (blocked["status"].AsString() != "True" || !names_one) {
      say("does not say that it waits for " + kube::ToString(holders.front()) + " but \"" +
          message + "\"");
    }
  }
  return violations;
}

Violations NothingLeaked(const ApiServer& server, const SystemUnderTest& system) {
  const History& history = server.store().history();
  const GroundTruth truth = FinalGroundTruth(history);
  std::set<kube::Uid> made;  // By the controller.
  for (const Change& change : history.changes()) {
    const bool is_made =
        change.type == Change::Type::kAdded && system.clients.contains(change.actor);
    if (is_made) made.insert(change.after->uid());
  }
  Violations violations;
  const auto is_dead = [&](const kube::Uid& domain) {
    const DomainRecord* record = truth.FindDomain(domain);
    return record != nullptr && !record->exists;
  };
  const auto look = [&](Kind kind, const auto& is_leaked) {
    for (const auto& [key, object] : truth.Live(kind)) {
      if (!is_leaked(*object)) continue;
      violations.push_back("L3 NothingLeaked: " + Show(kind, key) +
                           " is left of a domain that is gone");
    }
  };
  for (const Kind kind : {Kind::kDaemonSet, Kind::kClaimTemplate, Kind::kClique}) {
    look(kind, [&, kind](const Object& object) {
      const bool is_ours =
          made.contains(object.uid()) || RoleOf(truth, system, kind, object) != Role::kNone;
      return is_ours && is_dead(DomainOf(kind, object));
    });
  }
  look(Kind::kNode, [&](const Object& node) { return is_dead(node.Label(kDomainLabel)); });
  look(Kind::kPod, [&](const Object& pod) {
    const std::string& domain = pod.Label(kDomainLabel);
    return IsDaemonPod(system, pod, domain) && is_dead(domain) &&
           !IsNodeLost(truth, pod["spec"]["nodeName"].AsString());
  });
  return violations;
}

namespace {

// What was seen before may be told minutes later: how often, or at all where Events are refused or
// many.
bool TellsOfBefore(const RequestRecord& request, const SystemUnderTest& system, Time then) {
  if (request.target.kind == nullptr || request.target.kind->kind != Kind::kEvent) return false;
  if (request.target.verb == "patch") return true;
  const auto event = json::Parse(request.body);
  const auto seen = base::ParseTime(event ? (*event)["eventTime"].AsString() : "");
  return seen && *seen < then + system.clocks_apart;
}

}  // namespace

Violations QuietAtRest(const ApiServer& server, const SystemUnderTest& system, std::size_t since) {
  Violations violations;
  int refused = 0;  // Lists that were: who has no right to them asks ever more rarely.
  for (std::size_t i = since; i < server.requests().size(); ++i) {
    const RequestRecord& request = server.requests()[i];
    if (request.target.verb == "list" && request.status == 403 && ++refused <= 24) continue;
    const bool is_lease =
        request.target.kind != nullptr && request.target.kind->kind == Kind::kLease;
    if (!system.clients.contains(request.client) || is_lease) continue;
    if (request.target.verb == "watch") continue;
    if (request.target.verb == "list" && system.silence > std::chrono::seconds(0)) continue;
    if (TellsOfBefore(request, system, server.requests()[since].time)) continue;
    violations.push_back("Q2 QuietAtRest: " + request.client + " sent " + request.ToString());
  }
  return violations;
}

Violations CheckRest(const ApiServer& server, const SystemUnderTest& system) {
  Violations all;
  for (const auto oracle : {ChildrenAndStatusMatch, DeletionCompletes, NothingLeaked}) {
    std::ranges::move(oracle(server, system), std::back_inserter(all));
  }
  return all;
}

}  // namespace simulation
