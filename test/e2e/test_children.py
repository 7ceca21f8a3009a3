"""Children of a domain that users change or delete, or that are there twice."""

import itertools
import json
import re

import pytest
from cluster import ACCOUNT, Setup
from namespaces import DRIVER, daemons_on
from objects import LABEL, domain, pod_on
from recorder import recording
from test_deletion import delete_child
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True, controller=("--membership-writer", "controller"))
pytestmark = pytest.mark.usefixtures("requests_are_allowed")
by_daemons = pytest.mark.parametrize("writer", ["daemon"], indirect=True)


def use(namespace, name, node):
    namespace.apply(domain(name), pod_on(name, node, f"{name}-channel"))
    namespace.is_used(name, within=90)


def exists(namespace, kind, name):
    eventually(f"{kind} {name} exists", lambda: namespace.get(kind, name))


def test_a_template_name_that_is_taken_is_reported_and_used_once_free(namespace):
    taken = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "clash-channel"},
             "spec": {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "b"}}]}}}}
    namespace.apply(taken)
    namespace.apply(domain("clash"))
    namespace.says("clash", "TemplateNameTaken", f"{namespace.name}/clash-channel", and_also={"status": "NotReady"})
    assert namespace.exists("resourceclaimtemplate", "clash-channel"), "it is not the domain's"
    namespace.delete("resourceclaimtemplate", "clash-channel")
    namespace.is_idle("clash", within=60)
    second = domain("second")
    second["spec"]["channel"]["resourceClaimTemplate"]["name"] = "clash-channel"
    namespace.apply(second)
    namespace.says("second", "TemplateNameTaken", "belongs to ComputeDomain clash. Create this domain again with another")
    namespace.tells("clash", "Warning TemplateNameWanted ComputeDomain .*/second names ResourceClaimTemplate clash-channel")
    namespace.delete("computedomain", "second")
    (owner,) = namespace.get("resourceclaimtemplate", "clash-channel")["metadata"]["ownerReferences"]
    assert owner["name"] == "clash"
    namespace.delete("computedomain", "clash")
    eventually("the template", lambda: namespace.get("resourceclaimtemplate", "clash-channel"), None)


def test_a_child_that_is_changed_or_deleted_is_repaired(cluster, namespace):
    namespace.apply(domain("repaired"))
    exists(namespace, "resourceclaimtemplate", "repaired-channel")
    name = namespace.daemon_set("repaired")
    eventually("the DaemonSet exists", lambda: cluster.get("daemonset", name, DRIVER))
    edit = {"updateStrategy": {"type": "RollingUpdate"},
            "template": {"spec": {"priorityClassName": "system-node-critical", "hostNetwork": True}}}
    cluster.kubectl("patch", "daemonset", "-n", DRIVER, name, "--type=merge", "-p", json.dumps({"spec": edit}))

    def edited():
        spec = cluster.get("daemonset", name, DRIVER)["spec"]
        return spec["updateStrategy"]["type"], spec["template"]["spec"].get("hostNetwork", False)
    eventually("strategy and network of the DaemonSet", edited, ("OnDelete", False))
    namespace.tells("repaired", f"Normal TemplateUpdated DaemonSet {DRIVER}/{name} was edited")
    namespace.delete("resourceclaimtemplate", "repaired-channel")
    exists(namespace, "resourceclaimtemplate", "repaired-channel")
    delete_child(cluster, "daemonset", name)
    eventually("the DaemonSet exists again", lambda: cluster.get("daemonset", name, DRIVER))
    namespace.says("repaired", "ChildrenExist", "exist", kind="Provisioned")
    # One that is deleted, and kept by a finalizer of others.
    template = ("resourceclaimtemplate", "repaired-channel")
    namespace.kubectl("patch", *template, "--type=merge", "-p", '{"metadata": {"finalizers": ["example.com/keep"]}}')
    namespace.kubectl("delete", *template, "--wait=false")
    namespace.says("repaired", "ChildrenTerminating", "repaired-channel.*example.com/keep", kind="Provisioned")
    namespace.kubectl("patch", *template, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    namespace.says("repaired", "ChildrenExist", "exist", kind="Provisioned")
    namespace.delete("computedomain", "repaired")


def test_REV4_K2_a_client_that_undoes_each_repair_is_named(cluster, namespace):
    namespace.apply(domain("fought"))
    namespace.is_idle("fought")
    name = namespace.daemon_set("fought")
    edits = itertools.count()

    def edit(_):
        template = {"metadata": {"annotations": {"example.com/edit": str(next(edits))}}}
        cluster.kubectl("patch", "daemonset", "-n", DRIVER, name, "--field-manager=policy-engine", "--type=merge",
                        "-p", json.dumps({"spec": {"template": template}}))
        return True
    namespace.says("fought", "WritesUndone", rf"\(policy-engine\) undoes .* spec.template of DaemonSet {DRIVER}/{name}\.",
                   kind="Conflicted", and_also=edit)
    namespace.tells("fought", "Warning WritesUndone .*policy-engine")
    namespace.delete("computedomain", "fought")


def test_REV4_K11_what_keeps_kubernetes_from_creating_a_daemon_pod_is_told(cluster, namespace):
    cluster.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "no-pods", "namespace": DRIVER},
                   "spec": {"hard": {"pods": "0"}}})
    eventually("the quota has counted", lambda: "hard" in cluster.get("resourcequota", "no-pods", DRIVER).get("status", {}))
    namespace.apply(domain("refused"), pod_on("refused", "node-004", "refused-channel"))
    found = namespace.says("refused", "MembersNotReady", r"not created: .*exceeded quota: no-pods", kind="MembersReady")
    assert f'"{namespace.daemon_set("refused")}-*"' in found["message"], "each attempt would change it"
    (command,) = re.findall(r"`(kubectl [^`]+)`", found["message"])
    assert "exceeded quota: no-pods" in cluster.kubectl(*command.split()[1:])
    namespace.delete("pod", "refused")
    namespace.delete("computedomain", "refused")
    cluster.kubectl("delete", "resourcequota", "-n", DRIVER, "no-pods")


def test_a_child_that_is_deleted_again_and_again_is_counted_in_one_event(cluster, namespace):
    namespace.apply(domain("counted"))
    namespace.is_idle("counted")
    name = namespace.daemon_set("counted")

    def uid():
        return cluster.get("daemonset", name, DRIVER)["metadata"]["uid"]
    for count in (1, 2):
        before = uid()
        delete_child(cluster, "daemonset", name)
        eventually(f"another UID than {before}", uid, lambda now, before=before: now != before)
        eventually("how often the Event says that it happened", lambda: namespace.event_count("counted", "Repaired"), count)
    namespace.tells("counted", "Normal Repaired .*DaemonSet")
    namespace.delete("computedomain", "counted")


def test_a_daemon_set_is_kept_under_a_job_and_its_deletion_is_told_as_interruption(cluster, namespace):
    use(namespace, "broken", "node-002")
    name, began = namespace.daemon_set("broken"), cluster.log_size()
    said = cluster.refused("delete", "daemonset", "-n", DRIVER, name)
    assert f"daemonsets {DRIVER}/{name} belongs to ComputeDomain {namespace.uid('broken')}" in said
    assert "every IMEX daemon of the domain would restart" in said
    # As it says, word for word.
    command = re.search(r"kubectl (annotate [a-z]+ -n [a-z0-9-]+ [a-z0-9.-]+ cdom.dev/allow-deletion=true)", said)
    cluster.kubectl(*command[1].split())
    cluster.kubectl("delete", "daemonset", "-n", DRIVER, name, "--timeout=60s")
    namespace.tells("broken", rf"Warning DaemonsInterrupted .*DaemonSet {DRIVER}/{name} was deleted.*"
                    "Every daemon of the domain restarts.*pods/broken on node-002")
    assert re.search(rf"DaemonSet {DRIVER}/{name} was deleted.*which interrupts IMEX under pods/broken on node-002",
                     cluster.controller_log(began))
    namespace.is_used("broken")
    namespace.delete("pod", "broken")
    namespace.delete("computedomain", "broken")


@by_daemons
def test_a_second_daemon_set_is_deleted_with_its_pods_while_the_first_serves(cluster, namespace, writer):
    """As two controllers at once leave it: a copy under another name."""
    use(namespace, "tended", "node-001")
    name, was = namespace.daemon_set("tended"), daemons_on(cluster, "node-001")
    cluster.end_controller()
    first = cluster.get("daemonset", name, DRIVER)
    cluster.create({"apiVersion": first["apiVersion"], "kind": first["kind"], "spec": first["spec"], "metadata": {
        "name": "second", "namespace": DRIVER, "labels": first["metadata"]["labels"]}})

    def pods_of_second():
        return len([one for one in cluster.list("pods", DRIVER)
                    if any(owner["name"] == "second" for owner in one["metadata"].get("ownerReferences", []))])
    eventually("how many pods the second has", pods_of_second, 1)
    since = cluster.audit_size()
    with recording(cluster, "computedomains", "{.object.status.members}", "-n", namespace.name) as recorder:
        cluster.run_controller("--membership-writer", writer)
        eventually("the second DaemonSet", lambda: cluster.get("daemonset", "second", DRIVER), None)
        eventually("how many pods the second has", pods_of_second, 0)
        namespace.tells("tended", f"Normal DuplicateRemoved .*{DRIVER}/second")
    assert {line.split(" ", 1)[1] for line in recorder.lines()} == {"tended 1/1"}
    assert daemons_on(cluster, "node-001") == was
    # What it did, in order: looked whether the other exists and who serves, then deleted.
    did = [f"{one['verb']} {one['objectRef']['resource']} {one['objectRef'].get('name', '')}"
           for one in cluster.requests_of(ACCOUNT, since) if "resource" in one.get("objectRef", {})]
    did = [one for one in did if re.match("get daemonsets|list pods|delete ", one)]
    did = [one for i, one in enumerate(did) if i == 0 or did[i - 1] != one]
    (end,) = [i for i, one in enumerate(did) if one.startswith("delete ")]
    assert did[max(end - 2, 0):end + 1] == [f"get daemonsets {name}", "list pods ", "delete daemonsets second"]


@by_daemons
def test_a_label_that_is_removed_from_a_child_is_put_back_on_the_same_object(cluster, namespace, writer):
    use(namespace, "tended", "node-001")
    name = namespace.daemon_set("tended")
    (clique,) = cluster.list("computedomaincliques", DRIVER, namespace.label("tended"))
    children = [("resourceclaimtemplate", "tended-channel", namespace.name), ("resourceclaimtemplate", name, DRIVER),
                ("daemonset", name, DRIVER), ("computedomainclique", clique["metadata"]["name"], DRIVER)]
    for kind, child, where in children:
        def identity(kind=kind, child=child, where=where):
            metadata = cluster.get(kind, child, where)["metadata"]
            return metadata["uid"], metadata["labels"]
        was = identity()
        cluster.kubectl("label", "-n", where, kind, child, f"{LABEL}-", f"{LABEL}Target-", f"{LABEL}.cliqueID-")
        eventually(f"UID and labels of {kind} {child}", identity, was)
    namespace.tells("tended", "Normal Repaired .*had lost labels")
    namespace.is_ready("tended", 1)
    namespace.delete("pod", "tended")
    namespace.delete("computedomain", "tended")
