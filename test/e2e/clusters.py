"""Clusters of a run: one at a time for the modules that ask for the same, or one of a module's own."""

import collections
import contextlib
import pathlib
import shutil
import tempfile
import typing

import pytest
from cluster import DEFAULT, Cluster

UNKNOWN = 5.0  # Seconds that a case takes as a rule.


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


class Part(typing.NamedTuple):
    """The cases of one module."""

    module: str
    plane: object  # The Setup of a cluster that it shares with others; None if it shares none.
    seconds: float  # How long it took, or may take.


def groups(parts):
    """Lists of modules: those that need the same cluster, and each other one by itself."""
    shared = collections.defaultdict(list)
    for part in parts:
        shared[part.module if part.plane is None else part.plane].append(part)
    return list(shared.values())


def split(lists):
    """The same, but that a list which takes more than a quarter of all is two."""
    quarter = sum(map(seconds_of, lists)) / 4
    return [group for one in lists for group in (halves(one) if len(one) > 1 and seconds_of(one) > quarter else [one])]


def halves(parts):
    """Two lists that take about as long."""
    found = [], []
    for part in sorted(parts, key=lambda part: part.seconds, reverse=True):
        min(found, key=seconds_of).append(part)
    return found


def seconds_of(parts):
    return sum(part.seconds for part in parts)


def in_order(items, took=None):
    """The cases, those of a group one after another. `took`: the seconds that modules took before, by their names.

    With `took` several processes run the cases: each has a mark that says its group, and the longest groups come first.
    """
    modules = {}
    for item in items:
        modules.setdefault(item.module.__name__, []).append(item)
    parts = [Part(name, shared_plane(cases), (took or {}).get(name, UNKNOWN * len(cases))) for name, cases in modules.items()]
    found = groups(parts)
    if took is not None:
        found = sorted(split(found), key=seconds_of, reverse=True)
        for number, group in enumerate(found):
            for item in (item for part in group for item in modules[part.module]):
                item.add_marker(pytest.mark.xdist_group(f"group-{number}"))
    return [item for group in found for part in group for item in modules[part.module]]


def shared_plane(cases):
    """What of a cluster these cases of one module share with other modules; None if they do not."""
    setup = setup_of(cases[0].module)
    shares = setup.controller is not None or any("clusters" in one.fixturenames for one in cases)
    return plane_of(setup) if shares else None


def plane_of(setup):
    """What of a setup is there before the first controller starts."""
    return setup._replace(controller=None)


def setup_of(module):
    """What cluster the module needs."""
    return getattr(module, "CLUSTER", DEFAULT)
