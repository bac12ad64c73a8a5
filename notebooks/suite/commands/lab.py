"""Open JupyterLab in notebooks/; what follows -- goes to it."""

from __future__ import annotations

import argparse

from suite.runner.run import open_lab


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None: `trinity lab -- --no-browser`."""


def main(options: argparse.Namespace) -> int:
    """Becomes JupyterLab."""
    return open_lab(options.rest)
