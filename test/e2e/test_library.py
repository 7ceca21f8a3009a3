"""The libraries of pkg as another program uses them: installed, and found by CMake."""

import json
import subprocess

from cluster import REPO, Setup
from process import Process
from waiting import eventually

CLUSTER = Setup(nodes=0)


def test_program_built_on_the_installed_library_prints_pods(cluster, programs, namespace):
    prefix, built = cluster.folder / "prefix", cluster.folder / "watch-pods"

    def cmake(*arguments):
        subprocess.run(["cmake", *arguments], check=True)
    cmake("--install", programs.parent, "--component", "library", "--prefix", prefix)
    cmake("-S", REPO / "examples/watch-pods", "-B", built, "-DCMAKE_CXX_COMPILER=g++-12", f"-DCMAKE_PREFIX_PATH={prefix}",
          "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    # It sees neither our warnings nor our checkout.
    commands = (built / "compile_commands.json").read_text()
    assert [word for word in ("-Werror", "-Wconversion", f"-I{REPO}/") if word in commands] == []
    packages = [path for path in (prefix / "lib/cmake").rglob("*") if path.is_file()]
    assert packages
    assert [path for path in packages if str(REPO) in path.read_text()] == []
    cmake("--build", built)

    watcher = Process("pods", [built / "watch-pods"], cluster.folder, {"KUBECONFIG": str(cluster.plane / "admin.kubeconfig")})
    try:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "seen"}, "spec": {
            "schedulerName": "nobody", "automountServiceAccountToken": False,
            "containers": [{"name": "a", "image": "registry.example.com/a:1"}]}}

        def lines():
            return watcher.out.read_text().splitlines()
        namespace.kubectl("create", "--save-config=false", "-f", "-", stdin=json.dumps(pod))
        eventually("the pod is printed", lines, lambda got: f"new {namespace.name}/seen" in got)
        namespace.kubectl("delete", "pod", "seen", "--grace-period=0", "--force")
        eventually("its deletion is printed", lines, lambda got: f"gone {namespace.name}/seen" in got)
    finally:
        watcher.end()
        print(watcher.log.read_text())
