"""What entries of the audit log say that a client has written."""

import datetime
import re

READS = ("get", "list", "watch")


def writes(entries):
    """ "VERB RESOURCE NAME" of each write of a controller but of status, Events and its Lease. To ask who one is creates nothing."""
    return [f"{one['verb']} {one['objectRef']['resource']} {one['objectRef'].get('name', '')}" for one in entries
            if one["verb"] not in READS and one["objectRef"].get("subresource") != "status"
            and one["objectRef"]["resource"] not in ("events", "leases", "selfsubjectreviews")]


def status_writes(entries, *names):
    """(verb, name, code, time) of each write of the status of objects of these names."""
    return [(one["verb"], one["objectRef"]["name"], one["responseStatus"]["code"], one["requestReceivedTimestamp"])
            for one in entries if one.get("objectRef", {}).get("subresource") == "status"
            and one["objectRef"].get("name") in names]


def time_of(text):
    """A time as the API server and the controller write it, down to microseconds."""
    return datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d*", r"\1", text).replace("Z", "+00:00"))


def of_controllers(entries):
    """The requests of any controller of ours, whatever account it used."""
    return [one for one in entries if one.get("userAgent", "").startswith("cdom/")]


def of_daemons(entries):
    """The requests of the simulated IMEX daemons, whatever account they used."""
    return [one for one in entries if one.get("userAgent", "").startswith("cdom-nodesim-daemon/")]


def accounts(entries):
    return {one["user"]["username"] for one in entries}


def answered(entries, *codes):
    """"VERB RESOURCE/SUBRESOURCE NAME CODE" of each request that was answered with one of the codes."""
    return ["{} {}/{} {} {}".format(one["verb"], one["objectRef"].get("resource"), one["objectRef"].get("subresource", ""),
                                    one["objectRef"].get("name"), one["responseStatus"]["code"])
            for one in entries if one["responseStatus"]["code"] in codes and "objectRef" in one]
