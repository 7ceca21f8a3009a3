"""What every user meets, on real kubelets: apply, run, a node that is lost and comes back, delete."""

from namespaces import conditions
from objects import domain
from real_nodes import DRIVER, NODES, worker
from waiting import eventually

WORKERS = {f"smoke-{number}": node for number, node in enumerate(NODES, 1)}
CHANNELS = "dev/nvidia-caps-imex-channels"

# Kubernetes gives pods five minutes on a node that is lost; the control plane of the tests gives them less.
STAYS = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute"} for key in ("not-ready", "unreachable")]


def told(nodes):
    """Why the domain is Ready or not, and what its status says of each member."""
    status = nodes.get("computedomain", "smoke")["status"]
    ready = conditions(status)["Ready"]
    return ready["reason"], ready["message"], {one["name"]: one["status"] for one in status.get("nodes", [])}


def kept(nodes):
    """What a domain leaves in the cluster and on the nodes while it lives, by the names."""
    objects = "computedomains,resourceclaimtemplates,resourceclaims,daemonsets,pods"
    listed = [f"{one['kind']} {one['metadata']['namespace']}/{one['metadata']['name']}"
              for one in nodes.kubectl_json("get", objects, "--all-namespaces")["items"]]
    return (sorted(listed), {node: nodes.label(node) for node in NODES},
            {node: sorted(nodes.spec_files(node)) for node in NODES},
            {node: sorted(nodes.checkpoint(node)) for node in NODES})


def test_a_domain_serves_a_job_loses_a_node_and_leaves_nothing(nodes):
    before = kept(nodes)
    workers = [worker(pod, node, "smoke") for pod, node in WORKERS.items()]
    for one in workers:
        one["spec"]["tolerations"] = STAYS
    nodes.apply(domain("smoke"), *workers)
    try:
        for pod, node in WORKERS.items():
            nodes.wait_until_it_runs(pod, 120)
            # The channel is in the container, and the CDI spec of the claim is on its node.
            root = f"/proc/{nodes.process_of(nodes.pod(pod))}/root"
            assert nodes.run(node, "ls", f"{root}/{CHANNELS}").split() == ["channel0"]
            _, claim = nodes.claim_of(pod)
            assert any(claim in file for file in nodes.spec_files(node)), f"{node} has no CDI spec of {DRIVER} for {pod}"
        ready = dict.fromkeys(NODES, "Ready")
        eventually("both nodes are ready members", lambda: told(nodes),
                   lambda got: got[0] == "AllMembersReady" and got[2] == ready)

        runs = nodes.lives("default")
        with nodes.without_kubelet("node-2"):
            eventually("the domain says which node is lost", lambda: told(nodes),
                       lambda got: got[0] == "NodeLost" and "node-2" in got[1] and got[2]["node-1"] == "Ready", within=180)
        eventually("both nodes are ready members again", lambda: told(nodes),
                   lambda got: got[0] == "AllMembersReady" and got[2] == ready, within=180)
        assert nodes.lives("default") == runs, "the workers ran on"
    finally:
        nodes.kubectl("delete", "pods", *WORKERS, "--timeout=90s", "--ignore-not-found")
        nodes.kubectl("delete", "computedomain", "smoke", "--timeout=90s", "--ignore-not-found")
    eventually("what is left", lambda: kept(nodes), before, within=90)
