#!/usr/bin/python3
"""Reads what CTest has written of a run and says what came of it; its last line is "N passed, N failed".

    report.py RESULTS.xml SECONDS [LIMIT_MINUTES]

A step runs many cases, and says so in its output: GoogleTest with "[  PASSED  ] 3 tests.", everything else with a line
"PASS name" or "FAIL name" for each. A case that was not run says "SKIP name (why)": it is printed, and counts as nothing.
A test that CTest runs inside a step, or a step, is one case if it says nothing, such as a build. A step that failed
without naming a case counts as one that failed. If the run took longer than LIMIT_MINUTES, that is a failure, too; on a machine
that is slower than the one for which the limit was set, the limit is longer in the same ratio, up to SLOWEST. Programs of
others, such as Kubernetes, and those of the release before are built once for each of their versions: what that took of all
processors is not counted.
"""

import collections
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

# What CTest runs inside a step has the number of its test in front of each line, and a line at its end.
PASSED = re.compile(r"^(?:(\d+): )?\[  PASSED  \] (\d+) tests?\.$")
FAILED = re.compile(r"^(?:(\d+): )?\[  FAILED  \] (\d+) tests?, listed below:$")
LISTED = re.compile(r"^(?:\d+: )?\[  FAILED  \] ([^ ,]+)(?:, where .*(?<! ms\)))?$")
BEGUN = re.compile(r"^(\d+: )?\[ RUN      \] ([^ ]+)$")
CASE = re.compile(r"^(?:(\d+): )?(PASS|FAIL) (.+)$")
INSIDE = re.compile(r"^ *\d+/\d+ Test +#(\d+): (.+?) \.*(   Passed|\*\*\*\w+)")
SKIPPED = re.compile(r"^SKIP (.+)$")
PROCESSOR = re.compile(r"^step: (\d+) s of processor$")
# Work for a processor, and the seconds that it took on the machine for which the limit was set.
WORK = "import time; n = 0\nfor i in range(12_000_000): n = n * 31 + i & 0xffffffff\nprint(time.process_time())"
WORK_SECONDS = 2.0
SLOWEST = 1.5  # The limit is at most so many times as long.
# Steps that build what is ours, on each commit. The other builds are of one version, and kept.
OURS = re.compile(r"build: (release programs|unit tests and fuzz targets under ASan|sweeps)")
LINES_SHOWN = 80  # Of a step that failed; the rest is in the file that CTest has written.

Step = collections.namedtuple("Step", "name seconds processor passed failed failures skipped output")


def read_step(name, status, seconds, output):
    """A Step. `status` is CTest's: run, fail, notrun or disabled."""
    passed = failed = processor = 0
    failures, skipped = [], []
    counted, counted_bad = set(), set()  # Tests inside that said how many cases they had, and that one of them failed.
    for line in output.splitlines():
        if found := PASSED.match(line):
            passed += int(found[2])
            counted.add(found[1])
        elif found := FAILED.match(line):
            failed += int(found[2])
            counted_bad.add(found[1])
        elif found := LISTED.match(line):
            failures.append(found[1])
        elif found := CASE.match(line):
            passed += found[2] == "PASS"
            counted.add(found[1])
            if found[2] == "FAIL":
                failed += 1
                failures.append(found[3])
                counted_bad.add(found[1])
        elif found := SKIPPED.match(line):
            skipped.append(found[1])
        elif found := INSIDE.match(line):
            is_good = found[3].endswith("Passed")
            passed += is_good and found[1] not in counted
            if not is_good and found[1] not in counted_bad:
                failed += 1
                failures.append(found[2])
        elif found := PROCESSOR.match(line):
            processor = int(found[1])
    if status == "run" and passed + failed + len(skipped) == 0:
        passed = 1
    if status != "run" and failed == 0:
        failed = 1
        failures = ["not run: what it needs failed" if status == "notrun" else "it ended with a failure"]
    return Step(name, seconds, processor, passed, failed, failures, skipped, output)


def shown(output):
    """Lines of a failed step: what each failed case of GoogleTest has printed, else the last ones."""
    lines = output.splitlines()
    failures = {found[1] for one in lines if (found := LISTED.match(one))}
    printed = []
    for at, one in enumerate(lines):
        begun = BEGUN.match(one)
        if not begun or begun[2] not in failures:
            continue
        of_program = begun[1] or ""  # Programs that run at the same time print in turns.
        for line in (line for line in lines[at:] if line.startswith(of_program)):
            printed.append(line)
            if line.startswith(f"{of_program}[  FAILED  ] {begun[2]}"):
                break
    return printed[:LINES_SHOWN] or lines[-LINES_SHOWN:]


def read(file):
    """The steps in a JUnit file of CTest."""
    return [read_step(one.get("name"), one.get("status"), float(one.get("time")), one.findtext("system-out") or "")
            for one in xml.etree.ElementTree.parse(file).getroot().iter("testcase")]


def table(steps):
    """Lines: what each label and each step took, the longest first. A label is what stands before the first colon."""
    labels = collections.defaultdict(list)
    for step in steps:
        labels[step.name.partition(":")[0]].append(step)
    groups = sorted(labels.items(), key=lambda group: -sum(one.seconds for one in group[1]))
    for label, group in groups:
        yield line(label, group)
    yield ""
    for step in sorted(steps, key=lambda one: -one.seconds)[:25]:
        yield line(step.name, [step])


def line(name, steps):
    seconds, processor, passed, failed = (sum(getattr(one, field) for one in steps)
                                          for field in ("seconds", "processor", "passed", "failed"))
    return f"{seconds:7.0f} s {processor:6d} s of processor {passed:6d} passed {failed:4d} failed  {name}"


def slowness():
    """How many times longer than WORK_SECONDS the work takes here, on all processors at a time; at least 1."""
    running = [subprocess.Popen([sys.executable, "-c", WORK], stdout=subprocess.PIPE)  # pylint: disable=consider-using-with
               for _ in range(os.cpu_count())]
    return max(1, *(float(one.communicate()[0]) / WORK_SECONDS for one in running))


def building_others(steps, processors):
    """How many minutes longer the run was because programs of others were built."""
    built = sum(one.processor for one in steps if one.name.startswith("build: ") and not OURS.fullmatch(one.name))
    return built / processors / 60


def main(file, seconds, limit_minutes=None, slower=slowness, processors=os.cpu_count()):
    steps = read(file)
    for step in steps:
        if step.failed:
            print(f"\n==== {step.name}: {step.failed} failed ====")
            print("\n".join(shown(step.output)))
    print(f"\nin {float(seconds) / 60:.1f} minutes; by label, and the longest steps, of which several run at a time:")
    print("\n".join(table(steps)))
    if skipped := [f"  SKIP {step.name}: {one}" for step in steps for one in step.skipped]:
        print("\nwhat was not run:")
        print("\n".join(skipped))
    failures = [f"{step.name}: {one}" for step in steps for one in step.failures]
    passed, failed = (sum(getattr(one, field) for one in steps) for field in ("passed", "failed"))
    minutes = float(seconds) / 60 - building_others(steps, processors)
    if limit_minutes and minutes > float(limit_minutes):
        times = slower()
        took = (f"all together took more than {limit_minutes} minutes: {float(seconds) / 60:.1f}, of which {minutes:.1f} count, "
                f"on a machine that is {times:.1f} times as slow")
        if minutes > float(limit_minutes) * min(times, SLOWEST):
            failed += 1
            failures.append(took)
        else:
            print(took)
    if failures:
        print(f"\nwhat each step has printed is in {file}; what failed:")
        print("\n".join(f"  FAIL {one}" for one in failures))
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
