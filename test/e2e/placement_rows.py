"""What the policies of manifests/placement make of a pod: a table, and the words in which it is written."""

import copy
import re
import typing

from snapshot import fields

LABEL = "cdom.dev/domain"
NEAR = "cdom.dev/near-domain"


class Row(typing.NamedTuple):
    """A pod, tried by itself and without a trace."""

    policy: str  # place (cdom-placement), or preferred, check or required (cdom-placement-preferred and so on).
    # Of the policy or its binding, without which the row does not come out: a part of its condition or of its patch by its name,
    # a variable, a rule by its number, a resource, a key of the namespace selector, or "selector". "-": no single part.
    part: str
    namespace: str  # "required" requires placement; driver namespaces are labelled as such; others are as they are named.
    sentence: str
    made: dict  # As pod() returns it. "$uid" in it is the UID of the domain.
    expected: typing.Callable  # Returns what is wrong with a Tried: "" if nothing.


class Tried(typing.NamedTuple):
    got: dict  # The object as the API server would store it, without what is of this object alone.
    plain: dict  # The same in a namespace without domains.
    uid: str  # Of the domain.
    warnings: list
    kind: str


def pod(domain=None, labels=None, affinity=None, kind="Pod", spread=None):
    """What is made: a pod, or a workload of such pods, that claims from the template of this domain. `spread`: over hosts, or else."""
    return {"domain": domain, "labels": labels, "affinity": affinity, "kind": kind, "spread": spread}


# --- Affinities

def required(*terms):
    return {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}


def preferred(*terms):
    return {"preferredDuringSchedulingIgnoredDuringExecution": list(terms)}


def nodes(*terms):
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


def near(labels, topology="nvidia.com/gpu.clique", **values):
    """A term for pods with these labels, and of each further label this value."""
    selector = {"matchLabels": labels}
    if values:
        selector["matchExpressions"] = [{"key": key, "operator": "In", "values": [value]} for key, value in values.items()]
    return {"labelSelector": selector, "topologyKey": topology}


MINE = {LABEL: "mine"}
OURS = {LABEL: "$uid"}
OWN = near({"app": "a"}, "kubernetes.io/hostname")
LIKES_OWN = {"weight": 7, "podAffinityTerm": OWN}
CLIQUE = near(OURS)
GROUP = "example.com/group"
WHOLE = [{"key": "nvidia.com/gpu.sharing-strategy", "operator": "NotIn", "values": ["mps", "time-slicing"]},
         {"key": "nvidia.com/gpu.workload.config", "operator": "NotIn", "values": ["vm-passthrough", "vm-vgpu"]}]
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
IN_ZONE = {"matchExpressions": [ZONE]}
LIKES_ZONE = {"weight": 1, "preference": IN_ZONE}
IN_ZONE_WHOLE = {"matchExpressions": [ZONE, *WHOLE]}
NODE_1 = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
NODE_1_WHOLE = NODE_1 | {"matchExpressions": WHOLE}
ALONE = {"labelSelector": {"matchExpressions": [{"key": LABEL, "operator": "Exists"},
                                                {"key": LABEL, "operator": "NotIn", "values": ["$uid"]}]},
         "namespaceSelector": {}, "topologyKey": "nvidia.com/gpu.clique"}
USUAL = {"podAffinity": required(CLIQUE), "nodeAffinity": nodes({"matchExpressions": WHOLE})}
KEEPS = "keeps the pods of ComputeDomain .* in one NVLink clique"


def with_uid(value, uid):
    """The value with the domain's UID in place of "$uid"."""
    if isinstance(value, dict):
        return {key: with_uid(inner, uid) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_uid(inner, uid) for inner in value]
    return uid if value == "$uid" else value


def merged(one, other):
    """Both, field by field; of a field that both have with a value the other's."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return other
    return one | {key: merged(one[key], value) if key in one else value for key, value in other.items()}


# --- What comes out. Whole objects are compared, so that nothing else has changed.

def compared(got, wanted):
    if got == wanted:
        return ""
    has, needs = dict(fields(got)), dict(fields(wanted))
    return "; ".join(f"{at}: got {has.get(at)!r}, wanted {needs.get(at)!r}" for at in sorted(has | needs)
                     if has.get(at) != needs.get(at) or (at in has) != (at in needs))


def as_made(tried):
    return compared(tried.got, tried.plain) if tried.got.get("kind") == "Pod" else f"got {tried.got}"


def becomes(affinity=None, deep=False):
    """The label of the domain, and the usual affinity with this in it: beside what is in its fields already, if `deep`."""
    def expected(tried):
        wanted = copy.deepcopy(tried.plain)
        wanted["metadata"].setdefault("labels", {})[LABEL] = tried.uid
        wanted["spec"]["affinity"] = with_uid(merged(USUAL, affinity) if deep else USUAL | (affinity or {}), tried.uid)
        return compared(tried.got, wanted)
    return expected


def prefers(affinity=None, **values):
    """The label for domains that say nothing, and beside this affinity the term that prefers its clique."""
    def expected(tried):
        wanted = copy.deepcopy(tried.plain)
        wanted["metadata"].setdefault("labels", {})[NEAR] = tried.uid
        term = near({NEAR: "$uid"}, **values) | ({"matchLabelKeys": [GROUP]} if values else {})
        wanted["spec"]["affinity"] = with_uid(
            merged(affinity or {}, {"podAffinity": preferred({"weight": 100, "podAffinityTerm": term})}), tried.uid)
        return compared(tried.got, wanted)
    return expected


def silent(tried):
    return "" if not tried.warnings and tried.got.get("kind") == tried.kind else f"warnings {tried.warnings}, got {tried.got}"


def warns(pattern):
    def expected(tried):
        is_so = len(tried.warnings) == 1 and re.search(pattern, tried.warnings[0]) and tried.got.get("kind") == tried.kind
        return "" if is_so else f"wanted a warning of {pattern!r}, warnings {tried.warnings}, got {tried.got}"
    return expected


def refuses(pattern):
    """A copy of the policy that only warns refuses, too."""
    def expected(tried):
        texts = [tried.got.get("message", ""), *tried.warnings]
        return "" if any(re.search(pattern, text) for text in texts) else f"wanted a refusal of {pattern!r}, got {texts}"
    return expected


ROWS = (
    # Whom it places
    Row("place", "claims", "team", "a pod without claims is left as it is",
        pod(), as_made),
    Row("place", "claims", "team", "a pod that claims from a template of no domain is left as it is",
        pod("other"), as_made),
    Row("place", "unplaced", "team", "a pod that has the label already is left as it is",
        pod("placed", labels=MINE), as_made),
    Row("place", "stays", "team", "a pod is not placed for a domain that is being deleted",
        pod("going"), as_made),
    Row("place", "owns", "team", "a pod is not placed for a domain whose template's name is somebody else's",
        pod("beaten"), as_made),
    Row("place", "selector", "team", "a pod of a domain that may be in any clique is left as it is",
        pod("anywhere"), as_made),
    Row("place", "kubernetes.io/metadata.name", "kube-system", "a pod of the system is left as it is",
        pod("placed"), as_made),
    Row("place", "cdom.dev/driver", "driver", "a pod of a driver's namespace is left as it is",
        pod("placed"), as_made),

    # One clique
    Row("place", "labels", "team", "a pod without labels gets one",
        pod("placed"), becomes()),
    Row("place", "label", "team", "a pod gets the label beside its own",
        pod("placed", labels={"app": "a"}), becomes()),
    Row("place", "affinity", "team", "a pod without affinity gets some",
        pod("placed", labels={"app": "a"}), becomes()),
    Row("place", "podAffinity", "team", "a pod with an anti-affinity of its own keeps it",
        pod("placed", affinity={"podAntiAffinity": required(OWN)}), becomes({"podAntiAffinity": required(OWN)})),
    Row("place", "podTerms", "team", "a pod that prefers to be near others still does",
        pod("placed", affinity={"podAffinity": preferred(LIKES_OWN)}), becomes({"podAffinity": preferred(LIKES_OWN)}, deep=True)),
    Row("place", "clique", "team", "a pod that must be near others must be so still, and in the clique of its domain",
        pod("placed", affinity={"podAffinity": required(OWN)}), becomes({"podAffinity": required(OWN, CLIQUE)})),
    Row("place", "groups", "team", "a pod of a group is in the clique of its group",
        pod("grouped", labels={GROUP: "a"}),
        becomes({"podAffinity": required(near(OURS, **{GROUP: "a"}) | {"matchLabelKeys": [GROUP]})})),
    Row("place", "-", "team", "a pod that is of no group is in the clique of any",
        pod("grouped"), becomes({"podAffinity": required(CLIQUE | {"matchLabelKeys": [GROUP]})})),
    Row("place", "-", "team", "a group by what is no label's key is none",
        pod("misgrouped"), becomes()),
    Row("place", "-", "team", "a group by the label of the domain itself is none",
        pod("selfgrouped"), becomes()),

    # On nodes with whole GPUs
    Row("place", "nodeAffinity", "team", "a pod without an affinity to nodes gets one",
        pod("placed", affinity={"podAffinity": required(OWN)}), becomes({"podAffinity": required(OWN, CLIQUE)})),
    Row("place", "nodeTerms", "team", "a pod that prefers some nodes still does",
        pod("placed", affinity={"nodeAffinity": preferred(LIKES_ZONE)}),
        becomes({"nodeAffinity": preferred(LIKES_ZONE)}, deep=True)),
    Row("place", "expressions", "team", "a pod of a DaemonSet keeps its node",
        pod("placed", affinity={"nodeAffinity": nodes(NODE_1)}), becomes({"nodeAffinity": nodes(NODE_1_WHOLE)})),
    Row("place", "shared", "team", "a pod that wants a zone gets a node of it where nobody shares a GPU",
        pod("placed", affinity={"nodeAffinity": nodes(IN_ZONE)}), becomes({"nodeAffinity": nodes(IN_ZONE_WHOLE)})),
    Row("place", "handedOn", "team", "a pod gets a node whose GPUs no virtual machine has",
        pod("placed"), becomes()),
    Row("place", "ownTerms", "team", "of two terms each is narrowed, with fields and with expressions",
        pod("placed", affinity={"nodeAffinity": nodes(NODE_1, IN_ZONE)}),
        becomes({"nodeAffinity": nodes(NODE_1_WHOLE, IN_ZONE_WHOLE)})),
    Row("place", "terms", "team", "a term that matches no node goes on to match none",
        pod("placed", affinity={"nodeAffinity": nodes({}, IN_ZONE)}), becomes({"nodeAffinity": nodes({}, IN_ZONE_WHOLE)})),

    # No other domain in it
    Row("place", "podAntiAffinity", "team", "a pod of an exclusive domain keeps others out",
        pod("alone"), becomes({"podAntiAffinity": required(ALONE)})),
    Row("place", "exclusive", "team", "a pod with labels does so too",
        pod("alone", labels={"app": "a"}), becomes({"podAntiAffinity": required(ALONE)})),
    Row("place", "antiTerms", "team", "one that prefers to be away from others still does",
        pod("alone", affinity={"podAntiAffinity": preferred(LIKES_OWN)}),
        becomes({"podAntiAffinity": required(ALONE) | preferred(LIKES_OWN)})),
    Row("place", "alone", "team", "one that must be away from others must be so still",
        pod("alone", affinity={"podAntiAffinity": required(OWN)}), becomes({"podAntiAffinity": required(OWN, ALONE)})),

    # Preferred where the domain says nothing
    Row("preferred", "claims", "team", "a pod without claims is left as it is",
        pod(), as_made),
    Row("preferred", "claims", "team", "a pod that claims from a template of no domain is left as it is",
        pod("other"), as_made),
    Row("preferred", "unplaced", "team", "a pod that its author has placed is left as it is",
        pod("free", labels=MINE), as_made),
    Row("preferred", "new", "team", "a copy of a pod that was placed is left as it is",
        pod("free", labels={NEAR: "mine"}), as_made),
    Row("preferred", "stays", "team", "a pod is not placed for a domain that is being deleted",
        pod("leaving"), as_made),
    Row("preferred", "owns", "team", "a pod is not placed for a domain whose template's name is somebody else's",
        pod("robbed"), as_made),
    Row("preferred", "selector", "team", "a pod of a domain that may be in any clique is left as it is",
        pod("anywhere"), as_made),
    Row("preferred", "-", "team", "a pod of a domain that requires a clique prefers none",
        pod("placed"), becomes()),
    Row("preferred", "-", "team", "a pod of a domain whose label has an unknown value prefers a clique",
        pod("unknown"), prefers()),
    Row("preferred", "kubernetes.io/metadata.name", "kube-system", "a pod of the system is left as it is",
        pod("free"), as_made),
    Row("preferred", "cdom.dev/driver", "driver", "a pod of a driver's namespace is left as it is",
        pod("free"), as_made),
    Row("preferred", "cdom.dev/prefer-clique", "indifferent", "a pod of a namespace that does not want it is left as it is",
        pod("free"), as_made),
    Row("preferred", "nodes", "team", "a pod that prefers some nodes keeps to that",
        pod("free", affinity={"nodeAffinity": preferred(LIKES_ZONE)}), as_made),
    Row("preferred", "near", "team", "a pod that prefers to be near others keeps to that",
        pod("free", affinity={"podAffinity": preferred(LIKES_OWN)}), as_made),
    Row("preferred", "away", "team", "a pod that prefers to be away from others keeps to that",
        pod("free", affinity={"podAntiAffinity": preferred(LIKES_OWN)}), as_made),
    Row("preferred", "spread", "team", "a pod that is rather spread keeps to that",
        pod("free", spread="ScheduleAnyway"), as_made),
    Row("preferred", "-", "team", "a pod that must be spread is, and prefers a clique",
        pod("free", spread="DoNotSchedule"), prefers()),
    Row("preferred", "labels", "team", "a pod without labels gets one",
        pod("free"), prefers()),
    Row("preferred", "label", "team", "a pod gets the label beside its own",
        pod("free", labels={"app": "a"}), prefers()),
    Row("preferred", "affinity", "team", "a pod without affinity gets some",
        pod("free", labels={"app": "a"}), prefers()),
    Row("preferred", "podAffinity", "team", "a pod with an anti-affinity of its own keeps it",
        pod("free", affinity={"podAntiAffinity": required(OWN)}), prefers({"podAntiAffinity": required(OWN)})),
    Row("preferred", "clique", "team", "a pod that must be near others must be so still, and prefers the clique of its domain",
        pod("free", affinity={"podAffinity": required(OWN)}), prefers({"podAffinity": required(OWN)})),
    Row("preferred", "-", "team", "a pod of a DaemonSet keeps its node",
        pod("free", affinity={"nodeAffinity": nodes(NODE_1)}), prefers({"nodeAffinity": nodes(NODE_1)})),
    Row("preferred", "groups", "team", "a pod of a group prefers the clique of its group",
        pod("parted", labels={GROUP: "a"}), prefers(**{GROUP: "a"})),
    Row("preferred", "-", "team", "a group by the label itself is none",
        pod("selfparted"), prefers()),

    # What is looked for where nothing is written
    Row("check", "1", "team", "a pod that nothing keeps in the clique is told",
        pod("placed"), warns("keeps the pods of ComputeDomain placed in one NVLink clique")),
    Row("check", "1", "team", "and one that is kept near others in another way",
        pod("placed", affinity={"podAffinity": required(OWN)}),
        warns("podAffinity to each other with topologyKey nvidia.com/gpu.clique")),
    Row("check", "2", "team", "a pod of an exclusive domain that keeps nobody out is told",
        pod("alone", affinity={"podAffinity": required(near({"app": "a"}))}),
        warns("keeps other domains out of the NVLink clique of ComputeDomain alone")),
    Row("check", "pods", "team", "a user who makes a pod is warned",
        pod("placed", labels={"app": "a"}), warns("in one NVLink clique")),
    Row("check", "jobs", "team", "a user who makes a Job is warned",
        pod("placed", kind="Job"), warns("in one NVLink clique")),
    Row("check", "deployments", "team", "a user who makes a Deployment is warned",
        pod("placed", labels={"app": "a"}, kind="Deployment"), warns("in one NVLink clique")),
    Row("check", "statefulsets", "team", "a user who makes a StatefulSet is warned",
        pod("placed", labels={"app": "a"}, kind="StatefulSet"), warns("in one NVLink clique")),
    Row("check", "pod", "team", "a Job whose pods keep together is let pass in silence",
        pod("placed", affinity={"podAffinity": required(near({"app": "a"}))}, kind="Job"), silent),
    Row("check", "-", "team", "a pod of an exclusive domain that does both is let pass in silence",
        pod("alone", affinity={"podAffinity": required(near({"app": "a"})), "podAntiAffinity": required(near({"app": "b"}))}),
        silent),
    Row("check", "claims", "team", "a pod of no domain may be anywhere",
        pod("other"), silent),
    Row("check", "stays", "team", "for a domain that is being deleted nothing is said",
        pod("going"), silent),
    Row("check", "selector", "team", "a pod of a domain without the label may be anywhere",
        pod("free"), silent),
    Row("check", "kubernetes.io/metadata.name", "kube-public", "a pod of the system is not looked at",
        pod("placed"), silent),
    Row("check", "cdom.dev/driver", "driver-too", "a pod of a driver's namespace is not looked at",
        pod("placed"), silent),

    # What is refused where placement is required
    Row("required", "1", "required", "a pod with a label of its author is refused",
        pod("placed", labels=MINE), refuses(KEEPS)),
    Row("required", "1", "required", "a pod with the domain's label and no affinity is refused",
        pod("placed", labels=OURS), refuses(KEEPS)),
    Row("required", "1", "required", "a pod with an affinity to a label of its author is refused",
        pod("placed", labels=MINE, affinity={"podAffinity": required(near(MINE))}), refuses(KEEPS)),
    Row("required", "1", "required", "a pod with an affinity within a node is refused",
        pod("placed", labels=OURS, affinity={"podAffinity": required(near(OURS, "kubernetes.io/hostname"))}), refuses(KEEPS)),
    Row("required", "1", "required", "a pod with an affinity to a part of the domain is refused",
        pod("placed", labels=OURS | {"app": "a"}, affinity={"podAffinity": required(near(OURS | {"app": "a"}))}), refuses(KEEPS)),
    Row("required", "1", "required", "a pod with an affinity to a part of the domain by an expression is refused",
        pod("placed", labels=OURS | {"app": "a"}, affinity={"podAffinity": required(near(OURS, app="a"))}), refuses(KEEPS)),
    Row("required", "1", "required", "a pod with an affinity to another namespace is refused",
        pod("placed", labels=OURS, affinity={"podAffinity": required(CLIQUE | {"namespaces": ["plain"]})}), refuses(KEEPS)),
    Row("required", "1", "required", "a pod with an affinity to other namespaces is refused",
        pod("placed", labels=OURS, affinity={"podAffinity": required(CLIQUE | {"namespaceSelector": {"matchLabels": {"a": "b"}}})}),
        refuses(KEEPS)),
    Row("required", "1", "required", "a pod with an affinity to another group than the domain has is refused",
        pod("grouped", labels=OURS | {"app": "a"}, affinity={"podAffinity": required(near(OURS, app="a"))}), refuses(KEEPS)),
    Row("required", "-", "required", "a copy of a placed pod is made",
        pod("placed", labels=OURS, affinity={"podAffinity": required(CLIQUE)}), silent),
    Row("required", "-", "required", "a copy of a placed pod of a group is made",
        pod("grouped", labels=OURS | {GROUP: "a"}, affinity={"podAffinity": required(near(OURS, **{GROUP: "a"}))}),
        silent),
    Row("required", "isRequired", "team", "where placement is not required a pod may keep itself out",
        pod("placed", labels=MINE), silent),
    Row("required", "claims", "required", "a pod of no domain may have the label",
        pod("other", labels=MINE), silent),
    Row("required", "stays", "required", "a pod of a domain that is being deleted may have the label",
        pod("going", labels=MINE), silent),
    Row("required", "owns", "required", "a pod of a domain whose template's name is somebody else's may have the label",
        pod("beaten", labels=MINE), silent),
    Row("required", "selector", "required", "a pod of a domain without the label is not looked at",
        pod("free", labels=MINE), silent),
    Row("required", "kubernetes.io/metadata.name", "kube-node-lease", "a pod of the system is not looked at",
        pod("placed", labels=MINE), silent),
    Row("required", "cdom.dev/driver", "driver-required", "a pod of a driver's namespace is not looked at",
        pod("placed", labels=MINE), silent),
)
