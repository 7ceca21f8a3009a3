#include "test/simulation/cluster/daemons.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace simulation {

namespace {

using std::chrono::seconds;

constexpr auto kGrace = seconds(30);
constexpr auto kRestartAfter = seconds(1);
constexpr auto kRestartLater = seconds(10);  // A kubelet backs off.

}  // namespace

void Daemons::Start(Process& process, StaleView view) {
  fabric_.StartContainer(process.container, store_.now());
  ++process.starts;
  const std::string client = "daemon/" + process.container.pod.name;
  process.daemon = std::make_unique<Daemon>(
      server_, fabric_,
      DaemonOptions{.client = client,
                    .container = process.container,
                    .rules = rules_,
                    .stale_view = std::move(view),
                    .seed = seed_ * 1'000 + static_cast<std::uint64_t>(++started_)},
      [this, client](const http::Request& request) { return serve_(client, request); },
      [this, client](const http::Request& request) { return open_(client, request); });
  if (process.told_to_stop) process.daemon->TellToStop();
}

// The process, and IMEX with it, which is its child.
void Daemons::Die(Process& process) {
  process.daemon.reset();
  fabric_.EndContainer(process.container, false, "", store_.now());
  process.restart_at = store_.now() + (process.starts < 3 ? kRestartAfter : kRestartLater);
  wake_(process.container.node);
}

bool Daemons::StepOne(Process& process) {
  if (!process.daemon) {
    if (process.told_to_stop || store_.now() < process.restart_at) return false;
    Start(process, {});
    return true;
  }
  Daemon& daemon = *process.daemon;
  const bool was_ready = daemon.IsReady();
  try {
    if (!daemon.Step()) return false;
  } catch (const ProcessDied&) {
    Die(process);
    if (!process.told_to_stop) Start(process, stale_view_);
    return true;
  }
  if (!daemon.fatal().empty()) {
    Die(process);
  } else if (daemon.IsOver() || daemon.IsReady() != was_ready) {
    wake_(process.container.node);
  }
  return true;
}

bool Daemons::Step() {
  bool moved = false;
  for (auto& [uid, process] : processes_) {
    if (fabric_.IsSilent(process.container.node)) continue;
    moved = StepOne(process) || moved;
  }
  return moved;
}

std::optional<Time> Daemons::NextDue() const {
  std::optional<Time> due;
  for (const auto& [uid, process] : processes_) {
    if (fabric_.IsSilent(process.container.node)) continue;
    std::optional<Time> next;
    if (process.daemon) {
      next = process.daemon->NextDue();
    } else if (!process.told_to_stop) {
      next = process.restart_at;
    }
    if (next) due = std::min(due.value_or(*next), *next);
  }
  return due;
}

bool Daemons::AreAtRest() const {
  return std::ranges::all_of(processes_, [this](const auto& item) {
    const Process& process = item.second;
    const bool is_at_rest = process.daemon && process.daemon->IsAtRest();
    return is_at_rest || fabric_.IsSilent(process.container.node);
  });
}

void Daemons::ExpireWatches() {
  for (auto& [uid, process] : processes_) {
    if (process.daemon) process.daemon->ExpireWatches();
  }
}

void Daemons::BreakWatches() {
  for (auto& [uid, process] : processes_) {
    if (process.daemon) process.daemon->BreakWatches();
  }
}

const DaemonContainer* Daemons::Victim(const std::string& node) const {
  const DaemonContainer* victim = nullptr;
  for (const auto& [uid, imex] : fabric_.running()) {
    const bool is_better = victim == nullptr || imex.container.node == node;
    if (is_better && !fabric_.IsSilent(imex.container.node)) victim = &imex.container;
  }
  return victim;
}

void Daemons::EndImex(const DaemonContainer& victim) {
  const std::string node = victim.node;
  fabric_.End(victim.uid, store_.now());
  wake_(node);
}

void Daemons::Kill(const DaemonContainer& victim) { Die(processes_.at(victim.uid)); }

void Daemons::Run(const DaemonContainer& container, Time /*now*/) {
  const auto [it, is_new] = processes_.try_emplace(container.uid);
  if (!is_new) return;
  it->second.container = container;
  Start(it->second, {});
}

bool Daemons::IsReady(const kube::Uid& pod) const {
  const auto it = processes_.find(pod);
  return it != processes_.end() && it->second.daemon && it->second.daemon->IsReady();
}

std::optional<Time> Daemons::Stop(const kube::Uid& pod, Time now) {
  const auto it = processes_.find(pod);
  if (it == processes_.end()) return {};
  Process& process = it->second;
  if (!process.told_to_stop) {
    process.told_to_stop = now;
    fabric_.TellToStop(process.container, now);
    if (process.daemon) process.daemon->TellToStop();
  }
  const bool is_over = !process.daemon || process.daemon->IsOver();
  if (!is_over && now < *process.told_to_stop + kGrace) return *process.told_to_stop + kGrace;
  if (process.daemon) {
    fabric_.EndContainer(process.container, true, process.daemon->why_it_stays(), now);
  }
  processes_.erase(it);
  return {};
}

void Daemons::Lose(const std::string& node, Time now) {
  std::erase_if(processes_, [&](const auto& item) {
    if (item.second.container.node != node) return false;
    fabric_.EndContainer(item.second.container, false, "", now);
    return true;
  });
}

}  // namespace simulation
