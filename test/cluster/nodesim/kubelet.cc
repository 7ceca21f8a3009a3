// The kubelet: takes the pods that are bound to its node through their lives.
#include <algorithm>
#include <optional>

#include "test/cluster/nodesim/names.h"
#include "test/cluster/nodesim/turn.h"

namespace nodesim {

namespace {

using Stage = PodRun::Stage;

constexpr double kSecondsMax = 1e8;  // Three years; much more would overflow the clock.
constexpr int kExitSigkill = 137;    // 128 + SIGKILL
constexpr int kExitSigterm = 143;    // 128 + SIGTERM
constexpr std::chrono::milliseconds kGraceMin{2'000};  // The kubelet gives no less.

void SetReady(const Turn& turn, PodRun& run, bool ready) {
  if (run.ready != ready) run.ready_changed = turn.wall;
  run.ready = ready;
}

void EndContainers(const Turn& turn, PodRun& run, int exit_code) {
  run.stage = Stage::kUnpreparing;
  run.exit_code = exit_code;
  run.ended = turn.wall;
  SetReady(turn, run, false);
}

// When the containers that run end by themselves. Asked again each time, since the annotation may
// change under them; negative: not before it does.
std::optional<TimePoint> EndOf(const Turn& turn, const PodRun& run, const Pod& pod) {
  const Settings& settings = turn.settings;
  const bool has_own = !pod.IsOfJob() && settings.pod_duration.count() > 0;
  std::chrono::duration<double> seconds = has_own ? settings.pod_duration : settings.job_duration;
  if (pod.run_seconds) {
    if (*pod.run_seconds < 0) return std::nullopt;
    seconds = std::chrono::duration<double>(std::min(*pod.run_seconds, kSecondsMax));
  } else if (!pod.RunsToCompletion()) {
    return std::nullopt;
  }
  const TimePoint end = run.began + std::chrono::duration_cast<std::chrono::nanoseconds>(seconds);
  // Ends at once each time: started again no faster than after the kubelet's first back-off.
  return run.restarts == 0 ? end : std::max(end, run.began + std::chrono::seconds(10));
}

// ---- Claims

struct PodsClaims {
  std::vector<std::shared_ptr<const Claim>> claims = {};
  std::string missing = {};  // Why there are not all of them; empty: there are.
};

// The claims that the pod needs: those that are there, allocated, and reserved for it.
PodsClaims ClaimsOf(const Turn& turn, const Pod& pod) {
  PodsClaims found;
  for (const PodClaim& reference : pod.claims) {
    if (!reference.needed) continue;
    const std::string& name = reference.claim_name;
    auto claim =
        name.empty() ? nullptr : turn.cluster.GetClaim({.ns = pod.meta.key.ns, .name = name});
    if (!claim) {
      found.missing = "claim " + (name.empty() ? reference.reference : name) + " is not there";
    } else if (!claim->allocated) {
      found.missing = "claim " + name + " is not allocated";
    } else if (std::ranges::find(claim->reserved_for, pod.meta.uid, &Consumer::uid) ==
               claim->reserved_for.end()) {
      found.missing = "claim " + name + " is not reserved for the pod";
    } else {
      found.claims.push_back(std::move(claim));
    }
  }
  return found;
}

bool PrepareClaims(Turn& turn, PodRun& run, const Pod& pod) {
  const PodsClaims found = ClaimsOf(turn, pod);
  run.waits_for = found.missing;
  if (!found.missing.empty()) return false;
  bool all = true;
  for (const auto& claim : found.claims) {
    if (std::ranges::find(run.claims, claim->meta.uid) == run.claims.end()) {
      run.claims.push_back(claim->meta.uid);
    }
    all = Prepare(turn, *claim) && all;
  }
  return all;
}

bool IsUsedByAnother(const NodeState& node, const PodRun& run, const kube::Uid& claim) {
  return std::ranges::any_of(node.pods, [&](const auto& entry) {
    const PodRun& other = entry.second;
    return other.uid != run.uid && std::ranges::find(other.claims, claim) != other.claims.end();
  });
}

bool UnprepareClaims(Turn& turn, PodRun& run) {
  std::erase_if(run.claims, [&](const kube::Uid& claim) {
    return IsUsedByAnother(turn.node, run, claim) || Unprepare(turn, claim);
  });
  return run.claims.empty();
}

// ---- Containers

void StartContainers(Turn& turn, PodRun& run, const Pod& pod) {
  run.stage = Stage::kRunning;
  run.ip = pod.host_network ? turn.node.identity.host_ip : turn.addresses.Next();
  run.has_started = true;
  run.started = turn.wall;
  run.ready_at = turn.now + turn.settings.ready_delay;
  run.began = turn.now;
  run.daemon = StartDaemon(turn, run, pod);
}

void RestartContainers(const Turn& turn, PodRun& run) {
  ++run.restarts;
  run.started = turn.wall;
  run.ready_at = turn.now + turn.settings.ready_delay;
  run.began = turn.now;
  SetReady(turn, run, false);
}

void Run(Turn& turn, PodRun& run, const Pod* pod) {
  if (run.daemon) {
    AdvanceDaemon(turn, run, pod);
  } else {
    turn.At(run.ready_at);
    SetReady(turn, run, turn.now >= run.ready_at);
  }
  if (pod == nullptr) return;
  const std::optional<TimePoint> end = EndOf(turn, run, *pod);
  if (!end) return;
  turn.At(*end);
  if (turn.now < *end) return;
  const bool again = run.restart == Pod::Restart::kAlways ||
                     (run.restart == Pod::Restart::kOnFailure && pod->exit_code != 0);
  if (!again) return EndContainers(turn, run, pod->exit_code);
  RestartContainers(turn, run);
  turn.At(*EndOf(turn, run, *pod));
}

void BeginStop(const Turn& turn, PodRun& run, const Pod& pod) {
  if (run.stage == Stage::kPreparing) return EndContainers(turn, run, kExitSigkill);
  run.stage = Stage::kStopping;
  const std::chrono::milliseconds grace = pod.grace_period;
  run.stop_at = turn.now + std::min(turn.settings.stop_delay, grace);
  run.give_up_leaving_at =
      turn.now + std::min<std::chrono::milliseconds>(kLeaveBudget, std::max(grace, kGraceMin));
}

void Stop(Turn& turn, PodRun& run) {
  if (run.daemon) {
    LeaveClique(turn, run);
    if (!run.daemon->left && turn.now < *run.give_up_leaving_at) {
      return turn.At(*run.give_up_leaving_at);
    }
  }
  turn.At(run.stop_at);
  if (turn.now >= run.stop_at) EndContainers(turn, run, run.daemon ? 0 : kExitSigterm);
}

// ---- What the API server is told

PodStatus Wanted(const PodRun& run) {
  PodStatus status = {
      .phase = run.restarts > 0 ? "Running" : "Pending",
      .initialized = !run.has_init_containers,
      .containers = run.lacks_image ? Containers::kImageMissing : Containers::kWaiting,
      .restarts = run.restarts};
  if (run.has_started) {
    status.phase = "Running";
    status.pod_ip = run.ip;
    status.initialized = true;
    status.ready = run.ready;
    status.containers = Containers::kRunning;
  }
  if (run.stage < Stage::kUnpreparing) return status;
  if (run.has_started || run.stage >= Stage::kReporting) {
    status.containers = Containers::kTerminated;
    status.exit_code = run.exit_code;
  }
  if (run.stage >= Stage::kReporting) status.phase = run.exit_code == 0 ? "Succeeded" : "Failed";
  return status;
}

void Report(Turn& turn, PodRun& run, const std::shared_ptr<const Pod>& pod) {
  const PodStatus wanted = Wanted(run);
  const bool same = pod->status == wanted;
  if (same && run.stage == Stage::kReporting) run.stage = Stage::kFinished;
  if (same || !turn.MayWrite(run.status_backoff, pod->meta.resource_version)) return;
  turn.Do(WritePodStatus{.pod = pod,
                         .status = wanted,
                         .admitted = run.admitted,
                         .started = run.started,
                         .ready_changed = run.ready_changed,
                         .ended = run.ended});
}

void Finish(Turn& turn, PodRun& run, const Pod& pod) {
  // A pod that stays after the delete waits for its finalizers, not for us.
  const bool accepted = run.deleted && pod.grace_period == std::chrono::seconds(0);
  if (!pod.meta.deleting || accepted) return;
  if (turn.MayWrite(run.delete_backoff, "")) turn.Do(DeletePod{.key = run.key, .uid = run.uid});
}

// ---- Lives

// Its object went without a word to the kubelet, unless it was being stopped already.
void NoteThatItIsGone(const Turn& turn, PodRun& run) {
  run.gone = true;
  if (run.stage < Stage::kStopping) EndContainers(turn, run, kExitSigkill);
}

void AdvanceRun(Turn& turn, PodRun& run, const std::shared_ptr<const Pod>& pod) {
  if (pod) run.last_seen_ready = pod->status.ready;
  if (!pod && !run.orphan && !run.gone) NoteThatItIsGone(turn, run);
  if (pod && pod->meta.deleting && !run.orphan && run.stage <= Stage::kRunning) {
    BeginStop(turn, run, *pod);
  }
  if (pod && run.stage == Stage::kPreparing && PrepareClaims(turn, run, *pod)) {
    run.lacks_image = pod->LacksImage();
    if (!run.lacks_image) StartContainers(turn, run, *pod);
  }
  if (run.stage == Stage::kRunning) Run(turn, run, pod.get());
  if (run.stage == Stage::kStopping) Stop(turn, run);
  if (run.stage == Stage::kUnpreparing && UnprepareClaims(turn, run)) run.stage = Stage::kReporting;
  if (!pod || run.orphan) return;
  if (run.stage < Stage::kFinished) Report(turn, run, pod);
  if (run.stage == Stage::kFinished) Finish(turn, run, *pod);
}

PodRun Admit(const Turn& turn, const Pod& pod) {
  return {.key = pod.meta.key,
          .uid = pod.meta.uid,
          .restart = pod.restart,
          .restarts = pod.status.restarts,
          .has_init_containers = !pod.init_containers.empty(),
          .admitted = pod.start_time.value_or(turn.wall),
          .ready_changed = turn.wall};
}

// A pod that ran before this simulator did: as after a restart of the kubelet, its containers have
// not noticed.
PodRun Adopt(Turn& turn, const Pod& pod) {
  PodRun run = Admit(turn, pod);
  run.stage = Stage::kRunning;
  run.ip = pod.status.pod_ip;
  run.has_started = true;
  run.started = turn.wall;
  run.ready = pod.status.ready;
  run.ready_at = turn.now;
  run.began = turn.now;
  for (const auto& claim : ClaimsOf(turn, pod).claims) {
    run.claims.push_back(claim->meta.uid);
    turn.node.claims[claim->meta.uid] = {
        .key = claim->meta.key, .uid = claim->meta.uid, .grants = claim->grants, .prepared = true};
  }
  run.daemon = StartDaemon(turn, run, pod);
  if (run.daemon && pod.status.ready) {
    run.daemon->labelled = true;
    run.daemon->member_since = turn.now - turn.settings.daemon_delay;
  }
  const bool is_labelled = run.daemon && pod.clique_label == run.daemon->clique_id;
  if (is_labelled && run.daemon->own) AdoptOwnDaemon(turn, pod, *run.daemon->own);
  return run;
}

// A pod that had ended before: only its deletion is left to do.
PodRun Bury(const Turn& turn, const Pod& pod) {
  PodRun run = Admit(turn, pod);
  run.stage = Stage::kFinished;
  run.ip = pod.status.pod_ip;
  run.exit_code = pod.status.exit_code;
  return run;
}

void Meet(Turn& turn, const Pod& pod) {
  const bool running =
      pod.status.phase == "Running" && pod.status.containers == Containers::kRunning;
  if (pod.IsTerminal()) {
    if (pod.meta.deleting) turn.node.pods[pod.meta.uid] = Bury(turn, pod);
  } else {
    turn.node.pods[pod.meta.uid] = running && turn.node.adopt ? Adopt(turn, pod) : Admit(turn, pod);
  }
}

}  // namespace

void AdvancePods(Turn& turn) {
  NodeState& node = turn.node;
  std::map<kube::Uid, std::shared_ptr<const Pod>> pods;
  for (auto& pod : turn.cluster.PodsOf(node.identity.name)) {
    if (!node.pods.contains(pod->meta.uid)) Meet(turn, *pod);
    pods[pod->meta.uid] = std::move(pod);
  }
  // What ends comes first, because it frees what others wait for.
  for (const bool ending : {true, false}) {
    for (auto& [uid, run] : node.pods) {
      const auto pod = pods.find(uid);
      const bool ends =
          run.stage > Stage::kRunning || pod == pods.end() || pod->second->meta.deleting;
      if (ends == ending) AdvanceRun(turn, run, pod == pods.end() ? nullptr : pod->second);
    }
  }
  std::erase_if(node.pods, [&](const auto& entry) {
    const PodRun& run = entry.second;
    return run.gone && run.stage > Stage::kUnpreparing;
  });
}

}  // namespace nodesim
