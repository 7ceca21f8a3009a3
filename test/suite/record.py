"""What earlier runs on this machine took, when each module passed last, and which cases flaked. Kept outside of the tree."""

import datetime
import json
import pathlib

RUNS = 10  # Of so many runs it is known which cases flaked.
FIGURES = 300  # Steps, each with each work it had, of which the figures are kept; the oldest go first.


def file_of(environment):
    home = environment.get("XDG_CACHE_HOME") or f"{environment.get('HOME', '/root')}/.cache"
    return pathlib.Path(environment.get("CDOM_CACHE") or f"{home}/cdom") / "suite/record.json"


class Record:
    """A file that does not exist or is damaged is as one of a new machine."""

    def __init__(self, file):
        self._file = file
        try:
            kept = json.loads(file.read_text())
            self._figures, self._passes, self._flakes = dict(kept["figures"]), dict(kept["passes"]), list(kept["flakes"])
        except (OSError, ValueError, LookupError, TypeError):
            self._figures, self._passes, self._flakes = {}, {}, []

    def seconds(self, key):
        """What the step took in the last run that had the same work; None if none had."""
        return self._figures.get(key, (None, None))[0]

    def processor(self, key):
        """As seconds(), of all processors."""
        return self._figures.get(key, (None, None))[1]

    def last_pass(self, module):
        """In words."""
        commit, day, _ = self._passes.get(module, ("", "", 0))
        return f"it passed last on {day}, commit {commit}" if commit else "it has not run on this machine"

    def flaked_before(self, case):
        """In how many of the RUNS - 1 runs before this one the case flaked."""
        return sum(case in one for one in self._flakes[-(RUNS - 1):])

    def add_figures(self, figures):
        """`figures`: (seconds, seconds of processor) by key."""
        for key, value in figures.items():
            self._figures.pop(key, None)
            self._figures[key] = value
        for key in list(self._figures)[:-FIGURES]:
            del self._figures[key]

    def module_seconds(self, label):
        """What modules of pytest took when they passed last, by the names of their files without the ending."""
        return {f"test_{name.partition(': ')[2]}": seconds for name, (_, _, seconds) in self._passes.items() if name.startswith(f"{label}: ")}

    def add_passes(self, modules, commit):
        """`modules`: seconds by name."""
        day = datetime.date.today().isoformat()
        self._passes |= {name: (commit[:10], day, seconds) for name, seconds in modules.items()}

    def add_run(self, flaked):
        self._flakes = [*self._flakes, sorted(flaked)][-RUNS:]

    def write(self):
        """Whole or not at all."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps({"figures": self._figures, "passes": self._passes, "flakes": self._flakes}))
        part.replace(self._file)
