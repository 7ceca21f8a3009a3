"""What fails for one object or one namespace is told there, and nothing else stops for it."""

import json

import pytest
from cluster import REFUSAL, Setup
from namespaces import conditions
from objects import domain, refusal, workers
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True)


def is_ready(cluster, name, members):
    found = cluster.get("computedomain", name) or {}
    status = found.get("status", {})
    return status.get("status") == "Ready" and status.get("members") == f"{members}/{members}"


def serve(cluster, removed_later, name, members):
    removed_later(domain(name), workers(name, members))
    eventually(f"{name} serves {members} nodes", lambda: is_ready(cluster, name, members), within=120)
    return cluster.get("computedomain", name)


def daemon_set_of(cluster, found):
    return f"computedomain-daemon-{found['metadata']['uid']}"


def last_transition(cluster, name):
    return cluster.condition(name, "Ready").get("lastTransitionTime")


@pytest.fixture(scope="module", autouse=True)
def controller(cluster):
    cluster.run_controller()


def test_REV3_F2_a_repair_that_a_policy_refuses_is_told_and_the_domain_stays_ready(cluster, removed_later):
    found = serve(cluster, removed_later, "repaired", 2)
    became_ready = last_transition(cluster, "repaired")
    daemons = daemon_set_of(cluster, found)
    policy = refusal("no-repair", "UPDATE", "apps", "daemonsets", "cdom-system")
    removed_later(*policy)
    eventually("the policy is in force", lambda: cluster.is_refused_to_the_controller(
        "set", "env", "daemonset", daemons, "-n", "cdom-system", "EDITED=no"))
    cluster.kubectl("set", "env", "daemonset", daemons, "-n", "cdom-system", "EDITED=yes")

    def told():
        said = conditions(cluster.get("computedomain", "repaired")["status"])
        return said["Provisioned"]["message"], said["Ready"]["status"], said["Ready"]["lastTransitionTime"]
    # If it had not been ready meanwhile, the time would be another.
    eventually("the refusal, and since when it is ready", told,
               lambda got: REFUSAL in got[0] and "Not done yet" in got[0] and got[1:] == ("True", became_ready))
    assert is_ready(cluster, "repaired", 2)
    cluster.kubectl("delete", "validatingadmissionpolicybinding", "no-repair")

    def is_repaired():
        return "EDITED" not in cluster.kubectl("get", "daemonset", daemons, "-n", "cdom-system", "-o", "json")
    eventually("the DaemonSet is repaired", is_repaired, within=60)
    assert last_transition(cluster, "repaired") == became_ready


def test_REV3_F17_a_template_that_may_not_be_deleted_keeps_no_domain(cluster, removed_later):
    removed_later(domain("unused"))
    eventually("its template is there", lambda: cluster.get("resourceclaimtemplate", "unused-channel"))
    removed_later(*refusal("no-deletion", "DELETE", "resource.k8s.io", "resourceclaimtemplates", "default"))
    eventually("the policy is in force", lambda: cluster.is_refused_to_the_controller(
        "delete", "resourceclaimtemplate", "unused-channel"))
    since = cluster.audit_size()
    cluster.kubectl("delete", "computedomain", "unused", "--wait=false")
    eventually("the domain is gone", lambda: not cluster.get("computedomain", "unused"), within=90)
    answers = [one["responseStatus"]["code"] for one in
               cluster.audited("delete", "resourceclaimtemplates", since)]
    assert 422 in answers or 403 in answers, f"the policy refused none of {answers}"
    eventually("the garbage collector has taken the template",
               lambda: not cluster.get("resourceclaimtemplate", "unused-channel"))


def test_a_template_that_a_policy_denies_is_told_and_created_once_the_policy_is_deleted(cluster, removed_later, tmp_path):
    removed_later(domain("allowed"))
    eventually("its template is there", lambda: cluster.get("resourceclaimtemplate", "allowed-channel"))
    tried = cluster.get("resourceclaimtemplate", "allowed-channel")
    tried["metadata"] = {"name": "tried", **{key: tried["metadata"][key] for key in ("namespace", "labels", "ownerReferences")}}
    file = tmp_path / "tried.json"
    file.write_text(json.dumps(tried))
    removed_later(*refusal("no-creation", "CREATE", "resource.k8s.io", "resourceclaimtemplates", "default"))
    eventually("the policy is in force", lambda: cluster.is_refused_to_the_controller("create", "-f", file))
    removed_later(domain("denied"))

    def told():
        said = conditions((cluster.get("computedomain", "denied") or {}).get("status", {})).get("Ready", {})
        return said.get("reason"), said.get("message", "")
    eventually("the reason, and the refusal", told, lambda got: got[0] == "ProvisioningFailed" and REFUSAL in got[1])
    cluster.kubectl("delete", "validatingadmissionpolicybinding", "no-creation")
    eventually("the domain is ready for pods", told, lambda got: got[0] == "Idle", within=60)


def test_REV3_F5_a_node_whose_label_somebody_took_off_under_a_job_gets_it_back(cluster, removed_later):
    found = serve(cluster, removed_later, "labelled", 2)
    uid = found["metadata"]["uid"]
    node = found["status"]["nodes"][0]["name"]
    cluster.kubectl("label", "node", node, "resource.nvidia.com/computeDomain-")

    def label():
        return cluster.get("node", node)["metadata"]["labels"].get("resource.nvidia.com/computeDomain")
    eventually("the label is back", lambda: label(), uid, within=100)
    eventually("both nodes serve again", lambda: is_ready(cluster, "labelled", 2), within=90)


def test_REV3_F1_an_additional_namespace_that_does_not_exist_stops_no_domain(cluster, removed_later):
    since = cluster.audit_size()
    cluster.run_controller("--additional-namespaces", "nvidia-system")
    serve(cluster, removed_later, "beside", 2)
    cluster.kubectl("scale", "deployment", "beside", "--replicas", "1")
    eventually("one node has left", lambda: is_ready(cluster, "beside", 1), within=90)
    cluster.kubectl("delete", "deployment", "beside", "--timeout=60s")
    cluster.kubectl("delete", "computedomain", "beside", "--timeout=90s")
    refused = [one for one in cluster.audited("list", "pods", since)
               if one["objectRef"].get("namespace") == "nvidia-system" and one["responseStatus"]["code"] == 403]
    assert refused, "nothing was asked in the namespace that is gone"


def test_REV3_F15_a_controller_that_loses_its_lease_starts_over_in_its_process(cluster, removed_later):
    lost = {"spec": {"holderIdentity": "another", "leaseDurationSeconds": 1,
                     "renewTime": "2026-01-01T00:00:00.000000Z"}}
    cluster.kubectl("patch", "lease", "cdom-controller", "-n", "cdom-system", "--type=merge", "-p", json.dumps(lost))
    eventually("the loss is told", lambda: cluster.controller_says("Lost the Lease, restarting"))
    removed_later(domain("after-the-loss"))
    eventually("the next term serves a domain",
               lambda: cluster.get("resourceclaimtemplate", "after-the-loss-channel"))
    assert cluster.controller_runs(), "it was the same process"
