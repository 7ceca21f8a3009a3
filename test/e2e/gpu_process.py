"""The driver of GPUs as a process on loopback, with a stand-in for NVIDIA's library that reads its GPUs from a file."""

import contextlib
import signal
import subprocess

from cluster import REPO
from plugin_process import Plugin
from waiting import eventually

DRIVER = "gpu.nvidia.com"
GPUS = "driver version=580.95.05 cuda=13000\n" + "".join(
    f"gpu minor={minor} uuid=GPU-{minor} name=NVIDIA_H100_80GB_HBM3 pci=00000000:1{minor}:00.0\n" for minor in range(8))
# One more GPU, with a MIG device whose capabilities have these minors.
MIG = "gpu-8-mig-1g10gb-19-2"
MIG_LINES = """gpu minor=8 uuid=GPU-8 name=NVIDIA_H100_80GB_HBM3 pci=00000000:18:00.0 mig=1
profile number=0 id=19 slices=1 memory=9856
instance index=0 uuid=MIG-8-2 gi=9 ci=0 profile=19 start=2 size=1 compute=1
"""
MIG_MINORS = (84, 85)


class GpuPlugin(Plugin):
    program = "gpu-kubelet-plugin"
    driver_name = DRIVER
    options = ()

    gpus = GPUS

    def set_up(self):
        super().set_up()
        (self.driver / "gpus").write_text(self.gpus)
        instance = self.driver / "proc/driver/nvidia/capabilities/gpu8/mig/gi9"
        (instance / "ci0").mkdir(parents=True)
        for file, minor in zip((instance / "access", instance / "ci0/access"), MIG_MINORS, strict=True):
            file.write_text(f"DeviceFileMinor: {minor}\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
        self.environment = {"STAND_IN_NVML_FILE": str(self.driver / "gpus")}

    @contextlib.contextmanager
    def mortal(self):
        """Meanwhile killed_in() kills it, and is_back() starts it again."""
        library = self._folder / "crash.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, REPO / "test/cluster/stubs/crash/crash.c"], check=True)
        before = self.environment
        self.environment = {**before, "LD_PRELOAD": str(library), "CRASH_IN": f"{self._folder}/", "CRASH_AT": str(self._folder / "crash-at")}
        self.end()
        self.run()
        self.is_back()
        yield
        self.environment = before
        self.end()
        self.run()
        self.is_back()

    def is_back(self):
        """It runs, and can be asked: a socket of the process before may still exist."""
        if self.has_ended():
            self.run()
        eventually("the plugin serves", lambda: "Serving the kubelet " in self.log())

    def killed_in(self, what, asked, at):
        """A kubelet asks, and the plugin is killed before its change of files with this number: the change. None if it answered first."""
        counted = self._folder / "crash-at"
        counted.write_text(str(at))
        with self.asked(what, asked) as asking:
            eventually("the plugin is killed, or answers", lambda: self.has_ended() or asking.status() is not None)
            counted.unlink()
            status = eventually("how the call ended", lambda: (asking.status(),), lambda status: status != (None,))
            if status == (0,):
                return None
            assert self.exit_status() == -signal.SIGKILL, asking.out.read_text()
            [line] = [line for line in self.log().splitlines() if line.startswith("crash: before ")]
            return line.removeprefix("crash: before ")
