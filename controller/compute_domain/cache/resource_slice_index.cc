#include "controller/compute_domain/cache/resource_slice_index.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "controller/api/names.h"

namespace compute_domain {

namespace {

constexpr auto kWhich = [](const auto& slice) { return std::tie(slice.node, slice.uid_hash); };

// Returns the error. Empty if there is none. A v1beta1 device has its taints under "basic".
std::string FabricErrorIn(json::View device) {
  std::string error;
  for (const json::View taints : {device["taints"], device["basic"]["taints"]}) {
    taints.ForEach([&](json::View taint) {
      if (taint["key"].AsString() != api::kFabricErrorTaint) return;
      const std::string_view value = taint["value"].AsString();
      error = value.empty() ? "no more is known" : value;
    });
  }
  return error;
}

}  // namespace

bool ResourceSliceIndex::Contains(const std::string& node) const {
  return slices_.With([&](const Slices& slices) { return StateOf(slices, node).publishes; });
}

bool ResourceSliceIndex::IsEmpty() const {
  return slices_.With([](const Slices& slices) { return slices.empty(); });
}

std::string ResourceSliceIndex::FabricErrorOf(const std::string& node) const {
  return slices_.With([&](const Slices& slices) { return StateOf(slices, node).fabric_error; });
}

void ResourceSliceIndex::ReplaceAdd(json::View object) {
  if (!AccuseIfForeign(object)) incoming_.push_back(Decode(object));
}

void ResourceSliceIndex::EndReplace(const std::string& /*resource_version*/) {
  std::ranges::sort(incoming_, {}, kWhich);
  const auto repeated = std::ranges::unique(incoming_, {}, kWhich);
  incoming_.erase(repeated.begin(), repeated.end());
  incoming_.shrink_to_fit();
  std::set<std::string> changes;
  const auto add_nodes_that_differ = [&](const Slices& these, const Slices& others) {
    for (const Slice& slice : these) {
      if (StateOf(these, slice.node) != StateOf(others, slice.node)) changes.insert(slice.node);
    }
  };
  slices_.With([&](Slices& slices) {
    add_nodes_that_differ(slices, incoming_);
    add_nodes_that_differ(incoming_, slices);
    slices = std::exchange(incoming_, {});
  });
  for (const std::string& node : changes) changed_(node);
}

void ResourceSliceIndex::Apply(json::View object, bool deleted) {
  Slice slice = Decode(object);
  const std::string node = slice.node;
  deleted = AccuseIfForeign(object) || deleted;
  const bool changes = slices_.With([&](Slices& slices) {
    const NodeState before = StateOf(slices, node);
    const auto at = std::ranges::lower_bound(slices, kWhich(slice), {}, kWhich);
    const bool is_there = at != slices.end() && kWhich(*at) == kWhich(slice);
    if (is_there && deleted) {
      slices.erase(at);
    } else if (is_there) {
      *at = std::move(slice);
    } else if (!deleted) {
      slices.insert(at, std::move(slice));
    }
    return before != StateOf(slices, node);
  });
  if (changes) changed_(node);
}

bool ResourceSliceIndex::AccuseIfForeign(json::View object) {
  constexpr std::size_t kAccusedMax = 100;
  const json::View spec = object["spec"];
  const std::string pool(spec["pool"]["name"].AsString());
  const std::string node(spec["nodeName"].AsString());
  if (pool == node && spec["sharedCounters"].size() == 0) return false;
  if (accused_.size() < kAccusedMax && accused_.insert(node).second) {
    logger_.Warning(
        "A ResourceSlice does not come from its node's kubelet plugin: delete it, and find out who "
        "created it",
        {{"slice", std::string(object["metadata"]["name"].AsString())},
         {"node", node},
         {"pool", pool}});
  }
  return true;
}

// A node has one pool, with the node's name. The API server allows no change of either.
ResourceSliceIndex::Slice ResourceSliceIndex::Decode(json::View object) {
  const json::View spec = object["spec"];
  Slice slice = {.node = std::string(spec["nodeName"].AsString()),
                 .uid_hash = std::hash<std::string_view>()(object["metadata"]["uid"].AsString())};
  spec["devices"].ForEach([&](json::View device) {
    if (slice.fabric_error.empty()) slice.fabric_error = FabricErrorIn(device);
  });
  return slice;
}

ResourceSliceIndex::NodeState ResourceSliceIndex::StateOf(const Slices& slices,
                                                          const std::string& node) {
  const auto of_node = std::ranges::equal_range(slices, node, {}, &Slice::node);
  NodeState state = {.publishes = !of_node.empty()};
  for (const Slice& slice : of_node) {
    if (state.fabric_error.empty()) state.fabric_error = slice.fabric_error;
  }
  return state;
}

}  // namespace compute_domain
