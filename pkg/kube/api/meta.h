// Metadata and conditions of Kubernetes objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/json/reader.h"
#include "pkg/json/value.h"

namespace kube {

// Identity of one incarnation of an object. An object that is deleted and created again has another
// UID.
using Uid = std::string;

struct ObjectKey {
  std::string ns = {};  // Empty for cluster-scoped objects.
  std::string name = {};
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};
// Returns "ns/name", or "name" if `ns` is empty.
std::string ToString(const ObjectKey& key);

struct OwnerReference {
  std::string api_version = {};
  std::string kind = {};
  std::string name = {};
  Uid uid = {};
  bool controller = false;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

// The metadata that a controller needs. It has no labels and annotations: each object type decodes
// the few keys that it needs.
struct ObjectMeta {
  ObjectKey key = {};
  Uid uid = {};
  std::string resource_version = {};
  std::int64_t generation = 0;
  bool deleting = false;                // Has a deletionTimestamp.
  std::string deletion_timestamp = {};  // RFC 3339. Empty unless deleting.
  std::string creation_timestamp = {};
  std::vector<std::string> finalizers = {};
  std::vector<OwnerReference> owners = {};
  bool is_whole = true;  // Has all finalizers and owners; see KeepFew().
  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;

  const OwnerReference* ControllerOwner() const;
  bool HasFinalizer(std::string_view name) const;
};

// Reads `object`.metadata. kInvalid if name, uid or resourceVersion is missing.
base::Result<ObjectMeta> DecodeMeta(json::View object);

// Bounds the memory that the author of an object can use. Keeps the finalizer `ours` and the first
// 8 others; the owner that is the controller, the first 1,000 owners of kind `many`, and the first
// 8 others; 253 bytes of each text. Clears `is_whole` if it drops anything.
void KeepFew(std::string_view ours, ObjectMeta& meta, std::string_view many = {});

// Same fields as metav1.Condition.
struct Condition {
  std::string type = {};
  std::string status = {};  // True, False or Unknown.
  std::string reason = {};
  std::string message = {};
  std::int64_t observed_generation = 0;
  std::string last_transition_time = {};
  friend bool operator==(const Condition&, const Condition&) = default;
};
Condition DecodeCondition(json::View condition);
json::Value Encode(const Condition& condition);

// Returns whether resourceVersion `a` is older than `b`. False if they are equal, or if one is not
// well formed: decimal, no leading zero, at most 39 digits.
bool IsOlder(std::string_view a, std::string_view b);
bool IsWellFormedVersion(std::string_view version);

}  // namespace kube
