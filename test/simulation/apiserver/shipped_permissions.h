// The RBAC permissions that cdom's manifests grant its service accounts.
//
// They are evaluated as the API server's authorizer does. Immutable. Bound: the roles of one file,
// which are bound to cdom's accounts only. Not modelled: aggregation, groups, impersonation.
#pragma once

#include <string>
#include <vector>

#include "test/simulation/apiserver/target.h"

namespace simulation {

class ShippedPermissions {
 public:
  // Returns those of manifests/base/controller-access.yaml, read once.
  static const ShippedPermissions& OfController();
  // Reads what such a file grants to the account. Grants nothing if nothing is bound to it.
  ShippedPermissions(const std::string& yaml, const std::string& account);

  // REQUIRES: target.kind.
  bool Allow(const Target& target) const;

 private:
  struct Rule {
    std::string ns = {};  // Empty for all namespaces.
    std::vector<std::string> groups = {};
    std::vector<std::string> resources = {};  // With subresources, as "computedomains/status".
    std::vector<std::string> names = {};      // Empty for all names.
    std::vector<std::string> verbs = {};
  };

  std::vector<Rule> rules_;
};

}  // namespace simulation
