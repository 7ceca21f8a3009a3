"""The rights of our accounts as manifests/ grants them, and how one of them is taken away for a while."""

import contextlib
import json
import re
import typing

from actors import Api
from cluster import REPO
from waiting import eventually

LABEL = "resource.nvidia.com/computeDomain"
# By who tries each of the roles.
CONTROLLER = ("cdom-controller", "cdom-metrics-auth")
PLUGIN = ("cdom-kubelet-plugin",)
DAEMON = ("compute-domain-daemon-role",)
OTHERS = {
    "cdom-release-finalizers": "test_release_rights.py",
    "cdom-view": "of tenants: test_tenants.py",
    "cdom-edit": "of tenants: test_tenants.py",
    "cdom-metrics-reader": "of a Prometheus: test_metrics.py",
    "cdom-kubelet-plugin-recovery": "bound to no account as shipped",
}


class Right(typing.NamedTuple):
    kind: str  # Of the role.
    role: str
    verb: str
    resource: str  # With the subresource.
    group: str
    name: str  # The only object; empty: any.

    def __str__(self):
        return f"{self.verb}-{self.resource.replace('/', '-')}-of-{self.kind.lower()}-{self.role}"


class Admin:
    """Who may do everything."""

    headers: typing.ClassVar = {}


def shipped_roles():
    """(kind, name, text) of each role in manifests/."""
    for file in sorted((REPO / "manifests").rglob("*.yaml")):
        for document in file.read_text().split("\n---\n"):
            kind = re.search(r"^kind: (Role|ClusterRole)$", document, re.MULTILINE)
            if kind:
                yield kind[1], re.search(r"^  name: (\S+)$", document, re.MULTILINE)[1], document


def rights_by(roles):
    """Each right that roles of these names grant, by the text of manifests/."""
    return [right for kind, role, text in shipped_roles() if role in roles for right in rights_of(kind, role, text)]


def rights_of(kind, role, document):
    found = []
    for rule in re.split(r"^- (?=apiGroups:)", document, flags=re.MULTILINE)[1:]:
        fields = {key: [one.strip().strip('"') for one in values.split(",")]
                  for key, values in re.findall(r"^ *(\w+): \[(.*)\]$", rule, re.MULTILINE)}
        found += [Right(kind, role, verb, resource, group, name)
                  for verb in fields["verbs"] for resource in fields["resources"] for group in fields["apiGroups"]
                  for name in fields.get("resourceNames", [""])]
    return found


class Roles:
    """The roles on a cluster."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._api = Api(cluster)

    def granted(self, expected):
        """What the roles of these rights grant there, sorted."""
        return sorted(Right(kind, role, verb, resource, group, name)
                      for kind, role in {(one.kind, one.role) for one in expected}
                      for rule in self._rules(kind, role) for verb in rule["verbs"] for resource in rule["resources"]
                      for group in rule["apiGroups"] for name in rule.get("resourceNames", [""]))

    def without(self, right, account):
        """The account lacks this right meanwhile."""
        return self._with_verbs(right, account, lambda verbs: [verb for verb in verbs if verb != right.verb])

    def with_only(self, verb, right, account):
        """Of what it may do with the resource of this right, the account may do that alone meanwhile."""
        return self._with_verbs(right, account, lambda _: [verb])

    @contextlib.contextmanager
    def _with_verbs(self, right, account, change):
        rules = self._rules(right.kind, right.role)
        less = [{**one, "verbs": change(one["verbs"]) if is_about(one, right) else one["verbs"]} for one in rules]
        assert less != rules
        try:
            self._set(right, [one for one in less if one["verbs"]])
            eventually(f"{account} lacks {right}", lambda: not self._may(account, right))
            yield
        finally:
            self._set(right, rules)
            eventually(f"{account} has {right} again", lambda: self._may(account, right))

    def show_needed(self, right, account, work, log=None):
        """Without the right, the API server refuses what `work` begins, and the text of `log` names the right, if given."""
        since = self._cluster.audit_size()
        with self.without(right, account):
            work()
            eventually(f"the API server refuses {right}", lambda: was_refused(self._cluster, account, right, since))
            if log:
                eventually(f"the log names {right}", lambda: names(log(), right))

    def _rules(self, kind, role):
        return self._cluster.get(kind, role, "cdom-system")["rules"]

    def _set(self, right, rules):
        self._cluster.kubectl("patch", right.kind, right.role, "-n", "cdom-system", "--type=merge", "-p",
                              json.dumps({"rules": rules}))

    def _may(self, account, right):
        resource, _, sub = right.resource.partition("/")
        asked = {"verb": right.verb, "group": right.group, "resource": resource, "subresource": sub, "name": right.name,
                 "namespace": "cdom-system" if right.kind == "Role" else ""}
        status, text = self._api.ask(Admin, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": account, "groups": ["system:authenticated"], "resourceAttributes": asked}})
        assert status == 201, text
        return json.loads(text)["status"]["allowed"]


def is_about(rule, right):
    return (right.resource in rule["resources"] and right.group in rule["apiGroups"] and
            (right.name in rule.get("resourceNames", []) if right.name else "resourceNames" not in rule))


def was_refused(cluster, account, right, since):
    """Whether the API server has answered 403 to such a request."""
    def is_it(asked):
        resource = "/".join(asked[key] for key in ("resource", "subresource") if key in asked)
        return resource == right.resource and asked.get("apiGroup", "") == right.group
    return any(one["verb"] == right.verb and one["responseStatus"]["code"] == 403 and is_it(one.get("objectRef", {}))
               for one in cluster.requests_of(account, since))


def names(log, right):
    """Whether a line of the log names the right, in the API server's words or in the program's.

    A PATCH that is refused is tried as GET and PUT, and the line has the last refusal.
    """
    verbs = "patch|get|update" if right.verb == "patch" else right.verb
    resource = re.escape(right.resource)
    return re.search(rf'cannot ({verbs}) resource \\*"{resource}\\*"|permission="{right.verb} {resource}"', log) is not None
