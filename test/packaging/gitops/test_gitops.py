"""docs/gitops.md, and what is in integrations: Argo CD, Flux and kstatus judge domains as the page says, by their own evaluators."""

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
HEALTH_TEST = INTEGRATIONS / "argocd/health_test.yaml"
FLUX = {"Degraded": "Failed", "Healthy": "Current", "Progressing": "InProgress"}
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
SCENES = {backquoted(scene)[0]: {"argocd": argocd, "flux": flux, "kstatus": kstatus} for scene, argocd, flux, kstatus in rows("Scene")}


def condition(found, kind):
    return next(one for one in found["status"]["conditions"] if one["type"] == kind)


def kubectl_kustomize(folder):
    done = subprocess.run(["kubectl", "kustomize", folder], env=environment(), check=True, capture_output=True, text=True)
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def environment():
    """With the kubectl of the tests' control plane."""
    built = subprocess.run([REPO / "test/cluster/controlplane/build.sh"], check=True, stdout=subprocess.PIPE, text=True)
    return {**os.environ, "PATH": f"{built.stdout.strip()}:{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """judge({NAME: object}): {NAME: what the tools say}."""
    built = subprocess.run([REPO / "test/packaging/gitops/judge/build.sh"], check=True, stdout=subprocess.PIPE, text=True)
    program = pathlib.Path(built.stdout.strip()) / "gitops"

    def run(objects):
        folder = tmp_path_factory.mktemp("objects")
        for name, one in objects.items():
            (folder / name).write_text(json.dumps(one))
        done = subprocess.run([program, INTEGRATIONS, *[folder / name for name in objects]], check=True, stdout=subprocess.PIPE,
                              text=True)
        return {pathlib.Path(path).name: said for path, said in json.loads(done.stdout).items()}
    return run


@pytest.fixture(scope="module")
def judged(judge):
    """What the tools say about each recorded domain."""
    return judge(RECORDED)


def test_each_recorded_scene_is_on_the_page():
    assert sorted(SCENES) == sorted(RECORDED)
    assert len(RECORDED) >= 12


@pytest.mark.parametrize("scene", SCENES)
def test_a_recorded_scene_is_judged_as_the_page_says(judged, scene):
    said = judged[scene]
    assert {"argocd": said["argocd"]["status"], "flux": said["flux"], "kstatus": said["kstatus"]} == SCENES[scene]
    assert said["argocd"]["message"] == message_of(scene)


def message_of(scene):
    found = RECORDED[scene]
    if "deletionTimestamp" in found["metadata"]:
        return "Pending deletion"
    decides = "Accepted" if scene in ("annotation-invalid", "paused") else "Ready"
    return condition(found, decides)["message"]


def test_argo_cd_finds_no_difference_that_must_be_ignored(judge, judged):
    assert {scene for scene, said in judged.items() if said["differs"]} == set()
    changed = copy.deepcopy(RECORDED["ready"])
    changed["spec"]["numNodes"] = 7
    assert judge({"changed": changed})["changed"]["differs"]


def test_the_test_file_of_argo_cd_has_each_scene_that_its_script_judges():
    tests = [{"healthStatus": {"status": SCENES[scene]["argocd"], "message": message_of(scene)},
              "inputPath": f"../../test/fixtures/gitops/{scene}.yaml"}
             for scene in RECORDED if message_of(scene) != "Pending deletion"]
    if os.environ.get("CDOM_WRITE_DOCS"):
        HEALTH_TEST.write_text("# Statuses that the controller wrote, in the form of Argo CD's resource customizations.\n"
                               + yaml.safe_dump({"tests": tests}, sort_keys=False, width=120))
    assert yaml.safe_load(HEALTH_TEST.read_text()) == {"tests": tests}
    assert all((HEALTH_TEST.parent / one["inputPath"]).is_file() for one in tests)


def with_reason(kind, status, reason):
    made = copy.deepcopy(RECORDED["ready"])
    condition(made, kind).update(status=status, reason=reason)
    return made


def test_each_reason_is_judged_as_the_page_says(judge):
    names = (REPO / "controller/api/names.h").read_text()
    known = set(re.findall(r'kReason\w+\s*=\s*"(\w+)"', names))
    assert set(REASONS) == known - NEVER_READYS, "the page and this test decide on each reason"
    objects, wanted = {}, {}
    for reason, health in REASONS.items():
        for status in {"Degraded": ("True", "False"), "Progressing": ("False",), "Healthy": ("True",)}[health]:
            objects[f"{reason}-{status}"] = with_reason("Ready", status, reason)
            wanted[f"{reason}-{status}"] = (health, FLUX[health])
    said = {name: (one["argocd"]["status"], one["flux"]) for name, one in judge(objects).items()}
    assert said == wanted


def test_a_domain_whose_status_is_missing_or_stale_is_progressing(judge):
    stale = copy.deepcopy(RECORDED["ready"])
    stale["metadata"]["generation"] += 1
    said = judge({"stale": stale})["stale"]
    assert (said["argocd"]["status"], said["flux"], said["kstatus"]) == ("Progressing", "InProgress", "InProgress")
    fresh = copy.deepcopy(RECORDED["ready"])
    del fresh["status"]
    said = judge({"fresh": fresh})["fresh"]
    # Flux cannot evaluate an expression about a field that does not exist. It waits, as for what is in progress.
    assert (said["argocd"]["status"], said["flux"]) == ("Progressing", "Unknown")


@pytest.mark.parametrize(("status", "health"), [("Ready", "Healthy"), ("NotReady", "Progressing")])
def test_without_conditions_nvidias_status_decides(judge, status, health):
    made = copy.deepcopy(RECORDED["ready"])
    made["status"] = {"status": status}
    said = judge({"made": made})["made"]
    assert (said["argocd"]["status"], said["flux"]) == (health, FLUX[health])


def test_a_fault_of_a_paused_domain_is_not_hidden(judge):
    paused = with_reason("Accepted", "True", "Paused")
    lost = copy.deepcopy(paused)
    condition(lost, "Ready").update(status="False", reason="NodeLost")
    said = {name: (one["argocd"]["status"], one["flux"]) for name, one in judge({"paused": paused, "lost": lost}).items()}
    assert said == {"paused": ("Suspended", "Current"), "lost": ("Degraded", "Failed")}


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


def test_versions_of_the_page_are_those_that_are_built():
    modules = (REPO / "test/packaging/gitops/judge/go.mod").read_text()
    for module, on_page in (("github.com/argoproj/argo-cd/v3", r"Argo CD (\S+) \(`util/lua`"),
                            ("github.com/fluxcd/pkg/runtime", r"fluxcd/pkg/runtime/cel` ([\d.]+)"),
                            ("github.com/fluxcd/kustomize-controller/api", r"kustomize-controller/api` ([\d.]+\d)"),
                            ("github.com/fluxcd/cli-utils", r"fluxcd/cli-utils` ([\d.]+)")):
        (built,) = re.findall(rf"^\s{module} v(\S+)$", modules, re.MULTILINE)
        (told,) = re.findall(on_page, re.sub(r"\s+", " ", PAGE))
        assert told == built, module
