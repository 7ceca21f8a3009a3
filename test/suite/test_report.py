"""What a run comes to, by the outputs that its steps have."""

import pathlib
import re
import subprocess

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
    assert report.main(results, 61) == 0
    assert "\nwhat was not run:\n  SKIP e2e: a: two: needs more\n1 passed, 0 failed\n" in capsys.readouterr().out


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
    assert report.main(results, 61) == 1
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == "0 passed, 2 failed"
    assert "missing header" in printed
    assert "FAIL unit: a: not run: what it needs failed" in printed


def test_a_run_that_is_too_long_has_failed(tmp_path, capsys):
    results = run(tmp_path, 'step("unit: a" REQUIRED "echo PASS one; echo step: 7 s of processor")\n'
                            'step("build: b" SETUP "true")\n')
    assert report.main(results, 3600, 60) == 0
    assert "7 s of processor      1 passed    0 failed  unit: a" in capsys.readouterr().out
    assert report.main(results, 3601, 60, lambda: 1) == 1
    assert capsys.readouterr().out.endswith(
        "FAIL all together took more than 60 minutes: 60.0, of which 60.0 count, on a machine that is 1.0 times as slow\n2 passed, 1 failed\n")
    assert report.main(results, 4000, 60, lambda: 1.2) == 0
    assert "took more than 60 minutes: 66.7, of which 66.7 count, on a machine that is 1.2 times as slow\n2 passed, 0 failed\n" in capsys.readouterr().out
    assert report.main(results, 4321, 60, lambda: 1.2) == 1


def test_the_limit_is_at_most_half_as_long_again_however_slow_the_machine_is(tmp_path, capsys):
    results = run(tmp_path, 'step("unit: a" REQUIRED "echo PASS one")\nstep("build: b" SETUP "true")\n')
    assert report.main(results, 5400, 60, lambda: 3) == 0
    assert report.main(results, 5401, 60, lambda: 3) == 1
    assert "FAIL all together took more than 60 minutes: 90.0, of which 90.0 count, on a machine that is 3.0 times as slow" in capsys.readouterr().out


def test_the_limit_is_without_what_building_programs_of_others_took(tmp_path):
    def of(step):
        return run(tmp_path, f'step("unit: a" REQUIRED "echo PASS one")\nstep("build: {step}" SETUP "echo step: 1200 s of processor")\n')
    assert report.main(of("control plane"), 4200, 60, lambda: 1, processors=2) == 0
    assert report.main(of("control plane"), 4201, 60, lambda: 1, processors=2) == 1
    assert report.main(of("release programs"), 3601, 60, lambda: 1, processors=2) == 1


def test_the_steps_that_build_what_is_ours_are_there():
    steps = (pathlib.Path(report.__file__).parent / "build.cmake").read_text()
    assert [name for name in re.findall(r'step\("(build: [^"]+)"', steps) if report.OURS.fullmatch(name)] == [
        "build: release programs", "build: unit tests and fuzz targets under ASan", "build: sweeps"]


def test_this_machine_is_as_slow_as_itself():
    assert 1 <= report.slowness() < 10


def test_no_case_at_all_is_no_success(tmp_path):
    (tmp_path / "results.xml").write_text("<testsuite></testsuite>")
    assert report.main(tmp_path / "results.xml", 1) == 1


def run(folder: pathlib.Path, steps):
    """The results of CTest for these steps."""
    (folder / "CMakeLists.txt").write_text(CTEST + steps)
    subprocess.run(["cmake", "-S", folder, "-B", folder / "b"], check=True, capture_output=True)
    subprocess.run(["ctest", "--test-dir", folder / "b", "--output-junit", folder / "results.xml"],
                   check=False, capture_output=True)
    return folder / "results.xml"
