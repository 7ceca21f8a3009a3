"""The life of a domain from creation to deletion, as a user of the quickstart sees it."""

import pytest
from cluster import REPO, Setup
from clusters import is_kept
from namespaces import DRIVER, Namespace, field_in
from versions import needs_placement
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True)
QUICKSTART = REPO / "examples/quickstart.yaml"


@pytest.fixture
def default(request, cluster):
    """The namespace of the example."""
    own = Namespace(cluster, "default")
    yield own
    if not is_kept(request):
        own.clear(force=own.kubectl("get", "computedomains", "-o", "name") != "")


@needs_placement  # The quickstart has its label.
@pytest.mark.usefixtures("nothing_is_left", "requests_are_allowed")
def test_the_whole_life_of_a_domain(cluster, default, writer):
    cluster.kubectl("apply", "-f", QUICKSTART)
    eventually("four workers exist", lambda: default.list("pods", "app=quickstart"), lambda found: len(found) == 4)
    default.kubectl("annotate", "pods", "-l", "app=quickstart", "nodesim.cdom.dev/run-seconds=600")
    status = default.is_in_step("quickstart", 4)
    assert (status["status"], status["members"], status["cliqueCount"]) == ("Ready", "4/4", 1)
    assert sorted(one["index"] for one in status["nodes"]) == [0, 1, 2, 3]
    (clique,) = cluster.list("computedomaincliques", DRIVER)
    assert clique["metadata"]["ownerReferences"][0]["kind"] == {"controller": "DaemonSet", "daemon": "Pod"}[writer]
    eventually("InUse", lambda: default.condition("quickstart", "InUse")["status"], "True")

    victim = status["nodes"][0]["name"]
    cluster.nodesim.kill(victim)
    default.says("quickstart", "NodeLost", victim, and_also=lambda status: field_in(status, victim, "status") == "NotReady")
    default.tells("quickstart", f"Warning NodeLost .*{victim}")
    default.kubectl("annotate", "pods", "-l", "app=quickstart", "--overwrite", "nodesim.cdom.dev/run-seconds=12")
    eventually("how many workers have succeeded", lambda: default.get("job", "quickstart")["status"].get("succeeded"), 4, within=120)
    cluster.nodesim.revive(victim)
    cluster.kubectl("wait", "--for=condition=Ready", f"node/{victim}", "--timeout=60s")
    default.kubectl("wait", "--for=condition=Complete", "job/quickstart", "--timeout=60s")
    cluster.kubectl("delete", "-f", QUICKSTART, "--timeout=90s")
