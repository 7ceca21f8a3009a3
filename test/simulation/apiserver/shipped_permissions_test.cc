#include "test/simulation/apiserver/shipped_permissions.h"

#include <gtest/gtest.h>

namespace simulation {
namespace {

const char* const kRoles = R"(
kind: ClusterRole
metadata: {name: everywhere}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get]}
- {apiGroups: [resource.nvidia.com], resources: [computedomains/status], verbs: [patch]}
---
kind: ClusterRoleBinding
metadata: {name: everywhere}
subjects: [{kind: ServiceAccount, name: us, namespace: cdom-system}]
roleRef: {kind: ClusterRole, name: everywhere}
---
kind: Role
metadata: {name: here, namespace: cdom-system}
rules:
- {apiGroups: [""], resources: [pods], verbs: [list]}
- {apiGroups: [""], resources: [namespaces], verbs: [get]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [mine], verbs: [update]}
---
kind: RoleBinding
metadata: {name: here, namespace: cdom-system}
subjects: [{kind: ServiceAccount, name: us, namespace: cdom-system}]
roleRef: {kind: Role, name: here}
---
kind: ClusterRole
metadata: {name: of-nobody}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [delete]}
)";

bool Allows(http::Method method, const std::string& path, const std::string& account = "us") {
  return ShippedPermissions(kRoles, account).Allow(ParseTarget(method, path));
}

TEST(ShippedPermissions, AClusterRoleGoesForAllNamespacesAndARoleForItsOwn) {
  EXPECT_TRUE(Allows(http::Method::kGet, "/api/v1/namespaces/train/pods/a"));
  EXPECT_FALSE(Allows(http::Method::kDelete, "/api/v1/namespaces/train/pods/a"));
  EXPECT_TRUE(Allows(http::Method::kGet, "/api/v1/namespaces/cdom-system/pods"));
  EXPECT_FALSE(Allows(http::Method::kGet, "/api/v1/namespaces/train/pods"));
  EXPECT_FALSE(Allows(http::Method::kGet, "/api/v1/pods")) << "a Role is not for all of them";
}

TEST(ShippedPermissions, ANamespaceLiesInItself) {
  EXPECT_TRUE(Allows(http::Method::kGet, "/api/v1/namespaces/cdom-system"));
  EXPECT_FALSE(Allows(http::Method::kGet, "/api/v1/namespaces/train"));
}

TEST(ShippedPermissions, ASubresourceIsAnotherResource) {
  const std::string domain = "/apis/resource.nvidia.com/v1beta1/namespaces/train/computedomains/a";
  EXPECT_TRUE(Allows(http::Method::kPatch, domain + "/status"));
  EXPECT_FALSE(Allows(http::Method::kPatch, domain));
}

TEST(ShippedPermissions, ANameLimitsARight) {
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/cdom-system/leases/";
  EXPECT_TRUE(Allows(http::Method::kPut, leases + "mine"));
  EXPECT_FALSE(Allows(http::Method::kPut, leases + "yours"));
}

TEST(ShippedPermissions, ARoleThatNobodyBindsGrantsNothing) {
  EXPECT_FALSE(Allows(http::Method::kDelete, "/api/v1/nodes/a"));
  EXPECT_FALSE(Allows(http::Method::kGet, "/api/v1/namespaces/train/pods/a", "somebody-else"));
}

TEST(ShippedPermissions, TheControllerMayPatchDomainsAndNotDeleteThem) {
  const ShippedPermissions& rights = ShippedPermissions::OfController();
  const std::string domain = "/apis/resource.nvidia.com/v1beta1/namespaces/train/computedomains/a";
  EXPECT_TRUE(rights.Allow(ParseTarget(http::Method::kPatch, domain)));
  EXPECT_FALSE(rights.Allow(ParseTarget(http::Method::kDelete, domain)));
  EXPECT_FALSE(rights.Allow(ParseTarget(http::Method::kPut, domain)));
}

}  // namespace
}  // namespace simulation
