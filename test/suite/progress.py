"""What a run says each minute: which steps run, what is done of how much, and how long the rest takes."""

import re
import time

from report import INSIDE

STARTED = re.compile(r"^ +Start +\d+: (.+)$")
# What steps print of how far they are: CTest and ninja the number and the total, pytest a line a case and first the total.
OF_TOTAL = re.compile(r"^(?:\d+: )?(?: *(\d+)/(\d+) Test +#|\[(\d+)/(\d+)\] )", re.MULTILINE)
COLLECTED = re.compile(r"^collected (\d+) cases$", re.MULTILINE)
CASE = re.compile(r"^(?:PASS|FAIL|SKIP) ", re.MULTILINE)


def file_name(step):
    """The file in which step.sh keeps what a step prints."""
    return re.sub(r"[^a-zA-Z0-9]", "_", step)


def how_far(text):
    """(cases done, cases in all) of a step that has printed `text`; None if it says nothing of that."""
    if total := COLLECTED.search(text):  # A case may build something, which prints numbers of its own.
        return len(CASE.findall(text)), int(total[1])
    if pairs := OF_TOTAL.findall(text):
        return next((int(done), int(total)) for done, total in (pairs[-1][:2], pairs[-1][2:]) if done)
    return None


def rest_of(elapsed, far, before):
    """The seconds that a step still takes; None if unknown. `before` is what it took in the last run, None if it is new here."""
    if before is not None:
        return max(before - elapsed, 0)
    if far and far[0] >= far[1] / 10 and far[1]:
        return elapsed * (far[1] - far[0]) / far[0]
    return None


class Watch:
    """Reads the lines of CTest. saw() and line() are called from two threads; a dict keeps each of its changes whole."""

    def __init__(self, names, kept, about, logs, clock=time.monotonic):
        self._kept, self._about, self._logs, self._clock = kept, about, logs, clock
        self._began = clock()
        self._waiting = dict.fromkeys(names)
        self._running = {}  # When each began.
        self._ended = {}  # How long each took.

    def saw(self, line):
        now = self._clock()
        if found := STARTED.match(line):
            self._waiting.pop(found[1], None)
            self._running[found[1]] = now
        elif (found := INSIDE.match(line)) and found[2] in self._running:
            self._ended[found[2]] = now - self._running.pop(found[2])

    def line(self):
        now = self._clock()
        total = len(self._waiting) + len(self._running) + len(self._ended)
        shown, rests = [], []
        for name, began in list(self._running.items()):
            far = self._far(name)
            shown.append(name + (f" ({far[0]} of {far[1]})" if far else ""))
            rests.append(rest_of(now - began, far, self._kept.seconds(self._about.key(name))))
        later = [self._kept.seconds(self._about.key(name)) for name in list(self._waiting)]
        return (f"[{(now - self._began) / 60:.0f} min] {len(self._ended)} of {total} steps are done; "
                f"now: {', '.join(shown) or 'nothing'}; {self._rest(rests, later, now)}")

    def _far(self, name):
        try:
            return how_far((self._logs / file_name(name)).read_text(errors="replace"))
        except OSError:
            return None

    def _rest(self, running, later, now):
        """In words. Steps run beside each other, so what is left passes as fast as what is done did."""
        known = [one for one in (*running, *later) if one is not None]
        unknown = len(running) + len(later) - len(known)
        worked = sum(self._ended.values()) + sum(now - began for began in list(self._running.values()))
        at_a_time = max(worked / max(now - self._began, 1), 1)
        rest = max(sum(known) / at_a_time, max(known, default=0))
        if unknown:
            return f"about {rest / 60:.0f} min left, and {unknown} steps without a recorded time" if rest >= 30 else "no recorded time"
        return f"about {rest / 60:.0f} min left"
