#include "test/simulation/plugin/oracles.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "test/simulation/apiserver/contract.h"
#include "test/simulation/cluster/claims.h"

namespace simulation {

namespace {

using std::chrono::seconds;
using What = PluginEvent::What;

// A process that follows a crash may see what was so long ago, and no later frame is as late.
constexpr auto kLateBy = seconds(20);
// For which the label of a domain stays at most when no claim needs it.
constexpr auto kLabelMost = seconds(60);

// A claim as it was last allocated.
struct ClaimTruth {
  std::string ns = {};
  std::string node = {};
  std::string device = {};
  ClaimConfig config = {};
};

std::optional<ClaimTruth> FindClaim(const ApiServer& server, const kube::Uid& uid) {
  const History& history = server.store().history();
  for (const std::size_t place : history.ChangesOf(Kind::kClaim)) {
    const ObjectPtr& claim = history.changes()[place].after;
    if (claim->uid() != uid || AllocatedNode(*claim).empty()) continue;
    const json::Value& results =
        simulation::At(claim->value(), {"status", "allocation", "devices", "results"});
    return ClaimTruth{.ns = claim->key().ns,
                      .node = AllocatedNode(*claim),
                      .device = results.items().front()["device"].AsString(),
                      .config = FindConfig(*claim).value_or(ClaimConfig())};
  }
  return {};
}

// Of a domain that is or was there; empty: there never was one.
std::string NamespaceOf(const ApiServer& server, const kube::Uid& domain) {
  const History& history = server.store().history();
  for (const std::size_t place : history.ChangesOf(Kind::kComputeDomain)) {
    const ObjectPtr& object = history.changes()[place].after;
    if (object->uid() == domain) return object->key().ns;
  }
  return "";
}

bool SaysReady(const json::Value& members, std::string_view name, const std::string& node) {
  return std::ranges::any_of(members.items(), [&](const json::Value& entry) {
    return entry[name].AsString() == node && entry["status"].AsString() == "Ready";
  });
}

// Whether it was said at the event, or at any time between that and so long before it.
bool WasReady(const ApiServer& server, const PluginEvent& event, const kube::Uid& domain) {
  const History& history = server.store().history();
  std::map<kube::ObjectKey, bool> is_ready;
  for (const Change& change : history.changes()) {
    if (change.revision() > event.revision) break;
    bool ready = false;
    if (change.kind == Kind::kClique && change.after->key().name.starts_with(domain + ".")) {
      ready = SaysReady((*change.after)["daemons"], "nodeName", event.node);
    } else if (change.kind == Kind::kComputeDomain && change.after->uid() == domain) {
      ready = SaysReady((*change.after)["status"]["nodes"], "name", event.node);
    } else {
      continue;
    }
    const bool was = std::exchange(is_ready[change.after->key()],
                                   ready && change.type != Change::Type::kDeleted);
    if (was && change.time >= event.time - kLateBy) return true;
  }
  return std::ranges::any_of(is_ready, [](const auto& item) { return item.second; });
}

bool HasChannel(const PluginEvent& event) {
  if (event.what == What::kSpecWritten)
    return event.text.find("nvidia-caps-imex-channels") != std::string::npos;
  return event.what == What::kPrepared &&
         std::ranges::any_of(event.cdi_ids, [](const std::string& id) {
           return id.find("-channel-") != std::string::npos;
         });
}

// The node's label at that time.
std::string LabelAt(const History& history, const std::string& node, Time time) {
  std::string label;
  for (const std::size_t place : history.ChangesOf(Kind::kNode)) {
    const Change& change = history.changes()[place];
    if (change.time > time) break;
    if (change.after->key().name == node) label = change.after->Label(kDomainLabel);
  }
  return label;
}

// Whether it gives the claim something.
bool Gives(const PluginEvent& event) {
  return event.what == What::kPrepared || event.what == What::kSpecWritten;
}

}  // namespace

Violations ChannelsNeedAReadyNode(const ApiServer& server, const PluginEvents& events) {
  Violations violations;
  std::set<std::pair<std::string, std::string>> given;  // Claim and boot.
  for (const PluginEvent& event : events) {
    if (event.what == What::kUnprepared) given.erase({event.name, event.boot_id});
    if (!HasChannel(event)) continue;
    const auto claim = FindClaim(server, event.name);
    const bool was_ready = claim && WasReady(server, event, claim->config.domain);
    // Containers that start again find what was given; and so it may be written again.
    const bool is_again = given.contains({event.name, event.boot_id});
    if (was_ready && event.what == What::kPrepared) given.insert({event.name, event.boot_id});
    if (is_again || was_ready) continue;
    violations.push_back(At("N-1", event) + "claim " + event.name +
                         " gets a channel although the node was not ready");
  }
  return violations;
}

Violations ClaimsAreOfTheirNamespace(const ApiServer& server, const PluginEvents& events) {
  Violations violations;
  for (const PluginEvent& event : events) {
    if (!Gives(event)) continue;
    const auto claim = FindClaim(server, event.name);
    const std::string ns = !claim                     ? ""
                           : claim->config.is_channel ? NamespaceOf(server, claim->config.domain)
                                                      : std::string(kDriverNamespace);
    if (claim && !ns.empty() && claim->ns == ns && claim->node == event.node) continue;
    violations.push_back(At("N-2", event) + "claim " + event.name +
                         " is prepared, and is not of namespace " + ns);
  }
  return violations;
}

Violations NothingStays(const ApiServer& server, const PluginEvents& events) {
  Violations violations;
  const History& history = server.store().history();
  for (const PluginEvent& event : events) {
    if (event.what == What::kFolderRemoved) {
      const bool lives =
          FindByUid(history.StateAt(Kind::kComputeDomain, event.revision), event.name) != nullptr;
      if (lives || event.in_use)
        violations.push_back(At("N-3", event) + "the folder of " + event.name +
                             " goes although it is needed");
    }
    if (event.what != What::kUnprepared) continue;
    if (event.has_spec)
      violations.push_back(At("N-3", event) + "claim " + event.name +
                           " was unprepared and has a spec");
    const auto claim = FindClaim(server, event.name);
    if (!claim || !claim->config.is_channel || !event.is_last) continue;
    const Time until = event.time + kLabelMost;
    const bool is_called_again = std::ranges::any_of(events, [&](const PluginEvent& other) {
      return other.what == What::kCalled && other.node == event.node && other.time >= event.time &&
             other.time <= until;
    });
    if (is_called_again || server.store().now() < until) continue;
    if (LabelAt(history, event.node, until) != claim->config.domain) continue;
    violations.push_back(At("N-3", event) + "the last claim, " + event.name +
                         ", was unprepared, and the label stays");
  }
  return violations;
}

Violations ChannelsHaveOneHolder(const ApiServer& server, const PluginEvents& events) {
  Violations violations;
  std::map<std::string, std::map<std::string, std::string>> holders;  // By node: device of claim.
  std::map<std::string, std::string> boots;
  for (const PluginEvent& event : events) {
    auto& held = holders[event.node];
    if (std::exchange(boots[event.node], event.boot_id) != event.boot_id) held.clear();
    if (event.what == What::kUnprepared) held.erase(event.name);
    // A spec that no kubelet was told of gives nobody anything.
    const auto claim = event.what == What::kPrepared ? FindClaim(server, event.name) : std::nullopt;
    if (!claim || !claim->config.is_channel) continue;
    for (const auto& [other, device] : held) {
      if (other == event.name || device != claim->device) continue;
      violations.push_back(At("N-4", event) + "claims " + event.name + " and " + other +
                           " both hold " + device);
    }
    held[event.name] = claim->device;
  }
  return violations;
}

Violations AnswersAreTrue(const PluginEvents& events) {
  Violations violations;
  for (const PluginEvent& event : events) {
    if (event.what == What::kSpecRemoved && event.in_use)
      violations.push_back(At("N-5", event) + "the spec of claim " + event.name +
                           " goes although its containers run");
    if (event.what == What::kPrepared && event.has_old_numbers) {
      violations.push_back(At("N-5", event) + "the kubelet is told of a spec of claim " +
                           event.name + " with device numbers of an earlier driver");
    }
    if (event.what != What::kPrepared || event.cdi_ids.empty() || event.has_spec) continue;
    violations.push_back(At("N-5", event) + "the kubelet is told of a spec of claim " + event.name +
                         " that is not there");
  }
  return violations;
}

Violations CheckPlugins(const ApiServer& server, const PluginEvents& events) {
  Violations all;
  for (const Violations& some :
       {ChannelsNeedAReadyNode(server, events), ClaimsAreOfTheirNamespace(server, events),
        NothingStays(server, events), ChannelsHaveOneHolder(server, events), AnswersAreTrue(events),
        CheckCalls(events)}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace simulation
