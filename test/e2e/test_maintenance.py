"""Pages that need a job are typed as they are printed: nodes and racks that are maintained, and a symptom."""

import contextlib
import subprocess

import pytest
import yaml
from cluster import REPO, Setup
from clusters import is_kept
from namespaces import Namespace, field_in, is_up, members_in
from objects import CLIQUE, domain, job, worker_pod
from pages import blocks, reading, run_commands
from versions import needs_placement
from waiting import eventually

# As a rack is installed: cdom's daemons, which report the state of IMEX.
CLUSTER = Setup(nodes=16, placement=True, nodesim=("--imex-reports",), controller=("--membership-writer", "controller"))
pytestmark = needs_placement


def stateful_set(name, count, template_name=None):
    """Its pods claim from the domain's template, or from the one that is named."""
    template = worker_pod(name)
    template["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = template_name or f"{name}-channel"
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
            "spec": {"replicas": count, "serviceName": name, "podManagementPolicy": "Parallel",
                     "selector": {"matchLabels": {"app": name}}, "template": template}}


@pytest.fixture
def default(request, cluster):
    """The namespace in which the page's commands look."""
    own = Namespace(cluster, "default")
    yield own
    if not is_kept(request):
        cluster.kubectl("uncordon", "-l", CLIQUE)
        own.kubectl("delete", "statefulsets", "--all", "--timeout=60s")
        own.clear(force=True)


def node_of(namespace, pod):
    return namespace.get("pod", pod)["spec"]["nodeName"]


def other_clique(cluster, clique):
    return next(one for one in sorted({node["metadata"]["labels"][CLIQUE] for node in cluster.kubectl_json("get", "nodes")["items"]})
                if one != clique)


def serves(namespace, app):
    """Waits until the three pods of that app are ready. Their domain may share a clique with another."""
    eventually(f"pods of {app} that are ready", lambda: len(namespace.ready_pods(f"app={app}")), 3)


@contextlib.contextmanager
def rows(cluster, name):
    """The rows of the domain meanwhile, as a watch prints them: a list that is filled at the end."""
    seen = []
    command = cluster.command("get", "computedomain", name, "--watch", "--output=wide", "--no-headers")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout.readline()
        try:
            yield seen
        finally:
            watching.terminate()
            seen += [" ".join(line.split()) for line in watching.stdout]


def cliques_in(row):
    return row.split()[4]


def test_each_command_of_the_page_does_what_it_says_under_a_job(cluster, default):
    names = {"NODE": "", "CLIQUE": "", "POD": "train-3"}
    with reading(cluster, "docs/maintenance.md", names) as page:
        page.run(until="kubectl get cdom -A")
        status = default.is_in_step("train", 4)
        names["NODE"], names["CLIQUE"] = node, clique = members_in(status)[0], status["cliques"][0]["id"]
        page.run(until="kubectl drain NODE")
        default.says("train", "NodeLeaving", node, and_also=lambda status: node in members_in(status))
        page.run(until="kubectl uncordon NODE")
        assert node not in members_in(default.is_in_step("train", 4))
        page.run(until="kubectl cordon -l")

        names["CLIQUE"] = clique = default.is_in_step("train", 4)["cliques"][0]["id"]
        page.run(until="kubectl drain -l")
        with rows(cluster, "train") as seen:
            page.run(until="kubectl uncordon -l")
            status = default.is_in_step("train", 4)
        assert [one["id"] for one in status["cliques"]] == [other_clique(cluster, clique)]
        assert any(" PodsWaiting " in row for row in seen), seen
        assert not any(" SpansCliques " in row or " cliques" in row for row in seen), "\n".join(seen)
        page.run(until="kubectl get cdom train")

        cluster.nodesim.reboot(members_in(status)[0])
        page.run(until="kubectl get resourceslices")

        names["NODE"] = node_of(default, "train-3")
        page.run(until="kubectl delete node")
        default.is_in_step("train", 4)
        names["NODE"] = node = node_of(default, "train-3")
        cluster.nodesim.kill(node)
        page.run(until="kubectl get cdom train -o wide")
        page.run(until="kubectl get cdom train -o wide")
        # The entry stays as long as the daemon's pod. Kubernetes looks for pods without a node every 20 s, and waits 40 s before it believes it.
        eventually(f"Kubernetes deleted the pods on {node}", lambda: cluster.kubectl_json(
            "get", "pods", "--all-namespaces", f"--field-selector=spec.nodeName={node}")["items"], [], within=180)
        assert node not in members_in(default.is_in_step("train", 4))
        cluster.nodesim.revive(node)
        eventually(f"{node} exists again", lambda: cluster.get("node", node))
        is_up(cluster, node)

        moved = default.members("train")[0]
        old = field_in(default.status("train"), moved, "cliqueID")
        cluster.nodesim.move(moved, other_clique(cluster, old))
        page.run()
    default.is_in_step("train", 4)
    cluster.nodesim.move(moved, old)


def test_without_the_label_pods_of_a_drained_rack_start_elsewhere_at_once(cluster, default):
    default.apply(domain("loose"), stateful_set("loose", 4))
    [clique] = default.is_in_step("loose", 4)["cliques"]
    cluster.kubectl("cordon", "-l", f"{CLIQUE}={clique['id']}")
    with rows(cluster, "loose") as seen:
        cluster.kubectl("drain", "-l", f"{CLIQUE}={clique['id']}", "--ignore-daemonsets", "--timeout=60s")
        status = eventually("all members are in the other rack", lambda: default.is_in_step("loose", 4),
                            lambda status: [one["id"] for one in status["cliques"]] == [other_clique(cluster, clique["id"])])
    assert status["members"] == "4/4"
    assert "2" in {cliques_in(row) for row in seen}, seen


def test_a_job_with_the_policy_of_the_page_survives_a_drain_that_another_does_not(cluster, default):
    [policy] = blocks("docs/maintenance.md", "yaml")
    patient, strict = job("patient", 3, -1), job("strict", 3, -1)
    for one in (patient, strict):
        one["spec"]["backoffLimit"] = 0
    patient["spec"].update(yaml.safe_load(policy)["spec"])
    default.apply(domain("patient"), domain("strict"), patient, strict)
    for name in ("patient", "strict"):
        serves(default, name)
    before = {one["metadata"]["uid"] for one in default.list("pods", "app=patient")}
    cluster.kubectl("cordon", "-l", CLIQUE)
    cluster.kubectl("drain", "-l", CLIQUE, "--ignore-daemonsets", "--timeout=60s")
    default.kubectl("wait", "--for=condition=Failed", "job/strict", "--timeout=60s")
    eventually("pods of the other wait", lambda: {one["metadata"]["uid"] for one in default.list("pods", "app=patient")},
               lambda now: len(now) == 3 and not now & before, within=120)  # A Job waits longer after each pod that ended.
    assert "failed" not in default.get("job", "patient")["status"]
    eventually("the row counts the free nodes", lambda: default.condition("patient")["message"],
               lambda said: said.count("0 of 8 (8 unusable)") == 2)
    cluster.kubectl("uncordon", "-l", CLIQUE)
    serves(default, "patient")


def test_the_example_of_the_symptoms_page_finds_a_wrong_template_and_corrects_it(cluster, default):
    default.apply(domain("train"), stateful_set("train", 1, "train"))
    run_commands(cluster, "docs/symptoms.md", section="Follow an example")
    default.is_in_step("train", 1)
