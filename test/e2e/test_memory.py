"""X1: objects of tenants with as much metadata as the API server takes keep no controller from running."""

import re
import time

import pytest
from cluster import Process, wait_until
from large_objects import KINDS, LargeObjects

MOST = 64 << 20
KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{url}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


def peak_of(process):
    status = open(f"/proc/{process.pid}/status").read()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) << 10


def start(bin_folder, folder, config, name):
    return Process(name, [bin_folder / "compute-domain-controller", "--kubeconfig", config, "--namespace", "cdom-system",
                          "--image-name", "cdom:test", "--http-endpoint", "127.0.0.1:0"],
                   folder, {"POD_NAME": name})


@pytest.mark.parametrize("plural", sorted(KINDS))
def test_REV3_X1_controllers_stay_small_whatever_objects_carry(plural, programs, tmp_path, request):
    """Both replicas, while they read all of it, and once more after a restart."""
    count = request.config.getoption("--large-objects")
    server = LargeObjects(plural, count)
    config = tmp_path / "kubeconfig"
    config.write_text(KUBECONFIG.format(url=server.url))
    peaks = []
    try:
        for turn in ("first", "again"):
            server.listed = 0
            both = [start(programs, tmp_path, config, f"{turn}-{i}") for i in range(2)]
            try:
                wait_until("both have read everything", lambda: server.listed >= 2 * count, 300)
                wait_until("one leads", lambda: any(each.says("Reconciling") for each in both), 120)
                wait_until("one stands by", lambda: any(each.says("Standing by") for each in both), 120)
                # What follows the first reads: plans, and writes that are refused.
                until = time.monotonic() + 5
                while time.monotonic() < until:
                    assert all(each.is_running() for each in both)
                    time.sleep(0.2)
                peaks += [peak_of(each) for each in both]
            finally:
                for each in both:
                    each.end()
    finally:
        server.stop()
    print(f"{plural}: {count} objects, {len(server.item(0)) >> 10} KiB each, peaks "
          + ", ".join(f"{peak / (1 << 20):.1f} MiB" for peak in peaks))
    assert max(peaks) < MOST
