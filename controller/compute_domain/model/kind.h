// Kinds of objects that are watched, and conflicts over a child's name. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "pkg/kube/api/meta.h"

namespace compute_domain {

enum class Kind {
  kComputeDomain,
  kDaemonSet,
  kClaimTemplate,
  kClique,
  kDaemonPod,
  kClaim,
  kNode,
  kResourceSlice,
};

// The object that has the name of a child.
struct NameHolder {
  kube::ObjectMeta meta = {};
  kube::Uid domain = {};
  std::string target = {};
  std::string template_hash = {};
};

// A failure or an obstacle, as the domain's condition reports it.
struct Failure {
  std::string reason = {};
  std::string message = {};
  friend bool operator==(const Failure&, const Failure&) = default;
};
inline Failure MakeFailure(std::string_view reason, std::string message) {
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
