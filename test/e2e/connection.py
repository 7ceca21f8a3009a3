"""A way to the API server that can be cut: it asks for rights when a watch begins, not while it lasts."""

import contextlib
import json
import socket
import threading
import time


class Way:
    """Connections from a port of this machine to the API server of that kubeconfig; what is sent arrives `delay` seconds later."""

    def __init__(self, config, delay=0):
        host, _, port = config["clusters"][0]["cluster"]["server"].removeprefix("https://").partition(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._delay = delay
        self._open = set()
        self._lock = threading.Lock()
        self._is_open = threading.Event()
        self._is_open.set()
        self.waiting = 0  # Connections that have been made while it was held.
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self._config = config
        threading.Thread(target=self._accept, daemon=True).start()

    def write_config(self, path):
        """The kubeconfig of a client that goes this way."""
        path.write_text(json.dumps(self._config))
        return path

    def cut(self):
        """Ends all connections. New ones can be made."""
        with self._lock:
            ended, self._open = self._open, set()
        for one in ended:
            close(one)

    @contextlib.contextmanager
    def held(self):
        """Connections that are made meanwhile carry nothing until the end of it."""
        self.waiting = 0
        self._is_open.clear()
        try:
            yield
        finally:
            self._is_open.set()

    def end(self):
        close(self._listener)
        self.cut()

    def _accept(self):
        with contextlib.suppress(OSError):  # It is closed.
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._server)
                with self._lock:
                    self._open |= {near, far}
                    self.waiting += not self._is_open.is_set()
                for source, sink, delay in ((near, far, self._delay), (far, near, 0)):
                    threading.Thread(target=self._copy, args=(source, sink, delay), daemon=True).start()

    def _copy(self, source, sink, delay):
        self._is_open.wait()
        copy(source, sink, delay)


def copy(source, sink, delay):
    """Until one of them is closed; then both are."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            time.sleep(delay)
            sink.sendall(data)
    close(source)
    close(sink)


def close(connection):
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
