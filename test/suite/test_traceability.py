"""What the page of promises is made of, and what is wrong with it."""

import pytest
import traceability

PROMISES = """# Page
## What cdom promises
| B1 | problem | promise | |
| B2 | problem | promise | `test_of_many` |
## Not yet
| B3 | problem | today | missing |
"""
TESTS = {"Suite.B1_ThatHolds", "Suite.B1_B2_Both", "test_of_many", "Suite.REV3_B7_NoPromise"}


def test_a_row_has_the_tests_that_carry_its_id_and_those_that_it_names():
    page, wrong = traceability.generate(PROMISES, TESTS)
    assert wrong == []
    assert "| B1 | problem | promise | `Suite.B1_B2_Both`, `Suite.B1_ThatHolds` |" in page
    assert "| B2 | problem | promise | `Suite.B1_B2_Both`, `test_of_many` |" in page
    assert "| B3 | problem | today | missing |" in page


@pytest.mark.parametrize(("change", "tests", "sentence"), [
    (("`test_of_many`", "`test_of_none`"), TESTS, "B2: test_of_none is no test"),
    (("`test_of_many`", "`Suite.B1_B2_Both`"), TESTS, "B2: Suite.B1_B2_Both carries the id, so the row need not name it"),
    (("", ""), {"test_of_many"}, "B1: no test shows it"),
    (("", ""), TESTS | {"Suite.B9_Unknown"}, "a test carries B9, which is in no row: Suite.B9_Unknown"),
    (("| B2 |", "| B4 |"), TESTS - {"Suite.B1_B2_Both"}, "B2 is in no row, and B4 is")])
def test_what_is_wrong_is_said(change, tests, sentence):
    _, wrong = traceability.generate(PROMISES.replace(*change, 1), tests)
    assert sentence in wrong


def test_a_page_that_promises_nothing_is_wrong():
    assert traceability.generate(PROMISES.replace("What cdom promises", "Other"), TESTS)[1] == ["nothing is promised"]
