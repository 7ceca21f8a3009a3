"""docs/gitops.md, and what is in integrations. A Lua interpreter runs the health script as Argo CD does; Flux is not run."""

import copy
import json
import os
import pathlib
import re
import subprocess

import pytest
import yaml

REPO = pathlib.Path(__file__).resolve().parents[3]
PAGE = (REPO / "docs/gitops.md").read_text()
INTEGRATIONS = REPO / "integrations"
RECORDED = {file.stem: yaml.safe_load(file.read_text()) for file in sorted((REPO / "test/fixtures/gitops").glob("*.yaml"))}
HEALTH_TEST = {pathlib.PurePath(one["inputPath"]).stem: one["healthStatus"]
               for one in yaml.safe_load((INTEGRATIONS / "argocd/health_test.yaml").read_text())["tests"]}
NEVER_READYS = {  # Reasons of other conditions, which Ready does not take over, and those of Accepted that say nothing.
    "Accepted", "NotAccepted", "Paused", "Outdated", "RollStopped", "ChildrenExist", "NoMembers", "ClaimsReserved", "NoClaims",
    "AllInOneClique", "SharedWithinCliques", "GroupsNotRead"}


def rows(head):
    """The cells of the page's table with that head, each row a list."""
    (table,) = re.findall(rf"^\| {re.escape(head)} \|.*\n\|[-|]*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]


def backquoted(text):
    return re.findall(r"`(\w[\w-]*)`", text)


REASONS = {reason: health for reasons, health, _ in rows("Reasons") for reason in backquoted(reasons)}
SCENES = {backquoted(scene)[0]: argocd for scene, argocd, *_ in rows("Scene")}


def condition(found, kind):
    return next(one for one in found["status"]["conditions"] if one["type"] == kind)


def kubectl_kustomize(folder):
    done = subprocess.run(["kubectl", "kustomize", folder], env=environment(), check=True, capture_output=True, text=True)
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def environment():
    """With the kubectl of the tests' control plane."""
    built = subprocess.run([REPO / "test/cluster/controlplane/build.sh"], check=True, stdout=subprocess.PIPE, text=True)
    return {**os.environ, "PATH": f"{built.stdout.strip()}:{os.environ['PATH']}"}


VALUES = {None: "nil", True: "true", False: "false"}


def lua(value):
    """A value of an object as Lua has it: what Argo CD makes of it. A field that is null does not exist."""
    if isinstance(value, dict):
        return "{%s}" % ", ".join(f"[{lua(key)}] = {lua(one)}" for key, one in value.items())
    if isinstance(value, list):
        return "{%s}" % ", ".join(map(lua, value))
    if isinstance(value, str):
        return '"%s"' % "".join(f"\\{byte:03}" for byte in value.encode())
    return VALUES[value] if value is None or isinstance(value, bool) else repr(value)


# As Argo CD runs a script: the object is the global `obj`. Of Lua's libraries the base, `table` and two functions of `os` exist.
AS_ARGO_CD_DOES = """
local run, write = assert(loadfile(arg[1])), io.write
string, math, io, debug, coroutine, getmetatable("").__index = nil
os = {time = os.time, date = os.date}
actionParams = {}
obj = %s
local health = run()
assert(type(health) == "table", "not a table")
for key, value in pairs(health) do
  assert(type(value) == "string", key)
  write(key, "=", value, "\\0")
end
"""


def health_of(found):
    """What health.lua says about an object: its status and message."""
    script = AS_ARGO_CD_DOES.replace("%s", lua(found))
    done = subprocess.run(["lua5.1", "-", INTEGRATIONS / "argocd/health.lua"], input=script, check=True, stdout=subprocess.PIPE, text=True)
    said = dict(one.split("=", 1) for one in done.stdout.split("\0")[:-1])
    assert said.keys() == {"status", "message"}
    return said["status"], said["message"]


def test_the_test_file_of_argo_cd_has_each_recorded_scene():
    assert HEALTH_TEST.keys() == RECORDED.keys() == SCENES.keys()


@pytest.mark.parametrize("scene", HEALTH_TEST)
def test_the_script_says_about_a_recorded_scene_what_its_test_file_and_the_page_have(scene):
    wanted = HEALTH_TEST[scene]
    assert health_of(RECORDED[scene]) == (wanted["status"], wanted["message"])
    assert wanted["status"] == SCENES[scene]


def made_of_ready(**reasons):
    """The domain that is ready, but for the reason and the status of these conditions."""
    made = copy.deepcopy(RECORDED["ready"])
    for kind, (reason, status) in reasons.items():
        condition(made, kind).update(reason=reason, status=status, message=f"{kind} says why")
    return made


def test_the_page_has_each_reason():
    names = (REPO / "controller/api/names.h").read_text()
    known = set(re.findall(r'kReason\w+\s*=\s*"(\w+)"', names))
    assert set(REASONS) == known - NEVER_READYS, "the page and this test decide on each reason"


@pytest.mark.parametrize(("reason", "health"), REASONS.items())
def test_the_script_says_about_each_reason_of_ready_what_the_page_has(reason, health):
    for status in {"Degraded": ("True", "False"), "Progressing": ("False",), "Healthy": ("True",)}[health]:
        assert health_of(made_of_ready(Ready=(reason, status))) == (health, "Ready says why")


@pytest.mark.parametrize("reason", [reason for reason, health in REASONS.items() if health == "Degraded"])
def test_a_reason_of_accepted_after_which_a_person_must_act_is_degraded_whatever_ready_says(reason):
    for status in ("True", "False"):
        assert health_of(made_of_ready(Accepted=(reason, "False"), Ready=("Idle", status))) == ("Degraded", "Accepted says why")


def test_flux_has_a_domain_as_failed_for_the_reasons_for_which_argo_cd_has_it_as_degraded():
    kustomizations = yaml.safe_load_all((INTEGRATIONS / "flux/kustomizations.yaml").read_text())
    [check] = [one for found in kustomizations for one in found["spec"].get("healthCheckExprs", [])]
    [reasons] = re.findall(r"c\.reason in \[(.*?)\]", check["failed"])
    assert set(re.findall(r"'(\w+)'", reasons)) == {reason for reason, health in REASONS.items() if health == "Degraded"}


def test_a_domain_whose_status_is_missing_or_stale_is_progressing():
    stale = copy.deepcopy(RECORDED["ready"])
    stale["metadata"]["generation"] += 1
    assert health_of(stale) == ("Progressing", "Waiting for the controller")
    fresh = copy.deepcopy(RECORDED["ready"])
    del fresh["status"]
    assert health_of(fresh) == ("Progressing", "Waiting for the controller")


@pytest.mark.parametrize(("status", "health"), [("Ready", "Healthy"), ("NotReady", "Progressing")])
def test_without_conditions_nvidias_status_decides(status, health):
    made = copy.deepcopy(RECORDED["ready"])
    made["status"] = {"status": status}
    assert health_of(made)[0] == health


def test_a_fault_of_a_paused_domain_is_not_hidden():
    paused = ("Paused", "True")
    assert health_of(made_of_ready(Accepted=paused)) == ("Suspended", "Accepted says why")
    assert health_of(made_of_ready(Accepted=paused, Ready=("NodeLost", "False"))) == ("Degraded", "Ready says why")


def test_yaml_of_the_page_is_that_of_integrations():
    blocks = re.findall(r"^( *)```yaml\n(.*?)^\1```$", PAGE, re.MULTILINE | re.DOTALL)
    texts = [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in blocks]
    assert all(list(yaml.safe_load_all(text)) for text in texts)
    for file in ("argocd/applications.yaml", "argocd/chart.yaml", "argocd/project.yaml", "flux/chart.yaml", "flux/kustomizations.yaml"):
        assert (INTEGRATIONS / file).read_text() in texts, file
    for path in re.findall(r"\.\./cdom/(\S+)", "".join(texts)):
        assert (REPO / path / "kustomization.yaml").is_file(), path


def overlay(folder, resource, component):
    """A folder whose kustomization makes that resource with that component. kustomize takes relative paths alone."""
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(json.dumps({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": [resource],
        "components": [os.path.relpath(INTEGRATIONS / component, folder)]}))
    return folder


def test_the_component_of_argo_cd_adds_the_script_and_keeps_other_settings(tmp_path):
    folder = overlay(tmp_path / "made", "argocd-cm.yaml", "argocd")
    (folder / "argocd-cm.yaml").write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"url": "https://a.example"},
                                                       "metadata": {"name": "argocd-cm", "namespace": "argocd"}}))
    (made,) = kubectl_kustomize(folder)
    key = "resource.customizations.health.resource.nvidia.com_ComputeDomain"
    assert made["metadata"]["name"] == "argocd-cm"
    assert made["data"] == {"url": "https://a.example", key: (INTEGRATIONS / "argocd/health.lua").read_text()}
    assert f"`{key}`" in PAGE


@pytest.mark.parametrize("manifests", ["standalone", "kubelet-plugin"])
def test_waves_of_cdom_are_those_of_the_page(tmp_path, manifests):
    made = kubectl_kustomize(overlay(tmp_path / "made", os.path.relpath(REPO / "manifests" / manifests, tmp_path / "made"),
                                     "argocd/waves"))
    assert made
    for one in made:
        annotations = one["metadata"]["annotations"]
        wave = "-1" if one["kind"] in ("Deployment", "DaemonSet") else "-2"
        assert annotations["argocd.argoproj.io/sync-wave"] == wave, one["kind"]
        kept = "Prune=false,Delete=false" if one["kind"] == "CustomResourceDefinition" else None
        assert annotations.get("argocd.argoproj.io/sync-options") == kept


def test_flux_prunes_all_but_crds(tmp_path):
    """kustomize makes of its patches what Flux does."""
    flux = {one["metadata"]["name"]: one["spec"] for one in yaml.safe_load_all((INTEGRATIONS / "flux/kustomizations.yaml").read_text())}
    (tmp_path / "kustomization.yaml").write_text(json.dumps({
        "resources": [os.path.relpath(REPO / "manifests/standalone", tmp_path)], "patches": flux["cdom"]["patches"]}))
    pruned = {one["kind"]: one["metadata"].get("annotations", {}).get("kustomize.toolkit.fluxcd.io/prune")
              for one in kubectl_kustomize(tmp_path)}
    assert {kind for kind, value in pruned.items() if value == "disabled"} == {"CustomResourceDefinition"}
