"""Which test is meant by a name, and what is said if none is."""

import sys
import tempfile

import one
import pytest

TESTS = {("googletest", "PlanLabels.B24_First"): ["labels_test.cc"], ("googletest", "Suite.Twice"): ["a_test.cc"],
         ("googletest", "Other.Twice"): ["b_test.cc"], ("pytest", "test_a_node_is_lost"): ["test/e2e/test_nodes.py"],
         ("scenario", "create-ready-delete"): ["scenarios.cc"], ("fuzz", "utf8"): ["utf8.cc"], ("lint", "size"): ["lint.sh"]}


@pytest.mark.parametrize(("asked", "kind", "files"), [
    ("PlanLabels.B24_First", "googletest", ["labels_test.cc"]),
    ("B24_First", "googletest", ["labels_test.cc"]),
    ("All/PlanLabels.B24_First/of_a_node", "googletest", ["labels_test.cc"]),
    ("Twice", "googletest", ["a_test.cc", "b_test.cc"]),
    ("test_a_node_is_lost", "pytest", ["test/e2e/test_nodes.py"]),
    ("test_a_node_is_lost[daemon]", "pytest", ["test/e2e/test_nodes.py"]),
    ("test/e2e/test_nodes.py::test_a_node_is_lost[daemon]", "pytest", ["test/e2e/test_nodes.py"]),
    ("create-ready-delete", "scenario", ["scenarios.cc"]), ("utf8", "fuzz", ["utf8.cc"]), ("size", "lint", ["lint.sh"])])
def test_a_name_is_found_as_it_is_printed(asked, kind, files):
    found = one.find(asked, TESTS)
    assert (found.kind, found.files) == (kind, files)


def test_a_name_that_is_wrong_is_answered_with_those_that_are_close():
    assert one.find("PlanLabels.B24_Fist", TESTS) is None
    assert "PlanLabels.B24_First" in one.close_to("PlanLabels.B24_Fist", TESTS)
    assert one.close_to("node_is_lost", TESTS)[0] == "test_a_node_is_lost"


@pytest.fixture(name="main")
def fixture_main(monkeypatch, capsys, tmp_path):
    """main(ASKED, COMMAND): the status of one.py, where COMMAND runs the test, and the lines that it has printed last."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(one, "known", lambda: TESTS)

    def main(asked, command=("false",)):
        monkeypatch.setattr(sys, "argv", ["one", *asked])
        monkeypatch.setattr(one, "command_of", lambda *_: command)
        return one.main(), capsys.readouterr().out.rpartition("\n\n")[2].splitlines()
    return main


def test_a_case_that_is_skipped_does_not_pass(main):
    def run(*lines):
        return main(["test_a_node_is_lost"], ["printf", r"%s\n", *lines])
    skip = "SKIP test_a_node_is_lost[daemon] (needs Kubernetes 1.36: this)"
    status, (last, _) = run(skip)
    assert status == 1
    assert last == "SKIP test_a_node_is_lost, so it did not pass: test_a_node_is_lost[daemon] (needs Kubernetes 1.36: this)"
    assert run(skip, "PASS test_a_node_is_lost[controller] (1 s)") == (0, ["PASS test_a_node_is_lost"])


def test_what_repeats_a_failure_is_what_was_asked(main):
    status, lines = main(["create-ready-delete", "fault=crash-after", "--times", "3"])
    assert status == 1
    assert "again:   scripts/test.sh one create-ready-delete fault=crash-after --times 3" in lines


@pytest.mark.parametrize(("asked", "said"), [
    (["test_a_node_is_lost", "--gdb"], "one: --gdb is for programs, and test_a_node_is_lost is a case of pytest; "),
    (["utf8", "--gdb", "--times", "2"], "one: --gdb runs a test once, so --times does not go with it")])
def test_what_gdb_cannot_do_is_refused(main, asked, said):
    with pytest.raises(SystemExit) as refused:
        main(asked)
    assert str(refused.value).startswith(said)


def test_a_source_of_tests_has_the_program_that_cmake_says(monkeypatch, tmp_path):
    (tmp_path / "tests").write_text("pkg/base/a_test.cc pkg/base/tests\npkg/base/b_test.cc pkg/base/realtime_tests\n")
    monkeypatch.setattr(one, "build", lambda preset, *targets: tmp_path)
    assert one.program_of("pkg/base/b_test.cc", "dev") == "pkg/base/realtime_tests"
    command = one.command_of(one.Found("googletest", "Suite.Name", ["pkg/base/a_test.cc"]), [], "dev")
    assert command == [tmp_path / "pkg/base/tests", "--gtest_filter=Suite.Name:*/Suite.Name:Suite.Name/*:*/Suite.Name/*"]


def test_no_two_files_of_a_folder_have_a_test_of_the_same_name():
    """They are in one program, which would have it twice."""
    for (kind, name), files in one.known().items():
        folders = [file.rpartition("/")[0] for file in files if not file.endswith("sweep_test.cc")]
        assert kind != "googletest" or len(folders) == len(set(folders)), (name, files)


def test_every_kind_is_found_in_the_sources():
    assert {kind for kind, _ in one.known()} == {"googletest", "pytest", "scenario", "fuzz", "lint"}
