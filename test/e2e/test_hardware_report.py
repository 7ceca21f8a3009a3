"""test/hardware/verify.sh, on folders that look like machines: stand-ins for NVIDIA's library and for IMEX, each with what it
needs, below a root of their own. Needs root, as chroot does. No cluster is started.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
VERIFY = REPO / "test/hardware/verify.sh"
VERSION = "580.95.05"
CLIQUE = "01010101-0101-0101-0101-010101010101.7"
SECRET = "not-for-anybody"
# In the form that nvidia-smi has on a rack, after an output in a public report to kubernetes-sigs/dra-driver-nvidia-gpu.
FABRIC = """
GPU 0000000{gpu}:01:00.0
    Product Name                          : NVIDIA GB200
    Serial Number                         : 1650000000000
    Fabric
        State                             : {state}
        Status                            : {status}
        CliqueId                          : {clique}
        ClusterUUID                       : {cluster}
        Health
            Summary                       : Healthy
            Bandwidth                     : Full
    Processes                             : None
"""


class Machine:
    """A folder with what verify.sh looks at. Each case changes one thing of it."""

    def __init__(self, folder, programs):
        self.root = folder / "machine"
        self.out = folder / "out"
        self.out.mkdir()
        self.environment = {"STAND_IN_NVML_GPUS": "GB200,0,3,0,1,7 GB200,0,3,0,1,7"}
        self.template = REPO / "node/imex/imexd.cfg.tmpl"
        self._programs = programs
        self._imex = None
        # An address of loopback that no other test has.
        self._address = f"127.{80 + os.getpid() % 100}.{os.getpid() // 100 % 250 + 1}.7"
        self._make()

    def put(self, path, text):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def change(self, path, before, after):
        file = self.root / path.lstrip("/")
        assert before in file.read_text()
        file.write_text(file.read_text().replace(before, after))

    def _make(self):
        self.put("/etc/os-release", "ID=test\n")
        self.put("/proc/devices", "Character devices:\n  1 mem\n235 nvidia-caps-imex-channels\n236 nvidia-caps\n\n"
                                  "Block devices:\n259 blkext\n")
        self.put("/proc/driver/nvidia/version",
                 f"NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  {VERSION}  Release Build\n"
                 "GCC version:  gcc version 13.3.0\n")
        self.put("/proc/driver/nvidia/params", "EnableMSI: 1\nImexChannelCount: 2048\nCreateImexChannel0: 0\n")
        self.put("/proc/driver/nvidia/capabilities/fabric-imex-mgmt",
                 "DeviceFileMinor: 512\nDeviceFileMode: 256\nDeviceFileModify: 0\n")
        self.put("/smi.txt", "Driver Version : " + VERSION + "\n" + "".join(
            FABRIC.format(gpu=gpu, state="Completed", status="Success", clique=7, cluster=CLIQUE[:-2]) for gpu in (0, 1)))
        self.put("/etc/hosts", f"{self._address}\tnode-0\n")
        self.put("/etc/nvidia-imex/nodes.cfg", "node-0\n")
        config = self.template.read_text()
        for before, after in (("{{ .IMEXDaemonNodesConfigPath }}", "/etc/nvidia-imex/nodes.cfg"),
                              ("{{ .IMEXCmdBindInterfaceIP }}", self._address),
                              ("IMEX_SERVER_KEY=", "IMEX_SERVER_KEY=/etc/nvidia-imex/server.key")):
            config = config.replace(before, after)
        self.put("/etc/nvidia-imex/config.cfg", config)
        self.put("/etc/nvidia-imex/server.key", f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n")
        for folder in ("dev", "var/run/cdi", "sys/fs/cgroup", "var/lib/kubelet/plugins", "tmp"):
            (self.root / folder).mkdir(parents=True)
        self._install(pathlib.Path("/bin/sh").resolve(), "/bin/sh")
        self._install(pathlib.Path("/bin/cat").resolve(), "/bin/cat")
        for name in ("nvidia-imex", "nvidia-imex-ctl"):
            self._install(self._programs / "imex" / name, f"/usr/bin/{name}")
        self.put("/usr/bin/nvidia-smi", "#!/bin/sh\ncat /smi.txt\n")
        (self.root / "usr/bin/nvidia-smi").chmod(0o755)
        library = self.root / "usr/lib64" / f"libnvidia-ml.so.{VERSION}"
        library.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self._programs / "../node/nvml/libnvml_stand_in.so", library)
        (library.parent / "libnvidia-ml.so.1").symlink_to(library.name)

    def _install(self, program, to):
        """A program, and the libraries that it loads, below the root."""
        target = self.root / to.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(program, target)
        listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
        for word in listed.split():
            if word.startswith("/"):
                copy = self.root / word.lstrip("/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(pathlib.Path(word).resolve(), copy)

    def start_imex(self):
        self._imex = subprocess.Popen(["chroot", self.root, "/usr/bin/nvidia-imex", "-c", "/etc/nvidia-imex/config.cfg"],
                                      stderr=subprocess.PIPE, text=True)
        lines = []
        for line in self._imex.stderr:  # Ends when IMEX does.
            lines.append(line)
            if "IMEX is READY" in line:
                return
        raise AssertionError(f"IMEX ended: {''.join(lines)}")

    def stop(self):
        if self._imex and self._imex.poll() is None:
            self._imex.terminate()
            self._imex.wait(30)

    def tree(self):
        """Each file with its kind, mode, size, time of change and content."""
        seen = {}
        for path in sorted(self.root.rglob("*")):
            info = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            seen[str(path)] = (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, content)
        return seen

    def verify(self, *arguments):
        """(exit status, the report)"""
        done = subprocess.run(
            [VERIFY, "--root", self.root, "--out", self.out, "--plugin", self._programs / "compute-domain-kubelet-plugin",
             "--template", self.template, "--timeout", "5", *arguments],
            capture_output=True, text=True, env={**os.environ, **self.environment}, timeout=120)
        assert done.stderr == ""
        reports = list(self.out.iterdir())
        assert len(reports) == 1, f"{reports} {done.stdout}"
        text = reports[0].read_text()
        reports[0].unlink()
        for line in done.stdout.splitlines()[:-1]:
            assert line in text, "what it prints is in the report"
        return done.returncode, text


@pytest.fixture
def machine(tmp_path, programs):
    made = Machine(tmp_path, programs)
    yield made
    made.stop()


def findings(report, status):
    return [line for line in report.splitlines() if line.startswith(status + " ")]


def test_REV3_hardware_report_says_that_a_machine_is_as_expected_and_changes_nothing_of_it(machine):
    machine.start_imex()
    before = machine.tree()
    status, report = machine.verify()
    assert machine.tree() == before
    for other in ("DIFFERS", "LACKS", "UNKNOWN"):
        assert not findings(report, other)
    assert status == 0
    for line in (f"OK      driver: the kernel module and NVML both say {VERSION}",
                 "OK      preflight: This node has everything that is needed: driver " + VERSION,
                 "OK      devices: /proc/devices: nvidia-caps-imex-channels has major 235",
                 "OK      devices: /proc/devices: nvidia-caps has major 236",
                 "OK      channels: the driver has 2048",
                 "OK      capability: fabric-imex-mgmt has minor 512 and mode 400",
                 f"OK      fabric: GPU 1: NVML and nvidia-smi say the same, Completed, clique {CLIQUE}",
                 f"OK      imex: its version is the driver's, {VERSION}",
                 "OK      imex-config: /etc/nvidia-imex/config.cfg names all keys that cdom writes",
                 "OK      imex-state: -q prints a state that cdom knows and nothing else: READY",
                 "OK      imex-domain: -N -j has the form that cdom reads: 1 nodes"):
        assert line in report.splitlines()
    # What it concluded from is there, too.
    for raw in ("FACT gpu 0: state 3, status 0, clique " + CLIQUE, "Bandwidth                     : Full",
                '"0":{"status":"READY"', "IMEX_WAIT_FOR_QUORUM=RECOVERY", "EnableMSI: 1", "node-0"):
        assert raw in report


def test_REV3_hardware_report_has_no_keys_of_imex(machine):
    _, report = machine.verify()
    assert SECRET not in report
    assert "server.key" not in report
    assert "IMEX_SERVER_KEY=(set, not shown)" in report
    assert "IMEX_SERVER_CERT=\n" in report, "what is not set is shown"


CHANGES = {
    "kernel": (lambda m: m.change("/proc/driver/nvidia/version", VERSION, "575.57.08"),
               f"DIFFERS driver: the kernel module says '575.57.08' and NVML {VERSION}; cdom expects the same version of both"),
    "old": (lambda m: m.environment.update(STAND_IN_NVML_VERSION="570.86.15"),
            "LACKS   preflight: NVIDIA's driver is 570.86.15, whose IMEX does not know its peers by names: install 570.158.01 or later"),
    "unloaded": (lambda m: (m.root / "proc/driver/nvidia/version").unlink(),
                 "LACKS   driver: the kernel module nvidia is not loaded: /proc/driver/nvidia/version does not exist"),
    "major": (lambda m: m.change("/proc/devices", "236 nvidia-caps\n", ""),
              "LACKS   devices: /proc/devices has no character device nvidia-caps; cdom takes its major from there"),
    "majors": (lambda m: m.change("/proc/devices", "236 nvidia-caps\n", "236 nvidia-caps\n237 nvidia-caps\n"),
               "DIFFERS devices: /proc/devices has nvidia-caps with several majors, 236 237; cdom takes the first"),
    "channel": (lambda m: ((m.root / "dev/nvidia-caps-imex-channels").mkdir(),
                           (m.root / "dev/nvidia-caps-imex-channels/channel0").symlink_to("/dev/null")),
                "DIFFERS channels: /dev/nvidia-caps-imex-channels/channel0 is 1:3; cdom expects 235:0"),
    "count": (lambda m: m.change("/proc/driver/nvidia/params", "2048", "128"),
              "DIFFERS channels: the driver has 128; cdom counts on 2048: allocationMode: All would name others"),
    "capability": (lambda m: m.change("/proc/driver/nvidia/capabilities/fabric-imex-mgmt", "512", "0x200"),
                   "DIFFERS capability: fabric-imex-mgmt says 'DeviceFileMinor: 0x200 DeviceFileMode: 256 DeviceFileModify: 0'; "
                   "cdom expects decimal DeviceFileMinor and DeviceFileMode"),
    "state": (lambda m: m.change("/smi.txt", "Completed", "In Progress"),
              "DIFFERS fabric: GPU 0, as cdom reads NVML; state is 3, which is Completed, and nvidia-smi says In Progress"),
    "clique": (lambda m: m.change("/smi.txt", "CliqueId                          : 7", "CliqueId                          : 8"),
               f"DIFFERS fabric: GPU 1, as cdom reads NVML; clique is {CLIQUE}, and nvidia-smi says {CLIQUE[:-1]}8"),
    "status": (lambda m: m.change("/smi.txt", "Success", "Insufficient Resources"),
               "DIFFERS fabric: GPU 0, as cdom reads NVML; status is 0, and nvidia-smi says Insufficient Resources"),
    "smi": (lambda m: m.put("/smi.txt", "Driver Version : x\n"), "UNKNOWN fabric: nvidia-smi has no Fabric section of GPU 0"),
    "health": (lambda m: m.environment.update(STAND_IN_NVML_HEALTH="1"),
               "NOTE    preflight: NVLink fabric: NVML reports GPU 0: degraded bandwidth; GPU 1: degraded bandwidth; jobs may be "
               "slow or fail: look at the switches and the driver's log (dmesg)"),
    "version": (lambda m: m.put("/usr/bin/nvidia-imex", "#!/bin/sh\necho IMEX version is: 595.1.2\n"),
                f"DIFFERS imex: its version is 595.1.2; cdom expects the driver's, {VERSION}"),
    "words": (lambda m: m.put("/usr/bin/nvidia-imex", "#!/bin/sh\necho IMEX of today\n"),
              "DIFFERS imex: --version prints 'IMEX of today', where cdom expects a version such as 580.95.05"),
    "no imex": (lambda m: (m.root / "usr/bin/nvidia-imex").unlink(),
                "LACKS   imex: nvidia-imex is in none of the driver's folders (/opt/bin /usr/bin /usr/sbin /bin /sbin "
                "/usr/local/bin /usr/local/sbin); only a node with an NVLink fabric needs it"),
    "key": (lambda m: m.change("/etc/nvidia-imex/config.cfg", "LOG_USE_SYSLOG=0", "LOG_TO_SYSLOG=0"),
            "DIFFERS imex-config: cdom writes keys that /etc/nvidia-imex/config.cfg does not name: LOG_USE_SYSLOG"),
    "answer": (lambda m: m.put("/usr/bin/nvidia-imex-ctl", "#!/bin/sh\necho The state is READY\n"),
               "DIFFERS imex-state: -q prints 'The state is READY '; cdom expects one line with one of INITIALIZING "
               "STARTING_AUTH_SERVER WAITING_FOR_PEERS WAITING_FOR_RECOVERY INIT_GPU READY SHUTTING_DOWN UNAVAILABLE"),
    "domain": (lambda m: m.put("/usr/bin/nvidia-imex-ctl", """#!/bin/sh
[ "$3" = -q ] && echo READY || echo '{"nodes":{"0":{"status":"READY","version":"1","connections":{"0":"CONNECTED"}}}}'
"""), "DIFFERS imex-domain: -N -j is not as cdom reads it: connection 0 of node 0 has no status"),
    "state of a node": (lambda m: m.put("/usr/bin/nvidia-imex-ctl", """#!/bin/sh
[ "$3" = -q ] && echo READY || echo '{"nodes":{"0":{"status":"RESTING","version":"1","connections":{}}}}'
"""), "DIFFERS imex-domain: -N -j is not as cdom reads it: node 0 has the state RESTING"),
    "hangs": (lambda m: m.put("/usr/bin/nvidia-imex-ctl", "#!/bin/sh\n[ \"$3\" = -q ] && echo READY && exit\nwhile :; do :; done\n"),
              "UNKNOWN imex-domain: it did not answer within 1 s"),
    "silent": (lambda m: None, "UNKNOWN imex-state: no IMEX says its state: it ended with status 255 and printed: no IMEX answers"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_REV3_hardware_report_says_what_is_otherwise(machine, name):
    change, expected = CHANGES[name]
    change(machine)
    before = machine.tree()
    status, report = machine.verify(*(["--timeout", "1"] if name == "hangs" else []))
    assert machine.tree() == before
    assert [line for line in report.splitlines() if line.startswith(expected)], "\n".join(report.splitlines()[:60])
    assert status == 1


def test_REV3_hardware_report_of_a_machine_without_a_gpu_says_what_it_lacks(machine, tmp_path):
    machine.root = tmp_path / "bare"
    machine.root.mkdir()
    status, report = machine.verify()
    assert status == 1
    assert not findings(report, "DIFFERS")
    areas = {line.split()[1] for line in findings(report, "LACKS")}
    assert areas == {"preflight:", "driver:", "devices:", "capability:", "nvidia-smi:", "imex:"}
    assert not list(machine.root.iterdir())


@pytest.mark.parametrize("arguments, expected", [
    (["--bogus"], "unknown argument '--bogus'"),
    (["--out"], "--out needs a value"),
    (["--out", "/nowhere"], "--out '/nowhere' is no folder that can be written"),
    (["--root", "here"], "--root 'here' is no folder, as a path that begins with a /"),
    (["--driver-root", "/nowhere"], "--driver-root '/nowhere': there is no folder /nowhere"),
    (["--plugin", "/etc/passwd"], "--plugin '/etc/passwd' is no program"),
    (["--imex-config", "x.cfg"], "--imex-config 'x.cfg' has to begin with a /"),
    (["--template", "/nowhere"], "--template '/nowhere' cannot be read"),
    (["--timeout", "soon"], "--timeout 'soon' is no number of seconds from 1 to 9999"),
])
def test_REV3_hardware_report_is_not_made_of_a_wrong_call(tmp_path, arguments, expected):
    done = subprocess.run([VERIFY, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"verify: {expected}")
    assert not list(tmp_path.iterdir())
