"""The account of the Job that takes finalizers off: what it does under its ClusterRole, and what fails without each right."""

import contextlib
import http.client
import http.server
import json
import os
import ssl
import subprocess
import threading
import urllib.parse

import pytest
from cluster import REPO
from objects import domain
from waiting import eventually

NAME = "cdom-release-finalizers"
WHO = f"system:serviceaccount:{NAME}:{NAME}"
FINALIZER = "resource.nvidia.com/computeDomain"
HELD = {"computedomains": ("computedomain", "default"), "resourceclaimtemplates": ("resourceclaimtemplate", "default"),
        "daemonsets": ("daemonset", "cdom-system")}
GUARDS = ("leases", "namespaces")  # What tells whether a controller leads.
RIGHTS = [*((verb, resource) for resource in HELD for verb in ("get", "list", "patch")),
          ("list", "leases"), *(("get", guard) for guard in GUARDS)]


class Quicker(http.server.BaseHTTPRequestHandler):
    """Passes requests on to the API server. Before the first PATCH of an object somebody else changes that."""

    def do_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        resource = self.path.split("?")[0].split("/")[-2]
        if self.command == "PATCH" and self.path not in self.server.changed:
            self.server.changed.add(self.path)
            self.server.change(HELD[resource])
        upstream = http.client.HTTPSConnection(self.server.upstream, context=self.server.trusts, timeout=30)
        upstream.request(self.command, self.path, body, {
            name: self.headers[name] for name in ("Authorization", "Accept", "Content-Type") if name in self.headers})
        answer = upstream.getresponse()
        text = answer.read()
        upstream.close()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PATCH = do_any
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


def held(kind, **fields):
    api, name, namespace = {"ResourceClaimTemplate": ("resource.k8s.io/v1", "held", "default"),
                            "DaemonSet": ("apps/v1", "held", "cdom-system")}[kind]
    return {"apiVersion": api, "kind": kind, **fields,
            "metadata": {"name": name, "namespace": namespace, "finalizers": [FINALIZER]}}


@pytest.fixture(scope="module")
def role(cluster):
    """The rules of the ClusterRole as it is shipped."""
    cluster.kubectl("apply", "-f", REPO / "manifests/release-finalizers/access.yaml",
                    "-f", REPO / "manifests/release-finalizers/policy.yaml")
    cluster.end_controller()
    yield cluster.get("clusterrole", NAME)["rules"]
    cluster.kubectl("delete", "-f", REPO / "manifests/release-finalizers/policy.yaml",
                    "-f", REPO / "manifests/release-finalizers/access.yaml", "--timeout=60s")


@pytest.fixture
def objects(cluster, removed_later):
    """One of each kind that holds the finalizer."""
    pod = {"metadata": {"labels": {"a": "b"}},
           "spec": {"nodeSelector": {"no": "node"}, "containers": [{"name": "c", "image": "i"}]}}
    made = domain("held")
    made["metadata"]["finalizers"] = [FINALIZER]
    removed_later(made, held("ResourceClaimTemplate", spec={"spec": {}}),
                  held("DaemonSet", spec={"selector": {"matchLabels": {"a": "b"}}, "template": pod}))
    yield
    for kind, namespace in HELD.values():
        cluster.kubectl("patch", kind, "held", "-n", namespace, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


@pytest.fixture
def release(cluster, programs, tmp_path):
    """release([namespace of the controller]): status and words of the command, as the Job's account, between whose look and write
    somebody is quicker."""
    config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quicker)
    server.upstream = urllib.parse.urlsplit(config["clusters"][0]["cluster"]["server"]).netloc
    server.trusts = ssl.create_default_context(cafile=cluster.folder / "plane/pki/ca.crt")
    serves = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serves.load_cert_chain(cluster.folder / "plane/pki/server.crt", cluster.folder / "plane/pki/server.key")
    server.socket = serves.wrap_socket(server.socket, server_side=True)
    server.changed = set()
    server.change = lambda what: cluster.kubectl("annotate", what[0], "held", "-n", what[1], "quicker=yes", "--overwrite")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{server.server_port}"
    token = cluster.kubectl("create", "token", NAME, "-n", NAME, "--duration", "1h").strip()
    config["users"][0]["user"] = {"token": token}
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))

    def run(namespace="cdom-system"):
        done = subprocess.run(
            [programs / "compute-domain-controller", "release-finalizers"], check=False, timeout=120, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "KUBECONFIG": str(path), "NAMESPACE": namespace})
        return done.returncode, done.stdout
    yield run
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def lease(cluster):
    """lease(): makes the controller's Lease, which nobody holds. There is none before that."""
    def delete():
        cluster.kubectl("delete", "lease", "cdom-controller", "-n", "cdom-system", "--ignore-not-found")
    delete()
    yield lambda: cluster.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {},
                                 "metadata": {"name": "cdom-controller", "namespace": "cdom-system"}})
    delete()


def holders(cluster):
    return [resource for resource, (kind, namespace) in HELD.items()
            if cluster.get(kind, "held", namespace)["metadata"].get("finalizers")]


@contextlib.contextmanager
def without(cluster, rules, verb, resource):
    """The account lacks this right meanwhile."""
    assert any(verb in one["verbs"] and resource in one["resources"] for one in rules)
    less = [{**one, "verbs": [each for each in one["verbs"] if each != verb or resource not in one["resources"]]}
            for one in rules]

    def set_rules(to):
        cluster.kubectl("patch", "clusterrole", NAME, "--type=merge",
                        "-p", json.dumps({"rules": [one for one in to if one["verbs"]]}))

    def may():
        target = f"{resource}/cdom-controller" if resource == "leases" else resource
        return cluster.kubectl("auth", "can-i", verb, target, "-n", "cdom-system", "--as", WHO, check=False).strip() == "yes"
    set_rules(less)
    try:
        eventually("the right is gone", lambda: not may())
        yield
    finally:
        set_rules(rules)
        eventually("the right is there again", may)


@pytest.mark.usefixtures("objects")
def test_REV3_X14_the_job_takes_finalizers_off_also_where_somebody_is_quicker(cluster, role, release, lease):
    since = cluster.audit_size()
    status, said = release()
    assert (status, holders(cluster)) == (1, list(HELD)), said
    assert "Which one does your controller use?" in said
    lease()
    status, said = release()
    assert status == 0, said
    assert holders(cluster) == [], said
    status, said = release("no-such-namespace")
    assert (status, "no controller leads in another one" in said) == (0, True), said
    # That there is no Lease is an answer. What is of no resource asks which versions are served.
    used = {(one["verb"], one["objectRef"]["resource"]) for one in cluster.requests_of(WHO, since)
            if "objectRef" in one and one["responseStatus"]["code"] in (200, 404)}
    granted = {(verb, resource) for one in role for resource in one["resources"] for verb in one["verbs"]}
    assert used >= granted, granted - used
    assert granted == set(RIGHTS)


@pytest.mark.parametrize(("verb", "resource"), RIGHTS)
@pytest.mark.usefixtures("objects")
def test_REV3_X14_the_job_fails_without_the_right_to(cluster, role, release, lease, verb, resource):
    if resource != "namespaces":  # It is asked about where there is no Lease.
        lease()
    # The Leases of all namespaces are listed if that of the controller does not exist.
    namespace = "no-such-namespace" if (verb, resource) == ("list", "leases") else "cdom-system"
    with without(cluster, role, verb, resource):
        status, said = release(namespace)
    assert status != 0, said
    # Who may not look again gives up at what it was told when it wrote.
    why = "409 Conflict" if verb == "get" and resource in HELD else f'cannot {verb} resource "{resource}"'
    assert why in said, said
    # What the right is not about is released all the same; without a look at the Leases nothing is.
    assert holders(cluster) == (list(HELD) if resource in GUARDS else [resource]), said


@pytest.mark.usefixtures("objects", "role")
def test_nothing_is_released_under_a_leader_if_the_namespace_is_misspelt(cluster, release):
    cluster.run_controller()
    try:
        status, said = release("cdom-sytem")
        assert status == 1, said
        assert "holds the Lease cdom-system/cdom-controller" in said, said
        assert "released" not in said, said
    finally:
        cluster.end_controller()
