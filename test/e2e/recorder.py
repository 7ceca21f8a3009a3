"""Every state of objects that the API server tells of, not samples."""

import contextlib
import subprocess
import threading

from waiting import eventually


class Recorder:
    """The objects of a kind in all namespaces, each event as a line: "TYPE NAME ..." with what the JSONPath template
    `fields` says of the object. A watch that ends, as at a change of the CRD, is begun again with all objects."""

    def __init__(self, cluster, kind, fields, *options):
        self._command = cluster.command("get", kind, *(options or ("--all-namespaces",)), "--watch", "--output-watch-events",
                                        "-o", f'jsonpath={{.type}} {{.object.metadata.name}} {fields}{{"\\n"}}')
        self._lines = []
        self._ends = threading.Event()
        self._process = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def lines(self):
        return list(self._lines)

    def stop(self):
        self._ends.set()
        self._process.terminate()
        self._thread.join(30)

    def _run(self):
        while not self._ends.is_set():
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for line in self._process.stdout:
                self._lines.append(line.rstrip("\n"))
            self._process.wait()
            self._ends.wait(0.1)  # Between two watches.


@contextlib.contextmanager
def recorded(cluster):
    """What becomes of domains, pods and DaemonSets meanwhile: a Recorder of each, by the kind."""
    status = "{.object.status.containerStatuses[0]."
    kinds = {
        "computedomains": '{.object.status.status} {.object.status.conditions[?(@.type=="Ready")].status}',
        "pods": "{.object.metadata.uid} " + status + "containerID} " + status + "state.running.startedAt} "
                + status + "restartCount} {.object.metadata.deletionTimestamp}",
        "daemonsets": "{.object.metadata.uid} {.object.metadata.generation}"}
    recorders = {kind: Recorder(cluster, kind, fields) for kind, fields in kinds.items()}
    try:
        for kind, one in recorders.items():
            eventually(f"{kind} are recorded", one.lines, within=20)
        yield recorders
    finally:
        for one in recorders.values():
            one.stop()


def states(lines):
    """Of each object all states that it had, in order, each of them once."""
    found = {}
    for line in lines:
        _, name, state = line.split(" ", 2)
        if state not in found.setdefault(name, []):
            found[name].append(state)
    return found


def several(lines):
    """The objects with more than one state, and those that were deleted."""
    return {name: all_of for name, all_of in states(lines).items() if len(all_of) > 1}, [
        line for line in lines if line.startswith("DELETED")]
