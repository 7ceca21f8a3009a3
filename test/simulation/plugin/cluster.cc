#include <algorithm>

#include "node/plugin/rules/checkpoint.h"
#include "pkg/base/check.h"
#include "test/simulation/apiserver/contract.h"
#include "test/simulation/plugin/world.h"

namespace simulation {

namespace {

using json::Value;

constexpr std::chrono::seconds kDaemonStartsIn{2};

}  // namespace

// ---- Daemons

std::string DomainWorld::LabelOf(const Node& node) const {
  return store().Get(Kind::kNode, {.name = node.name})->Label(kDomainLabel);
}

bool DomainWorld::HasEntry(const PluginPod& daemon) const {
  const auto says = [&](const Value& members, std::string_view name) {
    return std::ranges::any_of(
        members.items(), [&](const Value& entry) { return entry[name].AsString() == daemon.node; });
  };
  if (!clique_.empty()) {
    const ObjectPtr clique = store().Get(
        Kind::kClique,
        {.ns = std::string(kDriverNamespace), .name = CliqueName(DomainOf(daemon), clique_)});
    return clique && says((*clique)["daemons"], "nodeName");
  }
  for (const auto& [key, domain] : store().Live(Kind::kComputeDomain)) {
    if (domain->uid() == DomainOf(daemon)) return says((*domain)["status"]["nodes"], "name");
  }
  return false;
}

void DomainWorld::SetEntry(const PluginPod& daemon, bool ready) {
  const int index = daemon.node == "node-a" ? 0 : 1;
  const auto put = [&](Value& members, const char* name) {
    std::erase_if(members.MutableItems(),
                  [&](const Value& entry) { return entry[name].AsString() == daemon.node; });
    if (!ready) return;
    Value entry = Value::Object({{name, daemon.node},
                                 {"ipAddress", "10.0.0." + std::to_string(index + 1)},
                                 {"cliqueID", clique_},
                                 {"index", index},
                                 {"status", "Ready"}});
    members.Append(std::move(entry));
  };
  const std::string actor = "daemon of " + daemon.node;
  if (clique_.empty()) {
    for (const auto& [key, domain] : store().Live(Kind::kComputeDomain)) {
      if (domain->uid() != DomainOf(daemon)) continue;
      const Reply written = store().Edit(
          actor, Kind::kComputeDomain, key,
          [&](Value& object) {
            if (!object["status"].IsObject())
              object["status"] = Value::Object({{"status", "NotReady"}});
            if (!object["status"]["nodes"].IsArray()) object["status"]["nodes"] = Value::Array();
            put(object["status"]["nodes"], "name");
          },
          Subresource::kStatus);
      CHECK(written.ok());
      return;
    }
    return;
  }
  const kube::ObjectKey key = {.ns = std::string(kDriverNamespace),
                               .name = CliqueName(DomainOf(daemon), clique_)};
  if (!store().Get(Kind::kClique, key)) {
    const Value object = Value::Object(
        {{"metadata", Value::Object({{"name", key.name}})}, {"daemons", Value::Array()}});
    CHECK(store().Create(actor, Kind::kClique, key.ns, object).ok());
  }
  const Reply written = store().Edit(actor, Kind::kClique, key, [&](Value& object) {
    if (!object["daemons"].IsArray()) object["daemons"] = Value::Array();
    put(object["daemons"], "nodeName");
  });
  CHECK(written.ok());
}

// The DaemonSet's pod on a node, and what it says of itself.
bool DomainWorld::StepWorkload(Node& node) {
  const std::string label = LabelOf(node);
  const auto& domains = store().Live(Kind::kComputeDomain);
  const bool wants =
      std::ranges::any_of(domains, [&](const auto& item) { return item.second->uid() == label; });
  bool has_daemon = false;
  for (const auto& pod : pods()) {
    if (!pod->is_daemon || pod->node != node.name || pod->state == State::kGone) continue;
    has_daemon = true;
    const bool is_up = pod->state == State::kPrepared && daemons_work_ &&
                       store().now() >= pod->prepared_at + kDaemonStartsIn;
    if (is_up != HasEntry(*pod)) {
      SetEntry(*pod, is_up);
      if (is_up == HasEntry(*pod)) return true;  // Else its domain is gone.
    }
    if (pod->state != State::kEnding && (!wants || DomainOf(*pod) != label)) {
      EndPod(pod->name);
      return true;
    }
  }
  if (!wants || has_daemon) return false;
  const std::string name = "daemon-" + std::to_string(++daemons_);
  MakePod({.pod = name,
           .ns = std::string(kDriverNamespace),
           .domain = label,
           .node = node.name,
           .device = "daemon-0"});
  pods().back()->is_daemon = true;
  return true;
}

Time DomainWorld::NextOfWorkload() const {
  Time due = Time::max();
  for (const auto& pod : pods()) {
    const Time starts_at = pod->prepared_at + kDaemonStartsIn;
    if (pod->is_daemon && starts_at > store().now()) due = std::min(due, starts_at);
  }
  return due;
}

// ---- What is left

bool DomainWorld::Lives(const kube::Uid& domain) const {
  return std::ranges::any_of(store().Live(Kind::kComputeDomain),
                             [&](const auto& item) { return item.second->uid() == domain; });
}

// What a node is left with.
void DomainWorld::CheckNode(const Node& node, bool is_last) {
  const auto is_here = [&](const auto& pod) { return pod->node == node.name; };
  for (const auto& pod : pods()) {
    if (pod->state != State::kPrepared || !is_here(pod)) continue;
    // A label that was taken off stays off if the domain is gone.
    const bool is_labelled = LabelOf(node) == DomainOf(*pod) || !Lives(DomainOf(*pod));
    const bool has_spec = clique_.empty() || node.disk.specs.contains(pod->uid);
    const bool is_whole =
        has_spec && !HasOldNumbers(node, pod->uid) &&
        (pod->is_daemon ? node.disk.folders.contains(DomainOf(*pod)) : is_labelled);
    if (is_whole) continue;
    Report("N-5: pod " + pod->name + " is prepared on " + node.name +
           ", and what it needs there is gone");
  }
  if (IsUsed(node)) return;
  const auto checkpoint = plugin::DecodeCheckpoint(node.disk.checkpoint.value_or(""));
  const bool is_clean =
      LabelOf(node).empty() && node.disk.specs.empty() && checkpoint && checkpoint->claims.empty();
  // One that was deleted late waits for the round after the next, as what was aborted.
  if (!is_last && has_faulted()) return;
  if (!is_clean) Report("N-3: something stays on " + node.name);
  for (const std::string& folder : node.disk.folders) {
    if (!Lives(folder)) Report("N-3: the folder of " + folder + " stays");
  }
}

// How a node is left, in words. Of the checkpoint only entries of prepared pods count: garbage
// collection removes others later. A rebuilt entry of a claim without fabric counts as started.
std::string DomainWorld::Describe(const Node& node) const {
  const std::set<std::string> held = HeldClaims(node.disk.checkpoint);
  const auto entries = std::ranges::count_if(pods(), [&](const auto& pod) {
    return pod->node == node.name && pod->state == State::kPrepared && held.contains(pod->uid);
  });
  return node.name + ": label " + LabelOf(node) + ", " + std::to_string(node.disk.specs.size()) +
         " specs, " + std::to_string(node.disk.folders.size()) + " folders, " +
         std::to_string(entries) + " entries; ";
}

}  // namespace simulation
