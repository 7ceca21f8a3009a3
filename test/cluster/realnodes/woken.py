#!/usr/bin/env python3
"""Whether claims of channels that waited were prepared because the watch showed the write that they waited for.

  woken.py AUDIT_LOG BEGAN FILE...   BEGAN: microseconds since 1970; FILE: the log of a node's plugin, NODE.*

For each claim of the pods `real-` since then: between the last write of a clique and the answer the plugin of that node has read no
clique. A plugin that looks again and again finds the write by such a read. Those that were asked for after the write had nothing
to wait for; they read the clique as their watch begins.
"""

import datetime
import json
import pathlib
import re
import sys

PLUGIN = "system:serviceaccount:cdom-system:cdom-kubelet-plugin"


def microseconds(text):
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1_000_000)


def main(audit_log, began, *files):
    writes, reads = [], {pathlib.Path(file).name.split(".")[0]: [] for file in files}
    for line in pathlib.Path(audit_log).read_text().splitlines():
        one = json.loads(line) if '"computedomaincliques"' in line and line.endswith("}") else {}
        if one.get("verb") in ("create", "update", "patch") and one["responseStatus"]["code"] < 300:
            writes.append(microseconds(one["stageTimestamp"]))
        elif one.get("verb") in ("get", "list") and one["user"]["username"] == PLUGIN:
            reads[one["user"]["extra"]["authentication.kubernetes.io/node-name"][0]].append(microseconds(one["requestReceivedTimestamp"]))
    day = datetime.datetime.now(datetime.timezone.utc).date()
    woken, asked_later = [], 0
    for file in files:
        for time in re.findall(r'^I\d{4} (\S+) Prepared a claim claim="default/real-', pathlib.Path(file).read_text(), re.MULTILINE):
            at = microseconds(f"{day}T{time}Z")
            if at > int(began):
                write = max(one for one in writes if one <= at)
                if any(write < one <= at for one in reads[pathlib.Path(file).name.split(".")[0]]):
                    asked_later += 1
                else:
                    woken.append((at - write) // 1000)
    print(f"{len(woken)} claims woken after {min(woken, default=0)} to {max(woken, default=0)} ms, {asked_later} asked for later")
    return 0 if len(woken) > asked_later else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
