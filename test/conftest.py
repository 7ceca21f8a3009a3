"""For every case of pytest below this folder."""

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """The lines that test/suite/report.py counts: a case with its fixtures, and the seconds of them all. A case that is not run
    is not counted, and its line says why."""
    report = (yield).get_result()
    item.has_failed = getattr(item, "has_failed", False) or report.failed
    item.seconds = getattr(item, "seconds", 0) + report.duration
    if report.skipped:
        item.skipped = report.longrepr[2].removeprefix("Skipped: ")
    if report.when == "teardown":
        skipped = getattr(item, "skipped", None)
        result = "FAIL" if item.has_failed else "PASS" if skipped is None else "SKIP"
        print(f"\n{result} {item.name} ({skipped or f'{item.seconds:.0f} s'})", flush=True)
