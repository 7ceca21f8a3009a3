"""The stand-in for IMEX says no where NVIDIA's does, as its documentation says: states before READY, quorum, recovery, lost
peers, keys and values of the configuration. No cluster is started.
"""

import os
import pathlib
import signal
import subprocess

import pytest
from waiting import eventually

REPO = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 20  # For anything that takes milliseconds on an idle machine.


class Node:
    """One IMEX of a domain, with a folder and an address of loopback of its own."""

    def __init__(self, folder, programs, index, names):
        self.folder = folder / f"node-{index}"
        self.folder.mkdir()
        self.hosts = self.folder / "hosts"
        self.config = self.folder / "imexd.cfg"
        self.log = self.folder / "log"
        self._programs = programs
        self._process = None
        self._environment = {}
        text = (REPO / "node/imex/imexd.cfg.tmpl").read_text()
        text = text.replace("{{ .IMEXDaemonNodesConfigPath }}", str(self.folder / "nodes.cfg"))
        self.config.write_text(text.replace("{{ .IMEXCmdBindInterfaceIP }}", names[f"node-{index}"]))
        self.set_nodes(names)

    def set_nodes(self, names):
        (self.folder / "nodes.cfg").write_text("".join(f"{name}\n" for name in names))
        self.hosts.write_text("".join(f"{address}\t{name}\n" for name, address in names.items()))

    def set(self, key, value):
        lines = [line for line in self.config.read_text().splitlines() if not line.startswith(f"{key}=")]
        self.config.write_text("\n".join([*lines, f"{key}={value}", ""]))

    def ask_for(self, what, text):
        """Writes a file beside the hosts file, whole at once. None: removes it."""
        file = self.folder / f"hosts.{what}"
        if text is None:
            file.unlink()
            return
        (self.folder / "next").write_text(text)
        (self.folder / "next").rename(file)

    def start(self, **environment):
        self._environment = {"IMEX_STANDIN_HOSTS": str(self.hosts), **environment}
        with self.log.open("w") as log:
            self._process = subprocess.Popen([self._programs / "imex/nvidia-imex", "-c", self.config], stderr=log,
                                             env=self._environment)

    def run(self, **environment):
        """(exit status, log) of an IMEX that ends by itself."""
        self.start(**environment)
        return self.wait(), self.said()

    def send(self, number):
        self._process.send_signal(number)

    def wait(self):
        return self._process.wait(SECONDS)

    def end(self):
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def said(self):
        return self.log.read_text()

    def says(self, text):
        eventually(f"{self.folder.name} says {text!r}", self.said, lambda said: text in said, within=SECONDS)

    def control(self, *arguments):
        return subprocess.run([self._programs / "imex/nvidia-imex-ctl", "-c", self.config, *arguments],
                              env={"IMEX_STANDIN_HOSTS": str(self.hosts), **self._environment},
                              capture_output=True, text=True, timeout=SECONDS)

    def is_in(self, state):
        eventually(f"{self.folder.name} is {state}", lambda: (self.control("-q").stdout, self.said()),
                   lambda got: got[0] == f"{state}\n", within=SECONDS)


@pytest.fixture
def domain(tmp_path, programs):
    """Two nodes that know each other."""
    third = os.getpid() % 250
    names = {f"node-{index}": f"127.{200 + os.getpid() // 250 % 50}.{third}.{index + 1}" for index in range(2)}
    nodes = [Node(tmp_path, programs, index, names) for index in range(2)]
    yield nodes
    for node in nodes:
        node.end()


def test_REV3_imex_stand_in_comes_through_its_states_in_order(domain):
    node, other = domain
    other.start()
    node.ask_for("state", "INITIALIZING")
    node.start()
    for state in ("INITIALIZING", "STARTING_AUTH_SERVER", "WAITING_FOR_PEERS", "WAITING_FOR_RECOVERY", "INIT_GPU"):
        node.ask_for("state", state)
        node.is_in(state)
        assert "IMEX is READY" not in node.said()
        # It talks to peers once its server runs.
        if state in ("INITIALIZING", "STARTING_AUTH_SERVER"):
            assert "Connection established" not in node.said()
        else:
            node.says("Connection established to node 1")
    node.ask_for("state", None)
    node.is_in("READY")
    assert "IMEX is READY" in node.said()
    node.ask_for("state", "SHUTTING_DOWN")
    node.send(signal.SIGTERM)
    node.is_in("SHUTTING_DOWN")
    node.ask_for("state", None)
    assert node.wait() == 0


def test_REV3_imex_stand_in_with_full_quorum_waits_for_all(domain):
    node, other = domain
    node.set("IMEX_WAIT_FOR_QUORUM", "FULL")
    node.start()
    node.is_in("WAITING_FOR_PEERS")
    other.start()
    node.is_in("READY")


def test_REV3_imex_stand_in_with_full_quorum_ends_when_its_time_is_over(domain):
    node = domain[0]
    node.set("IMEX_WAIT_FOR_QUORUM", "FULL")
    node.set("IMEX_CONN_WAIT_TIMEOUT", "1")
    status, log = node.run()
    assert status == 1
    assert "Not all nodes have connected within IMEX_CONN_WAIT_TIMEOUT" in log.splitlines()[-1]


@pytest.mark.parametrize("quorum", ["NONE", "RECOVERY"])
def test_REV3_imex_stand_in_without_full_quorum_is_ready_alone(domain, quorum):
    node = domain[0]
    node.set("IMEX_WAIT_FOR_QUORUM", quorum)
    node.start()
    node.is_in("READY")


def has_imported(node, other):
    """Both run, and a job on the other has imported memory of the node."""
    node.start()
    other.start()
    node.says("Connection established to node 1")
    node.ask_for("importers", "1")
    persist = node.folder / "hosts.persist"
    eventually("the importer is noted", lambda: persist.exists() and persist.read_text().splitlines()[1:] == ["1"], within=SECONDS)


def test_REV3_imex_stand_in_that_was_killed_waits_for_its_importers(domain):
    node, other = domain
    has_imported(node, other)
    for ended in (node, other):
        ended.send(signal.SIGKILL)
        ended.wait()
    node.start()
    node.is_in("WAITING_FOR_RECOVERY")
    other.start()
    node.is_in("READY")


@pytest.mark.parametrize("reason", ["it was told to end", "its nodes are others", "its quorum is NONE"])
def test_REV3_imex_stand_in_has_nothing_to_recover(domain, reason):
    node, other = domain
    has_imported(node, other)
    other.send(signal.SIGKILL)
    node.send(signal.SIGTERM if reason == "it was told to end" else signal.SIGKILL)
    node.wait()
    if reason == "its nodes are others":
        nodes = node.folder / "nodes.cfg"
        nodes.write_text(nodes.read_text() + "node-2\n")
    if reason == "its quorum is NONE":
        node.set("IMEX_WAIT_FOR_QUORUM", "NONE")
    node.start()
    node.is_in("READY")


@pytest.mark.parametrize("state", ["INITIALIZING", "WAITING_FOR_RECOVERY", "INIT_GPU", "READY"])
def test_REV3_imex_stand_in_ends_with_an_error(domain, state):
    node = domain[0]
    node.ask_for("state", state)
    node.start()
    node.is_in(state)
    node.ask_for("fails", "GPU initialization failed")
    assert node.wait() == 1
    assert node.said().splitlines()[-1].endswith("GPU initialization failed")
    assert node.said().splitlines()[-1].startswith("[ERROR]")


def test_REV3_imex_stand_in_keeps_the_session_of_a_lost_peer_until_another_instance_comes(domain):
    node, other = domain
    node.start()
    other.start()
    node.says("Connection established to node 1")
    other.send(signal.SIGKILL)
    node.says("Connection lost to node 1")
    assert "Session with node 1" not in node.said()
    other.end()
    other.start()
    node.says("Session with node 1 has ended: what was imported from it is lost")


def test_REV3_imex_stand_in_ends_the_session_of_a_lost_peer_after_the_grace_time(domain):
    node, other = domain
    node.set("IMEX_NODE_DISCONNECTED_GRACE_TIME", "0")
    node.start()
    other.start()
    node.says("Connection established to node 1")
    other.send(signal.SIGKILL)
    node.says("Session with node 1 has ended: what was imported from it is lost")
    assert node.said().count("Connection established to node 1") == 1, "nobody has come again"


def test_REV4_Y1_imex_stand_in_talks_to_no_node_with_another_nodes_file(domain):
    """The address of a peer has become that of a daemon of another domain."""
    node, other = domain
    node.start()
    addresses = [line.split() for line in other.hosts.read_text().splitlines()]
    other.set_nodes({f"of-another-domain-{name}": address for address, name in addresses})
    other.start()
    other.is_in("READY")
    node.says("Node 1 says: WRONG this node has another nodes file")
    assert "Connection established to node 1" not in node.said()


GOOD = {
    "LOG_LEVEL": "0 4", "LOG_FILE_MAX_SIZE": "-1 1024", "LOG_MAX_ROTATE_COUNT": "0 3", "LOG_APPEND_TO_LOG": "0 1",
    "STATS_FILE_NAME": "/var/log/x", "BIND_INTERFACE_IP": "OWN", "NETWORK_INTERFACE": "eth0",
    "IMEX_CONN_WAIT_TIMEOUT": "0 70", "IMEX_WAIT_FOR_QUORUM": "NONE RECOVERY",
    "IMEX_AUTH_ENCRYPTION_MODE": "SSL_TLS GSS_AUTH_ENCRYPT GSS_AUTH_ONLY", "IMEX_AUTH_SOURCE": "FILE ENV_PATH ENV_VAL",
    "IMEX_SERVER_KEY": "x", "IMEX_SERVER_CERT": "x", "IMEX_SERVER_CERT_AUTH": "x", "IMEX_CLIENT_KEY": "x",
    "IMEX_CLIENT_CERT": "x", "IMEX_CLIENT_CERT_AUTH": "x", "IMEX_SECURITY_TARGET_OVERRIDE": "localhost",
    "IMEX_GSS_SERVICE_NAME": "host", "IMEX_GSS_TIMEOUT_SEC": "-1 30", "IMEX_GSS_RETRY_INTERVAL_SEC": "0 5",
    "IMEX_GSS_SEC_CONTEXT_LIFETIME_SEC": "-1 60", "IMEX_GSS_SHUTDOWN_ON_FAILURE": "0 1",
    "IMEX_NODE_DISCONNECTED_GRACE_TIME": "-1 0 300",
}


@pytest.mark.parametrize("key, value", [(key, value) for key, values in GOOD.items() for value in values.split()])
def test_REV3_imex_stand_in_takes_each_documented_value(domain, key, value):
    node = domain[0]
    node.set(key, node.hosts.read_text().split()[0] if value == "OWN" else value)
    node.start()
    node.is_in("READY")


BAD = [
    ("LOG_LEVEL", "5", "0 to 4"), ("LOG_LEVEL", "", "0 to 4"), ("LOG_LEVEL", "4 ", "0 to 4"),
    ("LOG_FILE_NAME", "imex.log", "a path of at most 256 bytes, or nothing"),
    ("LOG_FILE_NAME", "/" + "x" * 256, "a path of at most 256 bytes, or nothing"),
    ("STATS_FILE_NAME", "stats", "a path of at most 256 bytes, or nothing"),
    ("LOG_APPEND_TO_LOG", "yes", "0 or 1"), ("LOG_FILE_MAX_SIZE", "1GB", "an integer"),
    ("LOG_MAX_ROTATE_COUNT", "-1", "0 or more"), ("LOG_USE_SYSLOG", "2", "0 or 1"), ("DAEMONIZE", "", "0 or 1"),
    ("BIND_INTERFACE_IP", "eth0", "an address, or nothing"), ("SERVER_PORT", "65536", "0 to 65535"),
    ("SERVER_PORT", "-1", "0 to 65535"), ("IMEX_NODE_CONFIG_FILE", "nodes.cfg", "a path of at most 256 bytes"),
    ("NETWORK_INTERFACE", "an interface", "the name of an interface, or nothing"),
    ("IMEX_CONN_WAIT_TIMEOUT", "-1", "0 or more"), ("IMEX_WAIT_FOR_QUORUM", "SOME", "NONE, RECOVERY or FULL"),
    ("IMEX_WAIT_FOR_QUORUM", "", "NONE, RECOVERY or FULL"), ("IMEX_ENABLE_AUTH_ENCRYPTION", "true", "0 or 1"),
    ("IMEX_AUTH_ENCRYPTION_MODE", "", "SSL_TLS, GSS_AUTH_ENCRYPT or GSS_AUTH_ONLY"),
    ("IMEX_AUTH_SOURCE", "SECRET", "FILE, ENV_PATH, ENV_VAL, or nothing"),
    ("IMEX_GSS_TIMEOUT_SEC", "-2", "-1 or more"), ("IMEX_GSS_RETRY_INTERVAL_SEC", "-1", "0 or more"),
    ("IMEX_GSS_SEC_CONTEXT_LIFETIME_SEC", "-2", "-1 or more"), ("IMEX_GSS_SHUTDOWN_ON_FAILURE", "2", "0 or 1"),
    ("IMEX_CMD_ENABLED", "on", "0 or 1"), ("IMEX_CMD_BIND_INTERFACE_IP", "here", "an address, or nothing"),
    ("IMEX_CMD_PORT", "x", "0 to 65535"), ("IMEX_CMD_UNIX_DOMAIN_PATH", "s", "a path of at most 256 bytes, or nothing"),
    ("IMEX_NODE_DISCONNECTED_GRACE_TIME", "-2", "-1 or more"),
]


@pytest.mark.parametrize("key, value, takes", BAD)
def test_REV3_imex_stand_in_refuses_each_other_value(domain, key, value, takes):
    node = domain[0]
    node.set(key, value)
    refused = f'[ERROR] bad value "{value}" of {key} in {node.config}: it takes {takes}\n'
    assert node.run() == (255, refused)
    assert node.control("-q").stderr == refused, "and so does nvidia-imex-ctl"


def test_REV3_imex_stand_in_knows_each_key_of_the_template_and_no_other(domain):
    node = domain[0]
    text = node.config.read_text()
    keys = [line.partition("=")[0] for line in text.splitlines()]
    for key in keys:
        node.config.write_text("\n".join(line for line in text.splitlines() if not line.startswith(f"{key}=")) + "\n")
        assert node.run() == (255, f"[ERROR] no key {key} in {node.config}\n")
    for line, refused in (("IMEX_NODE_QUORUM=1", "unknown key IMEX_NODE_QUORUM in {}"),
                          ("LOG_LEVEL=4", "key LOG_LEVEL stands twice in {}"),
                          ("LOG_LEVEL", 'no key in line "LOG_LEVEL" of {}')):
        node.config.write_text(f"{text}{line}\n")
        assert node.run() == (255, f"[ERROR] {refused.format(node.config)}\n")


@pytest.mark.parametrize("key, value, refused", [
    ("DAEMONIZE", "1", "the stand-in for IMEX knows no DAEMONIZE=1"),
    ("LOG_USE_SYSLOG", "1", "the stand-in for IMEX knows no LOG_USE_SYSLOG=1"),
    ("IMEX_CMD_UNIX_DOMAIN_PATH", "/run/imex", "the stand-in for IMEX knows no IMEX_CMD_UNIX_DOMAIN_PATH"),
])
def test_REV3_imex_stand_in_refuses_what_it_cannot_do(domain, key, value, refused):
    node = domain[0]
    node.set(key, value)
    assert node.run() == (255, f"[ERROR] {refused}\n")


def test_REV3_imex_stand_in_logs_where_and_what_it_is_told(domain):
    node = domain[0]
    log = node.folder / "imex.log"
    log.write_text("of before\n")
    node.set("LOG_FILE_NAME", str(log))
    node.set("LOG_APPEND_TO_LOG", "1")
    node.start()
    node.is_in("READY")
    assert node.said() == ""
    assert log.read_text().startswith("of before\n") and "IMEX is READY" in log.read_text()
    node.end()
    node.set("LOG_APPEND_TO_LOG", "0")
    node.set("LOG_LEVEL", "2")
    node.start()
    node.is_in("READY")
    assert log.read_text() == ""


def test_REV3_imex_stand_in_without_commands_answers_none(domain):
    node = domain[0]
    node.set("IMEX_CMD_ENABLED", "0")
    node.start()
    node.says("IMEX is READY")
    asked = node.control("-q")
    assert (asked.returncode, asked.stdout) == (255, "")


def encrypt(node, source, place):
    node.set("IMEX_ENABLE_AUTH_ENCRYPTION", "1")
    node.set("IMEX_AUTH_SOURCE", source)
    for side in ("SERVER", "CLIENT"):
        for what in ("KEY", "CERT", "CERT_AUTH"):
            node.set(f"IMEX_{side}_{what}", place)


def test_REV3_imex_stand_in_encrypts_with_keys_alone(domain):
    node, other = domain
    key = node.folder / "key"
    encrypt(node, "FILE", str(key))
    assert node.run() == (255, f'[ERROR] cannot read the key "{key}"\n')
    encrypt(node, "ENV_PATH", "OUR_KEY")
    assert node.run() == (255, '[ERROR] no variable "OUR_KEY", which IMEX_SERVER_KEY names\n')
    assert node.run(OUR_KEY=str(key)) == (255, f'[ERROR] cannot read the key "{key}"\n')
    encrypt(node, "", "OUR_KEY")
    assert node.run() == (255, "[ERROR] IMEX_AUTH_SOURCE is empty, and SSL_TLS needs its keys\n")
    encrypt(node, "ENV_VAL", "OUR_KEY")
    encrypt(other, "ENV_VAL", "OUR_KEY")
    for one in domain:
        one.start(OUR_KEY="a key")
    node.says("Connection established to node 1")


def test_REV3_imex_stand_in_that_encrypts_refuses_a_peer_that_does_not(domain):
    node, other = domain
    (node.folder / "key").write_text("a key")
    encrypt(node, "FILE", str(node.folder / "key"))
    node.start()
    other.start()
    node.says("Node 1 says: WRONG this node's traffic is clear")
    other.says("Node 0 says: WRONG this node's traffic is encrypted")
    assert "Connection established" not in node.said() + other.said()
