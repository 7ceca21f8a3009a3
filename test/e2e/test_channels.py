"""Pods get their channel, and kubectl shows what became of it."""

import re

import pytest
from actors import channel_claim
from cluster import REPO, Setup
from objects import CLIQUE, domain, naming, pod_on, workers
from namespaces import DRIVER, daemons_on, is_free, label_of
from requests_of import READS
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True, controller=("--membership-writer", "daemon"))
AGE = r"\d+[sm][\ds]*"


def test_sdn17_02_both_device_classes_exist_and_each_node_publishes_both_devices(cluster):
    cluster.kubectl("get", "deviceclass", "compute-domain-daemon.nvidia.com", "compute-domain-default-channel.nvidia.com")
    nodes = sorted(one["metadata"]["name"] for one in cluster.kubectl_json("get", "nodes", "-l", CLIQUE)["items"])
    assert len(nodes) == 16
    slices = [one["spec"] for one in cluster.kubectl_json("get", "resourceslices")["items"]]
    published = {one["nodeName"]: sorted(device["name"] for device in one["devices"])
                 for one in slices if one["driver"] == "compute-domain.nvidia.com"}
    assert published == {node: ["channel-0", "daemon-0"] for node in nodes}


@pytest.mark.usefixtures("nothing_is_left")
@pytest.mark.parametrize("mode", ["Single", "All"])
def test_a_pod_gets_its_channel_and_status_has_no_nodes_after_it_ends(cluster, namespace, mode):
    namespace.apply(domain("inject", num_nodes=1, mode=mode))
    eventually("the domain's status", lambda: namespace.status("inject")["status"], "NotReady")
    namespace.apply(pod_on("inject", "node-005", "inject-channel"))
    namespace.kubectl("wait", "--for=condition=Ready", "pod/inject", "--timeout=100s")
    namespace.says("inject", "AllMembersReady", "^All 1/1", and_also={"status": "Ready"})
    uid = namespace.uid("inject")
    parameters = [config["opaque"]["parameters"] for claim in namespace.list("resourceclaims")
                  for config in claim["spec"]["devices"]["config"]]
    assert [(one["domainID"], one["allocationMode"]) for one in parameters] == [(uid, mode)]
    assert uid in cluster.kubectl("get", "pods", "-n", DRIVER, "-o", "name")
    namespace.delete("pod", "inject")
    eventually("status without nodes", lambda: namespace.status("inject"),
               lambda status: status["status"] == "NotReady" and "nodes" not in status)
    namespace.delete("computedomain", "inject")


@pytest.mark.usefixtures("nothing_is_left")
def test_pods_that_name_one_claim_share_its_channel_until_the_last_ends(cluster, namespace):
    def sharer(name):
        return naming(pod_on(name, "node-009", ""), "common")

    def users():
        return sorted(one["name"] for one in namespace.get("resourceclaim", "common")["status"].get("reservedFor", []))

    def runs(*pods):
        namespace.kubectl("wait", "--for=condition=Ready", *[f"pod/{one}" for one in pods], "--timeout=100s")

    namespace.apply(domain("shared"))
    namespace.is_idle("shared")
    uid = namespace.uid("shared")
    namespace.apply(channel_claim("common", uid, allocationMode="Single"), sharer("first"), sharer("second"))
    runs("first", "second")
    namespace.is_used("shared")
    daemons, since = daemons_on(cluster, "node-009"), cluster.audit_size()
    assert (users(), len(daemons)) == (["first", "second"], 1)
    ready = namespace.says("shared", "AllMembersReady", "^All 1/1")

    namespace.delete("pod", "first")
    eventually("the pods of the claim", users, ["second"])
    namespace.apply(sharer("third"))
    runs("second", "third")
    assert (daemons_on(cluster, "node-009"), label_of(cluster, "node-009")) == (daemons, uid)
    assert namespace.says("shared", "AllMembersReady", "^All 1/1") == ready, "it did not leave Ready"
    written = [(one["verb"], one["user"]["username"]) for one in cluster.audit_entries(since)
               if one["verb"] not in READS and one.get("objectRef", {}).get("resource") == "nodes"
               and one["objectRef"]["name"] == "node-009" and "subresource" not in one["objectRef"]]
    assert written == [], "the node's label was not touched"

    namespace.delete("pod", "second", "third")
    is_free(cluster, "node-009")
    eventually("the domain has no members", lambda: namespace.members("shared"), [])
    namespace.delete("resourceclaim", "common")
    namespace.delete("computedomain", "shared")


@pytest.mark.usefixtures("nothing_is_left")
def test_num_nodes_is_waited_for_and_does_not_limit(namespace):
    namespace.apply(domain("counted", num_nodes=2), workers("counted", 1, one_clique=True))
    namespace.says("counted", "WaitingForMembers", "^1 of spec.numNodes 2", and_also={"status": "NotReady"})
    namespace.kubectl("scale", "deployment", "counted", "--replicas", "3")
    namespace.kubectl("wait", "--for=condition=MembersReady", "computedomain/counted", "--timeout=60s")
    assert namespace.is_in_step("counted", 3)["status"] == "Ready"
    namespace.delete("deployment", "counted")
    namespace.delete("computedomain", "counted")


def test_kubectl_shows_the_columns_of_the_readme_and_describes_conditions_and_events(cluster, namespace):
    namespace.apply(domain("columns"), pod_on("columns", "node-006", "columns-channel"))
    namespace.is_used("columns", within=90)
    assert re.fullmatch(rf"NAME READY SHARED MEMBERS CLIQUES IN-USE AGE\ncolumns True True 1/1 1 True {AGE}",
                        squeezed(namespace.kubectl("get", "cdom")))
    wide = squeezed(namespace.kubectl("get", "cdom", "-o", "wide"))
    assert re.fullmatch(rf"NAME READY SHARED MEMBERS CLIQUES IN-USE AGE STATUS REASON MESSAGE\n"
                        rf"columns True True 1/1 1 True {AGE} Ready AllMembersReady All 1/1 members are ready.", wide)
    readme = squeezed((REPO / "README.md").read_text()).splitlines()
    assert wide.splitlines()[0] in readme
    row = re.compile(r"quickstart True True 4/4 1 True \d+s Ready AllMembersReady All 4/4 members are ready\.")
    assert [line for line in readme if row.fullmatch(line)]

    cluster.nodesim.stall_daemon("node-006")
    namespace.says("columns", "MembersNotReady", "node-006")
    eventually("describe shows the Event", lambda: namespace.kubectl("describe", "cdom", "columns").partition("Events:\n")[2],
               re.compile("Warning +MembersNotReady .*node-006"))
    described = namespace.kubectl("describe", "cdom", "columns")
    for kind in ("Accepted", "Provisioned", "MembersReady", "Ready", "MemoryShared", "InUse"):
        assert re.search(rf"^ +Type: +{kind}$", described, re.MULTILINE), described
    assert re.search(r"^ +Reason: +MembersNotReady$", described, re.MULTILINE), described
    assert re.search(r"^ +Message: +Not ready: node-006", described, re.MULTILINE), described
    cluster.kubectl("taint", "node", "node-006", "example.com/broken:NoSchedule")
    namespace.says("columns", "NodeTainted", r"node-006 \(taint example.com/broken", kind="MembersReady")
    cluster.kubectl("taint", "node", "node-006", "example.com/broken-")
    cluster.nodesim.unstall_daemon("node-006")
    namespace.is_ready("columns", 1)

    # Another domain in its clique.
    clique = cluster.get("node", "node-006")["metadata"]["labels"][CLIQUE]
    beside = next(one["metadata"]["name"] for one in cluster.kubectl_json("get", "nodes", "-l", f"{CLIQUE}={clique}")["items"]
                  if one["metadata"]["name"] != "node-006")
    namespace.apply(domain("beside"), pod_on("beside", beside, "beside-channel"))
    namespace.says("columns", "CliqueShared", f"Other domains have members in the same clique: .*beside in {clique}", kind="MembersReady", within=60)
    namespace.delete("pod", "columns", "beside")
    namespace.delete("computedomain", "columns", "beside")


def squeezed(text):
    """Without the space that aligns columns."""
    return "\n".join(re.sub(" +", " ", line).rstrip(" ") for line in text.rstrip("\n").split("\n"))
