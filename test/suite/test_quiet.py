"""What the quiet lane says of a case that failed once, and of one that fails each time."""

import pytest
import quiet

CONFTEST = quiet.REPO / "test/conftest.py"
CASES = """
import pathlib
import pytest

@pytest.mark.timing
def test_good():
    pass

@pytest.mark.timing
@pytest.mark.parametrize("one", ["a b"])
def test_once(one):
    been = pathlib.Path(__file__).with_suffix(".been")
    if not been.exists():
        been.write_text("")
        raise AssertionError

@pytest.mark.timing
@pytest.mark.xfail(reason="counts as nothing", run=False)
def test_not_run():
    pass

def test_of_another_lane():
    raise AssertionError
"""
BAD = """
@pytest.mark.timing
def test_bad():
    raise AssertionError
"""


def tried(monkeypatch, capfd, tmp_path, text):
    """The exit status, and the lines that report.py reads."""
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = timing\n")
    (tmp_path / "test_tried.py").write_text(text)
    if not (tmp_path / "test").exists():
        (tmp_path / "test").symlink_to(".")  # As names of cases lack the folder of pytest.ini.
    monkeypatch.setattr(quiet, "REPO", tmp_path)
    status = quiet.main("test_tried.py")
    return status, [one for one in capfd.readouterr().out.splitlines() if one and not one.startswith("| ")]


def test_a_case_that_passes_the_second_time_is_a_flake(monkeypatch, capfd, tmp_path):
    status, lines = tried(monkeypatch, capfd, tmp_path, CASES)
    assert lines[:2] == ["PASS test_tried.py::test_good", "FLAKE test_tried.py::test_once[a b]"]
    assert status == 0


def test_a_case_that_fails_twice_has_failed(monkeypatch, capfd, tmp_path):
    status, lines = tried(monkeypatch, capfd, tmp_path, CASES + BAD)
    assert lines[-1] == "FAIL test_tried.py::test_bad"
    assert status == 1


def test_a_lane_that_breaks_has_failed_and_one_without_cases_has_not(monkeypatch, capfd, tmp_path):
    assert tried(monkeypatch, capfd, tmp_path, "import nothing_of_that_name") == (
        1, ["FAIL the quiet lane itself, which ended with status 2"])
    assert tried(monkeypatch, capfd, tmp_path, "def test_of_another_lane(): pass") == (
        0, ["SKIP all cases that look at a clock (the chosen modules have none)"])


def test_of_unit_tests_those_of_a_preset_are_run_and_one_alone_again(monkeypatch, capfd):
    asked = []

    def fails_once(command, **environment):
        asked.append((command, environment))
        return (0, {"A.Bad": "PASS"}, {}) if environment else (8, {"A.Good": "PASS", "A.Bad": "FAIL"}, {})
    monkeypatch.setattr(quiet, "attempt", fails_once)
    assert quiet.main("tsan", "^pkg/base/") is False
    command = ["ctest", "--preset", "tsan", "-L", "realtime", "--parallel", "1", "--verbose", "-R", "^pkg/base/"]
    assert asked == [(command, {}), (command, {"GTEST_FILTER": "A.Bad"})]
    assert capfd.readouterr().out == "PASS A.Good\nFLAKE A.Bad\n"


def test_cases_of_googletest_are_read():
    lines = "3: [       OK ] A.Good (0 ms)\n3: [  FAILED  ] A.Bad/1, where GetParam() = 1 (12 ms)\n3: [  FAILED  ] 1 test, listed below:\n"
    assert [quiet.OF_GOOGLETEST.match(one).groups() for one in lines.splitlines()[:2]] == [("3", "OK", "A.Good"), ("3", "FAILED", "A.Bad/1")]
    assert quiet.OF_GOOGLETEST.match(lines.splitlines()[2]) is None


@pytest.mark.parametrize(("printed", "status", "wanted"), [
    ("3: [  FAILED  ] A.Bad (1 ms)\n1/2 Test #3: a: all ....***Failed 1 sec\n2/2 Test #4: b: all ....   Passed 1 sec\n", 8, {"A.Bad": "FAIL"}),
    ("3: [  FAILED  ] A.Bad (1 ms)\n1/2 Test #3: a: all ....***Failed 1 sec\n4: leak\n2/2 Test #4: b: all ....***Failed 1 sec\n", 8,
     {"A.Bad": "FAIL", "b: all": "FAIL"}),
    ("3: [       OK ] A.Good (1 ms)\n1/1 Test #3: a: all ....***Exception: SegFault 1 sec\n", 8, {"A.Good": "PASS", "a: all": "FAIL"}),
])
def test_a_program_that_fails_without_a_case_is_not_forgotten_beside_one_that_flakes(printed, status, wanted, capfd):
    assert quiet.attempt(["bash", "-c", f"printf '%s' \"$0\"; exit {status}", printed]) == (status, wanted, {})
    capfd.readouterr()
