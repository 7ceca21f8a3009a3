// The node's kubelet plugin: prepares and unprepares claims, in effect as NVIDIA's does.
//
// It does not decide by node/plugin/rules, so that the controller is also tested beside a plugin
// that is not cdom's. This one leaves a label that another domain left, labels for a domain that is
// being deleted, and does not ask whether a daemon's claim is prepared here.
#include <algorithm>

#include "test/cluster/nodesim/names.h"
#include "test/cluster/nodesim/turn.h"

namespace nodesim {

namespace {

using std::chrono::milliseconds;

// Why a claim is not prepared yet; empty: it is.
struct Refusal {
  std::string reason = {};
  bool permanent = false;
};

// The delays of the plugin's retry queue. A permanent error ends its RPC, and the kubelet's next
// one comes when it syncs the pod again.
milliseconds DelayAfter(int attempts, bool permanent) {
  if (permanent) return milliseconds(10'000);
  return std::min(milliseconds(250) * (1 << std::min(attempts, 4)), milliseconds(3'000));
}

// Another prepared claim that holds one of the devices, unless either only administers it.
const ClaimRun* Holder(const NodeState& node, const ClaimRun& claim) {
  for (const auto& [uid, other] : node.claims) {
    if (!other.prepared || uid == claim.uid) continue;
    for (const Grant& theirs : other.grants) {
      for (const Grant& ours : claim.grants) {
        if (ours.device == theirs.device && !ours.admin && !theirs.admin) return &other;
      }
    }
  }
  return nullptr;
}

// Gives the Node the label, or takes it away if `domain` is empty; the change is seen in a later
// turn.
void WriteDomainLabel(Turn& turn, const std::string& domain) {
  const std::string& version = turn.object->meta.resource_version;
  if (turn.writes_node || !turn.MayWrite(turn.node.node_backoff, version)) return;
  turn.writes_node = true;
  turn.Do(SetDomainLabel{.version = version, .domain = domain});
}

bool IsReadyHere(const Turn& turn, const Domain& domain) {
  const std::string& node = turn.node.identity.name;
  if (!turn.node.clique_id.empty()) {
    const auto clique =
        turn.cluster.GetClique({.ns = turn.settings.driver_namespace,
                                .name = domain.meta.uid + "." + turn.node.clique_id});
    const Member* member = clique == nullptr ? nullptr : clique->Find(node);
    if (member != nullptr && member->status == "Ready") return true;
  }
  const auto it = domain.nodes.find(node);
  return it != domain.nodes.end() && it->second;
}

Refusal PrepareChannel(Turn& turn, const Claim& claim) {
  if (claim.grants.size() != 1) return {.reason = "expected one device for a channel claim"};
  const std::string& uid = claim.grants.front().domain;
  const auto domain = turn.cluster.FindDomain(uid);
  if (!domain) return {.reason = "no ComputeDomain has the UID " + uid, .permanent = true};
  if (domain->meta.key.ns != claim.meta.key.ns) {
    return {.reason = "the claim's namespace is not that of ComputeDomain " +
                      kube::ToString(domain->meta.key),
            .permanent = true};
  }
  if (turn.settings.imex_on_hosts) return {};
  if (!turn.object) return {.reason = "the Node is gone"};
  if (!turn.object->domain.empty() && turn.object->domain != uid) {
    return {.reason = "label already exists for a different ComputeDomain: " + turn.object->domain};
  }
  if (turn.object->domain.empty()) {
    WriteDomainLabel(turn, uid);
    return {.reason = "labels the node"};
  }
  if (!IsReadyHere(turn, *domain)) {
    return {.reason = "the daemon of ComputeDomain " + kube::ToString(domain->meta.key) +
                      " is not ready on this node"};
  }
  return {};
}

Refusal PrepareDaemon(const Turn& turn, const Claim& claim) {
  if (claim.grants.size() != 1) return {.reason = "expected one device for a daemon claim"};
  if (turn.settings.imex_on_hosts) {
    return {.reason = "there are no daemons where IMEX runs on the hosts", .permanent = true};
  }
  const std::string& uid = claim.grants.front().domain;
  if (!turn.cluster.FindDomain(uid)) return {.reason = "no ComputeDomain has the UID " + uid};
  return {};
}

Refusal TryPrepare(Turn& turn, const Claim& claim, const ClaimRun& run) {
  if (turn.node.plugin_stopped && !claim.grants.empty()) {
    return {.reason = "DRA driver " + std::string(kDriver) + " is not registered"};
  }
  if (const ClaimRun* holder = Holder(turn.node, run)) {
    return {.reason = "a device is held by claim " + kube::ToString(holder->key)};
  }
  for (const Grant& grant : claim.grants) {
    if (!grant.problem.empty()) {
      return {.reason = grant.problem, .permanent = grant.problem_is_permanent};
    }
  }
  if (claim.grants.empty()) return {};  // Other drivers' devices only.
  const bool channel = claim.grants.front().kind == DeviceKind::kChannel;
  return channel ? PrepareChannel(turn, claim) : PrepareDaemon(turn, claim);
}

}  // namespace

bool Prepare(Turn& turn, const Claim& claim) {
  const auto [it, is_new] = turn.node.claims.try_emplace(claim.meta.uid);
  ClaimRun& run = it->second;
  if (is_new) {
    run.key = claim.meta.key;
    run.uid = claim.meta.uid;
    run.next_attempt = turn.now + DelayAfter(0, false);
  }
  if (run.prepared) return true;
  run.grants = claim.grants;
  if (turn.settings.paced_prepare && turn.now < run.next_attempt) {
    turn.At(run.next_attempt);
    return false;
  }

  const Refusal refusal = TryPrepare(turn, claim, run);
  run.reason = refusal.reason;
  run.reason_is_permanent = refusal.permanent;
  run.prepared = refusal.reason.empty();
  run.next_attempt = turn.now + DelayAfter(++run.attempts, refusal.permanent);
  if (!run.prepared && turn.settings.paced_prepare) turn.At(run.next_attempt);
  return run.prepared;
}

bool Unprepare(Turn& turn, const kube::Uid& claim) {
  const auto it = turn.node.claims.find(claim);
  if (it == turn.node.claims.end()) return true;  // As after a reboot: the label stays.
  if (turn.node.plugin_stopped && !it->second.grants.empty()) return false;
  for (const Grant& grant : it->second.grants) {
    if (grant.kind != DeviceKind::kChannel || grant.domain.empty() || !turn.object) continue;
    // The label that a prepare wrote may not be visible yet.
    const WriteBackoff& backoff = turn.node.node_backoff;
    const std::string& version = turn.object->meta.resource_version;
    const bool may_be_stale = !backoff.HasSeen(version) && turn.now < backoff.Next(version);
    if (turn.object->domain == grant.domain) {
      WriteDomainLabel(turn, "");
    } else if (may_be_stale) {
      turn.At(backoff.Next(version));
    } else {
      continue;
    }
    return false;
  }
  turn.node.claims.erase(it);
  return true;
}

}  // namespace nodesim
