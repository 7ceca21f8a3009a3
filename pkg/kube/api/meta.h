#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/json/reader.h"
#include "pkg/json/value.h"

namespace kube {

// Identity of one incarnation of an object. Another object of the same name has another one.
using Uid = std::string;

struct ObjectKey {
  std::string ns = {};  // Empty for cluster-scoped objects.
  std::string name = {};
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};
[[nodiscard]] std::string ToString(const ObjectKey& key);  // "ns/name", or "name".

struct OwnerReference {
  std::string api_version = {};
  std::string kind = {};
  std::string name = {};
  Uid uid = {};
  bool controller = false;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

// What a controller needs of metadata. Labels and annotations are left to the projections, which
// know the few keys that matter.
struct ObjectMeta {
  ObjectKey key = {};
  Uid uid = {};
  std::string resource_version = {};
  std::int64_t generation = 0;
  bool deleting = false;                // Has a deletionTimestamp.
  std::string deletion_timestamp = {};  // RFC 3339; empty unless deleting.
  std::string creation_timestamp = {};
  std::vector<std::string> finalizers = {};
  std::vector<OwnerReference> owners = {};
  bool is_whole = true;  // All finalizers and owners are here; see KeepFew().
  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;

  [[nodiscard]] const OwnerReference* ControllerOwner() const;
  [[nodiscard]] bool HasFinalizer(std::string_view name) const;
};

// Reads `object`.metadata. kInvalid if name, uid or resourceVersion is missing.
[[nodiscard]] base::Result<ObjectMeta> DecodeMeta(json::View object);

// Drops what an object's author may fill memory with: of finalizers it keeps `ours` and the first 8
// others, of owners the controller, the first 1,000 of the kind `many` and the first 8 others, of
// each text 253 bytes. Sets `is_whole`.
void KeepFew(std::string_view ours, ObjectMeta& meta, std::string_view many = {});

// A condition as metav1.Condition has it.
struct Condition {
  std::string type = {};
  std::string status = {};  // True, False or Unknown.
  std::string reason = {};
  std::string message = {};
  std::int64_t observed_generation = 0;
  std::string last_transition_time = {};
  friend bool operator==(const Condition&, const Condition&) = default;
};
[[nodiscard]] Condition DecodeCondition(json::View condition);
[[nodiscard]] json::Value Encode(const Condition& condition);

// Whether resourceVersion `a` is older than `b`. Both must be well formed (decimal, no leading
// zero, at most 39 digits); otherwise, and for equal ones, false.
[[nodiscard]] bool IsOlder(std::string_view a, std::string_view b);
[[nodiscard]] bool IsWellFormedVersion(std::string_view version);

}  // namespace kube
