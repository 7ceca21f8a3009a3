#!/usr/bin/python3
"""Writes build/traceability.md: what cdom promises, and the tests that show it. The site has that page, too.

    traceability.py           writes it
    traceability.py --check   says what is wrong with test/promises.md, and fails; what CI runs

What is promised stands in test/promises.md, in rows that begin with an id such as `| B23 |`. A test shows a promise if its
name carries the id (PlanLabels.B24_PluginHasItsTimeFirst), or if the last column of the row names it, in backquotes: of these
are tests that stand for many promises. The generated page has them all in that column.
"""

import pathlib
import re
import sys

import one

REPO = one.REPO
PROMISES = REPO / "test/promises.md"
PAGE = REPO / "build/traceability.md"
ROW = re.compile(r"^\| ([A-Z]\d+) \|")
# Who reads these has a reference of ids; behind REV3_ or REV4_ stands the id of a fault that was found, which is no promise.
CARRIED = re.compile(r"(?<![A-Za-z0-9])([BNPX]\d+)(?![A-Za-z0-9])")


def all_tests():
    """The names of all tests that a row may name."""
    names = {name for (kind, name) in one.known() if kind in ("googletest", "pytest")}
    for file in one.tracked("test/**/*.sh"):
        names.update(one.BASH_CASE.findall((REPO / file).read_text()))
    return names


def ids_of(name):
    """The ids that a test's name carries."""
    case = re.sub(r"REV\d_[A-Z]\d+", "", name.partition(".")[2] or name)
    return {found for word in case.split("_") for found in CARRIED.findall(word)}


def generate(promises, tests):
    """(the page, what is wrong: sentences)."""
    by_id = {}
    for name in sorted(tests):
        for found in ids_of(name):
            by_id.setdefault(found, []).append(name)
    wrong, lines, ids = [], [], set()
    is_promise = False
    for line in promises.splitlines():
        if line.startswith("## "):
            is_promise = line == "## What cdom promises"
        if not (found := ROW.match(line)):
            lines.append(line)
            continue
        ids.add(found[1])
        if not is_promise:
            lines.append(line)
            continue
        row, named = split(line)
        wrong += [f"{found[1]}: {name} is no test" for name in named if name not in tests]
        wrong += [f"{found[1]}: {name} carries the id, so the row need not name it" for name in named if found[1] in ids_of(name)]
        shown = [*by_id.get(found[1], []), *named]
        if not shown:
            wrong.append(f"{found[1]}: no test shows it")
        lines.append(f"{row} {', '.join(f'`{name}`' for name in shown)} |")
    if "## What cdom promises" not in promises.splitlines():
        return "", ["nothing is promised"]
    wrong += [f"a test carries {one_id}, which is in no row: {', '.join(by_id[one_id][:3])}" for one_id in sorted(by_id.keys() - ids)]
    wrong += [f"{letter}{number} is in no row, and {letter}{last} is"
              for letter, last in sorted(largest(ids).items()) for number in range(1, last) if f"{letter}{number}" not in ids]
    return "\n".join(lines) + "\n", wrong


def split(line):
    """The row up to its last column, and the tests that this names."""
    row, _, last = line.rstrip(" |").rpartition(" |")
    if line.rstrip().endswith("| |"):
        return line.rstrip()[:-1].rstrip(), []
    return f"{row} |", re.findall(r"`([^`]+)`", last)


def largest(ids):
    """The largest number of each letter whose ids have no gap."""
    numbers = {}
    for one_id in ids:
        if one_id[0] in "BNPX":
            numbers[one_id[0]] = max(numbers.get(one_id[0], 0), int(one_id[1:]))
    return numbers


def main(check):
    page, wrong = generate(PROMISES.read_text(), all_tests())
    if not check:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page)
    for sentence in wrong:
        print(f"test/promises.md: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--check"]))
