"""Every path of the suite, in one place, and the one way to write a file.

`TRINITY_CACHE` moves the cache; `TRINITY_RESULTS` moves the folder that holds `<profile>/NN_name`.
"""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "data"
NOTEBOOKS = ROOT / "notebooks"


def results_root() -> Path:
    """The folder that holds one folder a profile: `TRINITY_RESULTS`, else `results/`."""
    return Path(os.environ.get("TRINITY_RESULTS") or ROOT / "results").expanduser().resolve()


def cache_dir() -> Path:
    """The folder for what can be computed again (weights, hidden states), created when missing: `TRINITY_CACHE`, else
    `$XDG_CACHE_HOME/trinity`, else `~/.cache/trinity`."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    # Absolute: a later change of the working folder must not move it.
    path = Path(os.path.abspath(os.path.expanduser(os.environ.get("TRINITY_CACHE") or f"{base}/trinity")))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"cannot create the cache {path} ({error}); set TRINITY_CACHE to a folder you can write"
        ) from None
    return path


def write_atomic(path: Path, content: str | bytes) -> None:
    """Writes a file whole or not at all: to a temporary name beside it, then renamed over `path`, a link followed.
    OSError where `path` is there and no file, such as a device or a pipe: it would be replaced."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Not a regular file; name another", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:20]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
