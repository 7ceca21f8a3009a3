"""The simulated nodes' control port: commands that do to a node what happens to machines."""

import json
import re
import urllib.parse
import urllib.request

from waiting import eventually


class NodeSim:
    """nodesim as a process: `process` runs already, with --control-port 0."""

    def __init__(self, process):
        self._process = process
        try:
            eventually("the simulated nodes are ready", lambda: process.says(" ready\n"), within=120)
        except BaseException:
            process.end()  # Nobody else knows it yet.
            raise
        self.url = re.search(r"^nodesim: control (\S+)$", process.out.read_text(), re.MULTILINE)[1]

    @property
    def pid(self):
        return self._process.pid

    def kill(self, node):
        """From the return on nothing more is written for the node."""
        self._post("kill", node=node)

    def revive(self, node):
        self._post("revive", node=node)

    def reboot(self, node):
        self._post("reboot", node=node)

    def remove(self, node):
        """Kills it, and deletes its Node. revive() brings it back."""
        self._post("remove", node=node)

    def stall_daemon(self, node):
        """Its daemons are not ready."""
        self._post("stall-daemon", node=node)

    def unstall_daemon(self, node):
        self._post("unstall-daemon", node=node)

    def stop_plugin(self, node):
        """Its kubelet plugin does not exist: no ResourceSlice, and nothing is prepared or released."""
        self._post("stop-plugin", node=node)

    def start_plugin(self, node):
        self._post("start-plugin", node=node)

    def move(self, node, clique=None):
        """Into another clique, or into none."""
        self._post("move", node=node, **({"clique": clique} if clique else {}))

    def heal(self, nodes):
        """Takes back whatever was done to these nodes, but moves."""
        for node in nodes:
            for undo in (self.revive, self.unstall_daemon, self.start_plugin):
                undo(node)

    def state(self):
        """What every node runs, has prepared, and waits for."""
        with urllib.request.urlopen(f"{self.url}/state", timeout=60) as answer:
            return json.load(answer)

    def end(self):
        self._process.end()

    def _post(self, command, **query):
        request = urllib.request.Request(f"{self.url}/{command}?{urllib.parse.urlencode(query)}", method="POST")
        with urllib.request.urlopen(request, timeout=60):
            pass
