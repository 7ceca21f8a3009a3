#include "node/daemon/clique.h"

#include <algorithm>
#include <set>
#include <utility>

#include "controller/api/names.h"

namespace imex_daemon {

namespace {

using api::Clique, api::Member;
using json::Value;

bool IsIndex(std::int64_t index, const DaemonIdentity& self) {
  return index >= 0 && index < self.nodes_max;
}

Value OwnerOf(const DaemonIdentity& self) {
  return Value::Object(
      {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", self.pod.name}, {"uid", self.pod_uid}});
}

Value EntryOf(const DaemonIdentity& self, int index, bool ready) {
  return Value::Object({{"nodeName", self.node},
                        {"ipAddress", self.ip},
                        {"cliqueID", self.clique},
                        {"index", index},
                        {"status", ready ? "Ready" : "NotReady"}});
}

int LowestFreeIndex(const Value& daemons, const DaemonIdentity& self) {
  std::set<std::int64_t> used;
  for (const Value& daemon : daemons.items()) used.insert(daemon["index"].AsInt().value_or(0));
  int index = 0;
  while (index < self.nodes_max && used.contains(index)) ++index;
  return index;
}

// Sets a member to a text. Returns whether that changed it.
bool Set(Value& object, const char* name, const std::string& text) {
  if (object[name].IsString() && object[name].AsString() == text) return false;
  object[name] = text;
  return true;
}

bool AddOwner(Value& clique, const DaemonIdentity& self) {
  Value& owners = clique["metadata"]["ownerReferences"];
  for (const Value& owner : owners.items()) {
    if (owner["uid"].AsString() == self.pod_uid) return false;
  }
  owners.Append(OwnerOf(self));
  return true;
}

}  // namespace

const Member* OwnEntry(const Clique& clique, const DaemonIdentity& self) {
  const auto own = std::ranges::find(clique.daemons, self.node, &Member::node);
  const bool is_ours = own != clique.daemons.end() && own->ip == self.ip &&
                       own->clique == self.clique && IsIndex(own->index, self);
  return is_ours ? &*own : nullptr;
}

std::vector<imex::HostsEntry> HostsIn(const Clique& clique, const DaemonIdentity& self,
                                      int runs_as) {
  const Member* own = OwnEntry(clique, self);
  const int own_index = own != nullptr ? own->index : runs_as;
  std::vector<imex::HostsEntry> hosts;
  std::set<int> named;
  const auto add = [&](int index, const std::string& ip) {
    if (named.insert(index).second) hosts.push_back({.index = index, .ip = ip});
  };
  if (IsIndex(own_index, self)) add(own_index, self.ip);
  for (const Member& member : clique.daemons) {
    const bool is_peer = member.node != self.node && member.ip != self.ip &&
                         member.clique == self.clique && IsIndex(member.index, self) &&
                         imex::IsAddress(member.ip);
    if (is_peer) add(member.index, member.ip);
  }
  std::ranges::sort(hosts, {}, &imex::HostsEntry::index);
  return hosts;
}

bool HasRoom(const Clique& clique, const DaemonIdentity& self) {
  std::set<int> used;
  for (const Member& member : clique.daemons) {
    if (!IsIndex(member.index, self)) continue;
    if (member.node == self.node) return true;
    used.insert(member.index);
  }
  return std::ssize(used) < self.nodes_max;
}

Value NewClique(const DaemonIdentity& self, bool ready) {
  return Value::Object(
      {{"apiVersion", api::kComputeDomainCliques.ApiVersion()},
       {"kind", api::kComputeDomainCliques.kind},
       {"metadata", Value::Object({{"name", self.CliqueKey().name},
                                   {"namespace", self.pod.ns},
                                   {"labels", Value::Object({{api::kDomainLabel, self.domain},
                                                             {api::kCliqueLabel, self.clique}})},
                                   {"ownerReferences", Value::Array({OwnerOf(self)})}})},
       {"daemons", Value::Array({EntryOf(self, 0, ready)})}});
}

base::Result<bool> PutOwnEntry(Value& clique, const DaemonIdentity& self, bool ready) {
  Value& daemons = clique["daemons"];
  Value* own = nullptr;
  for (Value& daemon : daemons.MutableItems()) {
    // As const, because looking up a missing name would otherwise add it to the entry.
    if (std::as_const(daemon)["nodeName"].AsString() == self.node) own = &daemon;
  }
  const bool has_index =
      own != nullptr && IsIndex(std::as_const(*own)["index"].AsInt().value_or(-1), self);
  const int index = has_index ? -1 : LowestFreeIndex(daemons, self);
  if (index == self.nodes_max) {
    return base::Invalid(
        "clique " + self.clique + " is full: each index below " + std::to_string(self.nodes_max) +
        " is taken. The controller's --max-nodes-per-imex-domain allows more nodes");
  }
  if (own == nullptr) {
    daemons.Append(EntryOf(self, index, ready));
    static_cast<void>(AddOwner(clique, self));
    return true;
  }
  // Sets all fields together: the readiness of an earlier pod's IMEX is not that of this one.
  bool changed = Set(*own, "ipAddress", self.ip);
  // With an invalid index IMEX would never start, and would read the clique again and again.
  if (!has_index) {
    (*own)["index"] = index;
    changed = true;
  }
  changed = Set(*own, "cliqueID", self.clique) || changed;
  changed = Set(*own, "status", ready ? "Ready" : "NotReady") || changed;
  return AddOwner(clique, self) || changed;
}

bool TakeOutOwnEntry(Value& clique, const DaemonIdentity& self) {
  return std::erase_if(clique["daemons"].MutableItems(), [&](const Value& daemon) {
           return daemon["nodeName"].AsString() == self.node &&
                  daemon["ipAddress"].AsString() == self.ip;
         }) > 0;
}

}  // namespace imex_daemon
