// The history of all objects: every version, in order.
//
// For one thread. Bound: one entry for each write. Nothing is forgotten unless ForgetPast() is
// called, so that a read can be served from any revision, and an oracle can see all of them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/check.h"
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

  Revision revision() const { return after->revision(); }
};

// Entries by their number, from 0. Those that are forgotten keep their numbers.
template <typename T>
class Numbered {
 public:
  // With those that are forgotten.
  std::size_t size() const { return forgotten_ + kept_.size(); }
  // REQUIRES: it is not forgotten.
  const T& operator[](std::size_t number) const {
    CHECK(number >= forgotten_);
    return kept_[number - forgotten_];
  }
  // Returns the number of the entry at `place`.
  std::size_t NumberOf(typename std::vector<T>::const_iterator place) const {
    return forgotten_ + static_cast<std::size_t>(place - kept_.begin());
  }
  // Of those that are not forgotten.
  auto begin() const { return kept_.begin(); }
  auto end() const { return kept_.end(); }
  auto rbegin() const { return kept_.rbegin(); }
  auto rend() const { return kept_.rend(); }
  const T& back() const { return kept_.back(); }
  void push_back(T entry) { kept_.push_back(std::move(entry)); }
  void Forget() {
    forgotten_ += kept_.size();
    kept_.clear();
  }

 private:
  std::vector<T> kept_;
  std::size_t forgotten_ = 0;
};

class History {
 public:
  // The next write gets the revision after `start`.
  explicit History(Revision start) : revision_(start) {}

  Revision revision() const { return revision_; }
  const Objects& Live(Kind kind) const { return live_[Index(kind)]; }
  ObjectPtr Get(Kind kind, const kube::ObjectKey& key) const;
  // Returns the objects as of `revision`.
  Objects StateAt(Kind kind, Revision revision) const;

  const Numbered<Change>& changes() const { return changes_; }
  // Returns the numbers in changes() of one kind's changes.
  const Numbered<std::size_t>& ChangesOf(Kind kind) const { return of_kind_[Index(kind)]; }

  // Writes `value` with the next revision, and returns the stored object.
  ObjectPtr Put(Kind kind, json::Value value, const std::string& actor, Time time);
  // REQUIRES: the object exists.
  void Remove(Kind kind, const kube::ObjectKey& key, const std::string& actor, Time time);
  // Forgets all changes so far. REQUIRES: every watch has seen them.
  void ForgetPast();

 private:
  static std::size_t Index(Kind kind) { return static_cast<std::size_t>(kind); }
  ObjectPtr Stamp(json::Value value);
  void Append(Change change);

  Revision revision_;
  std::array<Objects, kKindCount> live_;
  Numbered<Change> changes_;
  std::array<Numbered<std::size_t>, kKindCount> of_kind_;
};

}  // namespace simulation
