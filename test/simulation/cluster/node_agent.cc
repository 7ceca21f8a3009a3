#include "test/simulation/cluster/node_agent.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pkg/base/rfc3339.h"
#include "test/simulation/apiserver/contract.h"

namespace simulation {

namespace {

using json::Value;

Value Condition(const char* type, bool status, Time now) {
  return Value::Object({{"type", type},
                        {"status", status ? "True" : "False"},
                        {"lastTransitionTime", base::FormatSeconds(now)}});
}

constexpr const char* kCrashLoop = "CrashLoopBackOff";

kube::ObjectKey CliqueKey(const std::string& domain, const std::string& clique) {
  return {.ns = std::string(kDriverNamespace), .name = CliqueName(domain, clique)};
}

Value PodOwner(const Object& pod) {
  return Value::Object(
      {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod.key().name}, {"uid", pod.uid()}});
}

// The smallest index that no entry of the clique has.
int FreeIndex(const Value& entries, const std::string& clique) {
  std::set<std::int64_t> used;
  for (const Value& entry : entries.items()) {
    if (entry["cliqueID"].AsString() == clique) used.insert(entry["index"].AsInt().value_or(-1));
  }
  int index = 0;
  while (used.contains(index)) ++index;
  return index;
}

}  // namespace

NodeAgent::NodeAgent(ObjectStore& store, std::string node, std::string clique, int number,
                     DaemonRunner* daemons)
    : Peer("kubelet/" + node, store,
           {Kind::kPod, Kind::kNode, Kind::kSlice, Kind::kClaim, Kind::kComputeDomain,
            Kind::kClique}),
      node_(std::move(node)),
      plugin_("plugin/" + node_),
      clique_(std::move(clique)),
      number_(number),
      daemons_(daemons) {}

void NodeAgent::Fail(Time now) {
  silent_since_ = now;
  if (daemons_ != nullptr) daemons_->SetSilent(node_, true);
  Wake();
}

void NodeAgent::Recover(bool rebooted, Time now) {
  silent_since_.reset();
  if (daemons_ != nullptr) {
    daemons_->SetSilent(node_, false);
    if (rebooted) daemons_->Lose(node_, now);
  }
  if (rebooted) {
    ++boots_;
    running_.clear();
    prepared_.clear();
  }
  Wake();
}

void NodeAgent::StopPlugin(Time now) {
  plugin_gone_since_ = now;
  Wake();
}

void NodeAgent::StartPlugin() {
  plugin_gone_since_.reset();
  Wake();
}

void NodeAgent::RestartKubelet(Time now) {
  wipes_slices_ = true;
  publishes_at_ = now + kPutsBackAfter;
  Wake();
}

void NodeAgent::SetHealth(Health health) {
  health_ = health;
  Wake();
}

void NodeAgent::EndPod(const kube::Uid& pod, std::string phase) {
  ends_[pod] = std::move(phase);
  Wake();
}

void NodeAgent::TakeAddressesOf(int number) {
  number_ = number;
  addresses_ = 0;
}

void NodeAgent::Act(Time now) {
  if (silent_since_ || Report(now) || Publish(now)) return;
  for (const auto& [key, pod] : store().Live(Kind::kPod)) {
    if ((*pod)["spec"]["nodeName"].AsString() == node_ && SyncPod(*pod, now)) return;
  }
  // A container without a pod object: the pod was deleted by force.
  std::vector<kube::Uid> gone;
  for (const auto& [uid, running] : running_) {
    const ObjectPtr pod = store().Get(Kind::kPod, running.key);
    if (!pod || pod->uid() != uid) gone.push_back(uid);
  }
  for (const kube::Uid& uid : gone) {
    if (Stop(uid, now)) return;
  }
}

// The kubelet's report on its node.
bool NodeAgent::Report(Time now) {
  const ObjectPtr node = store().Get(Kind::kNode, {.name = node_});
  if (!node) return false;
  const std::string boot_id = node_ + "-boot-" + std::to_string(boots_);
  const bool is_told = FindCondition(node->value(), "Ready")["status"].AsString() == "True" &&
                       At(node->value(), {"status", "nodeInfo", "bootID"}).AsString() == boot_id;
  if (is_told) return false;
  return store()
      .Edit(
          name(), Kind::kNode, node->key(),
          [&](Value& object) {
            object["status"]["nodeInfo"]["bootID"] = boot_id;
            object["status"]["conditions"] = Value::Array({Condition("Ready", true, now)});
          },
          Subresource::kStatus)
      .ok();
}

// One ResourceSlice, while the plugin is registered and a while longer.
bool NodeAgent::Publish(Time now) {
  constexpr auto kWipeAfter = std::chrono::seconds(30);
  const kube::ObjectKey key = {.name = SliceName(node_)};
  const ObjectPtr slice = store().Get(Kind::kSlice, key);
  if (std::exchange(wipes_slices_, false) && slice) {
    return store().Delete(name(), Kind::kSlice, key).ok();
  }
  if (plugin_gone_since_ && slice) {
    const Time due = *plugin_gone_since_ + kWipeAfter;
    if (due <= now) return store().Delete(name(), Kind::kSlice, key).ok();
    AskAgainAt(due);
  }
  const ObjectPtr node = store().Get(Kind::kNode, {.name = node_});
  if (plugin_gone_since_ || slice || !node) return false;
  if (now < publishes_at_) {
    AskAgainAt(publishes_at_);
    return false;
  }
  Value spec = Value::Object({{"driver", kDriver}, {"nodeName", node_}});
  spec["pool"] = Value::Object({{"name", node_}, {"generation", 1}, {"resourceSliceCount", 1}});
  const Value owner = Value::Object({{"apiVersion", "v1"},
                                     {"kind", "Node"},
                                     {"name", node_},
                                     {"uid", node->uid()},
                                     {"controller", true}});
  Value object = Value::Object(
      {{"metadata",
        Value::Object({{"name", key.name}, {"ownerReferences", Value::Array({owner})}})},
       {"spec", std::move(spec)}});
  return store().Create(plugin_, Kind::kSlice, "", std::move(object)).ok();
}

bool NodeAgent::SyncPod(const Object& pod, Time now) {
  if (pod.deleting()) {
    if (Stop(pod.uid(), now)) return true;
    // While its containers run; and without the plugin nobody takes its claims back.
    const bool holds = std::ranges::any_of(
        prepared_, [&](const auto& item) { return item.second.pods.contains(pod.uid()); });
    if (holds) return false;
    return store().Delete(name(), Kind::kPod, pod.key(), {.uid = pod.uid(), .grace = 0}).ok();
  }
  if (IsTerminal(pod)) return Stop(pod.uid(), now);
  if (const auto end = ends_.find(pod.uid()); end != ends_.end()) {
    if (Stop(pod.uid(), now)) return true;
    return !running_.contains(pod.uid()) && SayEnded(pod, end->second, now);
  }
  bool wrote = false;
  if (!PrepareAll(pod, now, wrote)) return wrote;
  if (!running_.contains(pod.uid())) {
    Running running = {.key = pod.key(),
                       .ip = "10." + std::to_string(number_ / 256) + "." +
                             std::to_string(number_ % 256) + "." + std::to_string(++addresses_),
                       .started = now};
    for (const auto& [uid, prepared] : prepared_) {
      if (prepared.config.is_channel || !prepared.pods.contains(pod.uid())) continue;
      running.domain = prepared.config.domain;
      running.writes_own_entry = pod.Label(kMembershipWriterLabel) != "controller";
    }
    running_[pod.uid()] = std::move(running);
  }
  const Running& running = running_.at(pod.uid());
  const bool is_told = pod["status"]["phase"].AsString() == PhaseOf(running) &&
                       pod["status"]["podIP"].AsString() == running.ip;
  const bool is_daemon = !running.domain.empty();
  if (!is_told) return WritePodStatus(pod, running, !is_daemon, now);
  return is_daemon && RunDaemon(pod, running, now);
}

const char* NodeAgent::PhaseOf(const Running& running) const {
  return health_ == Health::kLost && !running.domain.empty() ? "Unknown" : "Running";
}

Value NodeAgent::ContainerStatus(const Running& running, bool ready) const {
  Value status = Value::Object({{"name", "compute-domain-daemon"}, {"ready", ready}});
  if (health_ != Health::kCrashing) {
    const Value since = Value::Object({{"startedAt", base::FormatSeconds(running.started)}});
    status["state"] = Value::Object({{"running", since}});
    return status;
  }
  const Value waiting =
      Value::Object({{"reason", kCrashLoop}, {"message", "back-off 5m0s restarting"}});
  const Value terminated = Value::Object({{"exitCode", 1}, {"message", kLastWords}});
  status["restartCount"] = 5;
  status["state"] = Value::Object({{"waiting", waiting}});
  status["lastState"] = Value::Object({{"terminated", terminated}});
  return status;
}

bool NodeAgent::WritePodStatus(const Object& pod, const Running& running, bool ready, Time now) {
  return store()
      .Edit(
          name(), Kind::kPod, pod.key(),
          [&](Value& object) {
            object["status"]["phase"] = PhaseOf(running);
            object["status"]["podIP"] = running.ip;
            object["status"]["conditions"] = Value::Array(
                {Condition("PodScheduled", true, now), Condition("Ready", ready, now)});
            if (running.domain.empty()) return;
            object["status"]["containerStatuses"] = Value::Array({ContainerStatus(running, ready)});
          },
          Subresource::kStatus)
      .ok();
}

bool NodeAgent::SayEnded(const Object& pod, const std::string& phase, Time now) {
  return store()
      .Edit(
          name(), Kind::kPod, pod.key(),
          [&](Value& object) {
            object["status"]["phase"] = phase;
            if (phase == "Failed") object["status"]["reason"] = "Evicted";
            object["status"]["conditions"] = Value::Array(
                {Condition("PodScheduled", true, now), Condition("Ready", false, now)});
          },
          Subresource::kStatus)
      .ok();
}

bool NodeAgent::RunDaemon(const Object& pod, const Running& running, Time now) {
  if (daemons_ == nullptr) return PlayDaemon(pod, running, now);
  daemons_->Run({.pod = pod.key(),
                 .uid = pod.uid(),
                 .node = node_,
                 .ip = running.ip,
                 .domain = running.domain,
                 .clique = clique_,
                 .names = NodeNamesOf(pod)},
                now);
  const bool ready = daemons_->IsReady(pod.uid());
  return ready != IsPodReady(pod) && WritePodStatus(pod, running, ready, now);
}

bool NodeAgent::PlayDaemon(const Object& pod, const Running& running, Time now) {
  const std::string* label = pod.FindLabel(kCliqueLabel);
  if (label == nullptr || *label != clique_) {
    // What it says beside is the simulation's own, not the daemon's.
    const bool keeps_none = running.writes_own_entry && !keeps_cliques_;
    return store()
        .Edit(keeps_none ? name() : running.Client(), Kind::kPod, pod.key(),
              [&](Value& object) {
                object["metadata"]["labels"][kCliqueLabel] = clique_;
                if (keeps_none) object["metadata"]["annotations"][kKeepsNoCliqueAnnotation] = "";
              })
        .ok();
  }
  if (!clique_.empty()) {
    if (running.writes_own_entry && JoinClique(pod, running)) return true;
    const Value* entry = FindOwnEntry(running.domain);
    const bool is_member = entry != nullptr && (*entry)["ipAddress"].AsString() == running.ip;
    if (!is_member) return false;
  }
  const bool ready = health_ == Health::kWell;
  const auto waits = [](const Value& container) { return !container["state"]["waiting"].IsNull(); };
  const bool says_that_it_crashes =
      std::ranges::any_of(pod["status"]["containerStatuses"].items(), waits);
  const bool crashes = health_ == Health::kCrashing;
  if (ready != IsPodReady(pod) || crashes != says_that_it_crashes) {
    return WritePodStatus(pod, running, ready, now);
  }
  if (crashes || health_ == Health::kLost) return false;
  return !clique_.empty() && running.writes_own_entry && WriteOwnStatus(running);
}

ObjectPtr NodeAgent::FindRoll(const std::string& domain) const {
  if (keeps_cliques_) return store().Get(Kind::kClique, CliqueKey(domain, clique_));
  for (const auto& [key, object] : store().Live(Kind::kComputeDomain)) {
    if (object->uid() == domain) return object;
  }
  return nullptr;
}

const Value* NodeAgent::FindOwnEntry(const std::string& domain) const {
  const ObjectPtr roll = FindRoll(domain);
  if (!roll) return nullptr;
  const Value& entries = keeps_cliques_ ? (*roll)["daemons"] : (*roll)["status"]["nodes"];
  for (const Value& entry : entries.items()) {
    if (entry[NameField()].AsString() == node_) return &entry;
  }
  return nullptr;
}

bool NodeAgent::EditEntries(const Running& running,
                            const std::function<void(Value& entries)>& change) {
  const ObjectPtr roll = FindRoll(running.domain);
  const auto edit = [&](Value& object) {
    Value& entries = keeps_cliques_ ? object["daemons"] : object["status"]["nodes"];
    if (entries.IsNull()) entries = Value::Array();
    change(entries);
  };
  return keeps_cliques_ ? store().Edit(running.Client(), Kind::kClique, roll->key(), edit).ok()
                        : store()
                              .Edit(running.Client(), Kind::kComputeDomain, roll->key(), edit,
                                    Subresource::kStatus)
                              .ok();
}

bool NodeAgent::CreateClique(const Object& pod, const Running& running) {
  const kube::ObjectKey key = CliqueKey(running.domain, clique_);
  Value labels = Value::Object(
      {{std::string(kDomainLabel), running.domain}, {std::string(kCliqueLabel), clique_}});
  Value object = Value::Object(
      {{"metadata", Value::Object({{"name", key.name},
                                   {"labels", std::move(labels)},
                                   {"ownerReferences", Value::Array({PodOwner(pod)})}})}});
  return store().Create(running.Client(), Kind::kClique, key.ns, std::move(object)).ok();
}

bool NodeAgent::OwnClique(const Object& pod, const Running& running, const Object& clique) {
  const Value owner = PodOwner(pod);
  const auto& owners = clique["metadata"]["ownerReferences"].items();
  if (std::ranges::find(owners, owner) != owners.end()) return false;
  return store()
      .Edit(running.Client(), Kind::kClique, clique.key(),
            [&](Value& object) { object["metadata"]["ownerReferences"].Append(owner); })
      .ok();
}

bool NodeAgent::JoinClique(const Object& pod, const Running& running) {
  const ObjectPtr roll = FindRoll(running.domain);
  if (!roll) return keeps_cliques_ && CreateClique(pod, running);
  const Value* own = FindOwnEntry(running.domain);
  if (own != nullptr && (*own)["ipAddress"].AsString() == running.ip) return false;
  if (keeps_cliques_ && OwnClique(pod, running, *roll)) return true;
  const Value& entries = keeps_cliques_ ? (*roll)["daemons"] : (*roll)["status"]["nodes"];
  const int index = FreeIndex(entries, clique_);
  if (own == nullptr && index >= kMembersMax) return false;
  return EditEntries(running, [&](Value& changed) {
    if (own == nullptr) {
      changed.Append(Value::Object(
          {{NameField(), node_}, {"cliqueID", clique_}, {"index", index}, {"status", "NotReady"}}));
    }
    for (Value& entry : changed.MutableItems()) {
      if (entry[NameField()].AsString() != node_) continue;
      entry["ipAddress"] = running.ip;
      if (health_ != Health::kWell) entry["status"] = "NotReady";
    }
  });
}

bool NodeAgent::WriteOwnStatus(const Running& running) {
  const Value* own = FindOwnEntry(running.domain);
  const char* status = health_ == Health::kWell ? "Ready" : "NotReady";
  if (own == nullptr || (*own)["status"].AsString() == status) return false;
  return EditEntries(running, [&](Value& entries) {
    for (Value& entry : entries.MutableItems()) {
      if (entry[NameField()].AsString() == node_) entry["status"] = status;
    }
  });
}

bool NodeAgent::LeaveClique(const Running& running) {
  const Value* own = FindOwnEntry(running.domain);
  const auto is_own = [&](const Value& entry) {
    return entry["ipAddress"].AsString() == running.ip;
  };
  if (own == nullptr || !is_own(*own)) return false;
  return EditEntries(running,
                     [&](Value& entries) { std::erase_if(entries.MutableItems(), is_own); });
}

// Ends the containers of a pod, then gives back its claims. True while that takes writes.
bool NodeAgent::Stop(const kube::Uid& pod, Time now) {
  if (const auto it = running_.find(pod); it != running_.end()) {
    const Running running = it->second;
    if (daemons_ == nullptr) {
      if (running.writes_own_entry && LeaveClique(running)) return true;
    } else if (const auto killed = daemons_->Stop(pod, now)) {
      AskAgainAt(*killed);
      return false;
    }
    running_.erase(it);
  }
  return Unprepare(pod);
}

bool NodeAgent::Unprepare(const kube::Uid& pod) {
  if (plugin_gone_since_) return false;
  for (auto it = prepared_.begin(); it != prepared_.end();) {
    Prepared& prepared = it->second;
    const bool is_last = prepared.pods.erase(pod) > 0 && prepared.pods.empty();
    if (!is_last) {
      ++it;
      continue;
    }
    const ClaimConfig config = prepared.config;
    it = prepared_.erase(it);
    const ObjectPtr node = store().Get(Kind::kNode, {.name = node_});
    if (!config.is_channel || !node || node->Label(kDomainLabel) != config.domain) continue;
    return store()
        .Edit(plugin_, Kind::kNode, node->key(),
              [](Value& object) { object["metadata"]["labels"].Erase(kDomainLabel); })
        .ok();
  }
  return false;
}

bool NodeAgent::PrepareAll(const Object& pod, Time now, bool& wrote) {
  std::vector<ObjectPtr> claims;
  for (const PodClaim& wanted : ClaimsOf(pod)) {
    const ObjectPtr claim =
        store().Get(Kind::kClaim, {.ns = pod.key().ns, .name = std::string(wanted.claim)});
    if (!claim || !IsReservedFor(*claim, pod.uid()) || AllocatedNode(*claim) != node_) return false;
    claims.push_back(claim);
  }
  return std::ranges::all_of(
      claims, [&](const ObjectPtr& claim) { return Prepare(*claim, pod.uid(), now, wrote); });
}

bool NodeAgent::Prepare(const Object& claim, const kube::Uid& pod, Time now, bool& wrote) {
  const auto config = FindConfig(claim);
  if (!config) return true;  // Another driver's.
  const ObjectPtr domain = FindByUid(store().Live(Kind::kComputeDomain), config->domain);
  Prepared* prepared = nullptr;
  if (const auto it = prepared_.find(claim.uid()); it != prepared_.end()) prepared = &it->second;
  if (prepared == nullptr) {
    const bool is_refused = !domain || (config->is_channel && domain->key().ns != claim.key().ns);
    if (is_refused) return false;
    prepared = &prepared_[claim.uid()];
    prepared->config = *config;
    prepared->completed = !config->is_channel;
    prepared->began = now;
  }
  if (plugin_gone_since_ && !prepared->completed) return false;
  prepared->pods.insert(pod);
  return prepared->completed || PrepareChannel(claim, *prepared, now, wrote);
}

// A channel: reserves the node for the domain, then waits until the daemon on this node is ready.
bool NodeAgent::PrepareChannel(const Object& claim, Prepared& prepared, Time now, bool& wrote) {
  for (const auto& [uid, other] : prepared_) {
    const bool holds = other.completed && other.config.is_channel && uid != claim.uid();
    if (holds && !IsAdminAccess(claim)) return false;
  }
  const ObjectPtr node = store().Get(Kind::kNode, {.name = node_});
  const ObjectPtr domain = FindByUid(store().Live(Kind::kComputeDomain), prepared.config.domain);
  if (!node || !domain) return false;
  const std::string* label = node->FindLabel(kDomainLabel);
  if (label == nullptr) {
    wrote = store()
                .Edit(plugin_, Kind::kNode, node->key(),
                      [&](Value& object) {
                        object["metadata"]["labels"][kDomainLabel] = prepared.config.domain;
                      })
                .ok();
    return false;
  }
  if (*label != prepared.config.domain) return false;
  const Value* entry = clique_.empty() ? nullptr : FindOwnEntry(prepared.config.domain);
  const bool is_ready_in_clique = entry != nullptr && (*entry)["status"].AsString() == "Ready";
  if (!is_ready_in_clique && !IsNodeReadyIn(*domain)) {
    prepared.looks_at.reset();
    return false;
  }
  if (!prepared.looks_at) {
    prepared.looks_at = looks_now_and_then_ ? NextLook(prepared.began, now) : now;
  }
  if (now < *prepared.looks_at) {
    AskAgainAt(*prepared.looks_at);
    return false;
  }
  prepared.completed = true;
  return true;
}

Time NodeAgent::NextLook(Time began, Time now) {
  using std::chrono::milliseconds;
  constexpr milliseconds kFirstPause(250);
  constexpr milliseconds kLongestPause(3'000);
  constexpr Time::duration kPeriod = kAnswersWithin + kAsksAgain;
  const Time asked = began + (now - began) / kPeriod * kPeriod;
  Time look = asked + kFirstPause;
  for (milliseconds pause(500); look < now; pause = std::min(2 * pause, kLongestPause)) {
    look += pause;
  }
  return look <= asked + kAnswersWithin ? look : asked + kPeriod + kFirstPause;
}

bool NodeAgent::IsNodeReadyIn(const Object& domain) const {
  return std::ranges::any_of(domain["status"]["nodes"].items(), [&](const Value& entry) {
    return entry["name"].AsString() == node_ && entry["status"].AsString() == "Ready";
  });
}

}  // namespace simulation
