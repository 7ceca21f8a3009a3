"""A newcomer's tour: what the first screen of the playground and the pages show is typed as it is printed."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile

import pytest
from cluster import CONTROL_PLANE, REPO
from clusters import refuse_keep
from kustomizations import beside_a_checkout
from pages import blocks, filled, loosely, run, run_commands, transcripts
from versions import needs_placement_by_default
from waiting import eventually

pytestmark = needs_placement_by_default  # The playground has them.

SCRIPT = REPO / "scripts/cluster.sh"
EXAMPLES = [path.relative_to(REPO) for path in (REPO / "examples/quickstart.yaml", REPO / "examples/gpu-and-channel.yaml",
                                                REPO / "examples/placement/by-hand.yaml")]


class Playground:
    """A cluster that scripts/cluster.sh makes, in a folder of its own."""

    enter = ()

    def __init__(self, folder):
        self.folder = folder
        self.plane = folder / "plane"
        self.program = None  # The cluster's kubectl.
        self.screen = None  # What `up` has printed.

    def script(self, *arguments, within=120):
        """(exit status, standard output, standard error)."""
        done = subprocess.run([SCRIPT, *arguments], cwd=REPO, env=self.environment(), capture_output=True, text=True, check=False, timeout=within)
        return done.returncode, done.stdout, done.stderr

    def environment(self):
        return {**os.environ, "CDOM_CLUSTER_DIR": str(self.folder)}

    def up(self, *arguments):
        # The programs are built already, or this takes as long as it takes a newcomer.
        status, self.screen, said = self.script("up", *arguments, within=1800)
        assert status == 0, said
        folder = subprocess.run([CONTROL_PLANE / "build.sh"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        self.program = pathlib.Path(folder) / "kubectl"

    def kubectl(self, arguments):
        status, printed = run(self, f"kubectl {arguments}")
        assert status == 0, printed
        return printed.strip()

    def processes(self):
        """The command lines that name its folder."""
        found = subprocess.run(["pgrep", "-af", str(self.folder)], capture_output=True, text=True, check=False)
        return found.stdout.splitlines()

    def controller(self):
        """The id of the controller's process."""
        found = subprocess.run(["pgrep", "-f", f"^{REPO}/build/release/bin/compute-domain-controller.*{self.folder}/"],
                               capture_output=True, text=True, check=False)
        return int(found.stdout.split()[0])

    def renewed(self):
        return self.kubectl("-n cdom-system get lease cdom-controller -o jsonpath={.spec.renewTime}")


@pytest.fixture(scope="module")
def playground(request):
    refuse_keep(request)  # scripts/cluster.sh up is the way to have one.
    with tempfile.TemporaryDirectory(prefix="cdom-playground.") as folder:
        made = Playground(pathlib.Path(folder) / "cluster")
        try:
            made.up()
            yield made
        finally:
            status, _, said = made.script("down")
        assert status == 0, said
        assert (made.processes(), made.folder.exists()) == ([], False)
        status, _, said = made.script("down")
        assert (status, "there was no cluster" in said) == (0, True)


@pytest.fixture
def no_domain(playground):
    """There is none before the case, and none after it."""
    yield
    playground.kubectl("delete job,cdom --all --timeout=90s")


def screen_commands(playground):
    """[command] of the three to try, without what they are explained by."""
    return re.findall(r"^  (scripts/cluster\.sh (?:kubectl|node) .*?)   ", playground.screen, re.MULTILINE)


@pytest.mark.usefixtures("no_domain")
def test_the_commands_of_the_first_screen_show_a_domain_and_a_lost_node(playground):
    print(playground.screen)
    apply, watch, kill = screen_commands(playground)
    assert playground.script(*apply.split()[1:])[0] == 0
    seen = playground.folder / "watched"
    with seen.open("w") as out, subprocess.Popen(watch.split(), cwd=REPO, env=playground.environment(), stdout=out) as watching:
        try:
            eventually("what the watch shows", seen.read_text, re.compile(r"^quickstart .* 4/4 ", re.MULTILINE))
        finally:
            watching.terminate()
    seen.unlink()
    status, said, _ = playground.script(*kill.split()[1:])
    assert status == 0
    [revive] = re.findall(r"scripts/cluster\.sh (node revive node-\d+)$", said, re.MULTILINE)
    eventually("the row tells of the lost member", lambda: playground.kubectl("get cdom quickstart -o wide --no-headers"),
               re.compile(f" 3/4 .* NodeLost .*{revive.split()[2]} "))
    assert playground.script(*revive.split())[0] == 0
    eventually("the member is back", lambda: playground.kubectl("get cdom quickstart --no-headers"), re.compile(" 4/4 "))


@pytest.mark.usefixtures("no_domain")
def test_the_readme_shows_what_a_domain_looks_like(playground):
    [steps] = transcripts("README.md")
    victim = None
    for command, lines in steps:
        if command == "# a node dies":
            victim = playground.kubectl("get cdom quickstart -o jsonpath={.status.nodes[0].name}")
            assert playground.script("node", "kill", victim)[0] == 0
            continue
        eventually(command, lambda command=command: run(playground, command),
                   lambda got, lines=lines: got[0] == 0 and all(re.search(f"^{loosely(line)} ?$", got[1], re.MULTILINE) for line in lines))
    assert playground.script("node", "revive", victim)[0] == 0


@pytest.mark.usefixtures("no_domain")
def test_the_workload_of_the_readme_becomes_ready_and_goes(playground, tmp_path):
    [workload] = blocks("README.md", "yaml")
    file = tmp_path / "train.yaml"
    file.write_text(workload)
    playground.kubectl(f"apply --validate=strict -f {file}")
    [command] = re.findall(r"`(kubectl wait [^`]*)`", (REPO / "README.md").read_text())
    status, printed = run(playground, command)
    assert status == 0, printed
    eventually("members", lambda: playground.kubectl("get cdom train -o jsonpath={.status.members}"), "4/4")
    playground.kubectl(f"delete -f {file} --timeout=60s")


@pytest.mark.usefixtures("no_domain")
def test_each_command_of_the_examples_page_succeeds(playground):
    [block] = blocks("examples/README.md", "console")
    for line in block.splitlines():
        watches = "--watch" in line
        status, printed = run(playground, f"timeout 5 {line}" if watches else line, folder=REPO / "examples")
        assert status == (124 if watches else 0), (line, printed)
        assert printed, line


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_becomes_ready_in_a_namespace_of_ones_own(playground, example):
    playground.kubectl("create namespace team-a")
    try:
        playground.kubectl(f"apply -n team-a -f {example}")
        playground.kubectl("wait -n team-a --for=condition=MembersReady cdom --all --timeout=60s")
        members = "get cdom -n team-a -o jsonpath={.items[*].status.members}/{.items[*].status.cliqueCount}"
        eventually("members and cliques", lambda: playground.kubectl(members), "4/4/1")
        playground.kubectl(f"delete -n team-a -f {example} --timeout=90s")
    finally:
        playground.kubectl("delete namespace team-a --timeout=60s")


def test_each_command_of_the_bare_metal_page_does_what_it_says(playground):
    run_commands(playground, "docs/gdc.md")


def test_each_command_that_shows_whether_a_controller_runs_succeeds(playground):
    run_commands(playground, "docs/controller-down.md")


def looks():
    """Where to look when it fails: the commands of README.md, of which the first is about the controller, and of each symptom."""
    [section] = re.findall(r"^## When it fails\n(.*?)^## ", (REPO / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    symptoms = re.findall(r"^\|[^|]*\|[^|]*`(kubectl [^`]*)`", (REPO / "docs/symptoms.md").read_text(), re.MULTILINE)
    return re.findall(r"`(kubectl [^`]*)`", section) + symptoms


@pytest.mark.usefixtures("no_domain")
def test_each_command_that_shows_what_fails_succeeds(playground):
    playground.kubectl("apply -f examples/quickstart.yaml")
    playground.kubectl("wait --for=condition=MembersReady cdom/quickstart --timeout=60s")
    commands = looks()
    assert commands[0].startswith("kubectl -n cdom-system get lease cdom-controller ")
    assert len(commands) >= 14
    for command in commands:
        command = filled(command, {"NAMESPACE": "default", "NAME": "quickstart", "NODE": "node-003"})
        status, printed = run(playground, command)
        assert status == 0, (command, printed)
        assert printed.strip() not in ("", "No resources found"), command


CHANGES = re.compile(r"kubectl (-n \S+ )?(annotate|apply|delete|label|uncordon) ")


def fixes():
    """The commands of docs/reasons.md, without those that need a kubelet (`logs`) or an editor."""
    text = " ".join((REPO / "docs/reasons.md").read_text().split())
    return [command for command in sorted(set(re.findall(r"`(kubectl [^`]* [^`]*)`", text))) if " logs " not in command]


def apply_the_quickstart(playground):
    """Its pods do not end before the test does."""
    playground.kubectl("apply -f examples/quickstart.yaml")
    eventually("its pods", lambda: len(playground.kubectl("get pods -l app=quickstart -o name").splitlines()), 4)
    playground.kubectl("annotate pods -l app=quickstart nodesim.cdom.dev/run-seconds=600")


@pytest.mark.usefixtures("no_domain")
def test_each_command_that_fixes_a_reason_is_taken(playground):
    """What changes something is only tried: the API server says what it would do."""
    apply_the_quickstart(playground)
    playground.kubectl("wait --for=condition=MembersReady cdom/quickstart --timeout=60s")
    first = "-o jsonpath={.items[0].metadata.name}"
    names = {"NAME": "quickstart", "NODE": "node-003", "KEY=VALUE": "cdom.dev/daemon-roll=Never", "KEY-": "cdom.dev/daemon-roll-",
             "CLAIM": playground.kubectl(f"get resourceclaims {first}"), "TEMPLATE": playground.kubectl(f"get resourceclaimtemplates {first}"),
             "UID": playground.kubectl("get cdom quickstart -o jsonpath={.metadata.uid}")}
    pods = {inside: playground.kubectl(f"{inside} get pods {first}") for inside in ("", "-n cdom-system")}
    commands = fixes()
    assert len(commands) >= 28
    for command in commands:
        command = filled(command, {**names, "POD": pods["-n cdom-system" if "cdom-system" in command else ""]})
        assert re.findall(r"\b[A-Z]{3,}\b", command) == [], command
        folder = REPO / "manifests/standalone" if command.endswith("-k .") else REPO
        status, printed = run(playground, command + (" --dry-run=server" if CHANGES.match(command) else ""), folder=folder)
        assert status == 0, (command, printed)


@pytest.mark.usefixtures("no_domain")
def test_a_controller_that_is_dead_can_be_seen_ends_no_pod_and_is_started_again(playground):
    apply_the_quickstart(playground)
    playground.kubectl("wait --for=condition=MembersReady cdom/quickstart --timeout=60s")
    pods = "get pods -l app=quickstart -o jsonpath={.items[*].metadata.uid}:{.items[*].status.phase}"
    before = eventually("pods of the quickstart", lambda: playground.kubectl(pods), re.compile(":Running Running Running Running$"))
    first = playground.controller()
    os.kill(first, signal.SIGKILL)
    killed = playground.renewed()
    # The page's own words, until another process renews the Lease.
    [command] = re.findall(r"^kubectl -n cdom-system get lease .*$", (REPO / "docs/controller-down.md").read_text(), re.MULTILINE)
    status, printed = run(playground, command)
    assert (status, printed.splitlines()[0].split()) == (0, ["HOLDER", "RENEWED"]), printed
    assert killed in printed
    second = eventually("another controller", playground.controller, lambda process: process != first)
    eventually("the Lease is renewed", playground.renewed, lambda renewed: renewed > killed, within=40)
    assert (playground.controller(), playground.kubectl(pods)) == (second, before)
    # It works: what is deleted now, goes.
    playground.kubectl("delete -f examples/quickstart.yaml --timeout=60s")


@pytest.mark.parametrize(("arguments", "says"), [
    (("up",), "there is a cluster in .*End it first: scripts/cluster.sh down"),
    (("node", "kill"), "node needs a command and the name of a node"),
    (("node", "kill", "node-999"), "node-999"),
    (("node", "kil", "node-003"), "^cluster.sh: a node knows no 'kil', but: kill revive "),
    (("node", "kill", "member"), "no domain has a member. Make one: .*quickstart.yaml"),
    (("load", "folder", "name"), "there is no cluster with real nodes"),
    (("uo",), "'uo' is none of 'up', 'kubectl', 'node', 'load', 'in' and 'down'"),
])
def test_a_wrong_command_is_told_what_is_wrong(playground, arguments, says):
    status, printed, said = playground.script(*arguments)
    assert status != 0
    assert re.search(says, printed + said), printed + said


def test_what_a_rack_needs_is_installed_on_it_as_by_cdom_yaml(playground, tmp_path):
    """It has cdom's objects already, and here they get the plugin, whose pods are privileged."""
    rack = beside_a_checkout(tmp_path / "rack", blocks("docs/install.md", "yaml")[2])
    playground.kubectl(f"apply -k {rack}")
    playground.kubectl("label node node-003 nvidia.com/gpu.present=true")
    for workload in ("deployment/cdom-controller", "daemonset/cdom-kubelet-plugin"):
        playground.kubectl(f"-n cdom-system rollout status {workload} --timeout=60s")
    assert playground.kubectl("-n cdom-system get pods -l app.kubernetes.io/component=kubelet-plugin -o name") != ""
    for workload in ("deployment/cdom-controller", "daemonset/cdom-kubelet-plugin"):
        playground.kubectl(f"-n cdom-system delete {workload} --timeout=60s")


def test_a_bare_cluster_is_empty_and_ends_with_down(playground):
    bare = Playground(playground.folder.parent / "bare")
    try:
        bare.up("--bare")
        assert "nothing of cdom" in bare.screen
        assert bare.kubectl("get crds,nodes") == "No resources found"
        assert len(bare.processes()) == 4
    finally:
        assert bare.script("down")[0] == 0
    assert (bare.processes(), bare.folder.exists()) == ([], False)
