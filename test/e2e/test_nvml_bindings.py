"""NVIDIA's library: cdom's header, and the stand-in, have the layouts that NVIDIA's own bindings for Go have, and the stand-in says
what the library says on a machine without a driver. No cluster is started.

What is expected comes from the bindings, test/cluster/stubs/nvml/go, and from the library that Debian 12 has in non-free.
"""

import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]

GPU = {"name": "NVIDIA L4", "uuid": "GPU-ab-12", "minor": 3, "brand": 2, "arch": 8, "cc": "8.9", "memory": 24152899584,
       "pci": "00000000:0A:00.0", "addressing": 1, "mig": 1, "health": 6}
PROFILE = {"id": 19, "slices": 1, "memory": 9856, "sms": 16, "copy": 1, "decoders": 2, "encoders": 3, "jpeg": 4, "ofa": 5}
INSTANCE = {"uuid": "MIG-a", "gi": 7, "ci": 3, "profile": 19, "start": 6, "size": 2}

# Pinned, because it is run here.
DEBIAN = "http://deb.debian.org/debian/pool/non-free/n/nvidia-graphics-drivers/"
PACKAGE = "libnvidia-ml1_535.261.03-1_amd64.deb"
PACKAGE_SHA256 = "c729da6ab729309dc3f481fe4d38f04ea03b0793154b0962b60117d2f37d082e"
# Of drivers after 535; cdom does without.
LATER = {"nvmlDeviceGetAddressingMode", "nvmlDeviceGetGpuFabricInfoV"}
# Asks a library, before it is started and then as it starts: what each function returns, and the words for each code.
ASK = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1])
library.nvmlErrorString.restype = ctypes.c_char_p
ask = lambda name: getattr(library, name)(*[None] * 6)
before = {name: ask(name) for name in sys.argv[2:]}
starts = [library.nvmlInitWithFlags(flags) for flags in (0, 2)]
print(json.dumps([before, starts, [library.nvmlErrorString(code).decode() for code in (*range(19), 999)]]))
"""


@pytest.fixture(scope="module")
def debians():
    """The library of Debian's package, unpacked in the cache."""
    if platform.machine() != "x86_64" or pathlib.Path("/proc/driver/nvidia").exists():
        pytest.skip("the package is of amd64, and a machine with NVIDIA's driver answers otherwise")
    folder = pathlib.Path.home() / ".cache/cdom/nvml" / PACKAGE
    if not folder.exists():
        try:
            with urllib.request.urlopen(DEBIAN + PACKAGE, timeout=60) as answer:
                package = answer.read()
        except urllib.error.HTTPError as error:
            pytest.skip(f"the mirror has no {PACKAGE} ({error}): pin what it has")
        assert hashlib.sha256(package).hexdigest() == PACKAGE_SHA256
        made = folder.with_name(f"{PACKAGE}.{os.getpid()}")
        made.mkdir(parents=True)
        (made / PACKAGE).write_bytes(package)
        subprocess.run(["dpkg-deb", "-x", made / PACKAGE, made], check=True, timeout=60)
        made.rename(folder)
    return folder / "usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1"


@pytest.fixture(scope="module")
def asked():
    """The functions that cdom loads."""
    names = set(re.findall(r'"(nvml\w+)"', (REPO / "node/nvml/functions.cc").read_text()))
    assert len(names) > 25
    return names


def answers(library, names):
    done = subprocess.run([sys.executable, "-c", ASK, library, *sorted(names - {"nvmlErrorString", "nvmlInitWithFlags"})],
                          check=False, capture_output=True, text=True, timeout=30, env={**os.environ, "STAND_IN_NVML_INIT": "9"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def bindings():
    """bindings(ARGUMENT..., VARIABLE=VALUE...): what the program of the bindings prints."""
    built = subprocess.run([REPO / "test/cluster/stubs/nvml/go/build.sh"], check=True, capture_output=True, text=True)

    def run(*arguments, **environment):
        done = subprocess.run([pathlib.Path(built.stdout.strip()) / "nvml", *arguments], check=False, capture_output=True, text=True,
                              timeout=30, env={**os.environ, **environment})
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def line(kind, fields):
    return " ".join([kind, *(f"{key}={value}".replace(" ", "_") for key, value in fields.items())]) + "\n"


def compiles(folder, asserts):
    """Whether the asserts hold for cdom's header."""
    source = folder / "asserts.cc"
    source.write_text(f'#include <cstddef>\n\n#include "node/nvml/abi.h"\n\nnamespace nvml::abi {{\n{asserts}}}\n')
    done = subprocess.run(["g++-12", "-std=c++20", "-fsyntax-only", f"-I{REPO}", source], check=False, capture_output=True, text=True, timeout=60)
    return done.returncode == 0, done.stderr


def test_header_has_the_layouts_and_numbers_of_the_bindings(bindings, tmp_path):
    asserts = bindings("layouts")
    assert asserts.count("sizeof(") > 40
    assert compiles(tmp_path, asserts) == (True, "")
    wrong = asserts.replace("kAddressingMode1 == 16777224", "kAddressingMode1 == 16777225")
    assert wrong != asserts
    assert not compiles(tmp_path, wrong)[0], "a wrong number was not noticed"


def test_bindings_read_what_the_stand_in_is_told(bindings, programs, tmp_path):
    file = tmp_path / "gpus"
    file.write_text(line("driver", {"version": "570.158.01", "cuda": 12080}) + line("gpu", {**GPU, "fabric": "3,0,9,5"}) +
                    line("profile", {"number": 0, **PROFILE}) + line("instance", {"index": 2, "compute": 1, **INSTANCE}))
    read = json.loads(bindings("read", programs.parent / "node/nvml/libnvml_stand_in.so", STAND_IN_NVML_FILE=str(file)))
    assert read == {"driver": "570.158.01", "cuda": 12080,
                    "gpus": [{**GPU, "fabric": [3, 0, 9, 5], "profile": PROFILE, "instances": [INSTANCE]}]}


def test_functions_are_in_the_library_of_debian(debians, asked):
    listed = subprocess.run(["nm", "-D", "--defined-only", debians], check=True, capture_output=True, text=True, timeout=30).stdout
    assert asked - set(re.findall(r" T (nvml\w+)", listed)) == LATER


def test_stand_in_answers_as_the_library_does_where_no_driver_is_loaded(debians, asked, programs):
    real = answers(debians, asked - LATER)
    not_started, not_loaded = 1, 9
    assert real[0]["nvmlDeviceGetCount_v2"] == not_started
    assert real[1] == [not_loaded, not_loaded]
    assert answers(programs.parent / "node/nvml/libnvml_stand_in.so", asked - LATER) == real


def test_preflight_says_the_error_of_the_library(debians, programs, tmp_path):
    libraries = tmp_path / "driver/usr/lib/x86_64-linux-gnu"
    libraries.mkdir(parents=True)
    for file in debians.parent.glob("libnvidia-ml.so.*"):
        (libraries / file.name).write_bytes(file.read_bytes())
    done = subprocess.run([programs / "gpu-kubelet-plugin", "preflight"], check=False, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "NODE_NAME": "node-a", "CDI_ROOT": str(tmp_path),
                               "DRIVER_ROOT_CTR_PATH": str(tmp_path / "driver")})
    assert done.returncode == 1
    assert "NVML says Driver Not Loaded (9)" in done.stderr
