"""The controller may take as much memory as a pod as it may as a service of a host."""

import re

from cluster import REPO

# Units of systemd are powers of 1024, too.
UNITS = {"M": 1 << 20, "Mi": 1 << 20, "G": 1 << 30, "Gi": 1 << 30}


def number_in(path, pattern):
    [(number, unit)] = re.findall(pattern, (REPO / "manifests" / path).read_text(), re.MULTILINE)
    return int(number) * UNITS[unit]


def test_REV3_X16_pod_and_service_have_one_memory_limit():
    limit = number_in("controller/deployment.yaml", r"limits:\s+memory: (\d+)([MG]i)$")
    assert number_in("systemd/cdom-controller.service", r"^MemoryMax=(\d+)([MG])$") == limit
    assert number_in("release-finalizers/job.yaml", r"limits:\s+memory: (\d+)([MG]i)$") == limit
    assert 64 << 20 <= limit <= 128 << 20
