// The kinds of objects that the controller watches, a row for each.
//
// CONTRIBUTING.md says what a new one needs. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/model/facts.h"
#include "controller/compute_domain/model/kind.h"
#include "pkg/kube/cache/reflector.h"

namespace compute_domain {

struct WatchedKind {
  // Without a default: a row that lacks its kind does not compile. Gives the resource of `options`.
  Kind kind;
  kube::ReflectorOptions options = {};
  bool is_in_driver_namespaces = false;  // Watched in each of them. A Role there permits it.
  // The controller works without them while the API server refuses them, or does not serve them.
  bool may_be_refused = false;
  bool may_be_missing = false;
  bool is_child = false;       // The controller creates them, so it must know which are missing.
  bool is_essential = false;   // Without them no domain is served.
  bool only_explains = false;  // Any doubt about them counts: no decision depends on them.
  // What the controller does not do while the kind is unknown.
  std::string_view cost = {};
  // How domains say that the kind is refused. It is constant, because each new message would change
  // every domain. Empty if they give the server's message.
  std::string_view refusal = {};
  // Where the views have the version that is served, and whether the kind is being watched at this
  // moment, is served, is not refused or missing, and is not refused. Null if they do not.
  std::string Views::* version = nullptr;
  bool Views::* is_current = nullptr;
  bool Views::* is_served = nullptr;
  bool Views::* is_read = nullptr;
  bool Views::* is_granted = nullptr;
};

// In the order in which they are read.
const std::vector<WatchedKind>& WatchedKinds();

}  // namespace compute_domain
