"""Upgrades and the way back under a running job: between NVIDIA's controller and cdom, and between two versions of cdom."""

import contextlib
import json
import re

import pytest
from cluster import REPO, Setup
from namespaces import DRIVER, conditions, is_ready
from nvidia_driver import FINALIZER, children, contract, install_crds, write
from objects import LABEL, domain, pod_on, workers
from recorder import recording
from waiting import eventually

CLUSTER = Setup(nodes=16, nodesim=("--job-duration", "12000"))
DAEMONS_WRITE = ("--membership-writer", "daemon")


@pytest.fixture(autouse=True)
def cdoms_crds(cluster):
    yield
    install_crds(cluster, "cdom")


@contextlib.contextmanager
def watched(namespace, name, fields):
    """A function that returns what kubectl has shown up to now: a line of these fields (JSONPath) for each change of the domain."""
    # A list of one: if an object is named, kubectl does not show a change between its GET and its WATCH.
    only = ("-n", namespace.name, "--field-selector", f"metadata.name={name}")
    with recording(namespace.cluster, "computedomains", fields, *only) as recorder:
        def lines():
            eventually(f"the present version of {name} is shown", recorder.not_shown, [])
            return [line.split(" ", 2)[2] for line in recorder.lines()]
        yield lines


def assert_same_members(lines, count):
    """In each line the same nodes."""
    assert [sorted(line.split()) for line in lines if sorted(line.split()) != sorted(lines[0].split())] == []
    assert lines and len(set(lines[0].split())) == count


def serving(namespace, name):
    """What must not change while controllers do: the daemons of that domain, and the pods of the app with its name."""
    pods = namespace.cluster.list("pods", DRIVER, namespace.label(name)) + namespace.list("pods", f"app={name}")
    return sorted([one["metadata"]["uid"], one["status"]["containerStatuses"][0]["restartCount"]] for one in pods)


def three_workers(namespace, name):
    namespace.apply(domain(name), workers(name, 3, one_clique=True))


def end_of_workload_and_domain(namespace, name):
    """As an upgrade of NVIDIA's demands: both end, and another one can be made, used and ended."""
    namespace.delete("deployment", name)
    namespace.delete("computedomain", name)
    eventually("its pods", lambda: namespace.list("pods", f"app={name}"), [])
    namespace.apply(domain("next"), pod_on("next", "node-012", "next-channel"))
    eventually("a new pod is ready", lambda: is_ready(namespace.get("pod", "next")), within=100)
    eventually("a new domain", lambda: (namespace.status("next")["status"], namespace.members("next")), ("Ready", ["node-012"]))
    namespace.delete("pod", "next")
    namespace.delete("computedomain", "next")


def template_of(namespace, name):
    found = namespace.get("resourceclaimtemplate", f"{name}-channel")
    return found["metadata"]["uid"], found["spec"]


def assert_as_nvidia_would_make_them(namespace, name):
    """Each child of ours, in the fields that others read."""
    theirs = children(namespace.name, name, namespace.uid(name))
    ours = [namespace.cluster.get(one["kind"], one["metadata"]["name"], one["metadata"]["namespace"]) for one in theirs]
    assert [contract(one) for one in ours] == [contract(one) for one in theirs]


@pytest.mark.usefixtures("nothing_is_left_in_shape")
@pytest.mark.parametrize("version", ["25.8.1", "main"])
def test_downgrade_to_nvidias_controller_and_back_works_on_its_crds(cluster, namespace, version):
    cluster.controller_with(*DAEMONS_WRITE)
    # The second has GPUs in its template, for which NVIDIA's controller has no field.
    three_workers(namespace, "newer")
    namespace.apply(domain("wide"))
    namespace.kubectl("annotate", "computedomain", "wide", "cdom.dev/gpus=4")
    eventually("GPUs that the template asks for",
               lambda: template_of(namespace, "wide")[1]["spec"]["devices"]["requests"][1]["exactly"]["count"], 4)
    template = template_of(namespace, "wide")
    namespace.is_in_step("newer", 3, within=90)
    before = serving(namespace, "newer")
    cluster.end_controller()
    install_crds(cluster, version)
    # The release demands a field that the main branch and ours do not; the examples have it.
    bare = domain("bare")
    del bare["spec"]["numNodes"]
    answer = cluster.try_to_create(bare)
    assert ("spec.numNodes: Required value" in answer) == (version == "25.8.1"), answer
    cluster.kubectl("apply", "--dry-run=server", "-f", REPO / "examples/quickstart.yaml")

    # The names, labels, finalizer and fields by which NVIDIA's controller, plugin and daemon find their own.
    found = namespace.get("computedomain", "newer")
    assert found["metadata"]["finalizers"] == [FINALIZER]
    assert found["spec"] == {"numNodes": 0, "channel": {"allocationMode": "Single", "resourceClaimTemplate": {"name": "newer-channel"}}}
    nodes = found["status"].pop("nodes")
    assert found["status"] == {"status": "Ready"}
    assert sorted(one["index"] for one in nodes) == [0, 1, 2]
    assert [one for one in nodes if one["status"] != "Ready" or not one["ipAddress"] or not one["cliqueID"]] == []
    for name in ("newer", "wide"):
        assert_as_nvidia_would_make_them(namespace, name)
    uid = namespace.uid("newer")
    cliques = cluster.list("computedomaincliques", DRIVER, namespace.label("newer"))
    assert [len(one["daemons"]) for one in cliques
            if one["metadata"]["name"] == f"{uid}.{one['metadata']['labels'][f'{LABEL}.cliqueID']}"] == [3]
    eventually("nodes with the label, and those of workers", lambda: (
        sorted(one["metadata"]["name"] for one in cluster.list("nodes", "", f"{LABEL}={uid}")), namespace.workers_on("newer")),
        lambda got: got[0] == got[1] and got[0])
    for name in ("newer", "wide"):
        write(namespace, name)

    with watched(namespace, "newer", "{.object.status.nodes[*].name}") as lines:
        cluster.controller_with(*DAEMONS_WRITE)
        # On CRDs that drop conditions: a second domain shows that it works.
        namespace.apply(domain("beside"))
        eventually("a domain is provisioned", lambda: namespace.exists("resourceclaimtemplate", "beside-channel"))
        eventually("its status", lambda: (namespace.status("beside")["status"], namespace.members("beside")), ("Ready", []))
        namespace.delete("computedomain", "beside")
        assert cluster.controller_says("drops the conditions")
        for name, shares in ("newer", "True|False"), ("beside", "False"):
            eventually("the log says what the condition would", cluster.controller_log,
                       re.compile(rf'.* MemoryShared domain="[^"]*/{name}" uid="[^"]*" status="({shares})" reason=', re.DOTALL))
        assert serving(namespace, "newer") == before
        assert_same_members(lines(), 3)
    assert namespace.get("computedomain", "wide")["metadata"]["annotations"]["cdom.dev/gpus"] == "4"
    assert template_of(namespace, "wide") == template
    namespace.delete("computedomain", "wide")
    end_of_workload_and_domain(namespace, "newer")
    install_crds(cluster, "cdom")


@pytest.mark.usefixtures("nothing_is_left_in_shape")
@pytest.mark.parametrize("version", ["25.8.1", "main"])
def test_upgrade_from_nvidias_controller_keeps_the_workload(cluster, namespace, version):
    def owners():
        return [one["uid"] for one in namespace.get("resourceclaimtemplate", "older-channel")["metadata"].get("ownerReferences", [])]
    cluster.end_controller()
    install_crds(cluster, version)
    namespace.apply(domain("older"))
    uid = namespace.uid("older")
    cluster.apply(*children(namespace.name, "older", uid))
    namespace.apply(workers("older", 3, one_clique=True))
    eventually("nodes of workers", lambda: len(namespace.workers_on("older")), 3, within=90)
    write(namespace, "older")
    before = serving(namespace, "older")
    generation = cluster.get("daemonset", f"computedomain-daemon-{uid}", DRIVER)["metadata"]["generation"]

    with watched(namespace, "older", "{.object.status.nodes[*].name}") as lines:
        cluster.controller_with(*DAEMONS_WRITE)
        eventually("owners of the workload's template", owners, [uid])
        cluster.end_controller()
        assert_same_members(lines(), 3)
    install_crds(cluster, "cdom")
    with watched(namespace, "older", "{.object.status.nodes[*].name}") as lines:
        cluster.controller_with(*DAEMONS_WRITE)
        namespace.is_in_step("older", 3)
        assert_same_members(lines(), 3)
    assert serving(namespace, "older") == before
    assert cluster.get("daemonset", f"computedomain-daemon-{uid}", DRIVER)["metadata"]["generation"] == generation
    end_of_workload_and_domain(namespace, "older")


def stored_objects(namespace, name):
    """The children of the domain, and itself, as (kind, name, namespace)."""
    daemons = namespace.daemon_set(name)
    (clique,) = namespace.cluster.list("computedomaincliques", DRIVER, namespace.label(name))
    return (("daemonset", daemons, DRIVER), ("resourceclaimtemplate", daemons, DRIVER),
            ("computedomainclique", clique["metadata"]["name"], DRIVER), ("computedomain", name, namespace.name))


FORECAST = '{"v": 2}'


def store_what_no_version_knows(namespace, name):
    """Nothing of one version is in the code of the other, so what a version to come stores is made up."""
    cluster = namespace.cluster
    field = {"op": "add", "value": {"type": "string"},
             "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/forecast"}
    cluster.kubectl("patch", "crd", "computedomains.resource.nvidia.com", "--type=json", "-p", json.dumps([field]))
    for kind, stored, where in stored_objects(namespace, name):
        cluster.kubectl("annotate", kind, stored, "-n", where, f"cdom.dev/forecast={FORECAST}")
        if kind == "computedomainclique":
            cluster.kubectl("annotate", kind, stored, "-n", where, "--overwrite", "cdom.dev/held-indices=v2;node-000:7")

    def patched():
        text = namespace.kubectl("patch", "computedomain", name, "--subresource=status", "--type=merge",
                                 "-p", '{"status": {"forecast": "fair"}}', "-o", "json")
        return json.loads(text)["status"].get("forecast")
    eventually("the field that is kept", patched, "fair")
    found = namespace.get("computedomain", name)
    found["status"]["conditions"].append({**found["status"]["conditions"][0], "type": "Forecast", "reason": "Fair"})
    namespace.kubectl("replace", "--subresource=status", "-f", "-", stdin=json.dumps(found))


def assert_keeps_what_no_version_knows(namespace, name):
    annotations = {kind: namespace.cluster.get(kind, stored, where)["metadata"]["annotations"].get("cdom.dev/forecast")
                   for kind, stored, where in stored_objects(namespace, name)}
    assert annotations == dict.fromkeys(annotations, FORECAST)
    status = namespace.get("computedomain", name)["status"]
    assert (status["forecast"], conditions(status)["Forecast"]["reason"]) == ("fair", "Fair")


@pytest.mark.usefixtures("nothing_is_left_in_shape")
def test_two_versions_replace_one_daemon_of_a_clique_at_a_time(cluster, namespace):
    # They differ in everything that can differ: the daemons' image and settings, who writes the cliques, and what is stored.
    settings = cluster.folder / "older.yaml"
    settings.write_text(json.dumps({"apiVersion": "cdom.dev/v1alpha1", "kind": "ControllerConfiguration",
                                    "daemons": {"imex": {"nodeDisconnectedGraceTime": 300}, "priorityClassName": ""}}))

    def older():
        cluster.controller_with(*DAEMONS_WRITE, "--config", str(settings), image="cdom:0.0.9")

    def newer():
        cluster.controller_with("--membership-writer", "controller")

    def changes_over_to(image):
        def images():
            return [one["spec"]["containers"][0]["image"]
                    for one in cluster.list("pods", DRIVER, namespace.label("lasting")) if is_ready(one)]
        eventually("images of daemons that are ready", images, [image] * 3, within=90)
        status = namespace.is_in_step("lasting", 3)
        assert sorted(one["index"] for one in status["nodes"]) == [0, 1, 2]
    older()
    three_workers(namespace, "lasting")
    namespace.is_in_step("lasting", 3, within=90)
    work, (template, _) = namespace.lives("app=lasting"), template_of(namespace, "lasting")
    cluster.end_controller()
    store_what_no_version_knows(namespace, "lasting")
    # And one that did not say yet what it rendered.
    namespace.kubectl("annotate", "resourceclaimtemplate", "lasting-channel", "cdom.dev/template-hash-")

    with watched(namespace, "lasting", "{.object.status.members} {.object.status.nodes[*].name}") as lines:
        before = serving(namespace, "lasting")
        newer()
        # Under a job nothing restarts, unless somebody allows it.
        namespace.says("lasting", "Outdated", "once no pod uses their clique", kind="Provisioned")
        namespace.apply(domain("waited"))
        namespace.is_idle("waited")
        namespace.delete("computedomain", "waited")
        assert serving(namespace, "lasting") == before
        assert [line for line in lines() if not re.fullmatch(r"3/3( node-\d+){3}", line)] == []
        namespace.kubectl("annotate", "computedomain", "lasting", "cdom.dev/daemon-roll=Always")
        changes_over_to("cdom:0.2.0")
        older()
        changes_over_to("cdom:0.0.9")
        # Never two away at once, and one that is away is expected back.
        assert [line for line in lines() if not re.fullmatch(r"[23]/3( node-\d+){2,3}", line)] == []
        assert [line for line in lines() if line.startswith("2/3")], "no daemon was replaced"
    assert namespace.lives("app=lasting") == work
    assert template_of(namespace, "lasting")[0] == template
    assert_keeps_what_no_version_knows(namespace, "lasting")
    end_of_workload_and_domain(namespace, "lasting")


def joins_by_status(namespace, name, node):
    """Does what NVIDIA's daemon of 25.8.1 does on the node: it writes its entry into status, and its pod becomes ready. Simulated
    daemons write cliques. Returns the entry of a member that serves."""
    label = f"{LABEL}={namespace.uid(name)}"
    pods = eventually("its daemon", lambda: namespace.cluster.list("pods", DRIVER, label),
                      lambda found: [one for one in found if one["status"].get("podIP") and f"{LABEL}.cliqueID" in one["metadata"]["labels"]])
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    namespace.cluster.kubectl("patch", "pod", pods[0]["metadata"]["name"], "-n", DRIVER, "--subresource=status", "-p", json.dumps(ready))
    entry = {"name": node, "ipAddress": pods[0]["status"]["podIP"], "cliqueID": pods[0]["metadata"]["labels"][f"{LABEL}.cliqueID"],
             "index": 0, "status": "NotReady"}
    namespace.kubectl("patch", "computedomain", name, "--subresource=status", "--type=merge", "-p",
                      json.dumps({"status": {"status": "NotReady", "nodes": [entry]}}))
    return {**entry, "status": "Ready"}


@pytest.mark.usefixtures("nothing_is_left_in_shape")
def test_REV4_K8_with_nvidias_crds_of_25_8_1_alone_domains_are_served_without_cliques(cluster, namespace):
    """They have no computedomaincliques, and their ComputeDomain keeps no conditions: what a condition would say is in the log."""
    cluster.end_controller()
    install_crds(cluster, "25.8.1")
    cluster.kubectl("delete", "crd", "computedomaincliques.resource.nvidia.com", "--timeout=60s")
    try:
        cluster.run_controller(*DAEMONS_WRITE)
        namespace.apply(domain("alone"))
        eventually("a domain is provisioned", lambda: namespace.exists("resourceclaimtemplate", "alone-channel"))
        eventually("its status", lambda: namespace.status("alone"), {"status": "Ready"})
        assert re.search(r"Continuing without a resource.*computedomaincliques.*install the CRD of computedomaincliques",
                         cluster.controller_log())
        namespace.apply(pod_on("worker", "node-001", "alone-channel"))
        member = joins_by_status(namespace, "alone", "node-001")
        eventually("its member", lambda: namespace.status("alone"), {"status": "Ready", "nodes": [member]})
        namespace.delete("pod", "worker")
        eventually("its status", lambda: namespace.status("alone").get("nodes", []), [], within=90)
        # A status that keeps conditions says it there.
        cluster.kubectl("apply", "-f", REPO / "crds/computedomains.yaml")
        namespace.says("alone", "NoMembers", "Cliques are not served.*install the CRD of computedomaincliques", kind="MembersReady",
                       within=90)
        namespace.delete("computedomain", "alone")
    finally:
        install_crds(cluster, "cdom")
    # Nothing has to be started again.
    namespace.apply(domain("later"))
    namespace.is_idle("later", within=90)
    namespace.delete("computedomain", "later")
