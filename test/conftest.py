"""For every case of pytest below this folder."""

import re

import pytest

GROUP = re.compile(r"@group-\d+(?=$|')")  # By which pytest-xdist knows the cases of one process.


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Lines(), "cdom-lines")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Fixtures ask whether their case has failed."""
    report = (yield).get_result()
    item.has_failed = getattr(item, "has_failed", False) or report.failed


class Lines:
    """The lines that test/suite/report.py counts, in the process that people see: a case with its fixtures, and the seconds of them
    all. A case that is not run is not counted, and its line says why."""

    def __init__(self):
        self._told = False
        self._cases = {}  # (seconds, whether it has failed, why it was skipped) so far, by the name of the case.

    def pytest_collection_finish(self, session):
        self._tell(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        """Of each process, and all have the same cases."""
        self._tell(len(ids))

    def _tell(self, count):
        if count and not self._told:
            self._told = True
            print(f"\ncollected {count} cases", flush=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        report.nodeid = GROUP.sub("", report.nodeid)
        if isinstance(report.longrepr, str):  # Of a case that ended its process.
            report.longrepr = GROUP.sub("", report.longrepr)
        seconds, failed, skipped = self._cases.pop(report.nodeid, (0, False, None))
        seconds += report.duration
        failed = failed or report.failed
        if report.skipped and isinstance(report.longrepr, tuple):
            skipped = report.longrepr[2].removeprefix("Skipped: ")
        if report.when not in ("setup", "call"):  # The teardown, or the end of the process.
            result = "FAIL" if failed else "PASS" if skipped is None else "SKIP"
            print(f"\n{result} {report.nodeid} ({skipped or f'{seconds:.0f} s'})", flush=True)
        else:
            self._cases[report.nodeid] = seconds, failed, skipped
