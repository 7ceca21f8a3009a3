// One version of one object of the simulated cluster.
//
// Immutable, and shared freely.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"

namespace simulation {

using Time = base::Clock::WallTime;
using Revision = std::uint64_t;

class Object {
 public:
  // REQUIRES: `value` has the metadata that the server gives: name, uid and resourceVersion.
  explicit Object(json::Value value);

  const json::Value& value() const { return value_; }
  const json::Value& operator[](std::string_view name) const { return value_[name]; }
  const json::Value& meta() const { return value_["metadata"]; }
  const kube::ObjectKey& key() const { return key_; }
  const kube::Uid& uid() const { return uid_; }
  Revision revision() const { return revision_; }
  bool deleting() const { return deleting_; }

  // Returns the label's value, which may be empty. Null if there is no such label.
  const std::string* FindLabel(std::string_view name) const;
  const std::string& Label(std::string_view name) const;  // Empty if absent.
  bool HasFinalizer(std::string_view name) const;
  // Returns the owner reference with controller: true, or null.
  const json::Value& ControllerOwner() const;

  // Returns the object as JSON. It is serialized once.
  const std::string& text() const;

 private:
  json::Value value_;
  kube::ObjectKey key_;
  kube::Uid uid_;
  Revision revision_ = 0;
  bool deleting_ = false;
  mutable std::string text_;
};
using ObjectPtr = std::shared_ptr<const Object>;

// Returns whether both are equal as JSON. The order of members does not matter.
bool SameValue(const json::Value& a, const json::Value& b);

// Returns the value at the path of member names. Null if one is missing.
const json::Value& At(const json::Value& value, std::initializer_list<std::string_view> path);

// Returns the condition of that type in `object`.status.conditions, or null.
const json::Value& FindCondition(const json::Value& object, std::string_view type);

}  // namespace simulation
