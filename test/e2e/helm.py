"""Helm 3 and Helm 4, as an administrator runs them on the chart that is in manifests/chart."""

import functools
import json
import os
import pathlib
import re
import subprocess
import tarfile

import yaml
from cluster import REPO
from pages import blocks
from waiting import CommandFailed

CHART = REPO / "manifests/chart"
MAJORS = ("3", "4")
CRDS = ("computedomains.resource.nvidia.com", "computedomaincliques.resource.nvidia.com")
IN_RELEASE = ("-n", "default")
WAIT = ("--wait", "--timeout=100s")


@functools.cache
def built():
    """The folder with both."""
    done = subprocess.run([REPO / "test/packaging/chart/helm/build.sh"], check=True, stdout=subprocess.PIPE, text=True)
    return pathlib.Path(done.stdout.strip())


def spec_of(crd):
    """The fields of a domain's spec."""
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


class Helm:
    """Of one major version. `folder` takes the packaged chart, and what Helm keeps in a home."""

    def __init__(self, major, folder, cluster):
        self.major = major
        self._folder = folder
        self._cluster = cluster
        self._env = {**os.environ, **{f"HELM_{name}_HOME": str(folder / name) for name in ("CACHE", "CONFIG", "DATA")}}
        done = self._run("package", CHART, "-d", folder)
        assert done.returncode == 0, done.stderr
        [self.chart] = folder.glob("cdom-*.tgz")

    def run(self, *arguments, values=None):
        """What it prints. Raises with its error."""
        done = self._run(*arguments, values=values)
        if done.returncode != 0:
            raise CommandFailed(f"helm {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def refused(self, *arguments, values=None):
        """What it says on standard error. Raises if it succeeds."""
        done = self._run(*arguments, values=values)
        assert done.returncode != 0, f"helm {' '.join(map(str, arguments))} succeeded: {done.stdout}"
        return done.stderr

    def objects(self, values, *apis):
        """What the chart renders without a cluster, where these versions are served too."""
        return [one for one in yaml.load_all(self.template(values, *apis), yaml.CSafeLoader) if one]

    def template(self, values, *apis):
        return self.run("template", "cdom", self.chart, "-n", "elsewhere", *[f"--api-versions={one}" for one in apis], values=values)

    def notes(self, values, how="server"):
        """The notes that an installation would print."""
        return self.run("install", "cdom", self.chart, "-n", "default", f"--dry-run={how}", values=values).partition("\nNOTES:\n")[2]

    def later_chart(self, folder):
        """That of a later version: its CRD has a field more."""
        with tarfile.open(self.chart) as archive:
            archive.extractall(folder)
        file = folder / "cdom/files/crds/computedomains.yaml"
        crd = yaml.safe_load(file.read_text())
        spec_of(crd)["later"] = {"type": "string"}
        file.write_text(yaml.safe_dump(crd))
        return folder / "cdom"

    def adopt(self, folder, values):
        """What kubectl has applied becomes a release, by the commands of the chart's page. They find values.yaml in the folder."""
        [commands] = blocks("manifests/chart/README.md", "console")
        (folder / "values.yaml").write_text(yaml.safe_dump(values))
        for command in commands.strip().splitlines():
            command, _, target = command.replace("cdom-0.2.0.tgz", str(self.chart)).partition(" > ")
            program, *arguments = re.sub(r"\b(values|cdom)\.yaml", rf"{folder}/\1.yaml", command).split()
            printed = self._cluster.kubectl(*arguments) if program == "kubectl" else self.run(*arguments)
            if target:
                (folder / target).write_text(printed)

    def _run(self, *arguments, values=None):
        taken = ["-f", "-"] if values is not None else []
        return subprocess.run([*self._cluster.enter, built() / self.major / "helm", "--kubeconfig", self._cluster.plane / "admin.kubeconfig",
                               *arguments, *taken],
                              input=json.dumps(values), env=self._env, capture_output=True, text=True, check=False, timeout=300)
