#include "node/plugin/api/domain_cache.h"

#include <utility>

#include "node/plugin/rules/opaque_config.h"

namespace plugin {

DomainCache::DomainCache(std::string node, std::function<void()> on_change)
    : node_(std::move(node)), on_change_(std::move(on_change)) {}

DomainCache::Known DomainCache::Read(json::View object) const {
  const json::View meta = object["metadata"];
  Known known = {.domain = {.uid = std::string(meta["uid"].AsString()),
                            .name = std::string(meta["name"].AsString()),
                            .ns = std::string(meta["namespace"].AsString()),
                            .is_deleting = !meta["deletionTimestamp"].IsNull(),
                            .has_all_channels =
                                object["spec"]["channel"]["allocationMode"].AsString() == "All"}};
  object["status"]["nodes"].ForEach([&](json::View node) {
    if (node["name"].AsString() != node_) return;
    known.is_ready_here = node["status"].AsString() == "Ready";
  });
  return known;
}

std::optional<DomainCache::Known> DomainCache::Find(const std::string& uid) const {
  return data_.With([&](const Data& data) -> std::optional<Known> {
    const auto it = data.domains.find(uid);
    if (it == data.domains.end()) return {};
    return it->second;
  });
}

bool DomainCache::has_read() const {
  return data_.With([](const Data& data) { return data.has_read; });
}

void DomainCache::ReplaceAdd(json::View object) {
  Known known = Read(object);
  if (IsUid(known.domain.uid)) incoming_.insert_or_assign(known.domain.uid, std::move(known));
}

void DomainCache::EndReplace(const std::string& /*resource_version*/) {
  data_.With([&](Data& data) {
    data.domains = std::exchange(incoming_, {});
    data.has_read = true;
  });
  on_change_();
}

void DomainCache::Apply(json::View object, bool deleted) {
  Known known = Read(object);
  if (!IsUid(known.domain.uid)) return;
  data_.With([&](Data& data) {
    if (deleted) {
      data.domains.erase(known.domain.uid);
    } else {
      data.domains.insert_or_assign(known.domain.uid, std::move(known));
    }
  });
  on_change_();
}

}  // namespace plugin
