"""Clusters of a run: one at a time for the modules that ask for the same, or one of a module's own."""

import contextlib
import pathlib
import shutil
import tempfile

import pytest
from cluster import DEFAULT, Cluster


@contextlib.contextmanager
def started(kind, programs, request, prefix):
    """A cluster of that kind, in a folder of its own. What it logged is kept if a case failed."""
    refuse_keep(request)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
    made = kind(programs, folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        leave(folder, request.session)


def refuse_keep(request):
    """For a module whose cluster cannot outlive the run."""
    if request.config.getoption("--keep"):
        raise pytest.UsageError("--keep: the cluster of this module ends with the run")


def is_kept(request):
    """Whether a case has failed, and what is in the cluster stays for a person to look at."""
    return request.config.getoption("--keep") and request.session.testsfailed > 0


def leave(folder, session):
    """Removes the folder of a cluster that has ended, unless a case failed."""
    if session.testsfailed:
        print(f"\nlogs are in {folder}")
    else:
        shutil.rmtree(folder)


class Clusters:
    """The cluster that a module asks for. It runs until another module needs a different one."""

    def __init__(self, programs, session, keep):
        self._programs = programs
        self._session = session
        self._keep = keep
        self._cluster = None

    def get(self, setup):
        if not self._cluster or plane_of(self._cluster.setup) != plane_of(setup):
            self.end()
            self._cluster = Cluster(self._programs, pathlib.Path(tempfile.mkdtemp(prefix="cdom-e2e.")), setup)
            self._cluster.start()
        return self._cluster

    def end(self):
        ended, self._cluster = self._cluster, None
        if ended and self._keep:
            print(f"\nThe cluster goes on running. To look around:\n\n{ended.usage()}\n", flush=True)
        elif ended:
            ended.stop()
            leave(ended.folder, self._session)


def in_order(items):
    """The cases, those with the same setup one after another: each cluster is started once."""
    setups = [plane_of(setup_of(item.module)) for item in items]
    first = {setup: i for i, setup in reversed(list(enumerate(setups)))}
    return [items[i] for i in sorted(range(len(items)), key=lambda i: (first[setups[i]], i))]


def plane_of(setup):
    """What of a setup is there before the first controller starts."""
    return setup._replace(controller=None)


def setup_of(module):
    """What cluster the module needs."""
    return getattr(module, "CLUSTER", DEFAULT)
