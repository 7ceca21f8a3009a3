"""Lists the known vulnerabilities of what is in an image, by its list of packages.

    scripts/image/cves.py build/image/controller-amd64.amd64.spdx.json [--tracker data.json]

Without a file of Debian's security tracker (https://security-tracker.debian.org/tracker/data/json, some 50 MB, to be
fetched where there is a network) it knows the few of known_cves.tsv, which were recorded by hand. It says what it did
not check. It ends with 0 whatever it finds: to judge it is for people.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

RELEASE = "bookworm"
_RECORDED = Path(__file__).with_name("known_cves.tsv")
_TRACKER_BYTES_MAX = 512 << 20
_SBOM_BYTES_MAX = 16 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sbom", type=Path, help="the .spdx.json beside an image")
    parser.add_argument("--tracker", type=Path, help="data of Debian's security tracker")
    options = parser.parse_args()
    sources = sources_of(_json(options.sbom, _SBOM_BYTES_MAX))
    if options.tracker:
        lines = from_tracker(sources, _json(options.tracker, _TRACKER_BYTES_MAX))
        said = [f"Debian's security tracker, as {options.tracker} has it"]
    else:
        recorded, date = read_recorded(_RECORDED.read_text())
        lines = from_recorded(sources, recorded)
        said = [f"{_RECORDED.name}, recorded by hand on {date}: what became known since then is not in it"]
    print(f"{len(sources)} source packages of Debian.\n")
    print("\n".join(lines) if lines else "No vulnerability is listed.")
    print(f"\nBy: {said[0]}.")
    print("\nNot checked:")
    for one in not_checked(sources, None if options.tracker else recorded):
        print(f"- {one}")


def _json(path: Path, bytes_max: int):
    try:
        if path.stat().st_size > bytes_max:
            raise SystemExit(f"cves: {path} has more than {bytes_max >> 20} MiB: is it the right file?")
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise SystemExit(f"cves: {path} cannot be read as JSON: {error}") from None


def sources_of(sbom) -> dict[str, str]:
    """Debian's source packages of a list of packages, with the version of one of their binary packages."""
    packages = sbom.get("packages") if isinstance(sbom, dict) else None
    if not isinstance(packages, list):
        raise SystemExit("cves: this is no SPDX document: use the .spdx.json that scripts/image.sh wrote")
    found = {}
    for package in packages:
        said = re.fullmatch(r"built from Debian's source package ([a-z0-9][a-z0-9+.-]+)", package.get("sourceInfo", ""))
        if said:
            found[said[1]] = package["versionInfo"]
    if not found:
        raise SystemExit("cves: no package of Debian is in this document")
    return found


def read_recorded(text: str) -> tuple[list[list[str]], str]:
    """The rows of known_cves.tsv, and the date they were recorded at."""
    date = re.search(r"^# Recorded (\d{4}-\d\d-\d\d)\b", text, re.MULTILINE)
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    assert date and all(len(row) == 5 and row[2] in ("affected", "not affected") for row in rows), _RECORDED
    return rows, date[1]


def from_recorded(sources: dict[str, str], recorded: list[list[str]]) -> list[str]:
    return [f"{cve}  {source} {sources[source]}  {state}: {why}. For cdom: {meaning}."
            for source, cve, state, why, meaning in recorded if source in sources]


def from_tracker(sources: dict[str, str], tracker: dict) -> list[str]:
    """Those that are open in this release, or that a later version than ours fixes."""
    lines = []
    for source, version in sorted(sources.items()):
        for cve, about in sorted(tracker.get(source, {}).items()):
            release = about.get("releases", {}).get(RELEASE)
            if not release or release.get("urgency") == "unimportant":
                continue
            fixed = release.get("fixed_version")
            # The version "0", which is in all others: this release never had it.
            if release.get("status") == "resolved" and (not fixed or _has(fixed, version)):
                continue
            state = f"fixed in {fixed}: make the image again" if fixed else "not fixed in Debian 12"
            lines.append(f"{cve}  {source} {version}  {state}; urgency {release.get('urgency', 'unknown')}")
    return lines


def _has(fixed: str, ours: str) -> bool:
    """Whether what was fixed in the version `fixed` is fixed in `ours`."""
    return subprocess.run(["dpkg", "--compare-versions", fixed, "le", ours], check=False).returncode == 0


def not_checked(sources: dict[str, str], recorded: list[list[str]] | None) -> list[str]:
    said = [
        "cdom's own programs, and whether a vulnerability can be reached in them",
        "files of NVIDIA's driver, and of Kubernetes, the container runtime and the kernel of the node",
    ]
    if recorded is not None:
        unknown = sorted(set(sources) - {row[0] for row in recorded})
        said.append(f"{len(unknown)} source packages that the table does not name: {', '.join(unknown)}")
        said.append("Debian's security tracker: fetch it, and give it with --tracker")
    else:
        said.append("vulnerabilities that Debian calls unimportant")
    return said


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.exit(0)
