"""What a run says each minute, and what it keeps of earlier runs."""

import progress
import record
import report

ABOUT = report.Run(1, "0123456789abcdef", [])


def watch(tmp_path, names, took):
    kept = record.Record(tmp_path / "record.json")
    kept.add_figures({name: (seconds, 0) for name, seconds in took.items()})
    now = [0.0]
    return progress.Watch(names, kept, ABOUT, tmp_path, lambda: now[0]), now


def test_a_line_says_what_runs_what_is_done_and_what_the_last_run_took(tmp_path):
    made, now = watch(tmp_path, ["build: a", "e2e: b", "e2e: c"], {"build: a": 60, "e2e: b": 300, "e2e: c": 120})
    made.saw("      Start  1: build: a\n")
    now[0] = 60.0
    made.saw(" 1/3 Test  #1: build: a ...................   Passed   60.00 sec\n")
    made.saw("      Start  2: e2e: b\n")
    (tmp_path / progress.file_name("e2e: b")).write_text("collected 40 cases\n\nPASS e2e/test_b.py::one (3 s)\n.\nSKIP two (why)\n")
    now[0] = 120.0
    assert made.line() == "[2 min] 1 of 3 steps are done; now: e2e: b (2 of 40); about 6 min left"


def test_steps_that_have_not_run_here_are_estimated_by_their_cases(tmp_path):
    made, now = watch(tmp_path, ["unit: a", "unit: b"], {})
    made.saw("      Start  1: unit: a\n")
    now[0] = 60.0
    assert made.line() == "[1 min] 0 of 2 steps are done; now: unit: a; no recorded time"
    (tmp_path / progress.file_name("unit: a")).write_text(" 11/60 Test  #3: a ...   Passed    0.13 sec\n20/60 Test #12: b ...   Passed\n")
    assert made.line() == ("[1 min] 0 of 2 steps are done; now: unit: a (20 of 60); "
                           "about 2 min left, and 1 steps without a recorded time")


def test_a_build_says_how_far_it_is():
    assert progress.how_far("[1/300] Building\n[17/300] Linking\n") == (17, 300)
    assert progress.how_far("cloning\n") is None


def test_a_case_that_builds_something_does_not_say_how_far_the_others_are():
    assert progress.how_far("collected 269 cases\nPASS e2e/test_a.py::one (3 s)\n[65/90] Building\n") == (1, 269)


def test_a_record_survives_its_process_and_damage(tmp_path):
    kept = record.Record(tmp_path / "suite/record.json")
    kept.add_figures({f"step {i}": (i, i) for i in range(record.FIGURES + 5)})
    kept.add_run(["a"])
    kept.write()
    again = record.Record(tmp_path / "suite/record.json")
    assert (again.seconds("step 4"), again.seconds("step 5"), again.flaked_before("a")) == (None, 5, 1)
    (tmp_path / "suite/record.json").write_text('{"figures": 3}')
    assert record.Record(tmp_path / "suite/record.json").seconds("step 5") is None
