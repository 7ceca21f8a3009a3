#!/usr/bin/python3
"""Builds and runs one test, by the name that it has in the sources.

    one.py NAME [--gdb] [--times N]

NAME is a case of GoogleTest (Suite.Name, or Name), a case of pytest (test_name, or test_name[parameter]), a scenario of the
simulation, a fuzz target, or a rule of test/lint. Words for a scenario may follow: create-ready-delete fault=crash-after at=17.

--gdb      runs it in gdb, built without optimization; of GoogleTest, scenarios and fuzz targets
--times N  until it fails, N times at the most

If it fails, the end of what it printed stays in a file, and the command that repeats it is printed. It also fails if all of it
is skipped.
"""

import argparse
import collections
import difflib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

REPO = pathlib.Path(__file__).resolve().parents[2]
GOOGLETEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
PYTEST = re.compile(r"^def (test_\w+)\(", re.MULTILINE)
SCENARIO = re.compile(r'^ +\.name = "([a-z0-9-]+)"', re.MULTILINE)
FUZZ_TARGET = re.compile(r"^FUZZ_TARGET\((\w+),", re.MULTILINE)
BASH_CASE = re.compile(r"^ *(?:run_case|check) ([a-z0-9_A-Z]+)$", re.MULTILINE)
LINT_RULE = re.compile(r"^foreach\(rule (.+)\)$", re.MULTILINE)

# `files`: where a test of that name stands; more than one if the name alone does not say which is meant.
Found = collections.namedtuple("Found", "kind name files")


def tracked(*patterns):
    listed = subprocess.run(["git", "-C", REPO, "ls-files", "-co", "--exclude-standard", *patterns], check=True,
                            capture_output=True, text=True)
    return [one for one in listed.stdout.splitlines() if (REPO / one).exists()]


def known():
    """All tests: {(kind, name): files}. GoogleTest's are here as Suite.Name."""
    tests = collections.defaultdict(list)
    for file in tracked("*_test.cc"):
        for suite, name in GOOGLETEST.findall((REPO / file).read_text()):
            tests["googletest", f"{suite}.{name}"].append(file)
    for file in tracked("test/**/test_*.py"):
        for name in PYTEST.findall((REPO / file).read_text()):
            tests["pytest", name].append(file)
    for file in (f"test/simulation/{folder}/scenarios.cc" for folder in ("scenarios", "plugin", "gpu")):
        for name in SCENARIO.findall((REPO / file).read_text()):
            tests["scenario", name].append(file)
    for file in tracked("test/fuzz/targets/*.cc"):
        for name in FUZZ_TARGET.findall((REPO / file).read_text()):
            tests["fuzz", name].append(file)
    for name in LINT_RULE.findall((REPO / "test/lint/CMakeLists.txt").read_text())[0].split():
        tests["lint", name].append("test/lint/lint.sh")
    return tests


def find(asked, tests):
    """A Found; None if there is no such test. `asked` may be as GoogleTest and pytest print it, with parameters."""
    name = asked.partition("[")[0].rpartition("::")[2]
    # Of Prefix/Suite.Name/parameter the middle stands in the sources.
    middle = next((part for part in asked.split("/") if "." in part), asked)
    for kind, wanted in (("googletest", middle), ("pytest", name), ("scenario", asked), ("fuzz", asked), ("lint", asked)):
        if files := tests.get((kind, wanted)):
            return Found(kind, asked, files)
    short = [(full, files) for (kind, full), files in tests.items()
             if kind == "googletest" and full.partition(".")[2] == asked]
    if short:
        return Found("googletest", asked if len(short) > 1 else short[0][0],
                     [file for _, files in short for file in files])
    return None


def close_to(asked, tests):
    """Five names at most."""
    names = {name for _, name in tests} | {name.partition(".")[2] for kind, name in tests if kind == "googletest"}
    return difflib.get_close_matches(asked, names, n=5, cutoff=0.5) or sorted(
        name for name in names if asked.lower() in name.lower())[:5]


def bash_script_with(name):
    """The script that has a case of that name, or None."""
    return next((file for file in tracked("test/**/*.sh") if name in BASH_CASE.findall((REPO / file).read_text())), None)


def build(preset, *targets):
    if targets != ("build.ninja",):
        print(f"builds {' '.join(targets)} of preset {preset}; the first build takes minutes", flush=True)
    done = subprocess.run([REPO / "scripts/build.sh", preset, *targets], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-6000:]}{done.stderr[-2000:]}\none: the build of {' '.join(targets)} failed")
    return REPO / "build" / preset


def program_of(source, preset):
    """The path of the program that a source of tests is part of, as CMake says."""
    folder = build(preset, "build.ninja")
    programs = dict(line.split() for line in (folder / "tests").read_text().splitlines())
    return programs.get(source) or sys.exit(f"one: no CMakeLists.txt names {source} as a test")


def command_of(found, words, preset):
    """What runs it, built before."""
    file = found.files[0]
    if found.kind == "googletest":
        path = program_of(file, preset)
        folder = build(preset, path.replace("/", "_"))
        pattern = found.name if "/" in found.name else f"{found.name}:*/{found.name}:{found.name}/*:*/{found.name}/*"
        return [folder / path, f"--gtest_filter={pattern}"]
    if found.kind == "pytest":
        command = ["/usr/bin/python3", "-m", "pytest", "-s", "-p", "no:cacheprovider", f"{REPO / file}::{found.name.rpartition('::')[2]}"]
        if file.startswith(("test/e2e/", "test/packaging/release/")):
            programs = build("release", "cluster_programs")
            command += ["--programs", programs / "bin"]
        return command
    if found.kind == "scenario":
        of_plugin = [folder for folder in ("plugin", "gpu") if f"/{folder}/" in file]
        return [build(preset, "simulate") / "bin/simulate", *of_plugin, f"scenario={found.name}", *words]
    if found.kind == "fuzz":
        return [REPO / "scripts/fuzz.sh", "0", found.name]
    return [REPO / "test/lint/lint.sh", found.name]


def run(command, log):
    """Its status, which is not 0 either if no case ran; what it prints is shown, and is in `log`."""
    environment = {**os.environ, "LLVM_PROFILE_FILE": "/dev/null", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}
    with subprocess.Popen(command, cwd=REPO, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process, log.open("wb") as out:
        for line in process.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.flush()
            out.write(line)
    return process.returncode or (b"[  PASSED  ] 0 tests." in log.read_bytes())


def skipped(log):
    """The lines of the cases that were skipped, if no other one ran."""
    lines = re.findall(r"^(SKIP|PASS|FAIL) (.+)$", log.read_text(errors="replace"), re.MULTILINE)
    return [text for _, text in lines] if {word for word, _ in lines} == {"SKIP"} else []


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/test.sh one", description=__doc__.partition("\n\n")[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("words", nargs="*", help="of a scenario: writer, fault, at, ...")
    parser.add_argument("--gdb", action="store_true")
    parser.add_argument("--times", type=int, default=1, metavar="N")
    asked = parser.parse_args()
    if asked.times < 1:
        parser.error(f"--times {asked.times}: N is at least 1")
    return asked


def main():
    asked = arguments()
    tests = known()
    found = find(asked.name, tests)
    if not found and (script := bash_script_with(asked.name)):
        sys.exit(f"one: {asked.name} is a case of {script}, which is bash and runs as a whole; scripts/test.sh list has its step")
    if not found:
        near = close_to(asked.name, tests)
        sys.exit("\n  ".join([f"one: there is no test {asked.name}" + ("; close to it are:" if near else ""), *near]))
    if len(found.files) > 1:
        sys.exit(f"one: {asked.name} is in {', '.join(found.files)}; say Suite.Name of the one that you mean")
    if asked.words and found.kind != "scenario":
        sys.exit(f"one: {asked.name} is no scenario, so no words follow: {' '.join(asked.words)}")
    if asked.gdb and found.kind in ("pytest", "lint"):
        sys.exit(f"one: --gdb is for programs, and {asked.name} is a case of {found.kind}; run its controller by hand with --keep")
    if asked.gdb and asked.times > 1:
        sys.exit("one: --gdb runs a test once, so --times does not go with it")
    if asked.gdb and not shutil.which("gdb"):
        sys.exit("one: gdb is missing: apt-get install gdb")
    command = list(map(str, command_of(found, asked.words, "debug" if asked.gdb else "dev")))
    if asked.gdb:
        return subprocess.run(["gdb", "--args", *command], check=False).returncode
    log = pathlib.Path(tempfile.gettempdir()) / f"cdom-one-{re.sub(r'[^A-Za-z0-9]+', '-', asked.name)[:80]}.log"
    times = ["--times", str(asked.times)] if asked.times > 1 else []
    for _ in range(asked.times):
        if status := run(command, log):
            print(f"\nFAIL {asked.name}\nprinted: {log}\nagain:   {shlex.join(['scripts/test.sh', 'one', asked.name, *asked.words, *times])}\n"
                  f"alone:   {shlex.join(command)}")
            return status
        if lines := skipped(log):
            print(f"\nSKIP {asked.name}, so it did not pass: {'; '.join(lines)}\nprinted: {log}")
            return 1
    print(f"\nPASS {asked.name}" + (f", {asked.times} times" if asked.times > 1 else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
