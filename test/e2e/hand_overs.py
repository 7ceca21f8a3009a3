"""How a Lease went from holder to holder, by the audit log. Cases ask why the next one took it, and not how soon.

As a program: hand_overs.py AUDIT_LOG LEASE prints "SECONDS FROM TO released|expired LOOKS LATE" of each hand-over.
"""

import json
import pathlib
import sys
import typing

from requests_of import time_of


class HandOver(typing.NamedTuple):
    """From the last write of one holder to the first of the next."""

    holder: str  # The identity that held the Lease.
    taker: str
    released: bool  # The last write of the holder had no holder. Otherwise the Lease expired.
    seconds: float  # From when the API server received the one to when it received the other: the earliest that a read can show either.
    looks: list  # (received, answered) of each read of the Lease by the taker in between.

    def late_looks(self, duration):
        """How many reads came when `duration` seconds had passed since the one that showed the last renewal."""
        return sum((received - self.looks[0][1]).total_seconds() >= duration for received, _ in self.looks[1:])


def client_of(entry):
    """Account, and the pod that its token is bound to."""
    return entry["user"]["username"], str(entry["user"].get("extra", {}).get("authentication.kubernetes.io/pod-name"))


def hand_overs(entries, lease):
    """Each hand-over of the Lease of that name, in order."""
    entries = [one for one in entries if one.get("objectRef", {}).get("resource") == "leases" and one["objectRef"].get("name") == lease
               and one["responseStatus"]["code"] < 300]
    reads = [(client_of(one), time_of(one["requestReceivedTimestamp"]), time_of(one["stageTimestamp"]))
             for one in entries if one["verb"] == "get"]
    found, holder, released, began, last = [], None, False, None, None
    for one in sorted((one for one in entries if one["verb"] in ("create", "update", "patch")), key=lambda one: one["stageTimestamp"]):
        name, received = one["requestObject"]["spec"].get("holderIdentity"), time_of(one["requestReceivedTimestamp"])
        if name and holder not in (None, name):
            looks = sorted((begin, end) for client, begin, end in reads if client == client_of(one) and last < begin < received)
            found.append(HandOver(holder, name, released, (received - began).total_seconds(), looks))
        holder, released, began, last = name or holder, not name, received, time_of(one["stageTimestamp"])
    return found


if __name__ == "__main__":
    with pathlib.Path(sys.argv[1]).open() as log:
        written = [json.loads(line) for line in log if '"resource":"leases"' in line and line.endswith("\n")]
    for each in hand_overs(written, sys.argv[2]):
        how = "released" if each.released else "expired"
        print(f"{each.seconds:.3f} {each.holder} {each.taker} {how} {len(each.looks)} {each.late_looks(15)}")
