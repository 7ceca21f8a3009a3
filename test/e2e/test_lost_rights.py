"""Permissions of the controller that are missing for a while."""

import contextlib
import datetime
import json
import re

import pytest
from cluster import ACCOUNT, Setup
from connection import Way
from namespaces import DRIVER, conditions
from objects import domain, pod_on
from requests_of import status_writes, time_of
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True)
pytestmark = pytest.mark.usefixtures("no_controller")


@contextlib.contextmanager
def without(cluster, kind, name, verb, resource, change):
    """Meanwhile the rules of the role are what `change` makes of them, and the controller may not use the verb. Yields a
    function that gives the rules back earlier."""
    rules = cluster.get(kind, name, DRIVER)["rules"]

    def set_rules(wanted):
        cluster.kubectl("patch", kind, name, "-n", DRIVER, "--type=merge", "-p", json.dumps({"rules": wanted}))

    def may():
        return cluster.kubectl("auth", "can-i", verb, resource, "-n", DRIVER, "--as", ACCOUNT, check=False).strip()
    set_rules(change(rules))
    try:
        eventually(f"whether the controller may {verb} {resource}", may, "no")
        yield lambda: set_rules(rules)
    finally:
        set_rules(rules)


def role_about(cluster, resource):
    """The name of the Role about that resource alone."""
    return next(one["metadata"]["name"] for one in cluster.list("roles", DRIVER)
                if any(rule["resources"] == [resource] for rule in one["rules"]))


def less(resource, *verbs):
    """Rules without these verbs for the resource."""
    return lambda rules: [{**rule, "verbs": [verb for verb in rule["verbs"] if verb not in verbs]}
                          if rule["resources"] == [resource] else rule for rule in rules]


PATIENCE = 60  # Seconds for which a resource may be unreadable before status says so.


def asked_for_daemon_sets(cluster, since, code):
    """The verbs of requests about DaemonSets that were answered, or are being answered, with that code."""
    return [one["verb"] for one in cluster.requests_of(ACCOUNT, since, ("ResponseStarted", "ResponseComplete"))
            if one.get("objectRef", {}).get("resource") == "daemonsets" and one["responseStatus"]["code"] == code]


def test_a_right_to_watch_that_is_lost_for_less_than_a_minute_changes_no_status(cluster, namespace):
    way = Way(json.loads(cluster.controller_config.read_text()))
    try:
        cluster.run_controller(kubeconfig=way.write_config(cluster.folder / "way.kubeconfig"))
        namespace.apply(domain("calm"), domain("busy"), pod_on("busy", "node-001", "busy-channel"))
        namespace.is_idle("calm")
        namespace.is_used("busy", within=90)
        since = cluster.audit_size()
        with without(cluster, "role", role_about(cluster, "daemonsets"), "watch", "daemonsets.apps",
                     less("daemonsets", "list", "watch")) as give_back:
            cut = datetime.datetime.now(datetime.timezone.utc)
            way.cut()
            eventually("the controller is refused", lambda: asked_for_daemon_sets(cluster, since, 403))
            # All else is read again, and what can be decided without DaemonSets is decided: a change of a domain is answered.
            namespace.kubectl("annotate", "computedomain", "calm", "example.com/forecast=fair")
            granted = cluster.audit_size()
            give_back()
            eventually("DaemonSets are read again", lambda: asked_for_daemon_sets(cluster, granted, 200),
                       lambda verbs: {"list", "watch"} & set(verbs))
        namespace.apply(domain("later"))
        namespace.is_idle("later")
        # On a machine so busy that all this takes longer than the controller's patience, it may write, and not before.
        written = status_writes(cluster.requests_of(ACCOUNT, since), "calm", "busy")
        assert [one for one in written if (time_of(one[3]) - cut).total_seconds() < PATIENCE] == []
        namespace.is_idle("calm")
        namespace.is_used("busy")
        namespace.delete("computedomain", "later", "calm")
        namespace.delete("pod", "busy")
        namespace.delete("computedomain", "busy")
    finally:
        cluster.end_controller()
        way.end()


def test_a_missing_right_to_create_is_named_and_used_once_granted(cluster, namespace):
    cluster.run_controller()
    with without(cluster, "role", role_about(cluster, "daemonsets"), "create", "daemonsets.apps", less("daemonsets", "create")):
        namespace.apply(domain("nocreate"))
        namespace.says("nocreate", "Forbidden", "create DaemonSet.*403")
        said = re.compile("create DaemonSet.*403")
        eventually("the controller's log", cluster.controller_log, said)
        assert cluster.said_twice(said) == []
    namespace.is_idle("nocreate", within=90)
    namespace.delete("computedomain", "nocreate")


def accepts(status):
    """A predicate of status: the condition Accepted is that."""
    return lambda found: conditions(found)["Accepted"]["status"] == status


def test_a_missing_right_to_list_is_named_and_provisioned_domains_stay_ready(cluster, namespace):
    cluster.run_controller()
    namespace.apply(domain("kept"))
    since = namespace.says("kept", "Idle")["lastTransitionTime"]
    cluster.end_controller()
    with without(cluster, "clusterrole", "cdom-controller", "list", "resourceclaimtemplates.resource.k8s.io",
                 lambda rules: [rule for rule in rules if rule["resources"] != ["resourceclaimtemplates"]]):
        namespace.apply(domain("nolist"))
        cluster.start_controller()
        namespace.says("nolist", "PermissionMissing", "resourceclaimtemplates", within=60)
        namespace.says("kept", "PermissionMissing", "resourceclaimtemplates", kind="Accepted", and_also=accepts("True"))
        namespace.says("nolist", "PermissionMissing", "resourceclaimtemplates", and_also=accepts("False"))
        namespace.is_idle("kept")
        assert re.search("resourceclaimtemplates.*[gG]rant|[gG]rant.*resourceclaimtemplates", cluster.controller_log())
    namespace.is_idle("nolist", within=90)
    namespace.says("kept", "Accepted", kind="Accepted")
    ready = namespace.says("kept", "Idle", and_also=accepts("True"))
    assert ready["lastTransitionTime"] == since, "it left Ready"
    namespace.delete("computedomain", "nolist", "kept")
