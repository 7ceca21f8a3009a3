#!/usr/bin/env python3
"""Rules over the asserts of end-to-end cases. Prints what breaks one, and fails.

  e2e_asserts.py one-look FILE...      no assert reads the state of the cluster once: eventually() looks until it is as wanted
  e2e_asserts.py cause-not-time FILE...  no upper bound of elapsed time, but in cases that are marked `timing`

What the second one sees: a comparison whose smaller side is made of a clock's time, or of total_seconds(), also through names,
lists that are appended to, and functions of the file that return such a time. A filter in a list that must be empty is a
comparison the other way round. It does not see a time that comes from another file.
"""

import ast
import pathlib
import sys

LOOKS = {"status", "condition", "members", "workers_on", "field"}
CLOCKS = {"monotonic", "perf_counter", "time", "now", "utcnow", "total_seconds"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def name_of(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""


def functions_of(tree):
    return [one for one in ast.walk(tree) if isinstance(one, FUNCTIONS)]


def nodes_in(tree, left_out=lambda node: False):
    """As ast.walk(), without what is below a node that is left out."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not left_out(child):
            yield from nodes_in(child, left_out)


# --- One look

def looks_once(tree):
    """Whether a call in it reads state. A process has a status() too, which takes no argument."""
    def waits(node):
        return isinstance(node, ast.Call) and name_of(node) == "eventually"
    if waits(tree):
        return False
    return any(isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS and node.args
               for node in nodes_in(tree, waits))


def one_look(tree):
    for function in [tree, *functions_of(tree)]:
        own = list(nodes_in(function, lambda node: isinstance(node, FUNCTIONS)))
        looked = {}  # Names whose value is one look, and the line.
        for node in sorted((node for node in own if hasattr(node, "lineno")), key=lambda node: (node.lineno, node.col_offset)):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                looked.pop(node.targets[0].id, None)
                if is_look(node.value):
                    looked[node.targets[0].id] = node.lineno
            if isinstance(node, ast.Assert):
                named = [one.id for one in ast.walk(node.test) if isinstance(one, ast.Name) and one.id in looked]
                if looks_once(node.test):
                    yield node.lineno, "an assert reads state once: wait for it with eventually(), or ask says(..., and_also=)"
                elif named:
                    yield node.lineno, f"{named[0]} was read once: take it from what eventually() or says() returns"


def is_look(value):
    while isinstance(value, (ast.Subscript, ast.Attribute)):
        value = value.value
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in LOOKS and bool(value.args)


# --- Cause, not time

class Times:
    """What of a file is an elapsed time, or made of one."""

    def __init__(self, tree):
        self._functions = set()  # Names of functions that return one.
        self._names = {}  # By function: local names.
        count = -1
        while count != self._count():
            count = self._count()
            for function in [tree, *functions_of(tree)]:
                self._learn(function)

    def _count(self):
        return len(self._functions) + sum(len(names) for names in self._names.values())

    def _learn(self, function):
        names = self._names.setdefault(function, set())
        for node in nodes_in(function, lambda node: isinstance(node, FUNCTIONS)):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value and self.has(node.value, function):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if isinstance(node.value, ast.Tuple) and len(targets) == 1 and isinstance(targets[0], ast.Tuple):
                    targets = [target for target, value in zip(targets[0].elts, node.value.elts) if self.has(value, function)]
                names |= self._plain(targets)
            elif isinstance(node, (ast.For, ast.comprehension)) and self.has(node.iter, function):
                names |= self._plain([node.target])
            elif isinstance(node, ast.Call) and name_of(node) in ("append", "add") and any(self.has(one, function) for one in node.args):
                names |= self._plain([node.func.value]) if isinstance(node.func, ast.Attribute) else set()
            elif isinstance(node, ast.Return) and node.value and self.has(node.value, function) and isinstance(function, FUNCTIONS):
                self._functions.add(function.name)

    @staticmethod
    def _plain(targets):
        """The names there; an attribute by its own."""
        found = [node for target in targets for node in ast.walk(target)]
        return {node.id for node in found if isinstance(node, ast.Name)} - {"self"} | {
            f".{node.attr}" for node in found if isinstance(node, ast.Attribute)}

    def has(self, tree, function):
        """Whether a time is part of it. How many times there are is no time."""
        names = self._names.get(function, set())
        attributes = {name for known in self._names.values() for name in known if name.startswith(".")}

        def counts(node):
            return isinstance(node, ast.Call) and name_of(node) == "len"
        if counts(tree) or isinstance(tree, ast.Compare):
            return False
        for node in nodes_in(tree, lambda node: counts(node) or isinstance(node, ast.Compare)):
            if isinstance(node, ast.Call) and name_of(node) in CLOCKS | self._functions:
                return True
            if isinstance(node, ast.Name) and node.id in names or isinstance(node, ast.Attribute) and f".{node.attr}" in attributes:
                return True
        return False


def ordered(compare):
    """(smaller, larger): the expressions of which the comparison says that."""
    sides = [compare.left, *compare.comparators]
    for left, operator, right in zip(sides, compare.ops, sides[1:]):
        if isinstance(operator, (ast.Lt, ast.LtE)):
            yield left, right
        elif isinstance(operator, (ast.Gt, ast.GtE)):
            yield right, left


def is_empty(node):
    return isinstance(node, (ast.List, ast.Dict, ast.Set, ast.Tuple)) and not ast.dump(node).count("Constant") and not getattr(
        node, "elts", getattr(node, "keys", []))


def filters_of_what_must_be_empty(function):
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and any(is_empty(side) for side in [node.left, *node.comparators]):
            found |= {inner for comprehension in ast.walk(node) if isinstance(comprehension, ast.comprehension)
                      for test in comprehension.ifs for inner in ast.walk(test) if isinstance(inner, ast.Compare)}
    return found


def is_marked(function):
    return any("mark.timing" in ast.unparse(one) for one in function.decorator_list)


def cause_not_time(tree):
    times = Times(tree)
    for function in [tree, *functions_of(tree)]:
        if isinstance(function, FUNCTIONS) and is_marked(function):
            continue
        turned = filters_of_what_must_be_empty(function)
        for node in nodes_in(function, lambda node: isinstance(node, FUNCTIONS)):
            if isinstance(node, ast.Compare) and any(
                    times.has(larger if node in turned else smaller, function) for smaller, larger in ordered(node)):
                yield node.lineno, "an upper bound of elapsed time: assert the cause, by the audit log or the controller's log"


RULES = {"one-look": one_look, "cause-not-time": cause_not_time}


def main(rule, *files):
    found = [f"{file}:{line}: {text}" for file in files
             for line, text in sorted(set(RULES[rule](ast.parse(pathlib.Path(file).read_text()))))]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
