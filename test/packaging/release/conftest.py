"""Options of these tests."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def pytest_addoption(parser):
    parser.addoption("--programs", type=pathlib.Path, default=pathlib.Path("build/release/bin"), help="folder of the release programs")
