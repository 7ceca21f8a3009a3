// A cache of all ComputeDomains, and whether this node is Ready in them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "node/plugin/rules/identity.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/cache/reflector.h"

namespace plugin {

// Filled by a reflector. Every node reads every domain, so it keeps some 200 bytes of each. An
// unreadable domain counts as absent: claims wait for it, and its folder is removed only after a
// live read. Thread-safe.
class DomainCache final : public kube::ReflectorSink {
 public:
  // `on_change` is called on the reflector's thread.
  DomainCache(std::string node, std::function<void()> on_change);

  struct Known {
    DomainIdentity domain = {};
    bool is_ready_here = false;  // As the domain's status says.
  };
  std::optional<Known> Find(const std::string& uid) const;
  // Returns whether the first list is complete.
  bool has_read() const;

  void BeginReplace() override { incoming_.clear(); }
  void ReplaceAdd(json::View object) override;
  void EndReplace(const std::string& resource_version) override;
  void Apply(json::View object, bool deleted) override;
  void Advance(const std::string& /*resource_version*/) override {}

 private:
  using ByUid = std::map<std::string, Known, std::less<>>;
  struct Data {
    ByUid domains = {};
    bool has_read = false;
  };

  Known Read(json::View object) const;

  const std::string node_;
  const std::function<void()> on_change_;
  ByUid incoming_;  // Only the reflector's thread uses it.
  base::Guarded<Data> data_;
};

}  // namespace plugin
