"""Every state of objects that the API server tells of, not samples."""

import subprocess
import threading


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
