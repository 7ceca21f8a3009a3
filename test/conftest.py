"""For every case of pytest below this folder."""


def pytest_runtest_logreport(report):
    """The lines that test/suite/report.py counts."""
    if report.when == "call" or (report.when == "setup" and not report.passed):
        name = report.nodeid.rpartition("::")[2]
        print(f"\n{'PASS' if report.passed else 'FAIL'} {name} ({report.duration:.0f} s)", flush=True)
