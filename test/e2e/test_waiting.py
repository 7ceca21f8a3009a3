"""What waits, compares and orders the end-to-end cases. Needs no cluster."""

import re
import types

import pytest
import waiting
from cluster import Setup
from clusters import in_order
from hand_overs import hand_overs
from snapshot import difference, shapes, without_noise
from waiting import CommandFailed, TimedOut, eventually


@pytest.fixture
def clock(monkeypatch):
    """Time that passes in sleep() alone."""
    fake = types.SimpleNamespace(now=0.0)
    fake.monotonic = lambda: fake.now
    fake.sleep = lambda seconds: setattr(fake, "now", fake.now + seconds)
    monkeypatch.setattr(waiting, "time", fake)
    return fake


def one_by_one(*values):
    """Each of these values, the last one again and again. An exception is raised."""
    left = list(values)

    def get():
        value = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(value, Exception):
            raise value
        return value
    return get


@pytest.mark.parametrize(("wanted", "got"), [
    (3, 3), (None, None), (re.compile("^node-00[12] is"), "node-001 is lost"), (lambda value: value > 2, 4),
])
def test_eventually_returns_the_first_wanted_value(clock, wanted, got):
    assert eventually("it comes", one_by_one(2, 1, got, 9), wanted) == got
    assert clock.now == pytest.approx(0.4)


@pytest.mark.parametrize(("wanted", "value"), [
    (3, 4), (re.compile("lost"), "ready"), (re.compile("lost"), None), (lambda value: value > 2, 1), (None, []),
])
def test_eventually_raises_for_a_value_that_is_not_wanted(clock, wanted, value):
    with pytest.raises(TimedOut):
        eventually("it comes", lambda: value, wanted, within=1)


def test_eventually_without_a_wanted_value_takes_any_that_is_true(clock):
    assert eventually("it comes", one_by_one(None, [], 0, "", ["a"])) == ["a"]


def test_eventually_prints_wanted_last_value_and_three_last_changes_with_seconds(clock):
    values = ["a"] * 5 + ["b"] * 5 + ["c"] * 5 + ["d"]
    with pytest.raises(TimedOut) as caught:
        eventually("the letter", one_by_one(*values), "z", within=10)
    assert str(caught.value).splitlines() == [
        "after 11 s: the letter", "  wanted: 'z'", "  got:    'd'", "  how it came, by seconds:",
        "      1.0: 'b'", "      2.0: 'c'", "      3.2: 'd'"]


@pytest.mark.parametrize("error", [KeyError("status"), TypeError("None"), ConnectionRefusedError(), CommandFailed("kubectl")])
def test_eventually_goes_on_while_there_is_nothing_to_look_at(clock, error):
    assert eventually("it comes", one_by_one(error, error, 7), 7) == 7
    with pytest.raises(TimedOut, match=f"got: .*{type(error).__name__}"):
        eventually("it comes", one_by_one(error), lambda value: True, within=1)


def test_eventually_passes_on_an_assertion_of_the_look(clock):
    with pytest.raises(AssertionError, match="never"):
        eventually("it comes", one_by_one(AssertionError("never")))
    assert clock.now == 0


def test_eventually_looks_twenty_times_however_long_each_look_takes(clock):
    looks = []

    def get():
        clock.now += 100
        looks.append(clock.now)
        return len(looks) == 20
    assert eventually("it comes", get, within=1)


def test_a_long_value_is_cut(clock):
    with pytest.raises(TimedOut, match=r"\.\.\. \(5002 characters\)"):
        eventually("it comes", lambda: "x" * 5000, "y", within=1)


def test_a_difference_names_objects_and_fields():
    before = {("Pod", "a", "kept"): {"spec": {"node": "n", "tags": []}}, ("Pod", "a", "ends"): {}}
    after = {("Pod", "a", "kept"): {"spec": {"node": "m", "tags": ["x"]}}, ("Node", "", "new"): {}}
    assert difference(before, after) == [
        "left: Node new", "deleted: Pod a ends", "changed: Pod a kept: .spec.node: 'n', now 'm'",
        "changed: Pod a kept: .spec.tags: [], now None", "changed: Pod a kept: .spec.tags[0]: None, now 'x'"]
    assert difference(before, before) == []


def test_a_snapshot_is_without_versions_and_heartbeats():
    node = {"kind": "Node", "metadata": {"name": "n", "resourceVersion": "7", "managedFields": []},
            "status": {"nodeInfo": {"bootID": "b", "osImage": "o"},
                       "conditions": [{"type": "Ready", "lastHeartbeatTime": "t", "lastTransitionTime": "t"}]}}
    assert without_noise(node) == {"kind": "Node", "metadata": {"name": "n"}, "status": {
        "nodeInfo": {"osImage": "o"}, "conditions": [{"type": "Ready"}]}}


def test_the_shape_of_a_node_is_its_labels_taints_and_cordon():
    node = {"metadata": {"uid": "1", "labels": {"a": "b"}}, "spec": {"taints": [{"key": "t"}], "unschedulable": True}}
    assert shapes({("Node", "", "n"): node, ("Pod", "a", "p"): {"metadata": {"uid": "2"}}, ("CSINode", "", "n"): {}}) == {
        ("Node", "", "n"): [{"a": "b"}, [{"key": "t"}], True], ("Pod", "a", "p"): None}


def case(module, *fixtures, **constants):
    found = types.SimpleNamespace(module=types.SimpleNamespace(__name__=module, **constants), fixturenames=["clusters", *fixtures], marks=[])
    found.add_marker = found.marks.append
    return found


def test_modules_that_need_the_same_cluster_run_one_after_another():
    large = Setup(nodes=16)
    cases = [case("a", CLUSTER=large), case("b"), case("c", CLUSTER=large._replace(controller=())), case("b"), case("d")]
    assert [one.module.__name__ for one in in_order(cases)] == ["a", "c", "b", "b", "d"]
    assert [one.marks for one in cases] == [[]] * 5, "they run in one process"


def test_each_process_has_whole_groups_and_the_longest_first():
    cases = [case("a", CLUSTER=Setup(nodes=16)), case("b", CLUSTER=Setup(nodes=16)), case("c"), case("d"), case("e")]
    cases[4].fixturenames = []  # It shares no cluster.
    ordered = in_order(cases, {"a": 8, "b": 4, "c": 5, "d": 30, "e": 20})
    assert [one.module.__name__ for one in ordered] == ["d", "e", "a", "b", "c"], "a group of more than a quarter is two"
    assert [one.marks[0].args for one in ordered] == [("group-0",), ("group-1",), ("group-2",), ("group-2",), ("group-3",)]


def of_lease(verb, second, holder=None, took=0):
    """An entry of the audit log."""
    received, answered = (f"2026-01-01T00:00:{at:06.3f}Z" for at in (second, second + took))
    return {"verb": verb, "objectRef": {"resource": "leases", "name": "one"}, "responseStatus": {"code": 200}, "user": {"username": "u"},
            "requestReceivedTimestamp": received, "stageTimestamp": answered, "requestObject": {"spec": {"holderIdentity": holder}}}


@pytest.mark.parametrize(("entries", "wanted"), [
    ([("update", 3, ""), ("get", 4), ("update", 4.5, "b")], (True, 1.5, 1, 0)),
    ([("update", 3, ""), ("get", 4), ("get", 6), ("get", 8), ("update", 8.5, "b")], (True, 5.5, 3, 0)),
    ([("get", 2), ("get", 4), ("get", 17), ("update", 17.5, "b")], (False, 16.5, 3, 1)),
    ([("get", 2), ("get", 17), ("get", 19), ("get", 21), ("update", 21.5, "b")], (False, 20.5, 4, 3)),
    # The read at 4 shows the renewal, which is answered later.
    ([("update", 3, "a", 2), ("get", 4), ("get", 6), ("update", 19, "b")], (False, 16, 1, 0)),
])
def test_a_hand_over_says_whether_the_lease_was_released_and_how_often_the_next_looked(entries, wanted):
    begun = [("get", 0.5), ("create", 0.7, "a"), ("update", 1, "a")]
    (found,) = hand_overs([of_lease(*one) for one in begun + entries], "one")
    assert (found.holder, found.taker) == ("a", "b")
    assert (found.released, found.seconds, len(found.looks), found.late_looks(15)) == wanted
