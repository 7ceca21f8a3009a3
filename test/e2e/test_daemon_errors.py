"""The IMEX daemon as a process that cannot work: its last line says what to do, and IMEX is not started. No cluster is started.

Needs root, for file systems that are full or read-only.
"""

import re
import subprocess
import typing

import pytest
from cluster import REPO
from process import Process
from waiting import eventually

TEMPLATE = REPO / "node/imex/imexd.cfg.tmpl"
VARIABLES = {
    "CLIQUE_ID": "f0e1.7", "COMPUTE_DOMAIN_UUID": "0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a", "COMPUTE_DOMAIN_NAME": "train",
    "NODE_NAME": "node-a", "POD_IP": "127.8.0.1", "POD_UID": "pod-uid", "POD_NAME": "pod", "POD_NAMESPACE": "driver",
    "MAX_NODES_PER_IMEX_DOMAIN": "18", "LOG_VERBOSITY": "0",
    "FEATURE_GATES": "ComputeDomainCliques=true,IMEXDaemonsWithDNSNames=true",
    "PATH": "{folder}/path", "IMEX_FOLDER": "{folder}/imexd", "HOSTS_FILE": "{folder}/hosts", "KUBECONFIG": "{folder}/none",
}


class Row(typing.NamedTuple):
    """{folder} stands for that of the container."""

    name: str
    status: int
    says: str  # Of its last line.
    variables: dict = {}
    setup: str = ""  # A script that runs before, in a mount namespace of the daemon's own.
    config_is_written: bool = False


ROWS = (
    Row("without_the_edits_of_its_claim", 2,
        "^COMPUTE_DOMAIN_UUID is empty: the CDI edits .* did not apply; switch CDI on ", {"COMPUTE_DOMAIN_UUID": ""}),
    Row("with_a_feature_gate_that_is_no_boolean", 2,
        r'^--feature-gates \(FEATURE_GATES\): feature gate "Later=yes" must be Later=true or Later=false$', {"FEATURE_GATES": "Later=yes"}),
    Row("without_imex", 1, "^nvidia-imex is in no folder of PATH .* install the package nvidia-imex there",
        setup="rm {folder}/path/nvidia-imex"),
    Row("with_a_template_that_does_not_parse", 1, r'imexd\.cfg\.tmpl: line 2: "\{\{ if \.B \}\}" is not understood',
        setup=r"printf 'A=1\n{{{{ if .B }}}}\n' >{folder}/imexd/imexd.cfg.tmpl"),
    Row("that_encrypts_without_keys", 1, "IMEX must encrypt, and its keys are missing: "
        r"open /imex-keys/tls\.key: .* daemons\.imex\.authSecret", {"IMEX_ENABLE_AUTH_ENCRYPTION": "1"}),
    Row("on_a_full_disk", 1, r"write .*/imexd\.cfg\.next: No space left on device; make room",
        setup="mount -t tmpfs -o size=4k none {folder}/imexd; cp {template} {folder}/imexd"),
    Row("with_a_read_only_hosts_file", 1,
        "open .*/hosts: Read-only file system; IMEX finds its peers by it: let the container write it$",
        setup="mount --bind {folder}/hosts {folder}/hosts; mount -o remount,bind,ro {folder}/hosts", config_is_written=True),
)


class Container:
    """A daemon's container, as its DaemonSet and the kubelet plugin make it. Its IMEX is a script that leaves a file."""

    def __init__(self, folder, programs):
        self.folder = folder
        self._programs = programs
        self.config = folder / "imexd/imexd.cfg"
        self.started = folder / "started"
        for name in ("imexd", "path"):
            (folder / name).mkdir()
        (folder / "imexd/imexd.cfg.tmpl").write_bytes(TEMPLATE.read_bytes())
        (folder / "hosts").write_text("127.0.0.1 localhost\n")
        self.install("nvidia-imex", f": >{self.started}")
        self.install("nvidia-imex-ctl", "echo READY")

    def install(self, name, command):
        (self.folder / "path" / name).write_text(f"#!/bin/sh\n{command}\n")
        (self.folder / "path" / name).chmod(0o755)

    def command(self, verb, variables=None, setup=""):
        """What runs the daemon with these variables beside its own."""
        setup, *given = (text.format(folder=self.folder, template=TEMPLATE) for text in
                         (setup, *(f"{name}={value}" for name, value in {**VARIABLES, **(variables or {})}.items())))
        return ["unshare", "--mount", "sh", "-ec", f'{setup}\nexec "$@"', "sh",
                "env", "-i", *given, self._programs / "compute-domain-daemon", "-v", "0", verb]

    def run(self, *arguments, **options):
        """(exit status, lines that it printed). Arguments as of command()."""
        done = subprocess.run(self.command(*arguments, **options), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=30)
        return done.returncode, done.stdout.splitlines()


@pytest.fixture
def container(tmp_path, programs):
    return Container(tmp_path, programs)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_daemon_says_what_to_do_and_starts_no_imex(container, row):
    status, lines = container.run("run", row.variables, row.setup)
    assert (status, bool(re.search(row.says, lines[-1]))) == (row.status, True), lines
    assert len(lines) == (1 if row.status == 2 else 2), lines  # Before the last it says that it starts, if its settings are right.
    assert not container.started.exists()
    assert container.config.exists() == row.config_is_written


def test_a_probe_says_in_its_status_and_one_line_whether_imex_is_ready(container):
    assert container.run("check") == (0, [])
    assert container.run("check", {"CLIQUE_ID": "", "PATH": "/none"}) == (0, [])
    container.install("nvidia-imex-ctl", "echo NOT_READY")
    assert container.run("check") == (1, ["IMEX is not ready: NOT_READY "])


def test_a_daemon_without_an_api_server_says_so_once_and_ends_when_it_is_told(container):
    daemon = Process("daemon", container.command("run"), container.folder)
    try:
        eventually("the daemon says so", lambda: daemon.says("No API server found"))
    finally:
        daemon.end()
    assert (daemon.status(), daemon.log.read_text().count("No API server found")) == (0, 1)
    assert not container.started.exists()
