"""Pages of docs, whose commands are run as a reader would run them."""

import os
import re
import subprocess

from cluster import REPO
from waiting import eventually


def blocks(page, language):
    """The texts of the page's blocks in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (REPO / f"docs/{page}.md").read_text(), re.MULTILINE | re.DOTALL)


def environment(cluster):
    """Of an administrator's shell, where `kubectl` is for this cluster."""
    return {**os.environ, "KUBECONFIG": str(cluster.plane / "admin.kubeconfig"), "GOGC": "off", "GOMEMLIMIT": "500MiB",
            "PATH": f"{cluster.program.parent}:{os.environ['PATH']}"}


def run_commands(cluster, page):
    """Each line of the page's console blocks. What stands behind a `#` at the end is in what the command prints; after
    "refused:", and for the answer "no", the command must fail. Returns how many there were."""
    lines = "".join(blocks(page, "console")).splitlines()
    for line in lines:
        command, wanted = re.fullmatch(r"(.*\S) +# (.*)", line).groups() if " # " in line else (line, "")
        fails = wanted == "no" or wanted.startswith("refused:")

        def said(command=command):
            done = subprocess.run(["bash", "-c", command], cwd=REPO, env=environment(cluster), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False, timeout=120)
            # The columns of a table are as wide as what is in them.
            return done.returncode != 0, re.sub(" +", " ", done.stdout)
        # A policy takes a moment to be at work.
        eventually(f"{page}.md: {line}", said, lambda got: got[0] == fails and wanted.removeprefix("refused: ") in got[1], within=20)
    return len(lines)
