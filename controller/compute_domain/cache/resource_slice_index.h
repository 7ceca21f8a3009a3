// Index of nodes that publish ResourceSlices of the driver.
//
// Such a node has a registered kubelet plugin; the kubelet deletes the slices some time after a
// plugin has stopped. A taint of the devices reports an error of the node's fabric. A slice in a
// pool of another name than its node, or with shared counters, is not from a plugin. Such a slice
// can keep the scheduler from channels of other nodes. It is ignored, and the log names it.
//
// Not a kube::Store, because a few words for each of thousands of objects are enough. Thread-safe:
// the watch thread writes it, any thread reads it. A change costs a pass over all slices: some 10
// µs for 5000 nodes.
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
  // Called when a node gets its first slice or loses its last, or when its fabric error changes.
  // Runs on the writer's thread, outside the lock.
  using Changed = std::function<void(const std::string& node)>;

  ResourceSliceIndex(Changed changed, base::Logger& logger)
      : changed_(std::move(changed)), logger_(logger) {}

  bool Contains(const std::string& node) const;
  bool IsEmpty() const;
  // Returns the error of the node's fabric, one word from the plugin. Empty if there is none.
  std::string FabricErrorOf(const std::string& node) const;

  void BeginReplace() override { incoming_.clear(); }
  void ReplaceAdd(json::View object) override;
  void EndReplace(const std::string& resource_version) override;
  void Apply(json::View object, bool deleted) override;
  void Advance(const std::string& /*resource_version*/) override {}

 private:
  struct Slice {
    std::string node = {};
    std::size_t uid_hash = 0;  // Distinguishes the few slices of one node.
    std::string fabric_error = {};
  };
  using Slices = std::vector<Slice>;  // Sorted by node and UID, without duplicates.
  struct NodeState {                  // Combines all slices of a node.
    bool publishes = false;
    std::string fabric_error = {};
    friend bool operator==(const NodeState&, const NodeState&) = default;
  };

  // Returns whether the slice is not from a kubelet plugin, and if so logs its node, once.
  bool AccuseIfForeign(json::View object);
  static Slice Decode(json::View object);
  static NodeState StateOf(const Slices& slices, const std::string& node);

  const Changed changed_;
  base::Logger& logger_;
  std::set<std::string> accused_;  // Nodes that were logged; at most 100.
  Slices incoming_;                // Slices of the list being read. Used by the reflector's thread.
  base::Guarded<Slices> slices_;
};

}  // namespace compute_domain
