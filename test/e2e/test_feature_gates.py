"""Feature gates that a controller does not know, or does not support, do not stop it. The kubelet plugin's case is in
test_plugin_channels.py, and the daemons of test_imex_daemons.py have all these gates.
"""

from cluster import Setup
from namespaces import DRIVER
from nvidia_driver import FEATURE_GATES, UNSUPPORTED_GATES, says_each_gate_once, shows_each_gate
from objects import domain, workers
from waiting import eventually

CLUSTER = Setup(nodes=4, cliques=1)
SERVER = "health and metrics"


def test_a_controller_serves_a_domain_and_says_which_gates_have_no_effect(cluster, namespace):
    cluster.run_controller("--feature-gates", FEATURE_GATES)
    namespace.apply(domain("gated"), workers("gated", 2))
    namespace.is_ready("gated", 2)
    assert says_each_gate_once(cluster.controller_log())
    assert shows_each_gate(cluster.controller_get(SERVER, "/metrics"))
    readiness = cluster.controller_get(SERVER, "/readyz").splitlines()
    assert readiness[0] == "ok"
    assert [line.split(" is not supported: ")[0] for line in readiness[1:]] == [f"note: Feature gate {gate}" for gate in UNSUPPORTED_GATES]
    assert cluster.controller_get(SERVER, "/livez") == "ok"

    def told():
        """Gates in the Events on its pod."""
        found = cluster.kubectl_json("get", "events", "-n", DRIVER, "--field-selector",
                                     "reason=FeatureGateNotSupported,type=Warning,involvedObject.kind=Pod")
        return {one["message"].split(" is not supported: ")[0] for one in found["items"]}
    eventually("the Events on its pod", told, {f"Feature gate {gate}" for gate in UNSUPPORTED_GATES})
    namespace.delete("deployment", "gated")
    namespace.delete("computedomain", "gated")


def test_a_controller_says_nothing_of_gates_that_ask_for_what_it_does(cluster):
    cluster.run_controller("--feature-gates", "AllAlpha=false,AllBeta=true,ComputeDomainCliques=true,DynamicMIG=true,"
                           "IMEXDaemonsWithDNSNames=true,NodeLocalFabricIPC=false,SeamlessUpgrades=true,")
    assert "feature gate" not in cluster.controller_log()
    assert "cdom_feature_gates_ignored" not in cluster.controller_get(SERVER, "/metrics")
    eventually("it is ready", lambda: cluster.controller_get(SERVER, "/readyz"), "ok")
