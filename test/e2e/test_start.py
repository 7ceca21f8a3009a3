"""How the controller starts: without a usable kubeconfig, without CRDs, and as a service of systemd."""

import contextlib
import json
import re
import socket
import ssl
import subprocess
import threading

import pytest
from cluster import REPO, Setup
from endpoint import free_port
from namespaces import DRIVER
from objects import domain
from waiting import eventually

CLUSTER = Setup(nodes=0)
pytestmark = pytest.mark.usefixtures("no_controller")
NO_ANSWER = re.compile(r"127\.0\.0\.1:9")


@pytest.fixture
def config(cluster, tmp_path):
    """A kubeconfig that changes: config(TEXT) replaces it at once, config.nowhere is one whose address does not answer."""
    def write(text):
        (tmp_path / "new").write_text(text)
        (tmp_path / "new").rename(write.path)
    write.path = tmp_path / "changing.kubeconfig"
    write.good = cluster.controller_config.read_text()
    other = json.loads(write.good)
    other["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    write.nowhere = json.dumps(other)
    return write


def logs(cluster, what, pattern):
    eventually(what, cluster.controller_log, re.compile(pattern))


def test_a_missing_malformed_or_wrong_kubeconfig_is_named_and_used_once_right(cluster, config):
    cluster.start_controller(kubeconfig=config.path)
    logs(cluster, "the missing file is named", "changing.kubeconfig.*(No such file|does not exist|missing)")
    config("clusters: [\n")
    logs(cluster, "the malformed file is named", "changing.kubeconfig.*(YAML|yaml)")
    config(config.nowhere)
    logs(cluster, "the address that does not answer is named", NO_ANSWER)
    config(config.good)
    logs(cluster, "the right file is used", r"server.*127\.0\.0\.1:[0-9]{4,5}")
    assert cluster.said_twice("kubeconfig|127") == []


def test_a_crd_that_is_not_installed_is_named_and_waited_for(cluster):
    cluster.kubectl("delete", "-k", REPO / "crds")
    try:
        cluster.start_controller()
        named = re.compile(r".*computedomains\.resource\.nvidia\.com")
        logs(cluster, "the CRD is named", named)
        assert cluster.said_twice(named) == []
    finally:
        cluster.kubectl("apply", "-k", REPO / "crds")
    logs(cluster, "the controller leads", "Reconciling")


def test_flags_of_nvidias_controller_that_change_nothing_are_taken(cluster):
    of_klog = {"--vmodule": "main=4", "--log-flush-frequency": "5s"}
    others = {"--kube-api-qps": "5", "--kube-api-burst": "10", "--pprof-path": "/debug/pprof", "--imex-isolation": "domain",
              "--leader-election-lease-lock-namespace": DRIVER}
    cluster.run_controller(*[word for flag in {**of_klog, **others}.items() for word in flag], "--metrics-path", "/figures")
    assert sorted(re.findall(r'Flag has no effect.*flag="(--[a-z-]+)"', cluster.controller_log())) == sorted(of_klog)
    assert 'leader_election_master_status{name="compute-domain-controller"} 1\n' in cluster.controller_get("health and metrics", "/figures")


def test_without_leader_election_a_controller_works_and_takes_no_lease(cluster, namespace):
    cluster.end_controller()
    cluster.kubectl("delete", "lease", "cdom-controller", "-n", DRIVER, "--ignore-not-found")
    cluster.run_controller("--leader-election-enabled", "false")
    namespace.apply(domain("alone"))
    namespace.is_idle("alone")
    namespace.delete("computedomain", "alone")
    assert cluster.get("lease", "cdom-controller", DRIVER) is None


def test_daemons_have_the_pull_secrets_and_the_largest_clique_that_flags_name(cluster, namespace):
    cluster.run_controller("--cd-daemon-image-pull-secret-names", "first,second", "--max-nodes-per-imex-domain", "5")
    namespace.apply(domain("pulled"))
    namespace.is_idle("pulled")
    pod = cluster.get("daemonset", namespace.daemon_set("pulled"), DRIVER)["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "first"}, {"name": "second"}]
    assert {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}["MAX_NODES_PER_IMEX_DOMAIN"] == "5"
    namespace.delete("computedomain", "pulled")


def test_metrics_are_served_with_the_certificate_that_flags_name(cluster, tmp_path):
    certificate, key, port = tmp_path / "tls.crt", tmp_path / "tls.key", free_port()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
                    "/CN=metrics.example.com", "-out", certificate, "-keyout", key], check=True, capture_output=True)
    cluster.run_controller("--metrics-secure-port", str(port), "--metrics-cert-file", certificate, "--metrics-key-file", key)
    eventually("the certificate", lambda: ssl.get_server_certificate(("127.0.0.1", port)), certificate.read_text(), within=30)


class Systemd:
    """What systemd hears of a service with Type=notify: messages, in order."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self.heard = []
        threading.Thread(target=self._listen, daemon=True).start()

    def end(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def hears(self, what, pattern):
        eventually(what, lambda: list(self.heard), lambda texts: any(re.match(pattern, one) for one in texts))

    def messages(self, word):
        return [text for text in self.heard if word in text]

    def _listen(self):
        with contextlib.suppress(OSError):  # It is closed.
            while message := self._socket.recv(4096):
                self.heard.append(message.decode().replace("\n", " "))


def test_systemd_hears_that_the_controller_is_ready_lives_and_ends(cluster, config, tmp_path):
    systemd = Systemd(tmp_path / "notify")
    config(config.nowhere)
    cluster.start_controller(kubeconfig=config.path, NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="6000000")
    systemd.hears("it says what it waits for", "STATUS=Waiting for the caches")
    lives(systemd)
    logs(cluster, "the address that does not answer is named", NO_ANSWER)
    assert systemd.messages("READY=1") == [], "ready without caches"
    config(config.good)
    systemd.hears("it is ready", "READY=1 STATUS=(Reconciling|Standing by)")
    systemd.hears("it works", "(READY=1 )?STATUS=Reconciling")
    lives(systemd)
    cluster.controller.end()
    assert cluster.controller.status() == 0
    eventually("the end is said", lambda: systemd.messages("STOPPING=1"))
    systemd.end()
    # The end is said once, and nothing after it.
    assert len(systemd.messages("STOPPING=1")) == 1 and "STOPPING=1" in systemd.heard[-1], systemd.heard


def lives(systemd):
    """Waits until systemd has heard of it again and again: three times since now."""
    before = len(systemd.messages("WATCHDOG=1"))
    eventually("signs of life", lambda: len(systemd.messages("WATCHDOG=1")) - before, lambda count: count >= 3)
