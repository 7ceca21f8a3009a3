"""Users by the names of Kubernetes' roles, each bound to its own in the namespace `team`; `neighbour` may edit `other`, and
`operator` may look into the driver's namespace."""

import pytest
from cluster import Setup
from waiting import eventually

CLUSTER = Setup(placement=True, controller=())


def binding(namespace, user, role):
    group = "rbac.authorization.k8s.io"
    return {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": {"name": user, "namespace": namespace},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}]}


@pytest.fixture(scope="module")
def tenants(cluster):
    """The cluster, with these users."""
    cluster.apply(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("team", "other")),
                  *(binding("team", role, role) for role in ("view", "edit", "admin")), binding("other", "neighbour", "edit"),
                  binding("cdom-system", "operator", "view"))

    def may_create():
        return [cluster.kubectl("auth", "can-i", "create", "computedomains.resource.nvidia.com", "-n", namespace, "--as", user,
                                check=False).strip() for namespace, user in (("team", "edit"), ("team", "admin"), ("other", "neighbour"))]
    eventually("Kubernetes has put the roles together", may_create, ["yes"] * 3)
    yield cluster
    cluster.kubectl("delete", "rolebinding", "operator", "-n", "cdom-system")
    cluster.kubectl("delete", "namespaces", "team", "other", "--timeout=90s")
