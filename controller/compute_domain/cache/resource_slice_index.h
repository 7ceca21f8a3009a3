// Which nodes publish ResourceSlices of our driver: those whose kubelet plugin is registered. The
// kubelet takes the slices away some time after a plugin has gone. And what plugins say there of
// the node's fabric: an error is a taint of its devices. A slice that is not in the pool of its own
// node, or shares counters, is no plugin's: it can keep the scheduler from other nodes' channels.
// It counts for nothing, and the log names it.
//
// No kube::Store: of thousands of objects a few words each are enough. Thread-safe: written by the
// watch thread, read by any. A change costs a pass over all, which is some ten microseconds for
// five thousand nodes.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/cache/reflector.h"

namespace compute_domain {

class ResourceSliceIndex final : public kube::ReflectorSink {
 public:
  // A node has its first slice, or lost its last, or its fabric is said to be another. Runs on the
  // writer's thread, outside the lock.
  using Changed = std::function<void(const std::string& node)>;

  ResourceSliceIndex(Changed changed, base::Logger& logger)
      : changed_(std::move(changed)), logger_(logger) {}

  [[nodiscard]] bool Contains(const std::string& node) const;
  [[nodiscard]] bool IsEmpty() const;
  // The error of the node's fabric, in a word of the plugin; empty: it publishes none.
  [[nodiscard]] std::string FabricErrorOf(const std::string& node) const;

  void BeginReplace() override { incoming_.clear(); }
  void ReplaceAdd(json::View object) override;
  void EndReplace(const std::string& resource_version) override;
  void Apply(json::View object, bool deleted) override;
  void Advance(const std::string& /*resource_version*/) override {}

 private:
  struct Slice {
    std::string node = {};
    std::size_t uid_hash = 0;  // Tells apart the few slices of one node.
    std::string fabric_error = {};
  };
  using Slices = std::vector<Slice>;  // Sorted by node and UID, each once.
  struct NodeState {                  // By all slices of a node.
    bool publishes = false;
    std::string fabric_error = {};
    friend bool operator==(const NodeState&, const NodeState&) = default;
  };

  // Whether it is no plugin's. Names its node in the log, the first time.
  [[nodiscard]] bool IsForeign(json::View object);
  [[nodiscard]] static Slice Decode(json::View object);
  [[nodiscard]] static NodeState StateOf(const Slices& slices, const std::string& node);

  const Changed changed_;
  base::Logger& logger_;
  std::set<std::string> accused_;  // Nodes that the log has named; not more than a hundred.
  Slices incoming_;                // Of the list being read. Used by the reflector's thread.
  base::Guarded<Slices> slices_;
};

}  // namespace compute_domain
