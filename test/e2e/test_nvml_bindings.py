"""NVIDIA's library: cdom's header, and the stand-in, have the layouts that NVIDIA's own bindings for Go have. No cluster is started.

What is expected comes from the bindings: test/cluster/stubs/nvml/go.
"""

import json
import os
import pathlib
import subprocess

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]

GPU = {"name": "NVIDIA L4", "uuid": "GPU-ab-12", "minor": 3, "brand": 2, "arch": 8, "cc": "8.9", "memory": 24152899584,
       "pci": "00000000:0A:00.0", "addressing": 1, "mig": 1, "health": 6}
PROFILE = {"id": 19, "slices": 1, "memory": 9856, "sms": 16, "copy": 1, "decoders": 2, "encoders": 3, "jpeg": 4, "ofa": 5}
INSTANCE = {"uuid": "MIG-a", "gi": 7, "ci": 3, "profile": 19, "start": 6, "size": 2}


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
