"""Which steps a night has."""

import subprocess

import one
import pytest


@pytest.fixture(scope="module")
def steps_of_nights(tmp_path_factory):
    """For each of eight nights in a row, the names of its steps."""
    build = tmp_path_factory.mktemp("suite")

    def steps(night):
        subprocess.run(["cmake", "-S", one.REPO / "test/suite", "-B", build, f"-Dnight={night}"], check=True, capture_output=True)
        listed = subprocess.run(["ctest", "--test-dir", build, "-N", "-L", "^nightly$"], check=True, capture_output=True, text=True)
        return [line.partition(": ")[2] for line in listed.stdout.splitlines() if line.strip().startswith("Test ")]
    return [steps(night) for night in range(20780, 20788)]


@pytest.mark.parametrize(("name", "of"), [("sweep: every request", 8), ("sweep: under ASan", 4)])
def test_each_night_has_one_part_and_eight_nights_have_all(steps_of_nights, name, of):
    parts = [[step for step in steps if step.startswith(f"{name}, part ")] for steps in steps_of_nights]
    assert [len(one_night) for one_night in parts] == [1] * 8
    assert sorted(part for [part] in parts) == sorted(f"{name}, part {number} of {of}" for number in range(1, of + 1) for _ in range(8 // of))


def test_other_steps_run_each_night(steps_of_nights):
    others = [[step for step in steps if ", part " not in step] for steps in steps_of_nights]
    assert "fuzz: search" in others[0]
    assert others == [others[0]] * 8
