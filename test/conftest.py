"""For every case of pytest below this folder."""

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """The lines that test/suite/report.py counts: a case with its fixtures, and the seconds of them all."""
    report = (yield).get_result()
    item.has_failed = getattr(item, "has_failed", False) or report.failed
    item.seconds = getattr(item, "seconds", 0) + report.duration
    if report.when == "teardown":
        print(f"\n{'FAIL' if item.has_failed else 'PASS'} {item.name} ({item.seconds:.0f} s)", flush=True)
