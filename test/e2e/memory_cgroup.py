"""A cgroup that limits memory, as a container has one."""

import contextlib
import os
import pathlib
import time

VERSION_1 = pathlib.Path("/sys/fs/cgroup/memory")
ROOT = VERSION_1 if VERSION_1.exists() else pathlib.Path("/sys/fs/cgroup")


class MemoryCgroup:
    def __init__(self, folder):
        self._folder = folder
        # The command that runs what follows it in this cgroup from its first byte on.
        self.within = ("/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', folder / "cgroup.procs")

    def kills(self):
        """How many processes the kernel has killed here for memory."""
        events = self._folder / ("memory.oom_control" if ROOT == VERSION_1 else "memory.events")
        return dict(line.split() for line in events.read_text().splitlines())["oom_kill"]


@contextlib.contextmanager
def memory_cgroup(most):
    """With that limit, in bytes. Its processes must have ended when the block does."""
    folder = ROOT / f"cdom-test-{os.getpid()}-{time.monotonic_ns()}"
    folder.mkdir()
    try:
        (folder / ("memory.limit_in_bytes" if ROOT == VERSION_1 else "memory.max")).write_text(str(most))
        yield MemoryCgroup(folder)
    finally:
        folder.rmdir()
