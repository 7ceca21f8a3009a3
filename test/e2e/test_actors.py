"""Seven actors: what each may do, what is refused to it and by which rule, and what changes nothing for others.

docs/threat-model.md has a row for each case. A case is named ACTOR_may_..., ACTOR_is_refused_... or
ACTOR_is_harmless_...; run one with -k NAME. After each, the domain of a bystander is as it was before.
"""

import contextlib
import uuid

import pytest
from actors import (LABEL, VICTIM, World, channel_claim, daemon_set, is_refused_by, many_finalizers, named,
                    new_domain, path, slice_of)
from cluster import REPO
from endpoint import beset, held
from kustomizations import built
from objects import as_list
from plugin_process import NODE, Plugin
from waiting import eventually

DRIVER = "cdom-system"
CASES = []
PAGE = REPO / "docs/threat-model.md"


def case(by=""):
    """A case; if it is a refusal, it returns the answer, and `by` is the rule that refuses."""
    def add(function):
        CASES.append((function, by))
        return function
    return add


def role_binding(name, role, user, kind="ClusterRole", namespace="team"):
    group = "rbac.authorization.k8s.io"
    return {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": {"name": name, "namespace": namespace},
            "roleRef": {"apiGroup": group, "kind": kind, "name": role},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}]}


@pytest.fixture(scope="module")
def world(cluster, programs, request):
    """Its parameter is who writes the entries of cliques."""
    made_by_site = plugin_objects(cluster)
    cluster.apply(*made_by_site)
    cluster.kubectl("apply", "-k", REPO / "manifests/policies/tenant-limits")
    writes = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
              "metadata": {"name": "writer", "namespace": "team"},
              "rules": [{"apiGroups": ["resource.nvidia.com"], "resources": ["computedomains"], "verbs": ["*"]}]}
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}, writes,
                  role_binding("edit", "edit", "edit"), role_binding("admin", "admin", "admin"),
                  role_binding("writer", "writer", "writer", "Role"), role_binding("insider", "edit", "insider", namespace=DRIVER))
    made = World(cluster, request.param)
    [made.plugins] = [one for one in made_by_site if one["kind"] == "DaemonSet"]
    wide = new_domain("wide", allocationMode="All")
    eventually("the limits of tenants are in force",
               lambda: made.try_to_make(made.edit, "computedomains", wide)[0], 403)
    with contextlib.ExitStack() as running:
        if made.entries_by == "controller":
            made.running_plugin = Plugin(cluster, programs)
            made.running_plugin.start()
            running.callback(made.running_plugin.stop)
        yield made
    cluster.kubectl("delete", "deployment", VICTIM, "-n", "default", "--timeout=90s")
    cluster.kubectl("delete", "computedomain", VICTIM, "-n", "default", "--timeout=90s")
    cluster.kubectl("delete", "namespace", "team", "--timeout=90s")
    cluster.kubectl("delete", "-k", REPO / "manifests/policies/tenant-limits")
    cluster.kubectl("delete", "rolebinding", "insider", "-n", DRIVER)
    cluster.kubectl("delete", "-f", "-", stdin=as_list(made_by_site))


def plugin_objects(cluster):
    """Of manifests/kubelet-plugin. No node here runs its pods, and this API server takes none that is privileged."""
    found = built(cluster, REPO / "manifests/kubelet-plugin")
    [pod] = [one["spec"]["template"]["spec"] for one in found if one["kind"] == "DaemonSet"]
    pod["nodeSelector"] = {"nowhere": "true"}
    for one in containers_of(pod):
        del one["securityContext"]["privileged"]
    return found


def containers_of(pod):
    return [*pod["initContainers"], *pod["containers"]]


def serves(world, name):
    """Waits until the domain has its claim template."""
    eventually(f"{name} has its claim template",
               lambda: world.cluster.get("resourceclaimtemplate", f"{name}-channel", "team"))


def end(world, name):
    world.cluster.kubectl("delete", "computedomain", name, "-n", "team", "--timeout=60s")


def makes_and_deletes(world, user, name):
    world.make(user, "computedomains", new_domain(name))
    serves(world, name)
    world.must(user, "DELETE", path("computedomains", name, "team"))
    eventually("the domain has ended", lambda: not world.cluster.get("computedomain", name, "team"))


# ---- A tenant with the role `edit`

@case()
def edit_may_make_a_domain_and_delete_it(world):
    makes_and_deletes(world, world.edit, "own")


@case(by="cdom-daemon-claims")
def edit_is_refused_the_device_of_daemons(world):
    request = {"name": "d", "exactly": {"deviceClassName": "compute-domain-daemon.nvidia.com"}}
    return world.try_to_make(world.edit, "resourceclaims",
                             named("ResourceClaim", "stolen", spec={"devices": {"requests": [request]}}))


@case(by="cdom-tenant-limits-claims")
def edit_is_refused_all_channels_by_a_claim(world):
    return world.try_to_make(world.edit, "resourceclaims", channel_claim("all", world.uid, allocationMode="All"))


@case(by="RBAC")
def edit_is_refused_a_domain_of_another_namespace(world):
    return world.api.ask(world.edit, "GET", path("computedomains", VICTIM, "default"))


@case(by="RBAC")
def edit_is_refused_the_status_of_its_domain(world):
    return world.api.ask(world.edit, "PATCH", path("computedomains", "own", "team", "status"),
                         {"status": {"status": "Ready"}})


@case()
def edit_is_harmless_with_a_claim_of_another_domain(world):
    world.make(world.edit, "resourceclaims", channel_claim("foreign", world.uid))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "foreign"},
           "spec": {"nodeName": "", "terminationGracePeriodSeconds": 0,
                    "resourceClaims": [{"name": "c", "resourceClaimName": "foreign"}],
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "c"}]}}]}}
    world.make(world.edit, "pods", pod)

    def node():
        return world.cluster.get("pod", "foreign", "team")["spec"].get("nodeName")
    where = eventually("the scheduler has placed the pod", node)
    world.make(world.edit, "computedomains", new_domain("later"))
    serves(world, "later")  # So the controller has seen the claim.
    end(world, "later")
    daemons = {one["spec"].get("nodeName") for one in world.daemon_pods()}
    assert daemons == set(world.members), "no daemon of the bystander's domain was started"
    assert LABEL not in world.cluster.get("node", where)["metadata"]["labels"]
    world.cluster.kubectl("delete", "pod", "foreign", "-n", "team", "--force", "--grace-period=0")
    world.cluster.kubectl("delete", "resourceclaim", "foreign", "-n", "team", "--timeout=60s")


@case()
def edit_is_harmless_with_templates_of_domains_that_never_were(world):
    since = world.cluster.audit_size()
    finalizer = "resource.nvidia.com/computeDomain"
    names = [f"orphan-{i}" for i in range(10)]
    for name in names:
        template = named("ResourceClaimTemplate", name, spec={"spec": {}})
        template["metadata"].update(labels={LABEL: str(uuid.uuid4()), "orphans": "yes"}, finalizers=[finalizer])
        world.make(world.edit, "resourceclaimtemplates", template)
    # By one request, which deletes them one after the other.
    world.must(world.edit, "DELETE", path("resourceclaimtemplates", namespace="team") + "?labelSelector=orphans%3Dyes")
    eventually("the controller has let all of them go",
               lambda: not any(world.cluster.get("resourceclaimtemplate", name, "team") for name in names))
    reads = [one for one in world.cluster.audited("list", "computedomains", since)
             if "watch" not in one["requestURI"]]
    # One that begins after others were asked for answers all of them: three, as a rule. How many at least shared_lists_test shows.
    assert 1 <= len(reads) < len(names), f"{len(reads)} lists of all domains for {len(names)} templates"
    pods = [one["requestURI"] for one in world.cluster.audited("list", "pods", since)]
    assert len(pods) <= len(names), pods


def labels_of(size):
    """So many bytes of labels, which nothing bounds one by one."""
    return {f"{'a' * 240}.com/{'b' * 50}{i:06}": "c" * 63 for i in range(size // 370)}


def huge(kind, name, uid, size):
    made = channel_claim(name, uid) if kind == "ResourceClaim" else new_domain(name)
    made["metadata"]["labels"] = labels_of(size)
    return made


@case()
def edit_is_harmless_with_objects_of_1_2_megabytes(world):
    for i in range(5):
        world.make(world.edit, "resourceclaims", huge("ResourceClaim", f"huge-{i}", world.uid, 1200000))
    world.make(world.edit, "computedomains", huge("ComputeDomain", "huge", world.uid, 1200000))
    serves(world, "huge")
    end(world, "huge")
    world.cluster.kubectl("delete", "resourceclaims", *(f"huge-{i}" for i in range(5)), "-n", "team", "--timeout=60s")


@case(by="etcdserver: request is too large")
def edit_is_refused_objects_of_2_megabytes(world):
    return world.api.ask(world.edit, "POST", path("resourceclaims", namespace="team"),
                         huge("ResourceClaim", "huge", world.uid, 2000000))


# ---- A tenant with the role `admin`

@case()
def admin_may_give_its_role_to_a_colleague(world):
    world.make(world.admin, "rolebindings", role_binding("colleague", "edit", "colleague"), dry_run=True)


@case(by="RBAC")
def admin_is_refused_the_limits_of_its_namespace(world):
    return world.api.ask(world.admin, "PATCH", path("namespaces", "team"),
                         {"metadata": {"annotations": {"cdom.dev/allow-all-channels": "true"}}}, dry_run=True)


@case(by="RBAC")
def admin_is_refused_the_permissions_of_the_controller(world):
    return world.try_to_make(world.admin, "rolebindings", role_binding("more", "cdom-controller", "admin"))


@case(by="RBAC")
def admin_is_refused_the_namespace_of_the_driver(world):
    pod = world.daemon_pods()[0]["metadata"]["name"]
    return world.api.ask(world.admin, "DELETE", path("pods", pod, "cdom-system"), dry_run=True)


@case()
def admin_is_harmless_when_it_deletes_the_template_of_its_domain(world):
    world.make(world.admin, "computedomains", new_domain("own"))
    serves(world, "own")
    before = world.cluster.get("resourceclaimtemplate", "own-channel", "team")["metadata"]["uid"]
    world.must(world.admin, "DELETE", path("resourceclaimtemplates", "own-channel", "team"))

    def is_new():
        found = world.cluster.get("resourceclaimtemplate", "own-channel", "team")
        return found and found["metadata"]["uid"] != before
    eventually("the template is made again", is_new)
    end(world, "own")


# ---- Root on one GPU node, with the tokens of its daemon and its kubelet plugin

@case()
def node_may_publish_its_own_devices(world):
    world.make(world.plugin, "resourceslices", slice_of(world.node, world.node, devices=[{"name": "channel-0"}]),
               namespace="", dry_run=True)


@case(by="cdom-plugin-account")
def node_is_refused_the_label_of_another_node(world):
    return world.api.ask(world.plugin, "PATCH", path("nodes", world.members[0]),
                         {"metadata": {"labels": {LABEL: None}}}, dry_run=True)


COUNTERS = [{"name": "c", "counters": {"m": {"value": "1"}}}]


def try_slice(world, who, pool, **fields):
    return world.try_to_make(who, "resourceslices", slice_of(world.node, pool, **fields), namespace="")


@case(by="cdom-resource-slices")
def node_is_refused_a_slice_in_the_pool_of_another_node(world):
    return try_slice(world, world.plugin, world.members[0], sharedCounters=COUNTERS)


@case(by="cdom-resource-slices")
def node_is_refused_such_a_slice_with_the_token_of_its_kubelet(world):
    return try_slice(world, world.kubelet, world.members[0], sharedCounters=COUNTERS)


@case(by="cdom-resource-slices")
def node_is_refused_gpus_in_the_pool_of_another_node(world):
    return try_slice(world, world.kubelet, world.members[0], driver="gpu.nvidia.com", devices=[{"name": "gpu-0"}])


@case(by="cdom-plugin-account")
def node_is_refused_to_change_taints(world):
    return world.api.ask(world.plugin, "PATCH", path("nodes", world.node),
                         {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, dry_run=True)


@case(by="cdom-daemon-account")
def node_is_refused_the_entries_of_its_peers(world):
    pod = world.daemon_pods()[0]
    clique = next(one["metadata"]["name"] for one in
                  world.cluster.list("computedomaincliques", "cdom-system", f"{LABEL}={world.uid}")
                  if any(entry["nodeName"] != pod["spec"]["nodeName"] for entry in one["daemons"]))
    return world.api.ask(world.daemon(pod), "PATCH", path("computedomaincliques", clique, "cdom-system"),
                         {"daemons": []}, dry_run=True)


@case(by="cdom-daemon-account")
def node_is_refused_the_pod_of_a_peer(world):
    mine, peer = world.daemon_pods()[:2]
    return world.api.ask(world.daemon(mine), "PATCH", path("pods", peer["metadata"]["name"], "cdom-system"),
                         {"metadata": {"annotations": {"cdom.dev/imex": "{}"}}}, dry_run=True)


@case(by="RBAC")
def node_is_refused_secrets(world):
    return world.api.ask(world.daemon(world.daemon_pods()[0]), "GET", path("secrets", namespace="cdom-system"))


def labels_its_node(world, who):
    """Puts the bystander's domain on the attacker's node, and a daemon that says that it is ready."""
    def is_told():
        # The controller takes the label off after a while; the attacker puts it on again. So the label, the daemon and the
        # condition are looked at in one round.
        world.must(who, "PATCH", path("nodes", world.node), {"metadata": {"labels": {LABEL: world.uid}}})
        daemons = [pod for pod in world.daemon_pods()
                   if pod["spec"].get("nodeName") == world.node and not pod["metadata"].get("deletionTimestamp")]
        for pod in daemons:
            world.say_ready(pod)
        told = world.cluster.condition(VICTIM, "MembersReady")
        return daemons and told.get("reason") == "MemberWithoutClaim" and told["message"]
    before = world.victim()
    message = eventually("the condition MembersReady tells of the node, whose daemon runs", is_told, within=90)
    assert world.node in message
    assert world.victim() == before
    if world.entries_by == "controller":
        assert world.node not in nodes_in_cliques(world)
    world.cluster.kubectl("label", "node", world.node, f"{LABEL}-")
    eventually("nothing is told any more", lambda: world.cluster.condition(VICTIM, "MembersReady").get("reason")
               != "MemberWithoutClaim")


@case()
def node_is_harmless_with_the_label_of_another_domain(world):
    labels_its_node(world, world.plugin)


@case()
def node_is_harmless_with_a_label_by_its_kubelet(world):
    labels_its_node(world, world.kubelet)


def daemon_on_the_attackers_node(world):
    """The pod of the bystander's domain that runs there, because root labelled the node."""
    world.must(world.plugin, "PATCH", path("nodes", world.node), {"metadata": {"labels": {LABEL: world.uid}}})

    def pod():
        return next((one for one in world.daemon_pods() if one["spec"].get("nodeName") == world.node
                     and not one["metadata"].get("deletionTimestamp")), None)
    return eventually("a daemon is on the attacker's node", pod)


def entries(world):
    """Of all cliques of the bystander's domain, by their names."""
    return {one["metadata"]["name"]: one.get("daemons", [])
            for one in world.cluster.list("computedomaincliques", "cdom-system", f"{LABEL}={world.uid}")}


def nodes_in_cliques(world):
    return sorted(entry["nodeName"] for daemons in entries(world).values() for entry in daemons)


def leave(world):
    """The attacker's node is as before."""
    world.cluster.kubectl("label", "node", world.node, f"{LABEL}-")
    eventually("no daemon is on the attacker's node", lambda: world.node not in {
        one["spec"].get("nodeName") for one in world.daemon_pods()})


@case()
def node_is_harmless_with_its_daemon_in_the_clique_of_another_domain(world):
    before = nodes_in_cliques(world)
    clique = next(name for name, daemons in entries(world).items() if daemons).partition(".")[2]

    def is_told():
        pod = daemon_on_the_attackers_node(world)
        world.must(world.daemon(pod), "PATCH", path("pods", pod["metadata"]["name"], "cdom-system"),
                   {"metadata": {"labels": {f"{LABEL}.cliqueID": clique}}})
        world.say_ready(pod)
        return world.cluster.condition(VICTIM, "MembersReady").get("reason") == "MemberWithoutClaim"
    eventually("the condition MembersReady tells of the node", is_told, within=90)
    if world.entries_by == "controller":
        assert nodes_in_cliques(world) == before, "nobody is its peer"
    else:
        assert set(nodes_in_cliques(world)) <= {*before, world.node}, "a daemon writes an entry of its own"
    leave(world)


@case()
def node_is_harmless_with_cliques_that_it_makes_up(world):
    before = nodes_in_cliques(world)
    daemon = world.daemon(daemon_on_the_attackers_node(world))
    made = [f"{world.uid}.made-up-{i}" for i in range(3)]
    for name in made:
        entry = {"nodeName": world.node, "ipAddress": "10.9.9.9", "cliqueID": name.partition(".")[2], "index": 0,
                 "status": "Ready"}
        clique = named("ComputeDomainClique", name, daemons=[entry])
        clique["apiVersion"] = "resource.nvidia.com/v1beta1"
        clique["metadata"]["labels"] = {LABEL: world.uid, f"{LABEL}.cliqueID": entry["cliqueID"]}
        world.make(daemon, "computedomaincliques", clique, namespace="cdom-system")
    eventually("the controller has removed the entries", lambda: nodes_in_cliques(world), before, within=90)
    leave(world)
    for name in made:
        world.cluster.kubectl("annotate", "computedomainclique", name, "-n", "cdom-system", "cdom.dev/allow-deletion=true")
        world.cluster.kubectl("delete", "computedomainclique", name, "-n", "cdom-system", "--timeout=60s")


# ---- A user with the role `edit` in cdom's own namespace

def settings_of(world):
    """Path of the ConfigMap with the variables of the privileged pods, and their names."""
    found = [one for container in containers_of(world.plugins["spec"]["template"]["spec"]) for one in container["env"]]
    refs = [one["valueFrom"]["configMapKeyRef"] for one in found if "configMapKeyRef" in one.get("valueFrom", {})]
    [name] = {one["name"] for one in refs}
    return path("configmaps", name, DRIVER), sorted({one["key"] for one in refs})


def plugin_set(world, **changed):
    """The answer to a change of the first container of the plugin's DaemonSet."""
    pod = world.plugins["spec"]["template"]["spec"]
    first, *others = pod["containers"]
    return world.api.ask(world.insider, "PATCH", path("daemonsets", "cdom-kubelet-plugin", DRIVER),
                         {"spec": {"template": {"spec": {"containers": [{**first, **changed}, *others]}}}}, dry_run=True)


def pod_of(**spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "insider"},
            "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@case()
def insider_may_restart_the_kubelet_plugins(world):
    world.must(world.insider, "PATCH", path("daemonsets", "cdom-kubelet-plugin", DRIVER),
               {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}}, dry_run=True)


@case()
def insider_may_take_the_token_of_a_kubelet_plugin(world):
    world.must(world.insider, "POST", path("serviceaccounts", "cdom-kubelet-plugin", DRIVER, "token"),
               {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}, dry_run=True)


@case(by="cdom-driver-settings")
def insider_is_refused_each_variable_of_a_privileged_pod(world):
    where, names_of_variables = settings_of(world)
    assert len(names_of_variables) > 20
    for name in names_of_variables:
        answer = world.api.ask(world.insider, "PATCH", where, {"data": {name: "/driver-root/tmp/evil.so"}}, dry_run=True)
        assert is_refused_by(answer, "cdom-driver-settings"), (name, answer)
    return answer


@case(by="cdom-driver-settings")
def insider_is_refused_variables_of_the_dynamic_linker(world):
    where, names_of_variables = settings_of(world)
    # Without the policy they would not enter a container either: it names its variables.
    assert [one for one in containers_of(world.plugins["spec"]["template"]["spec"]) if "envFrom" in one] == []
    variables = {"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "GCONV_PATH", "LOCPATH", "MALLOC_CONF", "OPENSSL_CONF", "BASH_ENV", "PATH"}
    assert not variables & set(names_of_variables)
    return world.api.ask(world.insider, "PATCH", where, {"data": dict.fromkeys(variables, "/driver-root/tmp/evil.so")}, dry_run=True)


@case(by="cdom-driver-settings")
def insider_is_refused_another_configmap_of_that_name(world):
    return world.try_to_make(world.insider, "configmaps",
                             {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cdom-kubelet-plugin-settings"},
                              "data": {"NVIDIA_CDI_HOOK_PATH": "/tmp/evil"}}, DRIVER)


@case(by="cdom-driver-settings")
def insider_is_refused_to_delete_the_settings(world):
    return world.api.ask(world.insider, "DELETE", settings_of(world)[0], dry_run=True)


@case(by="cdom-driver-settings")
def insider_is_refused_another_authority_of_the_api_server(world):
    return world.api.ask(world.insider, "PATCH", path("configmaps", "kube-root-ca.crt", DRIVER), {"data": {"ca.crt": "mine"}}, dry_run=True)


@case(by="cdom-driver-pods")
def insider_is_refused_another_image_of_the_kubelet_plugin(world):
    return plugin_set(world, image="registry.example.org/evil")


@case(by="cdom-driver-pods")
def insider_is_refused_a_variable_in_the_daemonset(world):
    return plugin_set(world, env=[{"name": "LD_PRELOAD", "value": "/driver-root/tmp/evil.so"}])


@case(by="cdom-driver-pods")
def insider_is_refused_a_pod_with_files_of_the_node(world):
    return world.try_to_make(world.insider, "pods", pod_of(volumes=[{"name": "root", "hostPath": {"path": "/"}}]), DRIVER)


@case(by="cdom-driver-pods")
def insider_is_refused_a_pod_with_the_plugins_account(world):
    return world.try_to_make(world.insider, "pods", pod_of(serviceAccountName="cdom-kubelet-plugin"), DRIVER)


# ---- A stolen token of the controller

@case()
def controller_may_write_the_status_of_a_domain(world):
    world.must(world.controller, "PATCH", path("computedomains", VICTIM, "default", "status"),
               {"status": {"status": "NotReady"}}, dry_run=True)


def refused_pod(world, **pod):
    """The answer to a DaemonSet with such pods."""
    return world.try_to_make(world.controller, "daemonsets", daemon_set(world.uid, **pod), "cdom-system")


@case()
def controller_may_make_daemons(world):
    status, text = refused_pod(world)
    assert status == 201, text


@case(by="cdom-controller-account")
def controller_is_refused_daemons_with_files_of_the_node(world):
    return refused_pod(world, volumes=[{"name": "imex-keys", "hostPath": {"path": "/"}}])


@case(by="cdom-controller-account")
def controller_is_refused_daemons_with_a_secret(world):
    return refused_pod(world, volumes=[{"name": "imex-keys", "secret": {"secretName": "pull-secret"}}])


@case(by="cdom-controller-account")
def controller_is_refused_daemons_under_another_account(world):
    return refused_pod(world, serviceAccountName="cdom-controller")


@case(by="cdom-controller-account")
def controller_is_refused_the_taints_of_a_node(world):
    return world.api.ask(world.controller, "PATCH", path("nodes", world.node),
                         {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, dry_run=True)


@case(by="cdom-controller-account")
def controller_is_refused_events_of_others(world):
    event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "forged", "namespace": "team"},
             "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "kubelet", "reportingInstance": "node",
             "type": "Warning", "reason": "Failed", "action": "Start", "note": "delete this namespace",
             "regarding": {"kind": "Pod", "namespace": "team", "name": "any"}}
    return world.try_to_make(world.controller, "events", event)


@case(by="cdom-controller-account")
def controller_is_refused_to_keep_a_clique_from_its_deletion(world):
    return world.api.ask(world.controller, "PATCH", path("computedomaincliques", next(iter(entries(world))), "cdom-system"),
                         {"metadata": {"finalizers": ["example.com/stays"]}}, dry_run=True)


@case(by="RBAC")
def controller_is_refused_secrets(world):
    return world.api.ask(world.controller, "GET", path("secrets", namespace="cdom-system"))


@case()
def controller_may_read_pods(world):
    pod = world.cluster.kubectl_json("get", "pods", "-n", "default")["items"][0]["metadata"]["name"]
    world.must(world.controller, "GET", path("pods", pod, "default"))


@case(by="RBAC")
def controller_is_refused_the_pods_of_tenants(world):
    return world.api.ask(world.controller, "DELETE", path("pods", namespace="default"), dry_run=True)


@case()
def controller_is_harmless_with_a_false_status(world):
    world.must(world.controller, "PATCH", path("computedomains", VICTIM, "default", "status"),
               {"status": {"status": "NotReady", "nodes": []}})
    eventually("the controller has put the status right", lambda: world.victim()[1:3], ("2/2", "Ready"))


# ---- A pod on the network, without credentials

@case(by="401: send the bearer token")
def network_is_refused_metrics_with_names(world):
    return world.endpoint.metrics()


@case(by="RBAC")
def network_is_refused_domains(world):
    return world.api.ask(world.anonymous, "GET", path("computedomains"))


@case(by="not found")
def network_is_refused_the_debug_pages(world):
    return world.endpoint.open("/debug/domains")


@case()
def network_may_read_metrics_without_names(world):
    status, text = world.endpoint.open("/metrics")
    assert status == 200 and "cdom_members 2" in text.splitlines()
    for name in (VICTIM, world.uid, *world.members, 'namespace="default"'):
        assert name not in text, f"{name} is told to anyone"


def holds_up_no_probe(get, port):
    """So many connections do not make a kubelet restart the pod, which it does after three probes in a row that failed."""
    def probe():
        assert get("/livez") == (200, "ok")
    beset(port, 2000, probe)
    assert World.probes_during(get, port, 5000) < 3


@case()
def network_is_harmless_with_connections_to_the_probes_port(world):
    holds_up_no_probe(world.endpoint.open, world.endpoint.open_port())


@case()
def network_is_harmless_with_connections_to_the_metrics_port(world):
    holds_up_no_probe(world.endpoint.open, world.endpoint.secure_port)


@case()
def network_may_read_the_metrics_of_a_kubelet_plugin(world):
    status, text = world.running_plugin.get("/metrics")
    assert status == 200 and f'node="{NODE}"' in text
    for name in (VICTIM, world.uid, *world.members, 'namespace="default"'):
        assert name not in text, f"{name} is told to anyone"


@case()
def network_is_harmless_with_connections_to_the_port_of_a_kubelet_plugin(world):
    plugin = world.running_plugin
    beset(plugin.port, 5000, plugin.unprepare_an_unknown_claim)
    holds_up_no_probe(plugin.get, plugin.port)


@case()
def network_is_harmless_with_connections_held_to_the_health_port_of_a_kubelet_plugin(world):
    plugin = world.running_plugin
    beset(plugin.health_port, 2000, plugin.prepare_an_unknown_claim)
    with held(plugin.health_port, 2000):
        plugin.prepare_an_unknown_claim()
        has, may_have = plugin.descriptors()
    print(f"{has} descriptors of {may_have}")
    # Each of 64 connections is two.
    assert has < 300 < may_have


# ---- A person who may write ComputeDomains, and nothing else

@case()
def writer_may_make_a_domain_and_delete_it(world):
    makes_and_deletes(world, world.writer, "written")


@case(by="cdom-tenant-limits")
def writer_is_refused_all_channels_by_a_later_spec(world):
    world.make(world.writer, "computedomains", named("ComputeDomain", "bare"))
    answer = world.api.ask(world.writer, "PATCH", path("computedomains", "bare", "team"),
                           {"spec": new_domain("bare", allocationMode="All")["spec"]}, dry_run=True)
    end(world, "bare")
    return answer


@case(by="spec is immutable")
def writer_is_refused_another_spec(world):
    world.make(world.writer, "computedomains", new_domain("fixed"))
    answer = world.api.ask(world.writer, "PATCH", path("computedomains", "fixed", "team"),
                           {"spec": {"channel": {"allocationMode": "All"}}}, dry_run=True)
    end(world, "fixed")
    return answer


@case(by="RBAC")
def writer_is_refused_pods(world):
    return world.api.ask(world.writer, "GET", path("pods", namespace="team"))


@case()
def writer_is_harmless_when_it_takes_the_finalizer_off(world):
    world.make(world.writer, "computedomains", new_domain("kept"))
    serves(world, "kept")
    where = path("computedomains", "kept", "team")
    world.must(world.writer, "PATCH", where, {"metadata": {"finalizers": None}})
    eventually("the finalizer is back",
               lambda: world.cluster.get("computedomain", "kept", "team")["metadata"].get("finalizers"))
    end(world, "kept")


@case(by="cdom-object-sizes")
def writer_is_refused_thousands_of_finalizers(world):
    made = new_domain("big")
    made["metadata"]["finalizers"] = many_finalizers()
    return world.try_to_make(world.writer, "computedomains", made)


# ---- All of them, and the page that lists them

HEADINGS = {
    "A tenant with the role edit": "edit", "A tenant with the role admin": "admin", "Root on one GPU node": "node",
    "A user with the role edit in cdom's namespace": "insider", "A stolen token of the controller": "controller", "A pod on the network, without credentials": "network",
    "A user who may write ComputeDomains only": "writer",
}
OUTCOMES = {"allowed": "may", "refused": "is_refused", "harmless": "is_harmless"}


def rows():
    """Of the tables of the page: heading, outcome, rule and test."""
    for section in PAGE.read_text().split("\n## ")[1:]:
        heading = section.splitlines()[0]
        for line in section.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if heading in HEADINGS and len(cells) == 4 and cells[3].startswith("`"):
                yield heading, cells[1], cells[2], cells[3].strip("`| ")


def test_the_threat_model_has_a_row_for_each_case_and_no_other():
    named_by = {function.__name__: by for function, by in CASES}
    found = list(rows())
    assert sorted(test for *_, test in found) == sorted(named_by)
    for heading, outcome, rule, test in found:
        assert test.startswith(f"{HEADINGS[heading]}_{OUTCOMES[outcome]}_"), f"{test} is in the wrong place"
        if outcome == "refused":
            words = named_by[test].split(":")[0].replace("spec is ", "")
            assert words in rule.replace("`", " ").split() or words in rule, f"{test}: it is {words} that refuses"
        assert bool(named_by[test]) == (outcome == "refused"), f"{test} names no rule, or one too many"


def play(world, run, by):
    before = world.victim()
    answer = run(world)
    if by:
        assert is_refused_by(answer, by), answer
    assert world.victim() == before, "the bystander's domain has changed"


def names(cases):
    return [run.__name__ for run, _ in cases]


@pytest.mark.parametrize("world", ["controller"], indirect=True)
@pytest.mark.parametrize(("run", "by"), CASES, ids=names(CASES))
def test_actor(world, run, by):
    play(world, run, by)


NODE_CASES = [(run, by) for run, by in CASES if run.__name__.startswith("node_")]


# What root on a node may do depends on who writes the entries of cliques.
@pytest.mark.parametrize("world", ["daemon"], indirect=True)
@pytest.mark.parametrize(("run", "by"), NODE_CASES, ids=names(NODE_CASES))
def test_REV3_X2_actor_where_daemons_write_cliques(world, run, by):
    play(world, run, by)
