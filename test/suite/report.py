"""Reads what CTest has written of a run and says what came of it; the last line is "N passed, N failed".

A step runs many cases, and says so in its output: GoogleTest with "[  PASSED  ] 3 tests.", everything else with a line
"PASS name" or "FAIL name" for each. A case that was not run says "SKIP name (why)": it is printed, and counts as nothing. A case
of the quiet lane that failed, and passed when it ran again, says "FLAKE name": it counts as passed, or as failed if it flaked in
one of the last runs, too. A test that CTest runs inside a step, or a step, is one case if it says nothing, such as a build. A
step that failed without naming a case counts as one that failed.
"""

import collections
import os
import re
import typing
import xml.etree.ElementTree

from modules import OF_MODULES
from record import RUNS

# What CTest runs inside a step has the number of its test in front of each line, and a line at its end.
PASSED = re.compile(r"^(?:(\d+): )?\[  PASSED  \] (\d+) tests?\.$")
FAILED = re.compile(r"^(?:(\d+): )?\[  FAILED  \] (\d+) tests?, listed below:$")
LISTED = re.compile(r"^(?:\d+: )?\[  FAILED  \] ([^ ,]+)(?:, where .*(?<! ms\)))?$")
BEGUN = re.compile(r"^(\d+: )?\[ RUN      \] ([^ ]+)$")
CASE = re.compile(r"^(?:(\d+): )?(PASS|FAIL|FLAKE) (.+)$")
INSIDE = re.compile(r"^ *\d+/\d+ Test +#(\d+): (.+?) \.*(   Passed|\*\*\*\w+)")
SKIPPED = re.compile(r"^SKIP (.+)$")
PROCESSOR = re.compile(r"^step: (\d+) s of processor$")
OF_MODULE = re.compile(r"^(?:.*/)?test_(\w+)\.py::.*?(?: \((\d+) s\))?$")  # A case of pytest: its file, and what it took.
RESUMED = "step: passed before on this commit"  # How the output of a step begins that step.sh did not run again.
LINES_SHOWN = 80  # Of a step that failed; the rest is in the file that CTest has written.
GROWTH = 1.1  # From here a figure of a step is a warning,
SMALLEST = 30  # if it was at least so many seconds before.

Step = collections.namedtuple("Step", "name seconds processor passed failed failures skipped flaked modules output")


class Run(typing.NamedTuple):
    """What a run is about."""

    part: int  # That the commit's hash chooses.
    commit: str
    modules: list  # Those that run.
    by_path: list = []  # Names of those that run because a path of theirs changed.

    def key(self, step):
        """By which the figures of a step are comparable: its name, and what work it has in this run."""
        label = step.partition(":")[0]
        if step in OF_MODULES:
            return " ".join([step, *(one.name for one in self.modules if one.file and one.label == OF_MODULES[step])])
        return f"{step} {self.part}" if label in ("sweep", "lint", "unit") else step


def read_step(name, status, seconds, output):
    """A Step. `status` is CTest's: run, fail, notrun or disabled."""
    passed = failed = processor = 0
    failures, skipped, flaked = [], [], []
    modules = {}  # Of pytest: whether all of their cases passed, and what they took.
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
            is_good = found[2] != "FAIL"
            passed += is_good
            counted.add(found[1])
            if of := OF_MODULE.match(found[3]):
                are_good, took = modules.get(of[1], (True, 0))
                modules[of[1]] = are_good and is_good, took + int(of[2] or 0)
            if found[2] == "FLAKE":
                flaked.append(found[3])
            if not is_good:
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
    return Step(name, seconds, processor, passed, failed, failures, skipped, flaked, modules, output)


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


def busy_seconds():
    """What all processors of the machine have worked since it started, also for servers that outlive what started them."""
    user, nice, system, _, _, irq, softirq = map(int, open("/proc/stat", encoding="ascii").readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def table(steps):
    """A line for each step, the longest first."""
    for step in sorted(steps, key=lambda one: -one.seconds):
        yield f"{step.seconds / 60:7.1f} {step.processor / 60:9.1f} {step.passed:8d} {step.failed:8d}   {step.name}"


def warnings(steps, kept, about):
    """Figures that grew. What a build takes depends on what changed."""
    for step in steps:
        for what, now, before in (("time", step.seconds, kept.seconds(about.key(step.name))),
                                  ("time of processor", step.processor, kept.processor(about.key(step.name)))):
            if before and before >= SMALLEST and now > before * GROWTH and not step.name.startswith("build: "):
                yield f"{step.name}: its {what} grew from {before:.0f} to {now:.0f} s since the last run with the same work"


def of_modules(steps):
    """(whether it passed, its seconds) of each step and each module of pytest, by the name that modules.py has for it."""
    found = {one.name: (not one.failed, one.seconds) for one in steps}
    for one in steps:
        for name, (is_good, took) in one.modules.items() if one.name in OF_MODULES else ():
            name = f"{OF_MODULES[one.name]}: {name}"  # The quiet lane may have cases of it, too.
            good_so_far, took_so_far = found.get(name, (True, 0))
            found[name] = good_so_far and is_good, took_so_far + took
    return found


def remember(steps, kept, about):
    """Writes into the record what later runs compare themselves with. Steps that were not run again are in it."""
    steps = [one for one in steps if not one.output.startswith(RESUMED)]
    kept.add_figures({about.key(one.name): (one.seconds, one.processor) for one in steps if not one.failed})
    kept.add_passes({name: seconds for name, (is_good, seconds) in of_modules(steps).items() if is_good}, about.commit)
    if any(one.name.startswith("quiet: ") for one in steps):
        kept.add_run({name for one in steps for name in one.flaked})
    kept.write()


def main(files, seconds, busy, kept, about):
    """Prints it. Returns the exit status. `busy` are the seconds of all processors of the machine meanwhile."""
    steps = [step for file in files for step in read(file)]
    for step in steps:
        if step.failed:
            print(f"\n==== {step.name}: {step.failed} failed ====")
            print("\n".join(shown(step.output)))
    print(f"\nin {seconds / 60:.1f} minutes, in which the machine's processors worked for {busy / 60:.1f}; several steps run at a time:")
    print("minutes processor   passed   failed   step")
    print("\n".join(table(steps)))
    if about.by_path:
        added = sum(of_modules(steps).get(name, (True, 0))[1] for name in about.by_path)
        print(f"of that, modules that run because a path of theirs changed took {added / 60:.1f} minutes")
    if skipped := [f"  SKIP {step.name}: {one}" for step in steps for one in step.skipped]:
        print("\nwhat was not run:")
        print("\n".join(skipped))
    for one in warnings(steps, kept, about):
        print(f"WARNING {one}")
    flaked = [name for step in steps for name in step.flaked if not step.output.startswith(RESUMED)]
    again = [name for name in flaked if kept.flaked_before(name)]
    failures = [f"{step.name}: {one}" for step in steps for one in step.failures]
    failures += [f"{name}: it flaked twice in {RUNS} runs" for name in again]
    remember(steps, kept, about)
    if failures:
        print(f"\nwhat each step has printed is in {' and '.join(map(str, files))}; what failed:")
        print("\n".join(f"  FAIL {one}" for one in failures))
    print("".join(f"FLAKE {one}\n" for one in flaked), end="")
    print(f"{len(flaked)} flaked")
    passed, failed = (sum(getattr(one, field) for one in steps) for field in ("passed", "failed"))
    print(f"{passed - len(again)} passed, {failed + len(again)} failed")
    return 0 if passed and not failed and not again else 1
