"""What is in which image. Data alone: how an image is made of it, rootfs.py and oci.py know."""

from dataclasses import dataclass

# What apt is asked for; the libraries come along, because the packages that one builds with depend on them.
FETCHED = (
    "libcurl4-openssl-dev", "rapidjson-dev", "libssl-dev", "libspdlog-dev", "libfmt-dev", "libsystemd-dev",
    "libyaml-cpp-dev", "libexpected-dev", "prometheus-cpp-dev", "libmicrohttpd-dev", "libcli11-dev",
    "libgrpc++-dev", "libprotobuf-dev",
    "libstdc++6", "libc6", "base-files", "ca-certificates", "bash", "coreutils", "dash",
    "findutils", "mount", "procps", "sed",
)

# What apt treats as installed, by what it provides, because nothing of it is needed: the C library to build with
# comes with the compiler, and no package is configured here, only unpacked.
ASSUMED = {"libc6-dev": "", "openssl": "", "debconf": "", "mawk": "awk"}

# As Debian calls an architecture: its libraries' folder, and what OCI calls it.
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
PLATFORMS = {
    "amd64": {"architecture": "amd64", "os": "linux"},
    "arm64": {"architecture": "arm64", "os": "linux", "variant": "v8"},
}


@dataclass(frozen=True)
class Image:
    title: str
    description: str
    user: int
    programs: tuple[str, ...]  # Of ours, as `cmake --install` lays them down. The first is the entry point.
    # Files to take from packages, as patterns; a library that a program needs is found without being named.
    files: dict[str, tuple[str, ...]]
    compiled_in: tuple[str, ...]  # Packages of which our programs have code inside: headers alone.
    data: tuple[str, ...] = ()  # What else of ours `cmake --install` lays down.
    folders: tuple[str, ...] = ()  # Without a file of ours in them.
    environment: tuple[str, ...] = ()


_FILES_OF_ALL = {
    # By the first three a scanner knows which distribution it looks at; the copyrights refer to the licenses.
    "base-files": ("etc/debian_version", "etc/os-release", "usr/lib/os-release", "usr/share/common-licenses/*"),
    "ca-certificates": ("usr/share/ca-certificates/mozilla/*.crt",),
}
_COMPILED_INTO_ALL = ("rapidjson-dev", "libcli11-dev", "libexpected-dev", "libspdlog-dev")

IMAGES = {
    "controller": Image(
        title="cdom-controller",
        description="The ComputeDomain controller of cdom",
        user=65532,
        programs=("usr/bin/compute-domain-controller",),
        files=_FILES_OF_ALL,
        compiled_in=_COMPILED_INTO_ALL,
        # Otherwise each thread keeps blocks that it freed, and the pages around them. The driver's image does not have
        # it, because the programs of NVIDIA's driver would inherit it.
        environment=("GLIBC_TUNABLES=glibc.malloc.tcache_count=0",),
    ),
    # What NVIDIA's driver brings onto a node runs inside of it, on its C library, which is there whole; and so do the
    # scripts of who wraps our programs. The controller comes along for charts that have one image for all.
    "driver": Image(
        title="cdom-driver",
        description="The kubelet plugins, the IMEX daemon and the ComputeDomain controller of cdom",
        user=0,
        programs=("usr/bin/compute-domain-daemon", "usr/bin/compute-domain-kubelet-plugin", "usr/bin/gpu-kubelet-plugin",
                  "usr/bin/compute-domain-controller"),
        files=_FILES_OF_ALL | {
            "libc6": ("usr/lib*", "etc/ld.so.conf.d/*"), "coreutils": ("usr/bin/*", "usr/sbin/chroot", "usr/lib*"),
            "bash": ("usr/bin/*",), "findutils": ("usr/bin/*",), "sed": ("usr/bin/*",),
            # For `kubectl exec POD -- sh`, and a signal from there.
            "dash": ("usr/bin/*",), "procps": ("usr/bin/kill",),
            # NVIDIA's chart masks a file of the driver by it (maskNvidiaDriverParams), and goes on if it is not there.
            "mount": ("usr/bin/mount",),
        },
        # Also of gRPC and protobuf, whose headers and generators made what the plugin speaks to the kubelet.
        compiled_in=(*_COMPILED_INTO_ALL, "libgrpc++-dev", "libprotobuf-dev"),
        data=("templates/compute-domain-daemon-config.tmpl.cfg", "usr/bin/kubelet-plugin-prestart.sh"),
        # IMEX has its statistics and its state there, and NVIDIA's chart its copy of that file.
        folders=("root", "run", "tmp", "var/log"),
    ),
}
