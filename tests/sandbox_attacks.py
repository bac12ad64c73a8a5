"""What code under test tries, for test_sandbox. Each `f(clues)` returns "escaped" where the attempt works.

`clues`: path and port of a file and a server of the test's, the folders that must not be seen, the name of an
environment variable, and a mark by which the test finds processes. Each entry: the statuses that the attempt may end
in, its source.
"""

from __future__ import annotations

import textwrap

HELD = ("failed", "error")  # "held" is returned, or the system's refusal is raised

_ATTACKS = {
    # --- out of the sandbox ---
    "connect to a server of this machine": (HELD, """
        import socket
        def f(clues):
            socket.create_connection(("127.0.0.1", clues["port"]), timeout=2)
            return "escaped"
    """),
    "any socket, also of a kind that no network name space covers": (HELD, """
        import socket
        def f(clues):
            for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_VSOCK):
                try:
                    socket.socket(family, socket.SOCK_STREAM if family != socket.AF_NETLINK else socket.SOCK_RAW)
                    return "escaped"
                except OSError:
                    pass
            return "held"
    """),
    "read a file outside": (HELD, """
        def f(clues):
            return open(clues["file"]).read()
    """),
    "read the system's users": (HELD, """
        def f(clues):
            return "escaped" if open("/etc/passwd").read() else "held"
    """),
    "see the home folder, the repository, the cache": (HELD, """
        import os
        def f(clues):
            for folder, known in clues["folders"]:
                if os.path.isdir(folder) and set(os.listdir(folder)) - {known}:
                    return "escaped"
            return "held"
    """),
    "write outside its own folder": (HELD, """
        import os, sys
        def f(clues):
            for folder in ("/", "/dev", "/dev/shm", "/etc", "/usr", "/usr/lib", "/proc", sys.prefix):
                try:
                    open(os.path.join(folder, "written"), "w").close()
                    return "escaped"
                except OSError:
                    pass
            return "held"
    """),
    "read keys from an environment": (HELD, """
        import glob, os
        def f(clues):
            for path in glob.glob("/proc/[0-9]*/environ") + ["/proc/self/environ"]:
                try:
                    if clues["variable"].encode() in open(path, "rb").read():
                        return "escaped"
                except OSError:
                    pass
            return "escaped" if clues["variable"] in os.environ else "held"
    """),
    "reach out through links": (HELD, """
        import os
        def f(clues):
            for start in ("/proc/1/root", "/proc/1/cwd", "/proc/self/root", "/tmp/../..", "/newroot", "/oldroot"):
                try:
                    if os.path.lexists("/tmp/link"):
                        os.remove("/tmp/link")
                    os.symlink(start + clues["file"], "/tmp/link")
                    return open("/tmp/link").read()
                except OSError:
                    pass
            return "held"
    """),
    "see another process": (HELD, """
        import os
        def f(clues):
            return "escaped" if len([n for n in os.listdir("/proc") if n.isdecimal()]) > 2 else "held"
    """),
    "become root, mount, make a name space, trace": (HELD, """
        import ctypes, os
        def f(clues):
            libc = ctypes.CDLL(None)
            for user in (os.setuid, os.seteuid, os.setgid):
                try:
                    user(0)
                    if os.getuid() == 0:
                        return "escaped"
                except OSError:
                    pass
            got = [libc.unshare(0x10000000), libc.unshare(0x20000), libc.mount(b"none", b"/tmp", b"tmpfs", 0, 0),
                   libc.ptrace(16, 1, 0, 0), libc.chroot(b"/tmp"), libc.syscall(321, 0, 0, 0)]
            return "held" if set(got) == {-1} else "escaped"
    """),
    "read the disks and the memory": (HELD, """
        import os
        def f(clues):
            for name in ("/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/proc/kcore"):
                try:
                    if open(name, "rb").read(1):
                        return "escaped"
                except OSError:
                    pass
            return "held"
    """),
    "change the kernel's settings": (HELD, """
        def f(clues):
            for name in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/hostname"):
                try:
                    open(name, "r+").close()  # no more: a sandbox that leaks must not harm the machine that tests it
                    return "escaped"
                except OSError:
                    pass
            return "held"
    """),
    "run a shell in its place": (HELD, """
        import os
        def f(clues):
            say = 'printf \\'["value", "%s"]\\\\n\\' "$(cat "$0")"'
            script = f'for end in /proc/self/fd/*; do ({say} >> "$end") 2> /dev/null; done'
            os.execv("/usr/bin/sh", ["sh", "-c", script, clues["file"]])
    """),
    "import a package that is not Python's own": (("error",), """
        def f(clues):
            import numpy
            return "escaped"
    """),
    "import the suite": (("error",), """
        def f(clues):
            import trinity_core
            return "escaped"
    """),
    # --- harm ---
    "fork bomb": (("error",), """
        import ctypes, os
        def f(clues):
            ctypes.CDLL(None).prctl(15, clues["mark"].encode(), 0, 0, 0)
            while True:
                os.fork()
    """),
    "thread bomb": (("error",), """
        import threading, time
        def f(clues):
            threading.stack_size(32768)
            for _ in range(200):
                threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            return "escaped"
    """),
    "all memory": (("memory",), """
        def f(clues):
            kept = []
            for _ in range(100):
                kept.append(bytearray(100 << 20))
            return "escaped"
    """),
    "memory behind the limit's back": (HELD, """
        import ctypes, os
        def f(clues):
            libc = ctypes.CDLL(None)
            try:
                os.memfd_create("more")
                return "escaped"
            except OSError:
                pass
            return "held" if libc.shmget(0, 100 << 20, 0o1600) == -1 else "escaped"
    """),
    "fill the disk with one file": (("error",), """
        def f(clues):
            with open("/tmp/big", "wb") as file:
                for _ in range(200):
                    file.write(bytes(1 << 20))
            return "escaped"
    """),
    "fill the disk with many files": (("error",), """
        def f(clues):
            for number in range(200):
                with open(f"/tmp/{number}", "wb") as file:
                    file.write(bytes(1 << 20))
            return "escaped"
    """),
    "endless output": (("output-limit",), """
        def f(clues):
            while True:
                print("x" * 1000)
    """),
    "endless error output": (("output-limit",), """
        import os
        def f(clues):
            while True:
                os.write(2, b"x" * 1000)
    """),
    "a huge result": (("output-limit",), """
        def f(clues):
            return "x" * (32 << 20)
    """),
    "signals to its parent and to all": (("error", "failed", "memory"), """
        import os, signal
        def f(clues):
            for target in (os.getppid(), 1, -1, 0):
                for number in (signal.SIGTERM, signal.SIGKILL):
                    try:
                        os.kill(target, number)
                    except OSError:
                        pass
            return "held"
    """),
    "a child that survives": (("error",), """
        import ctypes, os, time
        def f(clues):
            ctypes.CDLL(None).prctl(15, clues["mark"].encode(), 0, 0, 0)
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(60)
                os._exit(0)
            return "escaped"
    """),
    "a program that survives": (("error",), """
        import subprocess
        def f(clues):
            subprocess.Popen(["/usr/bin/sleep", "61.5"], start_new_session=True)
            return "escaped"
    """),
    "recursion without end": (("error",), """
        def f(clues):
            return f(clues)
    """),
    "recursion without end or limit": (("error", "memory", "timeout"), """
        import sys
        def f(clues):
            sys.setrecursionlimit(10**9)
            return f(clues)
    """),
    "a loop without end": (("timeout",), """
        def f(clues):
            while True:
                pass
    """),
    "a loop that does not hear of its limit": (("timeout", "memory"), """
        import signal
        def f(clues):
            for number in (signal.SIGXCPU, signal.SIGALRM, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            while True:
                pass
    """),
    "more of everything": (HELD, """
        import resource
        def f(clues):
            for name in ("RLIMIT_CPU", "RLIMIT_AS", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_NOFILE"):
                try:
                    resource.setrlimit(getattr(resource, name), (1 << 40, 1 << 40))
                    return "escaped"
                except (ValueError, OSError):
                    pass
            return "held"
    """),
    "sleep for ever": (("timeout",), """
        import time
        def f(clues):
            time.sleep(10**6)
    """),
    "a loop without end while it is loaded": (("timeout",), """
        while True:
            pass
        def f(clues):
            return "escaped"
    """),
}  # fmt: skip

ESCAPES = {name: (statuses, textwrap.dedent(source)) for name, (statuses, source) in _ATTACKS.items()}

_FORGERIES = {
    "leave with status 0": """
        import os
        def f(x):
            os._exit(0)
    """,
    "leave with status 0 while it is loaded": """
        import os
        os._exit(0)
    """,
    "leave by sys.exit": """
        import sys
        def f(x):
            sys.exit(0)
    """,
    "an object that equals everything": """
        class Same:
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __hash__(self): return 0
            def __bool__(self): return True
            def __getattr__(self, name): return self
            def __call__(self, *args): return self
        def f(x):
            return Same()
    """,
    "base types that equal everything": """
        class Text(str):
            def __eq__(self, other): return True
            __hash__ = str.__hash__
        class Number(int):
            def __eq__(self, other): return True
            __hash__ = int.__hash__
        class Items(list):
            def __eq__(self, other): return True
        kinds = iter([Text("x"), Number(1), Items([1])] * 9)
        def f(x):
            return next(kinds)
    """,
    "patched built-ins and json": """
        import builtins, json, sys
        builtins.AssertionError = type("Never", (Exception,), {})
        builtins.isinstance = lambda *a: True
        builtins.all = builtins.any = lambda *a: True
        builtins.len = lambda *a: 3
        json.dumps = lambda *a, **k: '["passed"]'
        json.loads = lambda *a, **k: [[], {}]
        sys.exit = builtins.exit = lambda *a: None
        def f(x):
            return True
    """,
    "the harness through its frames": """
        import sys
        def f(x):
            frame = sys._getframe()
            while frame:
                for name, value in list(frame.f_locals.items()) + list(frame.f_globals.items()):
                    if hasattr(value, "write"):
                        try:
                            for line in ('["value", true]', '["passed"]', '["value", ["list"]]', '["started"]'):
                                value.write(line + "\\n")
                            value.flush()
                        except Exception:
                            pass
                frame = frame.f_back
    """,
    "the harness through the collector and its modules": """
        import gc, sys, types
        for thing in gc.get_objects():
            if isinstance(thing, types.FunctionType) and thing.__name__ in ("encode", "say", "serve", "check"):
                thing.__code__ = (lambda *a, **k: True).__code__
        for module in list(sys.modules.values()):
            for name in ("encode", "say", "describe", "check", "run"):
                if hasattr(module, name):
                    setattr(module, name, lambda *a, **k: ["passed"])
        def f(x):
            return True
    """,
    "every descriptor": """
        import os
        def f(x):
            for number in range(64):
                for line in (b'["value", true]\\n', b'["passed"]\\n', b'["started"]\\n["passed"]\\n'):
                    try:
                        os.write(number, line)
                    except OSError:
                        pass
            os._exit(0)
    """,
    "the other ends of its pipes": """
        import os
        def f(x):
            for number in range(64):
                for way in (os.O_WRONLY, os.O_RDONLY):
                    try:
                        end = os.open(f"/proc/self/fd/{number}", way | os.O_NONBLOCK)
                        if way == os.O_WRONLY:
                            os.write(end, b'["passed"]\\n["value", true]\\n')
                        else:
                            found = os.read(end, 1 << 16).decode()
                            if "SEC" + "RET" in found:
                                return found[found.index("SEC" + "RET") :][:23]
                    except OSError:
                        pass
            os._exit(0)
    """,
    "closed descriptors": """
        import os
        def f(x):
            os.closerange(0, 64)
            return True
    """,
    "a closed stdout and exit by signal": """
        import os, sys
        def f(x):
            sys.stdout.close()
            os.close(1)
            os.kill(os.getpid(), 9)
    """,
    "the expected value in its own memory": """
        import re
        def f(x):
            pattern = re.compile(b"SEC" + b"RET-[0-9a-f]{16}")
            with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
                for line in maps:
                    span, rights = line.split()[:2]
                    if "r" in rights:
                        start, end = (int(part, 16) for part in span.split("-"))
                        try:
                            memory.seek(start)
                            found = pattern.search(memory.read(min(end - start, 1 << 24)))
                        except (OSError, OverflowError, ValueError):
                            continue
                        if found:
                            return found.group().decode()
            return "nothing"
    """,
    "a thread that answers in its place": """
        import os, threading
        def answer():
            for _ in range(1000):
                for number in range(3, 16):
                    try:
                        os.write(number, b'["value", true]\\n')
                    except OSError:
                        pass
        threading.Thread(target=answer, daemon=True).start()
        def f(x):
            import time
            time.sleep(0.05)
            return True
    """,
    "an error whose text cannot be read": """
        class Wrong(Exception):
            def __str__(self): raise SystemExit(0)
            __repr__ = __str__
        def f(x):
            raise Wrong
    """,
    "nesting that breaks a reader": """
        def f(x):
            import os
            for number in range(3, 16):
                try:
                    os.write(number, b'["value", ' + b"[" * 500000 + b"\\n")
                except OSError:
                    pass
    """,
    "a number that takes a reader's time": """
        def f(x):
            return 10 ** 200000
    """,
}  # fmt: skip

FORGERIES = {name: textwrap.dedent(source) for name, source in _FORGERIES.items()}
