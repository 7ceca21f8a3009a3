"""The demo as somebody meets it who starts it beside a build, and then has seen enough. What it shows is a step of its own."""

import fcntl
import os
import pathlib
import signal
import subprocess

from cluster import REPO
from waiting import eventually


def test_the_demo_says_that_it_waits_for_another_build_and_ends_at_the_first_signal(tmp_path):
    log = tmp_path / "demo.log"
    (REPO / "build").mkdir(exist_ok=True)
    with (REPO / "build/release.lock").open("a") as lock, log.open("w") as out:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen([REPO / "scripts/demo.sh"], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                              env={**os.environ, "TMPDIR": str(tmp_path)}) as demo:
            try:
                eventually("the demo says so", lambda: "another build runs in" in log.read_text())
                eventually("it waits", lambda: waiting_for(lock, tmp_path))
                demo.send_signal(signal.SIGTERM)
                assert demo.wait(timeout=60) == 130
            finally:
                demo.kill()
        # Its processes would wait for the lock, or hold it.
        eventually("what waits for the lock", lambda: waiting_for(lock, tmp_path), [])
    assert [path.name for path in tmp_path.iterdir()] == [log.name]


def waiting_for(lock, folder):
    """The ids of processes with that TMPDIR that wait for it. Other steps of the suite may wait for it, too."""
    def is_of_the_demo(process):
        try:
            return f"TMPDIR={folder}".encode() in pathlib.Path("/proc", process, "environ").read_bytes().split(b"\0")
        except OSError:
            return False  # It has ended.
    inode = os.fstat(lock.fileno()).st_ino
    with open("/proc/locks", encoding="ascii") as locks:
        found = [line.split() for line in locks]
    return [words[5] for words in found if words[1] == "->" and words[6].endswith(f":{inode}") and is_of_the_demo(words[5])]
