// Values of a Kubernetes Event.
#pragma once

#include <optional>
#include <string>

#include "pkg/kube/api/meta.h"
#include "pkg/kube/api/resource.h"

namespace kube {

struct ObjectReference {
  std::string api_version = {};
  std::string kind = {};
  ObjectKey key = {};
  Uid uid = {};
  friend auto operator<=>(const ObjectReference&, const ObjectReference&) = default;
};

inline ObjectReference ReferenceTo(const Resource& resource, const ObjectMeta& meta) {
  return {.api_version = resource.ApiVersion(),
          .kind = resource.kind,
          .key = meta.key,
          .uid = meta.uid};
}

enum class EventType { kNormal, kWarning };

// Equal values are the same event, seen again.
struct Event {
  EventType type = EventType::kNormal;
  std::string reason = {};  // Why it happened, in CamelCase, such as "NodeLost". At most 128 bytes.
  std::string action = {};  // What the controller did, in CamelCase. At most 128 bytes.
  std::string note = {};    // Text for people. Cut after 1024 bytes.
  ObjectReference regarding = {};
  std::optional<ObjectReference> related = {};
  friend auto operator<=>(const Event&, const Event&) = default;
};

}  // namespace kube
