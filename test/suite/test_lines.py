"""What several processes of pytest say: names without the group by which they share the cases."""

import re
import subprocess

import quiet

CASES = """
import os
import pytest

@pytest.fixture
def breaks():
    yield
    raise RuntimeError("the fixture breaks")

@pytest.mark.parametrize("one", ["a@b", "c"])
def test_good(one):
    pass

def test_bad():
    assert 1 == 2

def test_whose_fixture_breaks(breaks):
    pass

def test_skipped():
    pytest.skip("it lacks something")

def test_that_ends_its_process():
    os._exit(3)
"""
MARKS = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.xdist_group(f"group-{len(item.name) % 2}"))
"""


def test_names_are_without_groups_for_people_and_in_junit(tmp_path):
    (tmp_path / "conftest.py").write_text((quiet.REPO / "test/conftest.py").read_text() + MARKS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_tried.py").write_text(CASES)
    done = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadgroup",
                           "--max-worker-restart", "0", "--junitxml=junit.xml", "test_tried.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line.rpartition(" (")[0] for line in done.stdout.splitlines() if re.match("(PASS|FAIL|SKIP) ", line)]
    assert sorted(lines) == ["FAIL test_tried.py::test_bad", "FAIL test_tried.py::test_that_ends_its_process",
                             "FAIL test_tried.py::test_whose_fixture_breaks", "PASS test_tried.py::test_good[a@b]",
                             "PASS test_tried.py::test_good[c]", "SKIP test_tried.py::test_skipped"]
    for text in (done.stdout, (tmp_path / "junit.xml").read_text()):
        assert "test_bad" in text
        assert "@group" not in text, text
