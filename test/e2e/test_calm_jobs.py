"""A job without a fault raises no Warning of its domain: not when members start, nor when they leave."""

import datetime

from cluster import Setup
from namespaces import conditions
from objects import domain, job, pod_on, workers
from requests_of import time_of
from waiting import eventually

CLUSTER = Setup(nodes=16, placement=True)


def warnings_of(namespace, name):
    """Those up to now: the Event of a pause, which the controller sends after them, has come."""
    namespace.kubectl("annotate", "computedomain", name, "cdom.dev/paused=true")
    namespace.tells(name, "Normal Paused ")
    namespace.kubectl("annotate", "computedomain", name, "cdom.dev/paused-")
    return [text for text in namespace.events_of(name) if text.startswith("Warning ")]


def end_after(namespace, app, seconds):
    """Each pod of that app, which runs, ends after another time from now."""
    now = datetime.datetime.now(datetime.timezone.utc)
    for pod, time in zip(namespace.list("pods", f"app={app}"), seconds, strict=True):
        age = (now - time_of(pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"])).total_seconds()
        namespace.kubectl("annotate", "pod", pod["metadata"]["name"], f"nodesim.cdom.dev/run-seconds={age + time:.0f}", "--overwrite")


def test_REV3_W4_a_job_whose_pods_end_one_after_the_other_raises_no_warning(namespace, writer):
    namespace.apply(domain("calm"), job("calm", 4, -1))
    eventually("four pods exist", lambda: namespace.list("pods", "app=calm"), lambda found: len(found) == 4)
    namespace.is_used("calm", 4, within=60)
    eventually("they are ready", lambda: len(namespace.ready_pods("app=calm")), 4)
    end_after(namespace, "calm", (4, 7, 10, 13))
    rows = []

    def look():
        is_complete = namespace.get("job", "calm")["status"].get("succeeded") == 4
        said = conditions(namespace.status("calm"))
        rows.append((is_complete, said["Ready"]["status"], said["Ready"]["reason"], said["Ready"]["message"]))
        return is_complete, said["Ready"]["reason"]
    eventually("the job is complete, and the domain idle", look, (True, "Idle"), within=90)
    # While the domain is not Ready, its row says that pods have ended.
    assert {row[2:] for row in rows if row[1] != "True"} == {row[2:] for row in rows if row[2] == "MembersLeaving"}
    assert [row for row in rows if row[2] == "MembersLeaving" and "pods there have ended" not in row[3]] == []
    assert {row[2] for row in rows} <= {"AllMembersReady", "MembersLeaving", "Idle"}, rows
    assert warnings_of(namespace, "calm") == []
    namespace.tells("calm", r"Normal MembersStarting Starting: node-")


def test_REV3_W4_pods_that_join_and_leave_a_running_job_raise_no_warning(namespace, writer):
    namespace.apply(domain("grows"), workers("grows", 2, one_clique=True))
    namespace.is_in_step("grows", 2, within=60)
    for count in (4, 3):
        namespace.kubectl("scale", "deployment", "grows", "--replicas", str(count))
        namespace.is_in_step("grows", count, within=60)
    namespace.delete("deployment", "grows")
    namespace.is_idle("grows", within=60)
    assert warnings_of(namespace, "grows") == []
    # A daemon may end before its leaving is written.
    namespace.tells("grows", "Normal (MembersLeaving Leaving: node-.*pods there have ended|MemberRemoved .*no daemon is left)")
    namespace.delete("computedomain", "grows")


def test_REV3_W4_a_daemon_that_does_not_start_within_30_seconds_is_a_warning_with_a_command(cluster, namespace, writer):
    node = "node-005"
    cluster.nodesim.stall_daemon(node)
    namespace.apply(domain("stuck"), pod_on("stuck", node, "stuck-channel"))
    namespace.says("stuck", "MembersStarting", f": {node}; 0/1 members are ready")
    ready = namespace.says("stuck", "MembersNotReady", f"^Not ready: {node}", within=60)
    namespace.tells("stuck", f"Warning MembersNotReady Not ready: {node}")
    command = ready["message"].partition("For administrators: `kubectl ")[2].partition("`")[0].split()
    assert "computedomain-daemon-" in cluster.kubectl(*command)
    cluster.nodesim.unstall_daemon(node)
    namespace.is_used("stuck", within=60)
