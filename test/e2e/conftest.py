"""Options and fixtures of the end-to-end cases. Run them with

    python3 -m pytest test/e2e --programs build/release/bin [-k PATTERN]
"""

import pathlib

import cluster as stage
import pytest


def pytest_addoption(parser):
    parser.addoption("--programs", required=True, type=pathlib.Path, help="folder of the release programs")
    parser.addoption("--large-objects", type=int, default=120, help="how many large objects there are of a kind")


@pytest.fixture(scope="session")
def programs(request):
    """The folder of the programs that are tested."""
    return request.config.getoption("--programs").resolve()


@pytest.fixture(scope="session")
def cluster(request, programs):
    with stage.started(stage.Cluster, programs, request, "cdom-e2e.") as made:
        yield made


@pytest.fixture
def removed_later(cluster):
    """removed_later(OBJECT...): applies them, and deletes them when the case is over."""
    made = []

    def apply(*objects):
        made.extend(objects)
        cluster.apply(*objects)

    yield apply
    for one in reversed(made):
        namespace = one["metadata"].get("namespace", "default")
        cluster.kubectl("delete", one["kind"], one["metadata"]["name"], "-n", namespace,
                        "--ignore-not-found", "--timeout=90s")
