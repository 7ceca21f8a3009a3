"""Makes an image of programs that were built and of packages that were fetched: see scripts/image.sh."""

import argparse
import sys
from pathlib import Path

import oci
import rootfs
import spdx
from debian import Packages, Record
from images import IMAGES, PLATFORMS, Image

# Every folder of a driver's root in which the kubelet plugin looks for programs: it mounts them where they are there.
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin"


def main() -> None:
    options = _options()
    image = IMAGES[options.image]
    labels = _labels(image, options)
    layout = oci.Layout(options.output)
    manifests = [_add(layout, image, options, labels, *built.split("=", 1)) for built in options.built]
    kind, entry = ("manifest", manifests[0])
    if len(manifests) > 1:
        kind, entry = ("index", oci.add_index(layout, manifests, labels))
    layout.finish(entry, options.version)
    print(f"{image.title}:{options.version} in {options.output}; the digest of its {kind}:")
    print(entry["digest"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", required=True, choices=IMAGES)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--epoch", required=True, type=int)
    parser.add_argument("--source", default="")
    parser.add_argument("--license", required=True, type=Path)
    parser.add_argument("built", nargs="+", help="ARCHITECTURE=FOLDER: with `packages`, a link, `packages.txt` and `program`")
    return parser.parse_args()


def _labels(image: Image, options: argparse.Namespace) -> dict[str, str]:
    said = {
        "title": image.title,
        "description": image.description,
        "version": options.version,
        "revision": options.revision,
        "licenses": "Apache-2.0",
        "source": options.source,
    }
    return {f"org.opencontainers.image.{name}": value for name, value in said.items() if value}


def _add(layout: oci.Layout, image: Image, options: argparse.Namespace, labels: dict, architecture: str,
         built: str) -> dict:
    packages = Packages(Path(built, "packages").resolve())
    record = Record.read(Path(built, "packages.txt"))
    labels = labels | ({"dev.cdom.package-lists": record.lists} if record.lists else {})
    program = Path(built, "program")
    debian, used = rootfs.of_debian(image, architecture, packages, program)
    sbom = spdx.document(image, options.version, options.revision, architecture, options.epoch, packages, used)
    ours = rootfs.of_ours(image, program, options.license.read_bytes(), sbom)
    options.output.with_name(f"{options.output.name}.{architecture}.spdx.json").write_bytes(sbom)
    options.output.with_name(f"{options.output.name}.{architecture}.packages.txt").write_text(record.text())
    settings = {
        "User": f"{image.user}:{image.user}",
        "Entrypoint": [f"/{image.programs[0]}"],
        "Env": [f"PATH={_PATH}", *image.environment],
        "WorkingDir": "/",
    }
    # Debian's files bear no time, so that this layer is the same from version to version, and nodes have it already.
    entry = oci.add_image(layout, [(debian, 0), (ours, options.epoch)], PLATFORMS[architecture], options.epoch, settings,
                          labels)
    print(f"image: {architecture}: {len(used)} packages of Debian", file=sys.stderr)
    return entry


if __name__ == "__main__":
    main()
