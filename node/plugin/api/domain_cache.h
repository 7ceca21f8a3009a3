// What a plugin knows of all ComputeDomains: which there are, and whether this node serves in them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "node/plugin/rules/identity.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/cache/reflector.h"

namespace plugin {

// A cache that a reflector fills; every node reads every domain, so little of each stays. A domain
// that cannot be read is as one that is not there, which is waited for and never cleaned up after.
//
// Thread-safe. Bound: some 200 bytes for each domain.
class DomainCache final : public kube::ReflectorSink {
 public:
  // `on_change` is called on the reflector's thread.
  DomainCache(std::string node, std::function<void()> on_change);

  struct Known {
    DomainIdentity domain = {};
    bool is_ready_here = false;  // The node's entry in its status says Ready.
  };
  [[nodiscard]] std::optional<Known> Find(const std::string& uid) const;
  // Whether all that there were have been read once.
  [[nodiscard]] bool has_read() const;

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

  [[nodiscard]] Known Read(json::View object) const;

  const std::string node_;
  const std::function<void()> on_change_;
  ByUid incoming_;  // Used by the reflector's thread.
  base::Guarded<Data> data_;
};

}  // namespace plugin
