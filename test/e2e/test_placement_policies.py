"""What the policies of manifests/placement write, warn of and refuse, row by row, and that each part of them is needed."""

import json
import re

import pytest
from cluster import PLACEMENT, REPO, Setup
from dry_runs import DryRuns
from kustomizations import built
from objects import as_list, domain
from placement_mutants import mutants
from placement_rows import LABEL, NEAR, ROWS, Tried, with_uid
from versions import PLACEMENT_ON, PLACEMENT_VERSION, needs_placement
from waiting import eventually

CLUSTER = Setup(nodes=0, controlplane=PLACEMENT_ON)
FOLDERS = {"place": PLACEMENT, "preferred": PLACEMENT,
           "check": REPO / "manifests/placement/check", "required": REPO / "manifests/placement/required"}
NAMES = {"place": "cdom-placement", **{name: f"cdom-placement-{name}" for name in ("preferred", "check", "required")}}
COLLECTIONS = {"Pod": "/api/v1/namespaces/{}/pods", "Job": "/apis/batch/v1/namespaces/{}/jobs",
               "Deployment": "/apis/apps/v1/namespaces/{}/deployments", "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets"}
PLACED = {"labels": {"cdom.dev/placement": "clique"}}
STAYS = {"finalizers": ["example.com/stays"]}


def grouped_by(label):
    return {"annotations": {"cdom.dev/placement-group-label": label}}


# The domains that rows name, except `other`, which does not exist.
DOMAINS = {"placed": PLACED, "alone": {"labels": {"cdom.dev/placement": "exclusive-clique"}}, "free": {},
           "unknown": {"labels": {"cdom.dev/placement": "rack"}}, "anywhere": {"labels": {"cdom.dev/placement": "any"}},
           "going": {**PLACED, **STAYS}, "leaving": STAYS, "beaten": PLACED, "robbed": {},
           **{name: {**PLACED, **grouped_by(label)} for name, label in (
               ("grouped", "example.com/group"), ("misgrouped", "no key"), ("selfgrouped", LABEL))},
           "parted": grouped_by("example.com/group"), "selfparted": grouped_by(NEAR)}
TAKEN = {"type": "Ready", "status": "False", "reason": "TemplateNameTaken", "message": "it is",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}


def requires_placement(namespace):
    return namespace in ("required", "driver-required", "kube-node-lease") or (
        namespace.startswith("m-required-") and namespace != "m-required-isrequired")  # That is for the policy that does not ask.


def namespace_labels(name):
    if name.startswith("driver"):
        return {"cdom.dev/driver": "true"}
    return {"cdom.dev/prefer-clique": "false"} if name == "indifferent" else {}


def body_of(row, uid):
    made = with_uid(row.made, uid)
    spec = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
    if made["domain"]:
        spec["resourceClaims"] = [{"name": "channel", "resourceClaimTemplateName": f"{made['domain']}-channel"}]
    if made["affinity"]:
        spec["affinity"] = made["affinity"]
    if made["spread"]:
        spec["topologySpreadConstraints"] = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": made["spread"],
                                              "labelSelector": {"matchLabels": {"app": "a"}}}]
    pod = {"metadata": {"labels": made["labels"]} if made["labels"] else {}, "spec": spec}
    if made["kind"] == "Pod":
        return {**pod, "metadata": {**pod["metadata"], "name": "made"}}
    more = {"selector": {"matchLabels": {"app": "a"}}}
    if made["kind"] == "Job":
        more, spec["restartPolicy"] = {}, "Never"
    return {"metadata": {"name": "made"}, "spec": {**more, "template": pod}}


def own(found):
    """What is not of this object alone."""
    for field in ("uid", "namespace", "creationTimestamp", "managedFields", "generation"):
        found.get("metadata", {}).pop(field, None)
    return {key: value for key, value in found.items() if key != "status"}


class World:
    """The domains that rows name, without a controller."""

    def __init__(self, cluster):
        self.cluster = cluster
        self._api = DryRuns(cluster)
        self._uids = {}
        self._namespaces = {"plain"}

    def make_domains(self, rows):
        """In each namespace of the rows those that they name there."""
        wanted = {(row.namespace, row.made["domain"]) for row in rows if row.made["domain"] in DOMAINS}
        namespaces = {namespace for namespace, _ in wanted} | {"plain"}
        self._namespaces |= namespaces
        made = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": name, "labels": namespace_labels(name),
            "annotations": {"cdom.dev/placement-required": "true"} if requires_placement(name) else {}}} for name in sorted(namespaces)]
        made += [merged_metadata(domain(name, namespace), DOMAINS[name]) for namespace, name in sorted(wanted)]
        self.cluster.kubectl("apply", "--server-side", "--validate=false", "-f", "-", stdin=as_list(made))
        for namespace, name in wanted:
            if name in ("going", "leaving"):
                self.cluster.kubectl("delete", "computedomain", "-n", namespace, name, "--wait=false")
            if name in ("beaten", "robbed"):
                self.cluster.kubectl("patch", "computedomain", "-n", namespace, name, "--subresource=status", "--type=merge",
                                     "-p", json.dumps({"status": {"status": "NotReady", "conditions": [TAKEN]}}))
        self._uids = {(one["metadata"]["namespace"], one["metadata"]["name"]): one["metadata"]["uid"]
                      for one in self.cluster.list("computedomains", "")}

        def without_account():
            found = {one["metadata"]["namespace"] for one in self.cluster.list("serviceaccounts", "")
                     if one["metadata"]["name"] == "default"}
            return sorted(namespaces - found)
        eventually("namespaces whose pods have no account yet", without_account, [])

    def results(self, rows):
        """Each row with what is wrong with it: "" if it comes out."""
        for row in rows:
            kind, uid = row.made["kind"], self._uids.get((row.namespace, row.made["domain"]))
            body = json.dumps(body_of(row, uid))
            answer, plain = (self._api.ask("admin", "create", COLLECTIONS[kind].format(namespace), body)
                             for namespace in (row.namespace, "plain"))
            yield row, row.expected(Tried(own(answer.object), own(plain.object), uid, answer.warnings, kind))

    def wrong(self, rows):
        return [f"{row.part}: {row.sentence}: {text}" for row, text in self.results(rows) if text]

    def come_out(self, policy):
        eventually(f"rows of {policy} that are wrong", lambda: self.wrong(rows_of(policy)), [])

    def is_undone(self, policy):
        eventually(f"rows of {policy} are wrong without it", lambda: self.wrong(rows_of(policy)))

    def is_typed(self, name):
        def status():
            found = self.cluster.get("validatingadmissionpolicy", name)
            return found["status"]["observedGeneration"] - found["metadata"]["generation"], found["status"]["typeChecking"]
        eventually(f"the API server has checked the types of {name}", status, (0, {}))

    def clear(self):
        for one in self.cluster.list("computedomains", ""):
            if "finalizers" in one["metadata"]:
                self.cluster.kubectl("patch", "computedomain", "-n", one["metadata"]["namespace"], one["metadata"]["name"],
                                     "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
        self.cluster.kubectl("delete", "computedomains", "--all", "--all-namespaces", "--wait=false")
        made = sorted(name for name in self._namespaces if not name.startswith("kube-"))
        self.cluster.kubectl("delete", "namespaces", *made, "--wait=false")
        self.cluster.kubectl("annotate", "namespace", "kube-node-lease", "cdom.dev/placement-required-")


def merged_metadata(made, metadata):
    made["metadata"].update(metadata)
    return made


def rows_of(policy):
    return [row for row in ROWS if row.policy == policy]


@pytest.fixture(scope="module")
def world(cluster):
    made = World(cluster)
    made.make_domains(ROWS)
    yield made
    made.clear()


@pytest.fixture
def applied(cluster):
    """applied(POLICY): applies it until the end of the case."""
    names = []

    def apply(name):
        names.append(name)
        cluster.kubectl("apply", "-k", FOLDERS[name])
    yield apply
    for name in reversed(names):
        cluster.kubectl("delete", "-k", FOLDERS[name], "--ignore-not-found")


def undo(world, policy):
    world.cluster.kubectl("delete", "-k", FOLDERS[policy])
    world.is_undone(policy)


@needs_placement
def test_pods_are_placed_as_the_rows_say_and_not_changed_otherwise(world, applied):
    applied("place")
    world.come_out("place")
    world.come_out("preferred")
    undo(world, "place")
    world.is_undone("preferred")


@needs_placement
def test_REV3_X5_pod_cannot_keep_itself_out_of_a_required_clique(world, applied):
    cluster = world.cluster
    applied("place")
    applied("required")
    world.come_out("place")
    world.come_out("required")
    world.is_typed("cdom-placement-required")
    # Nor by another label later.
    spec = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}],
            "resourceClaims": [{"name": "channel", "resourceClaimTemplateName": "placed-channel"}]}
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "later", "namespace": "required"}, "spec": spec}))
    uid = cluster.get("computedomain", "placed", "required")["metadata"]["uid"]
    assert cluster.get("pod", "later", "required")["metadata"]["labels"] == {LABEL: uid}
    for label in (f"{LABEL}-", f"{LABEL}=mine"):
        assert "cdom-placement-required" in cluster.refused("label", "pod", "-n", "required", "later", label, "--overwrite")
    cluster.kubectl("label", "pod", "-n", "required", "later", "app=a")
    cluster.kubectl("delete", "pod", "-n", "required", "later", "--grace-period=0", "--force")
    cluster.kubectl("delete", "-k", FOLDERS["required"])
    undo(world, "place")
    world.is_undone("required")


def test_check_policy_warns_of_what_keeps_no_pods_in_their_clique(world, applied):
    cluster = world.cluster
    applied("check")
    world.come_out("check")
    world.is_typed("cdom-placement-check")
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
            "resourceClaims": [{"name": "channel", "resourceClaimTemplateName": "placed-channel"}]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "told", "namespace": "team"},
           "spec": {"template": {"spec": spec}}}
    message = "nothing keeps the pods of ComputeDomain placed in one NVLink clique"
    since = cluster.audit_size()
    # kubectl prints the API server's warning, and then fails because of it.
    assert re.search(f"^Warning: .*{message}", cluster.refused("create", "-f", "-", "--warnings-as-errors", stdin=json.dumps(job)),
                     re.MULTILINE)

    def failures():
        return [value for entry in cluster.audit_entries(since) for key, value in entry.get("annotations", {}).items()
                if key == "validation.policy.admission.k8s.io/validation_failure"]
    eventually("the audit log has it", failures, lambda texts: "cdom-placement-check" in "".join(texts))
    cluster.kubectl("delete", "job", "-n", "team", "told")
    cluster.kubectl("patch", "validatingadmissionpolicybinding", "cdom-placement-check", "--type=merge",
                    "-p", '{"spec": {"validationActions": ["Deny"]}}')
    eventually("it refuses", lambda: cluster.try_to_create(job), re.compile(f"denied request: .*{message}"))
    undo(world, "check")


@needs_placement
def test_each_part_of_the_placement_policies_is_missed_by_its_rows(world):
    cluster = world.cluster
    made = []
    for name, folder in FOLDERS.items():
        by_kind = {one["kind"].endswith("Binding"): one for one in built(cluster, folder)
                   if one["metadata"]["name"] == NAMES[name]}
        made += mutants(name, by_kind[False], by_kind[True])
    # Parts of the policies, and parts that rows name.
    for name in FOLDERS:
        of_policy = sorted(one.part for one in made if one.policy == name and one.part != "nothing")
        assert of_policy == sorted({row.part for row in rows_of(name)} - {"-"})

    rows, whole = [], []  # Each row where the policy without its part is at work; a row of each policy where a whole copy is.
    for one in made:
        if one.part == "nothing":
            first = next(row for row in rows_of(one.policy) if row.part in ("label", "1"))
            whole.append(first._replace(namespace=one.namespace, part="nothing"))
        else:
            rows += [row._replace(namespace=one.namespace) for row in rows_of(one.policy) if row.part == one.part]
    world.make_domains(rows + whole)
    # In this order: when the last ones are at work, all are.
    cluster.kubectl("create", "--validate=false", "-f", "-", stdin=as_list(one for mutant in made for one in mutant.objects))
    try:
        eventually("rows that are wrong with whole copies", lambda: world.wrong(whole), [])
        results = list(world.results(rows))
        assert [f"{row.policy} without {row.part}: {row.sentence}" for row, text in results if not text] == []
        assert min(sum(row.policy == name for row, _ in results) for name in FOLDERS) > 7
    finally:
        for kind, version in (("mutating", PLACEMENT_VERSION), ("validating", "v1")):
            group = f"/apis/admissionregistration.k8s.io/{version}"
            for what in ("policybindings", "policies"):
                cluster.kubectl("delete", "--raw", f"{group}/{kind}admission{what}?labelSelector=example.com/mutant")
