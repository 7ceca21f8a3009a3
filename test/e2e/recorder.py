"""Every state of objects that the API server tells of, not samples."""

import contextlib
import subprocess
import threading

from waiting import eventually


class Recorder:
    """The objects of a kind in all namespaces, each event as a line: "TYPE NAME ..." with what the JSONPath template
    `fields` says of the object. A watch that ends, as at a change of the CRD, is begun again with all objects."""

    def __init__(self, cluster, kind, fields, *options):
        self._list = ("get", kind, *(options or ("--all-namespaces",)))
        metadata = "{.object.metadata.resourceVersion} {.object.metadata.namespace} {.type} {.object.metadata.name}"
        self._cluster = cluster
        self._command = cluster.command(*self._list, "--watch", "--output-watch-events", "-o", f'jsonpath={metadata} {fields}{{"\\n"}}')
        self._lines = []
        self._shown = {}  # By namespace and name of what exists: the last version.
        self._ends = threading.Event()
        self._process = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def lines(self):
        return list(self._lines)

    def not_shown(self):
        """The objects of which the last change, or the deletion, is not recorded, as (namespace, name)."""
        items = self._cluster.kubectl_json(*self._list)["items"]
        now = {(one["metadata"].get("namespace", ""), one["metadata"]["name"], one["metadata"]["resourceVersion"]) for one in items}
        return sorted({one[:2] for one in now ^ {(*name, version) for name, version in self._shown.copy().items()}})

    def stop(self):
        self._ends.set()
        self._process.terminate()
        self._thread.join(30)

    def _run(self):
        while not self._ends.is_set():
            self._shown = {}
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
            for line in self._process.stdout:
                version, namespace, event = line.rstrip("\n").split(" ", 2)
                self._lines.append(event)
                kind, name, _ = event.split(" ", 2)
                if kind == "DELETED":
                    self._shown.pop((namespace, name), None)
                else:
                    self._shown[namespace, name] = version
            self._process.wait()
            self._ends.wait(0.1)  # Between two watches.


@contextlib.contextmanager
def recording(cluster, kind, fields, *options):
    """A Recorder, which at the end has recorded each object as it is then."""
    one = Recorder(cluster, kind, fields, *options)
    try:
        eventually(f"{kind} are recorded", one.lines)
        yield one
        eventually(f"{kind} whose last change is not recorded", one.not_shown, [])
    finally:
        one.stop()


@contextlib.contextmanager
def recorded(cluster):
    """What becomes of domains, pods and DaemonSets meanwhile: a Recorder of each, by the kind."""
    status = "{.object.status.containerStatuses[0]."
    kinds = {
        "computedomains": '{.object.status.status} {.object.status.conditions[?(@.type=="Ready")].status}',
        "pods": "{.object.metadata.uid} " + status + "containerID} " + status + "state.running.startedAt} "
                + status + "restartCount} {.object.metadata.deletionTimestamp}",
        "daemonsets": "{.object.metadata.uid} {.object.metadata.generation}"}
    with contextlib.ExitStack() as ended:
        yield {kind: ended.enter_context(recording(cluster, kind, fields)) for kind, fields in kinds.items()}


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
