"""The rows of policies.tsv and what the API server makes of them; its head says what the columns are."""

import contextlib
import json
import re
import typing

import dra
import pytest
from cluster import REPO, Setup
from dry_runs import DryRuns
from objects import as_list
from versions import is_before
from waiting import eventually

# No pod runs. Rows ask in each version of DRA, and for privileged pods.
CLUSTER = Setup(nodes=0, controlplane=("--runtime-config", "resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true", *dra.ALTERNATIVES_ON,
                                       "--apiserver-arg", "--allow-privileged=true"))
FOLDER = REPO / "test/e2e"
DAEMONS = "compute-domain-daemon-service-account"
CONTROLLER = "system:serviceaccount:cdom-system:cdom-controller"


class Row(typing.NamedTuple):
    policy: str
    rule: str
    who: str
    verb: str
    path: str
    body: str
    expected: str
    pattern: str
    sentence: str


class Verdict(typing.NamedTuple):
    word: str  # allow, warn or deny; neither if the answer is not the policy's.
    message: str


def verdict(policy, answer):
    """What the policy has made of the request."""
    own = f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}'"
    if answer.code < 300:
        warning = next((one.partition(f"{own}: ")[2] for one in answer.warnings if f"{own}: " in one), None)
        return Verdict("allow", "") if warning is None else Verdict("warn", warning)
    # What is admitted of an exec or attach goes to a kubelet, and there is none.
    if "no preferred addresses found" in answer.message:
        return Verdict("allow", "")
    if f"{own} denied request: " in answer.message:
        return Verdict("deny", answer.message.partition("denied request: ")[2])
    return Verdict("neither", f"{answer.code} {answer.message}")


class Policies:
    """The objects that the rows are about, on a cluster with all policies. Making it again does no harm."""

    def __init__(self, cluster):
        self.cluster = cluster
        domain = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10"
        self.names = {"domain": domain, "other": "5d0f6c1a-33c2-4c0e-9b57-0d8f2b7e6a44",
                      "pod": f"computedomain-daemon-{domain}-aaaaa", "peer": f"computedomain-daemon-{domain}-bbbbb"}
        self._make_objects()
        self._api = DryRuns(cluster)
        for who, account, pod in (("daemon", DAEMONS, self.names["pod"]), ("misnamed", DAEMONS, "imex-aaaaa"),
                                  ("unbound", DAEMONS, None), ("plugin", "cdom-kubelet-plugin", "plugin")):
            bound = ("--bound-object-kind", "Pod", "--bound-object-name", pod, "--bound-object-uid", self._uid(pod)) if pod else ()
            self._api.add_token(who, cluster.kubectl("create", "token", account, "-n", "cdom-system", *bound))
        self.apply()
        lines = self.fill((FOLDER / "policies.tsv").read_text()).splitlines()
        self.rows = [Row(*line.split("\t")) for line in lines if line and not line.startswith("#")]
        if is_before("1.36"):  # It drops this field before policies see it.
            self.rows = [row for row in self.rows if "sharedCounters" not in row.body]
        self.policies = sorted({row.policy for row in self.rows})

    def _make_objects(self):
        lines = (FOLDER / "policies_objects.yaml").read_text().splitlines(keepends=True)

        def apply(text):
            eventually("the objects of the rows are taken", lambda: self.cluster.kubectl("apply", "-f", "-", stdin=text))
        apply(self.fill("".join(line for line in lines if "kind: ComputeDomainClique," not in line)))
        self.names.update(pod_uid=self._uid(self.names["pod"]), peer_uid=self._uid(self.names["peer"]))
        # Now their owner exists.
        apply(self.fill("".join(line for line in lines if not line.startswith("- ") or "kind: ComputeDomainClique," in line)))
        self.cluster.kubectl("delete", "computedomain", "-n", "team", "going", "--wait=false")

    def _uid(self, pod):
        return self.cluster.get("pod", pod, "cdom-system")["metadata"]["uid"]

    def fill(self, text):
        """The text with the names that rows and objects use."""
        return re.sub(r"\$(domain|other|pod|peer|pod_uid|peer_uid)\b", lambda found: self.names[found[1]], text)

    def apply(self):
        """All policies, as they are in manifests."""
        for folder in ("policies", "policies/advice", "policies/tenant-limits"):
            self.cluster.kubectl("apply", "-k", REPO / "manifests" / folder)
        self.cluster.kubectl("apply", "-f", REPO / "manifests/release-finalizers/policy.yaml")

    def objects(self):
        return self.cluster.kubectl_json("get", "validatingadmissionpolicies", *self.policies)["items"]

    # --- Verdicts

    def ask(self, policy, who, verb, path, body=None):
        """The policy's verdict. `body` is an object, or the text of one."""
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        return verdict(policy, self._api.ask(who, verb, self.fill(path), text and self.fill(text)))

    def wrong(self, rows):
        """A line for each row that does not come out as it says."""
        assert rows, "there are no such rows"
        lines = []
        for row in rows:
            got = self.ask_row(row)
            if got.word != row.expected or (row.expected != "allow" and not re.search(row.pattern, got.message)):
                lines.append(f"{row.policy}, {row.sentence}: wanted {row.expected} {row.pattern}, got {' '.join(got)}")
        return lines

    def first_of(self, policy, rule):
        """The verdict on the first row of that rule."""
        return self.ask_row(next(row for row in self.rows if (row.policy, row.rule) == (policy, str(rule)))).word

    def ask_row(self, row):
        return self.ask(row.policy, row.who, row.verb, row.path, None if row.body == "-" else row.body)

    # --- Other policies for a while

    @contextlib.contextmanager
    def without(self, policy):
        """As before the policy was there. What it keeps out passes a moment later: try until it does."""
        self.cluster.kubectl("delete", "validatingadmissionpolicybinding", policy)
        try:
            yield
        finally:
            self.cluster.kubectl("apply", "-k", REPO / "manifests/policies")

    @contextlib.contextmanager
    def replaced_by(self, folder):
        """With this kustomization; afterwards all is as in manifests again."""
        eventually(f"{folder.name} is applied", lambda: self.cluster.kubectl("apply", "-k", folder))
        try:
            yield
        finally:
            self.cluster.kubectl("apply", "-k", REPO / "manifests/local")
            self.apply()

    def replace(self, objects):
        text = as_list(objects)
        # Meanwhile the API server writes the status of the policies, which is a conflict.
        eventually("they are replaced", lambda: self.cluster.kubectl("replace", "-f", "-", stdin=text))


@pytest.fixture(scope="module")
def policies(cluster):
    return Policies(cluster)
