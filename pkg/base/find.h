// Lookups in containers, for code that needs a value and not its place.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>

namespace base {

// Returns the value of `key` in the map. Null if there is none.
template <typename Map, typename Key = typename Map::key_type>
auto* Find(Map& map, const Key& key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

// Returns a copy of the value of `key` in the map. If there is none, returns `otherwise`.
template <typename Map, typename Key = typename Map::key_type>
typename Map::mapped_type FindOr(const Map& map, const Key& key,
                                 typename Map::mapped_type otherwise) {
  const auto* const found = Find(map, key);
  if (found != nullptr) return *found;
  return otherwise;
}

// Returns whether the range has `value`, after `projection` of its elements.
template <typename Range, typename Value, typename Projection = std::identity>
bool Contains(const Range& range, const Value& value, Projection projection = {}) {
  return std::ranges::find(range, value, projection) != std::ranges::end(range);
}

}  // namespace base
