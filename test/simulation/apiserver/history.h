// The history of all objects: every version, in order.
//
// For one thread. Bound: one entry for each write. Nothing is forgotten, so that a read can be
// served from any revision, and an oracle can see all of them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "test/simulation/apiserver/kinds.h"
#include "test/simulation/apiserver/object.h"

namespace simulation {

using Objects = std::map<kube::ObjectKey, ObjectPtr>;  // Sorted by namespace and name.

// One change of one object.
struct Change {
  enum class Type { kAdded, kModified, kDeleted };
  Type type = Type::kAdded;
  Kind kind = {};
  ObjectPtr before = nullptr;  // Null for kAdded.
  ObjectPtr after = nullptr;   // For kDeleted the last state, with the deletion's revision.
  std::string actor = {};      // Client that wrote it.
  Time time = {};

  [[nodiscard]] Revision revision() const { return after->revision(); }
};

class History {
 public:
  // The next write gets the revision after `start`.
  explicit History(Revision start) : revision_(start) {}

  [[nodiscard]] Revision revision() const { return revision_; }
  [[nodiscard]] const Objects& Live(Kind kind) const { return live_[Index(kind)]; }
  [[nodiscard]] ObjectPtr Get(Kind kind, const kube::ObjectKey& key) const;
  // Returns the objects as of `revision`.
  [[nodiscard]] Objects StateAt(Kind kind, Revision revision) const;

  [[nodiscard]] const std::vector<Change>& changes() const { return changes_; }
  // Returns the places in changes() of one kind's changes.
  [[nodiscard]] const std::vector<std::size_t>& ChangesOf(Kind kind) const {
    return of_kind_[Index(kind)];
  }

  // Writes `value` with the next revision, and returns the stored object.
  ObjectPtr Put(Kind kind, json::Value value, const std::string& actor, Time time);
  // REQUIRES: the object exists.
  void Remove(Kind kind, const kube::ObjectKey& key, const std::string& actor, Time time);

 private:
  static std::size_t Index(Kind kind) { return static_cast<std::size_t>(kind); }
  [[nodiscard]] ObjectPtr Stamp(json::Value value);
  void Append(Change change);

  Revision revision_;
  std::array<Objects, kKindCount> live_;
  std::vector<Change> changes_;
  std::array<std::vector<std::size_t>, kKindCount> of_kind_;
};

}  // namespace simulation
