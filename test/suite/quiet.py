#!/usr/bin/python3
"""Runs the cases that look at a clock, one after another. One that fails is run once more, alone: "FLAKE name" if it passes then.

    quiet.py PRESET [REGEX]         unit tests with the label `realtime`, as asan, tsan or release builds them
    quiet.py [--OPTION...] FILE...  cases of pytest with the mark `timing`
"""

import os
import pathlib
import re
import subprocess
import sys

from report import INSIDE

REPO = pathlib.Path(__file__).resolve().parents[2]
PRESETS = ("asan", "tsan", "release")
UNIT_TESTS = ["-L", "realtime", "--parallel", "1", "--verbose"]
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-sq", "-p", "no:cacheprovider", "-m", "timing"]
OF_PYTEST = re.compile(r"^(PASS|FAIL|SKIP) (.+) \((.*)\)$")
OF_GOOGLETEST = re.compile(r"^(?:(\d+): )?\[ +(OK|FAILED) +\] ([^ ,]+).* \(\d+ ms\)$")
RESULTS = {"OK": "PASS", "FAILED": "FAIL"}
NOTHING_SELECTED = 5  # pytest's exit status.


def attempt(command, **environment):
    """(exit status, the result of each case, why a case was skipped). What it prints is shown behind a bar.

    A program that fails without a case that failed, as after a leak, is a case itself.
    """
    results, reasons, told = {}, {}, set()
    with subprocess.Popen(command, cwd=REPO, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as running:
        for line in running.stdout:
            print(f"| {line}", end="", flush=True)
            if found := OF_PYTEST.match(line):
                results[found[2]], reasons[found[2]] = found[1], found[3]
            elif found := OF_GOOGLETEST.match(line):
                results[found[3]] = RESULTS[found[2]]
                told |= {found[1]} if found[2] == "FAILED" else set()
            elif (found := INSIDE.match(line)) and not found[3].endswith("Passed") and found[1] not in told:
                results[found[2]] = "FAIL"
    return running.returncode, results, reasons


def unit_tests(preset, regex=None):
    return ["ctest", "--preset", preset, *UNIT_TESTS, *(["-R", regex] if regex else [])]


def again(name, arguments):
    """Whether the case passes alone."""
    if arguments[0] in PRESETS:
        status, results, _ = attempt(unit_tests(*arguments), GTEST_FILTER=name)
    else:
        options = [one for one in arguments if one.startswith("--")]
        status, results, _ = attempt([*PYTEST, *options, f"test/{name}"])
    return status == 0 and results.get(name) == "PASS"


def main(*arguments):
    is_unit = arguments[0] in PRESETS
    status, results, reasons = attempt(unit_tests(*arguments) if is_unit else [*PYTEST, *arguments])
    lines = []
    for name, result in results.items():
        if result == "FAIL" and again(name, arguments):
            result = "FLAKE"
        lines.append(f"SKIP {name} ({reasons[name]})" if result == "SKIP" else f"{result} {name}")
    # Status 1 of pytest and 8 of CTest say that a case failed, and such cases are known.
    is_known = status == (8 if is_unit else 1) and "FAIL" in results.values()
    if status not in (0, 0 if is_unit else NOTHING_SELECTED) and not is_known:
        lines.append(f"FAIL the quiet lane itself, which ended with status {status}")
    print("\n".join(lines or ["SKIP all cases that look at a clock (the chosen modules have none)"]))
    return any(one.startswith("FAIL ") for one in lines)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
