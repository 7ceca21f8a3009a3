"""What tenants and the accounts of the driver may do, and that docs/tenants.md says so."""

import json
import re

import pytest
from actors import Api, User
from cluster import REPO
from kustomizations import built
from namespaces import Namespace
from objects import domain, pod_on
from pages import run_commands
from tenants import CLUSTER, tenants  # noqa: F401
from versions import needs_placement
from waiting import CommandFailed, eventually

PAGE = (REPO / "docs/tenants.md").read_text()
SYSTEM = "system:serviceaccount:cdom-system"
# User and namespace by the page's names.
WHO = {"view": ("view", "team"), "edit": ("edit", "team"), "admin": ("admin", "team"),
       "controller": (f"{SYSTEM}:cdom-controller", "cdom-system"),
       "daemon": (f"{SYSTEM}:compute-domain-daemon-service-account", "cdom-system")}


def forbidden(cluster, *arguments):
    assert re.search("[Ff]orbidden", cluster.refused(*arguments))


def rows_below(heading):
    """The rows of the page's table with that heading, each as its cells."""
    table = PAGE.partition(heading)[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def of_page(who, where=None):
    """What the page grants, everywhere if `where` says so: each as "VERB OBJECT"."""
    return {f"{verb} {thing}".replace("`", "") for users, place, verbs, things in rows_below("| Who | Where |")
            if who in users.replace("`", "").split(", ") and where in (None, place)
            for verb in verbs.split(", ") for thing in things.split(", ")}


def of_server(api, user, namespace):
    """What the API server grants, written like the page."""
    status, text = api.ask(User(user), "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace}})
    assert status == 201, text
    found = set()
    for rule in json.loads(text)["status"]["resourceRules"]:
        for group in rule["apiGroups"]:
            for resource, _, sub in (one.partition("/") for one in rule["resources"]):
                thing = resource + (f".{group}" if group else "") + (f"/{sub}" if sub else "")
                found |= {f"{verb} {thing}" + (f" named {name}" if name else "")
                          for verb in rule["verbs"] for name in rule.get("resourceNames") or [""]}
    return found


def ours(api, user, namespace):
    """Of a tenant only what is ours, of an account of ours all but what each account may."""
    found = of_server(api, user, namespace)
    if user.startswith("system:"):
        return found - of_server(api, "system:serviceaccount:default:default", namespace)
    return {one for one in found if re.search(r"\.resource\.nvidia\.com( |/|$)", one)}


def test_page_names_all_users():
    users = {user for row in rows_below("| Who | Where |") for user in row[0].replace("`", "").split(", ")}
    assert users == set(WHO)


@pytest.mark.parametrize("who", WHO)
def test_permissions_are_what_the_page_says(tenants, who):
    api, (user, namespace) = Api(tenants), WHO[who]
    assert ours(api, user, namespace) == of_page(who)
    assert ours(api, user, "other") == of_page(who, "everywhere")


@needs_placement  # The quickstart has its label.
def test_editor_runs_the_quickstart_and_only_its_viewers_see_it(tenants):
    example = ("-n", "team", "-f", REPO / "examples/quickstart.yaml", "--as", "edit")
    tenants.kubectl("create", *example)
    try:
        def seen():
            return tenants.kubectl("get", "computedomain", "quickstart", "-n", "team", "--as", "view",
                                   "-o", "jsonpath={.status.status} {.status.members}")
        eventually("a viewer sees it ready", seen, "Ready 4/4")
        assert "AllMembersReady" in tenants.kubectl("describe", "computedomain", "quickstart", "-n", "team", "--as", "view")
        tenants.kubectl("annotate", "computedomain", "quickstart", "-n", "team", "cdom.dev/deletion-grace=1m", "--as", "edit")
        forbidden(tenants, "delete", "computedomain", "quickstart", "-n", "team", "--as", "view")
        forbidden(tenants, "get", "computedomain", "quickstart", "-n", "team", "--as", "neighbour")
        forbidden(tenants, "get", "computedomains", "--all-namespaces", "--as", "admin")
        forbidden(tenants, "patch", "computedomain", "quickstart", "-n", "team", "--subresource=status", "--type=merge",
                  "-p", '{"status": {"status": "NotReady"}}', "--as", "admin")
        forbidden(tenants, "get", "computedomaincliques", "-n", "cdom-system", "--as", "admin")
        assert tenants.kubectl("get", "computedomaincliques", "-n", "cdom-system", "--as", "operator", "-o", "name") != ""
        forbidden(tenants, "delete", "computedomaincliques", "--all", "-n", "cdom-system", "--as", "operator")
    finally:
        tenants.kubectl("delete", *example, "--timeout=60s")


def test_tenants_read_each_others_names_only_if_configured(tenants):
    team, other = Namespace(tenants, "team"), Namespace(tenants, "other")

    def create(namespace, user, *objects):
        for one in objects:
            one["metadata"]["namespace"] = namespace
            tenants.kubectl("create", "--as", user, "-f", "-", stdin=json.dumps(one))

    def says(text, within=60):
        other.says("wants", "NoChannelFree", text, within=within)
        eventually("its pod is told the same",
                   lambda: tenants.kubectl("events", "-n", "other", "--for", "pod/wants", "--as", "neighbour"),
                   re.compile(f"NoChannelFree.*{text}"))
    anonymous, named = r"Other domains hold nodes: a domain in another namespace\.", r"Other domains hold nodes: team/secretive\."
    create("team", "edit", domain("secretive"), pod_on("secretive", "node-000", "secretive-channel"))
    eventually("one has the node", lambda: team.condition("secretive", "InUse")["status"], "True")
    create("other", "neighbour", domain("wants"), pod_on("wants", "node-000", "wants-channel"))
    says(anonymous)
    assert "secretive" not in tenants.kubectl("get", "computedomains,pods,events", "-n", "other", "--as", "neighbour", "-o", "yaml")
    # Administrators of the cluster are told in any case.
    pages = json.loads(tenants.controller_get("debug pages", "/debug/domains"))
    told = [one["message"] for page in pages if page["name"] == "wants" for one in page["status"]["conditions"]]
    assert re.search(named, "\n".join(told))

    always = tenants.folder / "always.yaml"
    always.write_text(json.dumps({"apiVersion": "cdom.dev/v1alpha1", "kind": "ControllerConfiguration",
                                  "status": {"nameOthers": "Always"}}))
    tenants.run_controller("--config", str(always))
    says(named)
    tenants.run_controller()
    other.says("wants", "NoChannelFree", anonymous, within=60)
    tenants.kubectl("delete", "pod", "secretive", "-n", "team", "--as", "edit", "--timeout=60s")
    other.says("wants", "AllMembersReady", r"^All 1/1 members are ready\.$", within=60)
    tenants.kubectl("delete", "pod", "wants", "-n", "other", "--as", "neighbour", "--timeout=60s")
    team.delete("computedomain", "secretive")
    other.delete("computedomain", "wants")


def row_of(name, spec, level, classes):
    """What the pod asks of a node, as the cells of the page's table."""
    each = [*spec["containers"], *spec.get("initContainers", [])]
    contexts = [one.get("securityContext", {}) for one in each]
    users = {str(one.get("runAsUser", spec.get("securityContext", {}).get("runAsUser", "the image's"))) for one in contexts}
    capabilities = [one.get("capabilities") for one in contexts]
    dropped = all(one and one.get("drop") == ["ALL"] and "add" not in one for one in capabilities)
    of_host = (any(spec.get(field) for field in ("hostNetwork", "hostPID", "hostIPC")) or
               any("hostPath" in one for one in spec.get("volumes", [])) or
               any("hostPort" in port for one in each for port in one.get("ports", [])))
    return [name, level, ", ".join(sorted(users)), "none" if dropped else "some" if any(capabilities) else "the runtime's",
            "yes" if any(one.get("privileged") for one in contexts) else "no", "something" if of_host else "nothing",
            ", ".join(f"`{one}`" for one in sorted(classes)) or "none"]


@pytest.fixture
def levels(cluster):
    """A namespace that enforces each level of pod security, by the level's name."""
    found = ("restricted", "baseline", "privileged")
    for level in found:
        cluster.apply({"apiVersion": "v1", "kind": "Namespace",
                       "metadata": {"name": level, "labels": {"pod-security.kubernetes.io/enforce": level}}})
    yield found
    cluster.kubectl("delete", "namespaces", *found, "--timeout=60s")


def strictest(cluster, levels, spec):
    """The strictest level that lets such a pod in."""
    for level in levels:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": level},
               "spec": {**spec, "serviceAccountName": "default"}}
        try:
            cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
        except CommandFailed:
            continue
        return level
    raise AssertionError("no level lets it in")


def test_pods_ask_of_a_node_what_the_page_says(cluster, namespace, levels):
    def classes(spec):
        names = [one["resourceClaimTemplateName"] for one in spec.get("resourceClaims", [])]
        templates = [cluster.get("resourceclaimtemplate", name, "cdom-system") for name in names]
        return {one["exactly"]["deviceClassName"] for found in templates for one in found["spec"]["spec"]["devices"]["requests"]}

    def row(name, spec):
        return row_of(name, spec, strictest(cluster, levels, spec), classes(spec))
    namespace.apply(domain("asked"))
    namespace.is_idle("asked")
    daemon = cluster.get("daemonset", namespace.daemon_set("asked"), "cdom-system")
    (controller,) = [one for one in built(cluster, REPO / "manifests/standalone") if one["kind"] == "Deployment"]
    found = [row(name, one["spec"]["template"]["spec"]) for name, one in (("controller", controller), ("daemon", daemon))]
    assert found == rows_below("| Pod | Pod security level |")


@pytest.mark.usefixtures("nothing_is_left_in_shape")
def test_each_command_of_the_tenants_page_does_what_it_says(tenants):
    run_commands(tenants, "docs/tenants.md")
