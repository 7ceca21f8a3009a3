"""Waits for a state with a deadline, and says on a time-out how the state came and went."""

import re
import time

LOOKS_MIN = 20  # A machine that stood still would let the deadline pass after a look or two.
NOT_YET = (LookupError, TypeError, OSError)  # What a look raises while an object or a field of it does not exist.
SHOWN = 2000  # Characters of a value.


class TimedOut(AssertionError):
    """The wanted state did not come."""


class CommandFailed(AssertionError):
    """A command ended with an error. eventually() takes it as a state like others."""


def _is_true(value):
    return bool(value)


def eventually(what, get, wanted=_is_true, within=60):
    """Returns the first value of get() that is `wanted`, and raises TimedOut after `within` seconds.

    `wanted` is a value, a compiled pattern that the value (a text) must match somewhere, or a predicate; without it, any
    true value will do. A LookupError, TypeError, OSError or CommandFailed in get() is a value, too: not there yet.
    """
    __tracebackhide__ = True  # A report shows who waited.
    began = time.monotonic()
    changes = []  # (seconds, value)
    looks = 0
    while True:
        try:
            value, failed = get(), False
        except (*NOT_YET, CommandFailed) as error:
            value, failed = f"{type(error).__name__}: {error}", True
        looks += 1
        now = time.monotonic() - began
        if not changes or changes[-1][1] != value:
            changes = [*changes[-2:], (now, value)]
        if not failed and matches(value, wanted):
            return value
        if now >= within and looks >= LOOKS_MIN:
            raise TimedOut(explain(what, wanted, now, changes))
        # A look starts kubectl in most cases, and many that wait long leave the processors nothing to get there with.
        time.sleep(min(max(0.2, now / 10), 0.8))


def matches(value, wanted):
    """Whether the value is what eventually() is to wait for."""
    if isinstance(wanted, re.Pattern):
        return isinstance(value, str) and wanted.search(value) is not None
    if callable(wanted):
        return bool(wanted(value))
    return value == wanted


def explain(what, wanted, seconds, changes):
    """The message of a time-out. `changes` are the last values, each with the second at which it came."""
    lines = [f"after {seconds:.0f} s: {what}"]
    if isinstance(wanted, re.Pattern):
        lines.append(f"  wanted: a match of {wanted.pattern!r}")
    elif not callable(wanted):
        lines.append(f"  wanted: {bounded(wanted)}")
    lines.append(f"  got:    {bounded(changes[-1][1])}")
    lines.append("  how it came, by seconds:")
    lines += [f"  {came:7.1f}: {bounded(value)}" for came, value in changes]
    return "\n".join(lines)


def bounded(value):
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"
