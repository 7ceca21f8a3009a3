"""The controller's ports, as a client of the network sees them."""

import contextlib
import re
import resource
import socket
import ssl
import urllib.error
import urllib.request

from waiting import eventually


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Endpoint:
    """The controller's ports."""

    def __init__(self, cluster, writer="controller"):
        """Runs a controller, which has that --membership-writer."""
        self._cluster = cluster
        self.secure_port = free_port()
        cluster.run_controller("--metrics-secure-port", str(self.secure_port), "--membership-writer", writer)
        eventually("metrics are served over TLS", lambda: cluster.controller_says("Serving metrics over TLS"))
        self._insecure = ssl.create_default_context()
        self._insecure.check_hostname = False
        self._insecure.verify_mode = ssl.CERT_NONE

    def metrics(self, token=None):
        """Status and text of the secure port."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self._get(f"https://127.0.0.1:{self.secure_port}/metrics", headers)

    def open(self, path):
        """Status and text of the port for anyone."""
        return self._get(f"http://127.0.0.1:{self.open_port()}{path}", {})

    def open_port(self):
        log = (self._cluster.folder / "controller.log").read_text()
        return int(re.findall(r"Serving health and metrics.*?port[=\"]+(\d+)", log)[-1])

    def _get(self, url, headers):
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60,
                                        context=self._insecure) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@contextlib.contextmanager
def held(port, count):
    """So many connections, which are open at this end until the end of the block."""
    with room_for(count), contextlib.ExitStack() as closed:
        for _ in range(count):
            closed.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        yield


@contextlib.contextmanager
def room_for(count):
    """This process may have so many connections meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, count + 1000)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def beset(port, count, ask):
    """Opens `count` connections that send nothing of use, and keeps them open. After each twentieth of them, ask() must be answered
    while the connection made just before is still open: a server that gave that one up first was held up by it."""
    with room_for(count), contextlib.ExitStack() as closed:
        for i in range(20):
            for _ in range(count // 20):
                with contextlib.suppress(OSError):  # The server takes no more.
                    last = closed.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
                    last.sendall(b"\x16\x03\x01\x02\x00\x01" if i % 2 else b"")
            ask()
            assert is_open(last), f"the server was held up by {(i + 1) * count // 20} connections"


def is_open(connection):
    """Whether the other end has not closed it."""
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def flood(port, count, ended):
    """So many connections, one after the other; some send nothing, others the beginning of a handshake."""
    held = []
    for i in range(count):
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=5)
        except OSError:
            continue  # The server takes no more.
        if i % 2:
            connection.sendall(b"\x16\x03\x01\x02\x00\x01")
        held.append(connection)
        if len(held) > 500:
            held.pop(0).close()
    for connection in held:
        connection.close()
    ended.set()
