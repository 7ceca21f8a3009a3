"""What is in an image, as SPDX 2.3."""

import json
import re
import time
import urllib.parse
import uuid

from debian import Packages
from images import Image


def document(image: Image, version: str, revision: str, architecture: str, epoch: int, packages: Packages,
             used: list[str]) -> bytes:
    ours = [_container(image, version), _program(version, revision)]
    theirs = [_package(packages.described[name], name) for name in used]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-image"), ("SPDXRef-image", "CONTAINS", "SPDXRef-cdom")]
    relations += [("SPDXRef-image", "CONTAINS", one["SPDXID"]) for one in theirs]
    relations += [("SPDXRef-cdom", "STATIC_LINK", _id(name)) for name in image.compiled_in]
    name = f"{image.title}-{version}-{architecture}"
    content = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "creators": ["Tool: cdom-scripts/image.sh"],
        },
        "packages": ours + theirs,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }
    # Of its content, so that the same document has the same name and another one has another.
    unique = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    content["documentNamespace"] = f"https://spdx.org/spdxdocs/{name}-{unique}"
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def _id(name: str) -> str:
    return "SPDXRef-deb-" + re.sub(r"[^A-Za-z0-9.-]", "-", name.replace("+", "plus"))


def _described(name: str, spdx_id: str, version: str, **more) -> dict:
    return {
        "name": name, "SPDXID": spdx_id, "versionInfo": version, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "copyrightText": "NOASSERTION", "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION", **more,
    }


def _container(image: Image, version: str) -> dict:
    return _described(image.title, "SPDXRef-image", version, primaryPackagePurpose="CONTAINER", summary=image.description)


def _program(version: str, revision: str) -> dict:
    return _described("cdom", "SPDXRef-cdom", version, primaryPackagePurpose="APPLICATION",
                      licenseConcluded="Apache-2.0", licenseDeclared="Apache-2.0", sourceInfo=f"built from revision {revision}")


def _package(one: dict, name: str) -> dict:
    locator = f"pkg:deb/debian/{urllib.parse.quote(name)}@{urllib.parse.quote(one['version'], safe='')}"
    return _described(
        name, _id(name), one["version"],
        supplier="Organization: Debian",
        sourceInfo=f"built from Debian's source package {one['source']}",
        checksums=[{"algorithm": "SHA256", "checksumValue": one["sha256"]}],
        externalRefs=[{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": f"{locator}?arch={one['architecture']}&distro=debian-12",
        }])
