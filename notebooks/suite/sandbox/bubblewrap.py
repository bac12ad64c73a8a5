"""The sandbox for code that models wrote: bubblewrap and a filter of system calls.

Bubblewrap gives no network, the system's libraries and the interpreter read-only and nothing else of the disk, an own
small /tmp, own process, IPC and host name spaces, no environment, no capability, another user. The filter refuses new
processes, sockets (a virtual machine's vsock belongs to no network name space) and memory that no limit counts (memfd,
System V segments): so one process is all there is, and its own limits bound what the code can hold.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import re
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from trinity_core import paths

ENVIRONMENT = {"PYTHONHASHSEED": "0"}  # the whole environment: the order of a set of strings must not change a verdict

# Refused system calls: number on x86-64, on 64-bit ARM (None: no such call there).
REFUSED: dict[str, list[int | None]] = json.loads(Path(__file__).with_name("system_calls.json").read_text("utf-8"))
ARCHITECTURES = {"x86_64": (0, 0xC000003E, 56), "aarch64": (1, 0xC00000B7, 220)}  # column, audit name, clone
CLONE3, CLONE_THREAD, X32 = 435, 0x10000, 0x40000000


@dataclass(frozen=True)
class Bubblewrap:
    """A bubblewrap. `root`: it starts as root, and the child becomes another user; else a user name space does that."""

    path: str
    root: bool

    @functools.cached_property
    def version(self) -> tuple[int, ...]:
        said = subprocess.run([self.path, "--version"], capture_output=True, text=True, timeout=10, check=False, env={})
        found = re.search(r"(\d+)\.(\d+)", said.stdout)
        return tuple(map(int, found.groups())) if found else (0, 0)

    def command(self, disk: int) -> list[str]:
        """The command in front of the interpreter's, without the filter; `disk`: MiB of /tmp."""
        command = [self.path, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
        command += ["--unshare-cgroup-try", "--hostname", "sandbox", "--die-with-parent", "--new-session", "--clearenv"]
        for name, value in ENVIRONMENT.items():
            command += ["--setenv", name, value]
        command += [*_file_system(), "--proc", "/proc", "--remount-ro", "/proc"]
        command += ["--dev", "/dev", "--remount-ro", "/dev"]
        if self.version >= (0, 7):
            command += ["--perms", "1777", "--size", str(disk << 20), "--tmpfs", "/tmp"]
        else:  # it cannot limit a tmpfs: none to write into, then
            command += ["--tmpfs", "/tmp", "--remount-ro", "/tmp"]
        command += ["--remount-ro", "/", "--chdir", "/tmp", "--cap-drop", "ALL"]
        if self.root:
            return [*command, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        return [*command, "--unshare-user", "--uid", "64000", "--gid", "64000"]


def interpreter() -> Path:
    """The Python that this environment is made from, without the environment's packages."""
    return Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


def _file_system() -> list[str]:
    """What of the disk is seen: libraries and interpreter; the repository, the home and the cache never.

    Those three are covered where they lie below what is shown (a repository at /usr/src). An interpreter kept in the
    home folder is shown without the rest of it.
    """
    arguments, shown, covered = [], [Path("/usr")], []
    for folder in ("/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(folder):
            arguments += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            shown.append(Path(folder))
    system = tuple(shown)
    secrets = [folder.resolve() for folder in (paths.ROOT, Path.home(), paths.cache_dir())]
    for folder in dict.fromkeys((Path(sys.base_prefix).resolve(), interpreter().parent.parent)):
        hidden = any(folder.is_relative_to(secret) for secret in secrets)
        if hidden or not any(folder.is_relative_to(other) for other in system):
            shown.append(folder)
            for parent in reversed(folder.parents[:-1]):  # else made as closed as the home folder itself
                arguments += ["--dir", str(parent)]
    for folder in shown:
        arguments += ["--ro-bind", str(folder), str(folder)]
        for secret in secrets:
            if secret != folder and secret.is_relative_to(folder):
                arguments += ["--tmpfs", str(secret)]
                covered += ["--remount-ro", str(secret)]
    return [*arguments, *covered, "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]


def system_call_filter(machine: str) -> bytes:
    """A seccomp program (classic BPF) that refuses `REFUSED` and new processes, for a machine of `ARCHITECTURES`."""
    column, audit, clone = ARCHITECTURES[machine]
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06  # then: jump if true, if false, value
    refuse, lacking, allow = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS, 0x7FFF0000
    program = [(load, 0, 0, 4), (equal, 1, 0, audit), (give, 0, 0, refuse), (load, 0, 0, 0)]
    program += [(at_least, 0, 1, X32), (give, 0, 0, refuse)]  # other numbers of the same calls
    program += [(equal, 0, 1, CLONE3), (give, 0, 0, lacking)]  # it hides its flags; the C library then uses clone
    for numbers in REFUSED.values():
        if numbers[column] is not None:
            program += [(equal, 0, 1, numbers[column]), (give, 0, 0, refuse)]
    program += [(equal, 0, 3, clone), (load, 0, 0, 16), (any_bit, 1, 0, CLONE_THREAD), (give, 0, 0, refuse)]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in [*program, (give, 0, 0, allow)])
