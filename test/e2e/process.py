"""A program as a process, with what it writes in a file."""

import os
import signal
import subprocess


class Process:
    """A program that is started here. Who starts it ends it."""

    def __init__(self, name, command, folder, env=None):
        self.log = folder / f"{name}.log"
        self.out = folder / f"{name}.out"
        with self.log.open("ab") as log, self.out.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=log, env={**os.environ, **(env or {})})

    @property
    def pid(self):
        return self._process.pid

    def status(self):
        """Its exit status; None while it runs."""
        return self._process.poll()

    def is_running(self):
        return self._process.poll() is None

    def says(self, text):
        return text in self.log.read_text() or text in self.out.read_text()

    def kill(self):
        self._process.kill()
        self._process.wait()

    def end(self):
        if self.is_running():
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
