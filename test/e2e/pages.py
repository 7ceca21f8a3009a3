"""Pages whose commands are run as a reader would run them. A page is named by its path in the repository."""

import os
import re
import subprocess

from cluster import REPO
from waiting import eventually


def blocks(page, language):
    """The texts of the page's blocks in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (REPO / page).read_text(), re.MULTILINE | re.DOTALL)


def environment(cluster):
    """Of an administrator's shell, where `kubectl` is for this cluster."""
    return {**os.environ, "KUBECONFIG": str(cluster.plane / "admin.kubeconfig"), "GOGC": "off", "GOMEMLIMIT": "500MiB",
            "PATH": f"{cluster.program.parent}:{os.environ['PATH']}"}


def run(cluster, command, folder=REPO, within=120):
    """(exit status, what it printed, on standard error as well), with one space between columns, which are as wide as what is in them."""
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment(cluster), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=within)
    return done.returncode, re.sub(" +", " ", done.stdout)


def run_commands(cluster, page):
    """Each line of the page's console blocks. What stands behind a `#` at the end is in what the command prints; after
    "refused:", and for the answer "no", the command must fail. Returns how many there were."""
    lines = "".join(blocks(page, "console")).splitlines()
    for line in lines:
        command, wanted = re.fullmatch(r"(.*\S) +# (.*)", line).groups() if " # " in line else (line, "")
        fails = wanted == "no" or wanted.startswith("refused:")

        def said(command=command):
            status, printed = run(cluster, command)
            return status != 0, printed
        # A policy takes a moment to be at work.
        eventually(f"{page}: {line}", said, lambda got: got[0] == fails and wanted.removeprefix("refused: ") in got[1], within=20)
    return len(lines)


def transcripts(page):
    """[(command, lines that it prints)] of each block of the page that shows a prompt. Comments between them are commands, too: "# ..."."""
    found = []
    for block in re.findall(r"^```\n(\$ .*?)^```$", (REPO / page).read_text(), re.MULTILINE | re.DOTALL):
        steps = []
        for line in filter(None, block.splitlines()):
            if line.startswith(("$ ", "# ")):
                steps.append((line.removeprefix("$ "), []))
            else:
                steps[-1][1].append(line)
        found.append(steps)
    return found


def loosely(line):
    """A pattern of a line that a command prints: other times, nodes and pods may stand in it."""
    pattern = re.escape(re.sub(" +", " ", line.strip()))
    for one, others in ((r"node\\-\d+", r"node-\\d+"), (r"\\-(\d)\\-\w{5}\b", r"-\\d-\\w{5}"), (r"\b\d+s\b", r"(\\d+m)?\\d+s"), (r"\d\d:\d\d:\d\d", r"\\d\\d:\\d\\d:\\d\\d")):
        pattern = re.sub(one, others, pattern)
    return pattern
