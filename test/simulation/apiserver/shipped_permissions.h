// What a file of our manifests grants its service accounts, as the API server's authorizer reads
// it.
//
// Immutable. Bound: the roles of one file, which bind nobody else's. Not modelled: aggregation,
// groups, impersonation.
#pragma once

#include <string>
#include <vector>

#include "test/simulation/apiserver/target.h"

namespace simulation {

class ShippedPermissions {
 public:
  // Of manifests/base/controller-access.yaml, read once.
  [[nodiscard]] static const ShippedPermissions& OfController();
  // From the text of such a file: what is bound to the account. Of nothing bound nothing is
  // granted.
  ShippedPermissions(const std::string& yaml, const std::string& account);

  // REQUIRES: target.kind.
  [[nodiscard]] bool Allow(const Target& target) const;

 private:
  struct Rule {
    std::string ns = {};  // Empty: in all.
    std::vector<std::string> groups = {};
    std::vector<std::string> resources = {};  // With subresources, as "computedomains/status".
    std::vector<std::string> names = {};      // Empty: all.
    std::vector<std::string> verbs = {};
  };

  std::vector<Rule> rules_;
};

}  // namespace simulation
