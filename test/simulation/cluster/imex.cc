#include "test/simulation/cluster/imex.h"

#include <chrono>

namespace simulation {

namespace {

constexpr auto kDeaf = std::chrono::seconds(5);

std::map<int, std::string> LookUp(const std::vector<imex::HostsEntry>& hosts) {
  std::map<int, std::string> knows;
  for (const imex::HostsEntry& host : hosts) knows[host.index] = host.ip;
  return knows;
}

}  // namespace

void Fabric::Note(ImexEvent::What what, const DaemonContainer& container, Time now, int index,
                  const std::string& why) {
  events_.push_back({.what = what,
                     .container = container,
                     .index = index,
                     .why = why,
                     .time = now,
                     .revision = history_.revision()});
}

void Fabric::StartContainer(const DaemonContainer& container, Time now) {
  containers_[container.uid] = container;
  ends_[container.uid] = 0;
  Note(ImexEvent::What::kContainer, container, now);
}

void Fabric::TellToStop(const DaemonContainer& container, Time now) {
  Note(ImexEvent::What::kToldToStop, container, now);
}

void Fabric::EndContainer(const DaemonContainer& container, bool stopped, const std::string& why,
                          Time now) {
  containers_.erase(container.uid);
  running_.erase(container.uid);
  if (stopped) Note(ImexEvent::What::kStopped, container, now, -1, why);
}

void Fabric::Start(const DaemonContainer& container, const std::vector<imex::HostsEntry>& hosts,
                   Time now) {
  RunningImex imex = {.container = container,
                      .since = now,
                      .restarts = ends_[container.uid],
                      .knows = LookUp(hosts)};
  for (const auto& [index, ip] : imex.knows) {
    if (ip == container.ip) imex.index = index;
  }
  Note(ImexEvent::What::kStart, container, now, imex.index);
  running_[container.uid] = std::move(imex);
}

void Fabric::Signal(const DaemonContainer& container, const std::vector<imex::HostsEntry>& hosts,
                    Time now) {
  Note(ImexEvent::What::kSignal, container, now);
  const auto it = running_.find(container.uid);
  if (it == running_.end() || now < it->second.deaf_until) return;
  it->second.deaf_until = now + kDeaf;
  it->second.knows = LookUp(hosts);
}

void Fabric::TellToEnd(const DaemonContainer& container, Time now) {
  Note(ImexEvent::What::kTellsToEnd, container, now);
  running_.erase(container.uid);
}

void Fabric::End(const kube::Uid& pod, Time now) {
  const auto it = running_.find(pod);
  Note(ImexEvent::What::kEnd, it->second.container, now);
  ++ends_[pod];
  running_.erase(it);
}

void Fabric::SetSilent(const std::string& node, bool silent, Time now) {
  silenced_at_ = now;
  if (silent) {
    silent_.insert(node);
  } else {
    silent_.erase(node);
  }
}

const RunningImex* Fabric::Find(const kube::Uid& pod) const {
  const auto it = running_.find(pod);
  return it == running_.end() ? nullptr : &it->second;
}

std::set<int> Fabric::ConnectedWith(const RunningImex& imex) const {
  std::set<int> connected;
  if (IsSilent(imex.container.node)) return connected;
  for (const auto& [uid, peer] : running_) {
    const bool is_peer = uid != imex.container.uid &&
                         peer.container.domain == imex.container.domain &&
                         peer.container.clique == imex.container.clique &&
                         peer.container.names == imex.container.names;
    if (!is_peer || IsSilent(peer.container.node)) continue;
    const auto known = imex.knows.find(peer.index);
    if (known != imex.knows.end() && known->second == peer.container.ip) {
      connected.insert(peer.index);
    }
  }
  return connected;
}

}  // namespace simulation
