"""Pages whose commands are run as a reader would run them. A page is named by its path in the repository.

A block of commands is a `console` block. What stands behind a `#` at the end of a command is in what the command prints; after
"refused:", and for the answer "no", the command must fail. In a block with prompts, lines without one are what the command prints,
which may be an error; then the command must fail, too.
"""

import contextlib
import os
import re
import subprocess
import textwrap
import typing

from cluster import REPO
from waiting import eventually

PAGES = sorted(str(path.relative_to(REPO)) for path in (REPO / "docs").glob("*.md"))
AN_ERROR = re.compile(r"[Ee]rror\b|Run with --help ")
MINE = "needs the reader's registry"
MAKES = "takes minutes, and needs Debian's servers: test/packaging/image/image_test.sh makes images"
PUSHES = "needs a release: test/e2e/test_release.py installs from the files of one, and a registry on loopback"
SIGNS = "cosign is no package of Debian 12: the page says how its commands were checked"
BESIDE = "needs NVIDIA's controller: test/e2e/test_beside.py has a stand-in"
SERVES = "serves until SIGTERM: test/e2e/{} runs it"
# What tests do not read from a page and run: why, by page and by how the command begins.
NOT_RUN = {
    "docs/backup.md": {"velero backup create": "no test runs Velero"},
    "docs/gitops.md": {"helm push": "needs a release: test/e2e/test_release.py runs it"},
    "docs/hardware-report.md": {"scp -r verify": "needs a machine with GPUs: test/e2e/test_hardware_report.py runs the script beside stand-ins"},
    "docs/images.md": {
        "scripts/image.sh": MAKES, "skopeo copy": MINE, "tar -C": "needs an image: test/packaging/image/image_test.sh makes the archive",
        "ctr -n": "needs a node: test/packaging/image/driver_test.sh imports an image on one", "cosign": SIGNS, "image=": SIGNS,
        "python3 scripts/image/cves.py": "needs an image and the tracker's file: test/packaging/image/test_cves.py runs the script"},
    "docs/imex-daemon.md": {"compute-domain-daemon -v N": SERVES.format("test_imex_daemons.py")},
    "docs/install.md": {
        "scripts/release.sh": "takes minutes, and needs Debian's servers: test/packaging/release/nightly_test.sh makes releases",
        "build/release-0.2.0/push.sh": PUSHES, "kubectl apply -f build/release-0.2.0/cdom.yaml": PUSHES, "helm install": PUSHES,
        "kubectl create namespace cdom-system": "it exists: test/e2e/test_release.py runs this block, with a registry that asks for a password"},
    "docs/kubelet-plugin.md": {"compute-domain-kubelet-plugin --node-name": SERVES.format("test_plugin_channels.py")},
    "docs/placement.md": {
        "kubectl apply -k manifests/placement-v1beta1": "needs Kubernetes 1.34 or 1.35: there test/e2e/test_placement_on_nodes.py applies it"},
    "docs/switch.md": {
        "helm install cdom": "test/e2e/test_chart.py installs the chart with these values",
        "kubectl -n NAMESPACE get leases": BESIDE, "kubectl -n NAMESPACE delete pod": BESIDE},
    "docs/try.md": {"scripts/demo.sh": "the step \"e2e: whole demo\" of test/suite/commit.cmake runs it",
                    "scripts/cluster.sh up": "test/e2e/test_playground.py runs it, and what it prints"},
}


class Command(typing.NamedTuple):
    text: str
    wanted: str  # What stands behind it as a comment.
    shown: list  # The lines that it prints, where the page shows them.


def blocks(page, language, section=""):
    """The texts of the page's blocks in that language; only those below the heading `section`, if it names one."""
    text = (REPO / page).read_text()
    if section:
        [text] = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(text) for _, text in found]


def commands(page, section=""):
    """The commands of the page's console blocks; `section` as in blocks()."""
    return [Command(*re.fullmatch(r"(.*?\S)(?: +# (.*))?", text, re.DOTALL).groups(default=""), shown)
            for block in blocks(page, "console", section) for text, shown in _typed(block)]


def _typed(block):
    """[(command, lines that it prints)] of the block. A command goes on behind a line that ends in a backslash or a pipe."""
    has_prompts, found = re.search(r"^\$ ", block, re.MULTILINE), []
    for line in filter(None, block.splitlines()):
        if found and not found[-1][1] and found[-1][0].endswith(("\\", "|")):
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        elif has_prompts and not line.startswith(("$ ", "# ")):
            found[-1][1].append(line)
        else:
            found.append((line.removeprefix("$ "), []))
    return found


def reason_not_to_run(page, command):
    """Empty if tests run it."""
    return next((why for start, why in NOT_RUN.get(page, {}).items() if command.text.startswith(start)), "")


def environment(cluster, programs=None):
    """Of an administrator's shell, where `kubectl` is for this cluster, and the `programs` are found. `cluster` may be None."""
    own = {"KUBECONFIG": str(cluster.plane / "admin.kubeconfig")} if cluster else {}
    folders = [cluster.program.parent] if cluster else []
    return {**os.environ, **own, "GOGC": "off", "GOMEMLIMIT": "500MiB",
            "PATH": ":".join(map(str, [*folders, *([programs] if programs else []), os.environ["PATH"]]))}


def in_shell(cluster, command):
    return [*(cluster.enter if cluster else ()), "bash", "-c", command]


def run(cluster, command, folder=REPO, within=120, programs=None):
    """(exit status, what it printed, on standard error as well), with one space between columns, which are as wide as what is in them."""
    done = subprocess.run(in_shell(cluster, command), cwd=folder, env=environment(cluster, programs), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=within)
    return done.returncode, re.sub(" +", " ", done.stdout)


class Reader:
    """Runs the page's commands in their order; see reading()."""

    def __init__(self, cluster, page, names, folder, programs, section):
        self._cluster = cluster
        self._page = page
        self._names = names
        self._folder = folder
        self._programs = programs
        self._all = commands(page, section)
        self._left = [one for one in self._all if not reason_not_to_run(page, one)]
        self._running = []

    def run(self, until="", folder=None):
        """The next one, and those after it up to one that begins with `until`, without which all that are left. In that folder."""
        begun = False
        while self._left and not (begun and until and self._left[0].text.startswith(until)):
            self._run(self._left.pop(0), folder or self._folder)
            begun = True
        assert self._left or not until, f"{self._page} has no '{until}' any more"

    def end(self):
        for process in self._running:
            process.terminate()
            process.wait(30)

    def is_done(self):
        assert self._left == [], f"{self._page}: nobody runs these"
        text = "\n".join(one.text for one in self._all)
        assert [name for name in self._names if not _of_name(name).search(text)] == [], f"{self._page} has no such name any more"

    def _run(self, command, folder):
        text, what = filled(command.text, self._names), f"{self._page}: {command.text}"
        if text.endswith(" &"):
            self._running.append(subprocess.Popen(  # pylint: disable=consider-using-with
                in_shell(self._cluster, f"exec {text.removesuffix(' &')}"), cwd=folder, stdin=subprocess.DEVNULL,
                env=environment(self._cluster, self._programs)))
            return
        fails = command.wanted == "no" or command.wanted.startswith("refused:") or any(map(AN_ERROR.match, command.shown))
        # It would go on: what it has printed by then is looked at.
        watches = "timeout 5 " if "--watch" in text else ""

        def said():
            status, printed = run(self._cluster, watches + text, folder, programs=self._programs)
            return status != 0 and not (watches and status == 124), printed

        def is_shown(printed):
            lines = [line for line in command.shown if line != "..."]
            return command.wanted.removeprefix("refused: ") in printed and all(
                re.search(f"^ ?{loosely(line)} ?$", printed, re.MULTILINE) for line in lines)
        # A policy takes a moment to be at work, and a container to fail.
        eventually(what, said, lambda got: got[0] == fails and is_shown(got[1]), within=60)


@contextlib.contextmanager
def reading(cluster, page, names=None, folder=REPO, programs=None, section=""):
    """A Reader of the page, in that folder. `names` are what the page's placeholders stand for. At the end all commands must have run;
    with `section`, those below that heading."""
    reader = Reader(cluster, page, names or {}, folder, programs, section)
    try:
        yield reader
        reader.is_done()
    finally:
        reader.end()


def run_commands(cluster, page, **how):
    """All commands of the page; `how` as in reading()."""
    with reading(cluster, page, **how) as reader:
        reader.run()


def filled(text, names):
    """The text with what its placeholders stand for."""
    for name, value in names.items():
        text = _of_name(name).sub(value, text)
    return text


def _of_name(name):
    return re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w:])")


def transcripts(page):
    """[(command, lines that it prints)] of each block of the page that shows a prompt. Comments between them are commands, too: "# ..."."""
    return [_typed(block) for block in re.findall(r"^```\n(\$ .*?)^```$", (REPO / page).read_text(), re.MULTILINE | re.DOTALL)]


def loosely(line):
    """A pattern of a line that a command prints: other times, nodes, cliques and pods may stand in it."""
    pattern = re.escape(re.sub(" +", " ", line.strip()))
    for one, others in ((r"node\\-\d+", r"node-\\d+"), (r"\w{8}(\\-\w{4}){3}\\-\w{12}\\\.\d+\b", r"[0-9a-f-]{36}\\.\\d+"), (r"\\-(\d)\\-\w{5}\b", r"-\\d-\\w{5}"), (r"\b\d+s\b", r"(\\d+m)?\\d+s"), (r"\d\d:\d\d:\d\d", r"\\d\\d:\\d\\d:\\d\\d")):
        pattern = re.sub(one, others, pattern)
    return pattern
