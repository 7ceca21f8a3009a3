// The kinds of objects that belong to a domain, and what is known of a child's name. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "pkg/kube/api/meta.h"

namespace compute_domain {

enum class Kind { kComputeDomain, kDaemonSet, kClaimTemplate, kClique, kDaemonPod, kClaim, kNode };

// What has the name of a child.
struct NameHolder {
  kube::ObjectMeta meta = {};
  std::string domain = {};
  std::string target = {};
  std::string template_hash = {};
};

// What failed or stands in the way, for the domain's condition.
struct Failure {
  std::string reason = {};
  std::string message = {};
  friend bool operator==(const Failure&, const Failure&) = default;
};
[[nodiscard]] inline Failure MakeFailure(std::string_view reason, std::string message) {
  return {.reason = std::string(reason), .message = std::move(message)};
}

// A child's name that another object holds.
struct NameTaken {
  Kind kind = {};
  kube::ObjectKey key = {};
  NameHolder holder = {};
  Failure failure = {};
};

}  // namespace compute_domain
