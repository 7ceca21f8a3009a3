// The kinds that the simulated API server knows, and their differences.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/kube/api/resource.h"

namespace simulation {

enum class Kind {
  kComputeDomain,
  kClique,
  kDaemonSet,
  kPod,
  kNode,
  kClaim,
  kClaimTemplate,
  kSlice,
  kLease,
  kNamespace,
  kEvent,
};
inline constexpr std::size_t kKindCount = 11;
inline constexpr std::array<Kind, kKindCount> kAllKinds = {
    Kind::kComputeDomain, Kind::kClique,    Kind::kDaemonSet,     Kind::kPod,
    Kind::kNode,          Kind::kClaim,     Kind::kClaimTemplate, Kind::kSlice,
    Kind::kLease,         Kind::kNamespace, Kind::kEvent};

struct KindInfo {
  Kind kind = {};
  kube::Resource resource = {};
  bool custom = false;                // Defined by a CustomResourceDefinition.
  bool has_status = false;            // Status is written only through /status.
  bool has_generation = false;        // The server counts changes of the desired state.
  bool unconditional_update = false;  // A PUT without resourceVersion is accepted.
  bool create_on_update = false;      // A PUT of an unknown object creates it.
  // Paths that never change once written, such as {"spec", "selector"}.
  std::vector<std::vector<std::string>> immutable = {};
  // Fields that a fieldSelector may name, besides metadata.name and metadata.namespace.
  std::vector<std::string> selectable = {};
};

const KindInfo& Describe(Kind kind);
// Null if there is no such kind.
const KindInfo* FindKind(std::string_view group, std::string_view version, std::string_view plural);
// Finds by the apiVersion and kind of an owner reference. Null if there is no such kind.
const KindInfo* FindOwnerKind(std::string_view api_version, std::string_view kind);

}  // namespace simulation
