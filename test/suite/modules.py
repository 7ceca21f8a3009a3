"""The modules of the suite, and which of them a run has.

Each commit runs what every user meets. The other modules are in five parts of about equal cost, and the commit's hash chooses
one part. A module of another part runs too if its own test or one of its paths changed. `scripts/test.sh all` runs them all.
"""

import pathlib
import re
import typing

PARTS = 5
ALWAYS = 0
IMPORT = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
# Steps that run modules of pytest, and the label of these modules.
OF_MODULES = {"e2e: clusters": "e2e", "quiet: cases that look at a clock": "e2e", "realnodes: nodes": "realnodes"}


class Module(typing.NamedTuple):
    """A test module of pytest, or a step of CTest of that name. The word before the colon is its label."""

    name: str
    part: int = ALWAYS  # 1 to 5.
    paths: str = ""  # A regular expression, which a changed file matches from its beginning.
    needs: tuple = ()  # Of a module of pytest: fixtures of build.cmake, beside those of the step that runs all modules.
    file: str | None = None  # Of a module of pytest.

    @property
    def label(self):
        return self.name.partition(":")[0]


class Choice(typing.NamedTuple):
    module: Module
    runs: bool
    why: str
    by_path: bool = False


def of_pytest(label, part, names, paths="", needs=()):
    return [Module(f"{label}: {name}", part, paths, needs, f"test/e2e/test_{name}.py") for name in names.split()]


MODULES = [
    # What every user meets.
    *of_pytest("e2e", ALWAYS, "channels daemon_image domains"),
    *of_pytest("e2e", ALWAYS, "leader_election requests start waiting_pods"),
    *of_pytest("e2e", ALWAYS, "calm_jobs children deletion labels life paused without_controller"),
    *of_pytest("e2e", ALWAYS, "lost_rights member_warnings members rest"),
    *of_pytest("e2e", ALWAYS, "credentials daemon_errors library outside stolen_lease"),
    *of_pytest("e2e", ALWAYS, "concerns unreadable_claims plugin_channels"),
    *of_pytest("realnodes", ALWAYS, "real_nodes_smoke"),

    # Charts, releases, and real nodes with the controller's and the plugin's cases.
    *of_pytest("e2e", 1, "chart chart_values", r"manifests/|node/plugin/preflight/|test/e2e/helm\.py|test/fixtures/nvidia", ("helm",)),
    *of_pytest("e2e", 1, "release", r"scripts/(release|image)|manifests/chart", ("helm",)),
    Module("image: release", 1, r"scripts/(release|image)|test/packaging/release"),
    Module("realnodes: cluster", 1, r"node/(daemon|plugin|kubelet|cdi)/|manifests/(kubelet-plugin|standalone)/|scripts/image"
           r"|test/cluster/(realnodes|stubs/kubelet)/"),

    # Policies and placement, and real nodes with pytest.
    *of_pytest("e2e", 2, "policies policies_in_force", r"manifests/policies|crds/|test/e2e/(policies|policy_rows)"),
    *of_pytest("e2e", 2, "placement placement_on_nodes placement_policies", r"manifests/placement|test/e2e/place"),
    Module("image: controller", 2, r"scripts/image|test/packaging/image|controller/main\.cc"),
    Module("image: driver", 2, r"scripts/image|test/packaging/image|node/"),
    Module("image: packages", 2, r"scripts/|test/packaging/image|manifests/systemd"),
    # In this order on one cluster: the pages need what is installed, and the last case of real_nodes removes it.
    *of_pytest("realnodes", 2, "pages_on_real_nodes", r"docs/(kubelet-plugin|symptoms|metrics)\.md"),
    *of_pytest("realnodes", 2, "real_nodes", r"node/(daemon|plugin|kubelet|cdi)/|manifests/kubelet-plugin/|scripts/image|test/cluster/realnodes/"
           r"|test/e2e/real_nodes\.py", ("helm", "network-plugin")),
    *of_pytest("realnodes", 2, "kubelet_root", r"node/kubelet/|manifests/(kubelet-plugin|overlays/kubelet-root)/|test/cluster/realnodes/"),
    *of_pytest("realnodes", 2, "gpus_on_real_nodes", r"node/(gpu|dra|driver|kubelet|cdi|nvml)/|manifests/(kubelet-plugin|overlays/gpus)/|scripts/image"
           r"|examples/(gdc|device-classes)/|docs/gpus\.md|test/e2e/real_gpus\.py|test/cluster/(controlplane/checkpoint|stubs/nvml)/", ("checkpoints",)),
    *of_pytest("realnodes", 2, "upgrade_on_real_nodes", r"manifests/(kubelet-plugin|standalone)/|test/e2e/upgrade_from", ("images-before",)),

    # Many clients, nodes without a plugin, GPUs, and pages.
    *of_pytest("e2e", 3, "actors", r"pkg/kube/(access|cache)|controller/process/"),
    *of_pytest("e2e", 3, "gpus host_managed missing_plugins", r"node/plugin/rules|controller/compute_domain/status/explanation"),
    *of_pytest("e2e", 3, "gpu_plugin", r"node/(gpu|dra|kubelet|cdi|nvml|driver)/|test/e2e/gpu_process\.py|test/cluster/stubs/(crash|nvml)/"
           r"|manifests/kubelet-plugin/access\.yaml"),
    *of_pytest("e2e", 3, "insight metrics", r"manifests/monitoring|controller/process/metrics|docs/(metrics|alerts)"),
    *of_pytest("e2e", 3, "backup crds examples pages waiting", r"docs/|crds/|examples/|test/e2e/(pages|waiting)\.py"),
    *of_pytest("e2e", 3, "maintenance", r"docs/maintenance\.md|test/e2e/pages\.py"),
    *of_pytest("e2e", 3, "hardware_report", r"test/hardware|docs/hardware-report\.md"),
    *of_pytest("e2e", 3, "nvml_bindings", r"node/(nvml|gpu/preflight)/|test/cluster/stubs/nvml/"),
    *of_pytest("e2e", 3, "cdi_specs known_fields", r"node/cdi|test/fixtures/known_fields|test/simulation/apiserver"),
    Module("e2e: control plane", 3, r"test/cluster/controlplane/"),
    Module("image: rules and alerts", 3, r"manifests/monitoring|controller/process/metrics|test/packaging/monitoring"),

    # Permissions, tenants, memory, and manifests.
    *of_pytest("e2e", 4, "controller_rights release_rights", r"manifests/(base|policies)|controller/uninstall|pkg/kube/access"),
    *of_pytest("e2e", 4, "daemon_rights plugin_rights", r"manifests/(base|policies|kubelet-plugin)|node/(daemon|plugin/api)/"),
    *of_pytest("e2e", 4, "memory", r"pkg/(json|http|kube/cache)/|controller/compute_domain/cache/"),
    *of_pytest("e2e", 4, "plugin_memory", r"pkg/(json|http)/|node/plugin/"),
    *of_pytest("e2e", 4, "memory_limit", r"manifests/(controller|release-finalizers|systemd)/"),
    *of_pytest("e2e", 4, "quotas tenants", r"manifests/policies|controller/compute_domain/rules/children"),
    *of_pytest("e2e", 4, "install manifests network_policies", r"manifests/|docs/install\.md"),

    # IMEX, upgrades, NVIDIA's controller beside ours, GitOps, and the tour for newcomers.
    *of_pytest("e2e", 5, "imex_daemons imex_stand_in", r"node/(daemon|imex)/|test/cluster/stubs/imex|test/e2e/imex"),
    *of_pytest("e2e", 5, "dra_versions", r"controller/api/|pkg/kube/|node/(gpu|dra)/", ("helm",)),
    *of_pytest("e2e", 5, "feature_gates nvidia_permissions upgrade upgrades", r"controller/api/|crds/|manifests/local|test/e2e/upgrade_from"),
    *of_pytest("e2e", 5, "beside", r"controller/process/|pkg/kube/lease/|test/cluster/stubs/nvidia_controller", ("nvidia-controller",)),
    *of_pytest("e2e", 5, "gitops", r"integrations/|crds/"),
    *of_pytest("e2e", 5, "demo playground", r"scripts/(demo|cluster)|examples/|test/cluster/playground"),
    Module("e2e: whole demo", 5, r"scripts/demo|test/e2e/stage\.sh"),
    Module("image: health for GitOps", 5, r"integrations/|crds/|test/(packaging|fixtures)/gitops|docs/gitops\.md|controller/api/names"),
    Module("image: documentation site", 5, r"scripts/site|mkdocs\.yml|docs/.*\.md|test/packaging/site"),
]


def part_of(commit):
    """The part that the commit's hash chooses."""
    return int(commit[-8:], 16) % PARTS + 1


def helpers(modules, texts):
    """The files that a test module imports and that no module imports which always runs, by the test's file.

    `texts`: those of the Python files beside the tests, by their paths.
    """
    paths = {pathlib.PurePath(path).stem: path for path in texts}

    def reached(file):
        found, todo = set(), [file]
        while todo:
            for name in IMPORT.findall(texts.get(todo.pop(), "")):
                if name in paths and paths[name] not in found:
                    found.add(paths[name])
                    todo.append(paths[name])
        return found
    everyones = set().union(*(reached(one.file) for one in modules if one.file and one.part == ALWAYS))
    return {one.file: reached(one.file) - everyones for one in modules if one.file}


def choose(modules, changed, part, helpers_of=None):
    """A Choice for each module. `changed` are the paths of files that changed; None if that is unknown, and then all run.
    `helpers_of`: as helpers() has it."""
    return [Choice(module, *decide(module, changed, part, (helpers_of or {}).get(module.file, ()))) for module in modules]


def decide(module, changed, part, own_helpers):
    """(whether it runs, why, and whether that is for a path)."""
    if module.part == ALWAYS:
        return True, "it always runs", False
    if changed is None:
        return True, "everything runs", False
    for path in sorted(changed):
        if path == module.file or path in own_helpers or (module.paths and re.match(module.paths, path)):
            return True, f"{path} changed", True
    if module.part == part:
        return True, f"the commit's hash chose part {part} of {PARTS}", False
    return False, f"none of its paths changed, and it is of part {module.part}, where the commit's hash chose part {part} of {PARTS}", False


def select(modules, pattern):
    """A Choice for each module: those run whose name the pattern matches somewhere, or the name of the step that runs them."""
    labels = {label for step, label in OF_MODULES.items() if re.search(pattern, step)}
    return [Choice(module, bool(re.search(pattern, module.name)) or (module.file is not None and module.label in labels),
                   "the pattern chose others") for module in modules]
