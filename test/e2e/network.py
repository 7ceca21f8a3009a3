"""A network of this process and of those that it starts, for a while."""

import contextlib
import ctypes
import os
import subprocess

NEW_NETWORK = 0x40000000  # CLONE_NEWNET. Python knows it from 3.12 on.


@contextlib.contextmanager
def own_network(addresses):
    """All addresses of that range, and the loopback, are this machine's meanwhile, and nobody else's. Needs root."""
    with open("/proc/thread-self/ns/net", encoding="ascii") as before:
        call("unshare", NEW_NETWORK)
        try:
            for command in ("link set lo up", f"route add local {addresses} dev lo"):
                subprocess.run(["ip", *command.split()], check=True)
            yield
        finally:
            call("setns", before.fileno(), NEW_NETWORK)


def call(function, *arguments):
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")
