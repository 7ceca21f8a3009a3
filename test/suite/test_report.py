"""What a run comes to, by the outputs that its steps have."""

import pathlib
import re
import subprocess

import record
import report

CTEST = """cmake_minimum_required(VERSION 3.25)
project(tried LANGUAGES NONE)
enable_testing()
function(step name fixture command)
  add_test(NAME "${name}" COMMAND bash -c "${command}")
  set_tests_properties("${name}" PROPERTIES FIXTURES_${fixture} built)
endfunction()
"""


def counts(status, output):
    step = report.read_step("unit: asan", status, 1.0, output)
    return step.passed, step.failed


def test_cases_of_googletest_are_counted_also_where_ctest_runs_inside():
    assert counts("run", "3: [  PASSED  ] 12 tests.\n4: [  PASSED  ] 1 test.\n") == (13, 0)
    assert counts("fail", "3: [  PASSED  ] 12 tests.\n3: [  FAILED  ] 2 tests, listed below:\n") == (12, 2)


def test_a_failed_case_of_googletest_is_named_and_what_it_printed_is_shown():
    output = ("3: [ RUN      ] A.Good\n3: good\n3: [       OK ] A.Good (0 ms)\n"
              "3: [ RUN      ] A.Bad/1\n4: [ RUN      ] B.Good\n3: x.cc:7: Failure\n4: beside\n"
              "3: [  FAILED  ] A.Bad/1, where GetParam() = 1 (0 ms)\n3: later\n3: [  PASSED  ] 1 test.\n"
              "3: [  FAILED  ] 1 test, listed below:\n3: [  FAILED  ] A.Bad/1, where GetParam() = 1\n")
    step = report.read_step("unit: asan", "fail", 1.0, output)
    assert (step.failed, step.failures) == (1, ["A.Bad/1"])
    assert report.shown(output) == ["3: [ RUN      ] A.Bad/1", "3: x.cc:7: Failure",
                                    "3: [  FAILED  ] A.Bad/1, where GetParam() = 1 (0 ms)"]
    assert report.shown("one\ntwo\n") == ["one", "two"]


def test_a_test_inside_that_says_nothing_is_one_case():
    inside = ("3: [  PASSED  ] 12 tests.\n1/4 Test  #3: pkg/a_test: all .....   Passed    0.13 sec\n"
              "2/4 Test #12: lint: size ........   Passed    0.01 sec\n")
    assert counts("run", inside) == (13, 0)
    assert counts("fail", inside + "3/4 Test #13: lint: banned ...***Failed  0.01 sec\n4/4 Test #14: x ...***Timeout 9 sec\n") == (13, 2)
    assert counts("fail", "3: [  FAILED  ] 2 tests, listed below:\n1/1 Test  #3: a ..***Failed  0.13 sec\n") == (0, 2)
    assert counts("fail", "3: [  PASSED  ] 2 tests.\n1/1 Test  #3: a ..***Failed  0.13 sec\n") == (2, 1), "it leaks"


def test_lines_of_cases_are_counted_and_words_inside_of_a_line_are_not():
    assert counts("run", "PASS one (3 s)\nPASS two\nit says PASS three\nPASSED\n") == (2, 0)
    assert counts("fail", "PASS one\nFAIL two\n") == (1, 1)


def test_a_case_that_was_not_run_counts_as_nothing_and_is_printed_with_its_reason(tmp_path, capsys):
    assert counts("run", "PASS one\nSKIP two (needs Kubernetes 1.36)\n") == (1, 0)
    assert counts("run", "SKIP two (needs Kubernetes 1.36)\n") == (0, 0)
    results = run(tmp_path, 'step("e2e: a" REQUIRED "echo PASS one; echo SKIP two: needs more")\n')
    assert closing(results) == 0
    assert "\nwhat was not run:\n  SKIP e2e: a: two: needs more\n0 flaked\n1 passed, 0 failed\n" in capsys.readouterr().out


def test_a_step_that_names_no_case_is_one():
    assert counts("run", "[17/17] Linking\n") == (1, 0)
    assert counts("fail", "error: no such file\n") == (0, 1)


def test_a_step_that_fails_after_its_cases_have_passed_has_failed():
    assert counts("fail", "PASS one\nPASS two\nsegmentation fault\n") == (2, 1)


def test_a_step_that_could_not_run_has_failed():
    assert counts("notrun", "Failed test dependencies: build\n") == (0, 1)


def test_a_run_of_ctest_is_read_with_what_failed_and_what_could_not_run(tmp_path, capsys):
    results = run(tmp_path, 'step("unit: a" REQUIRED "echo PASS one; echo step: 7 s of processor")\n'
                            'step("build: b" SETUP "echo missing header; exit 1")\n')
    assert closing(results) == 1
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == "0 passed, 2 failed"
    assert "missing header" in printed
    assert "FAIL unit: a: not run: what it needs failed" in printed


def test_figures_that_grew_by_more_than_a_tenth_are_warnings_and_fail_nothing(tmp_path, capsys):
    results = run(tmp_path, 'step("unit: a" REQUIRED "echo PASS one; echo step: 67 s of processor")\nstep("build: b" SETUP "echo step: 900 s of processor")\n')
    kept = record.Record(tmp_path / "record.json")
    kept.add_figures({"unit: a 3": (100, 60), "build: b": (40, 40)})
    assert closing(results, kept) == 0
    assert "WARNING unit: a: its time of processor grew from 60 to 67 s since the last run with the same work\n" in (printed := capsys.readouterr().out)
    assert printed.count("WARNING") == 1, "what a build takes depends on what changed"
    assert kept.processor("unit: a 3") == 67
    assert closing(results, record.Record(tmp_path / "record.json")) == 0
    assert "WARNING" not in capsys.readouterr().out


def test_a_case_that_flaked_is_named_before_the_last_line_and_the_second_time_it_fails(tmp_path, capsys):
    results = run(tmp_path, 'step("build: b" SETUP "true")\nstep("quiet: a" REQUIRED "echo PASS one; echo FLAKE e2e/test_a.py::test_two")\n')
    kept = record.Record(tmp_path / "record.json")
    assert closing(results, kept) == 0
    assert capsys.readouterr().out.endswith("FLAKE e2e/test_a.py::test_two\n1 flaked\n3 passed, 0 failed\n")
    for _ in range(8):
        kept.add_run([])
    assert closing(results, kept) == 1
    assert capsys.readouterr().out.endswith("  FAIL e2e/test_a.py::test_two: it flaked twice in 10 runs\nFLAKE e2e/test_a.py::test_two\n1 flaked\n2 passed, 1 failed\n")
    for _ in range(9):
        kept.add_run([])
    assert closing(results, kept) == 0


def test_it_is_kept_when_each_module_passed_last(tmp_path):
    results = run(tmp_path, 'step("build: b" SETUP "true")\nstep("e2e: clusters" REQUIRED "echo \'PASS e2e/test_a.py::one (7 s)\'; echo PASS e2e/test_b.py::one;'
                            'echo FAIL e2e/test_b.py::two; exit 1")\n')
    kept = record.Record(tmp_path / "record.json")
    assert closing(results, kept) == 1
    assert kept.last_pass("e2e: a").endswith(", commit 0123456789")
    assert kept.last_pass("e2e: b") == "it has not run on this machine"
    assert kept.module_seconds("e2e")["test_a"] == 7


def test_a_module_has_passed_only_if_its_cases_in_both_lanes_have():
    steps = [report.read_step(name, "run", 1.0, output) for name, output in (
        ("e2e: clusters", "FAIL e2e/test_a.py::one (7 s)\nPASS e2e/test_b.py::one (2 s)\n"),
        ("quiet: cases that look at a clock", "PASS e2e/test_a.py::two (1 s)\nPASS e2e/test_b.py::two (3 s)\n"))]
    found = report.of_modules(steps)
    assert (found["e2e: a"], found["e2e: b"]) == ((False, 8), (True, 5))


def test_no_case_at_all_is_no_success(tmp_path):
    (tmp_path / "results.xml").write_text("<testsuite></testsuite>")
    assert closing(tmp_path / "results.xml") == 1


def closing(results, kept=None):
    """The exit status."""
    kept = kept or record.Record(results.parent / "record.json")
    return report.main([results], 61, 100, kept, report.Run(3, "0123456789abcdef", []))


def run(folder: pathlib.Path, steps):
    """The results of CTest for these steps."""
    (folder / "CMakeLists.txt").write_text(CTEST + steps)
    subprocess.run(["cmake", "-S", folder, "-B", folder / "b"], check=True, capture_output=True)
    subprocess.run(["ctest", "--test-dir", folder / "b", "--output-junit", folder / "results.xml"],
                   check=False, capture_output=True)
    return folder / "results.xml"
