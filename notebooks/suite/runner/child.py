"""A command for another process: it ends with it."""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading


def end_with_parent() -> None:
    """From now on SIGTERM comes when standard input closes: it is a pipe that the parent holds, however that ends."""

    def wait() -> None:
        while os.read(0, 4096):  # not sys.stdin: a thread inside it would hold its lock when the process ends
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    end_with_parent()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
