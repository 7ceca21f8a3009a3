#include "controller/compute_domain/publishers.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace compute_domain {

bool Publishers::Contains(const std::string& node) const {
  return slices_.With([&](const Slices& slices) { return Has(slices, node); });
}

bool Publishers::IsEmpty() const {
  return slices_.With([](const Slices& slices) { return slices.empty(); });
}

void Publishers::BeginReplace() { incoming_.clear(); }

void Publishers::ReplaceAdd(json::View object) { incoming_.push_back(Decode(object)); }

void Publishers::EndReplace(const std::string& /*resource_version*/) {
  std::ranges::sort(incoming_);
  const auto repeated = std::ranges::unique(incoming_);
  incoming_.erase(repeated.begin(), repeated.end());
  incoming_.shrink_to_fit();
  std::vector<std::string> changes;
  const auto add_nodes_only_in = [&](const Slices& these, const Slices& others) {
    for (const Slice& slice : these) {
      if (!Has(others, slice.node)) changes.push_back(slice.node);
    }
  };
  slices_.With([&](Slices& slices) {
    add_nodes_only_in(slices, incoming_);
    add_nodes_only_in(incoming_, slices);
    slices = std::exchange(incoming_, {});
  });
  for (const std::string& node : changes) changed_(node);
}

void Publishers::Apply(json::View object, bool deleted) {
  Slice slice = Decode(object);
  const std::string node = slice.node;
  const bool changes = slices_.With([&](Slices& slices) {
    const bool had = Has(slices, node);
    const auto at = std::ranges::lower_bound(slices, slice);
    const bool is_there = at != slices.end() && *at == slice;
    if (deleted && is_there) slices.erase(at);
    if (!deleted && !is_there) slices.insert(at, std::move(slice));
    return had != Has(slices, node);
  });
  if (changes) changed_(node);
}

void Publishers::Advance(const std::string& /*resource_version*/) {}

// A node has one pool, of its own name; the API server lets neither change.
Publishers::Slice Publishers::Decode(json::View object) {
  return {.node = std::string(object["spec"]["nodeName"].AsString()),
          .uid_hash = std::hash<std::string_view>()(object["metadata"]["uid"].AsString())};
}

bool Publishers::Has(const Slices& slices, const std::string& node) {
  const auto at = std::ranges::lower_bound(slices, node, {}, &Slice::node);
  return at != slices.end() && at->node == node;
}

}  // namespace compute_domain
