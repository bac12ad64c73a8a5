"""Open JupyterLab in notebooks/; what follows -- goes to it."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None of its own: `trinity lab -- --no-browser`."""


def main(options: argparse.Namespace) -> int:
    from suite.runner.run import open_lab

    return open_lab(options.rest)
