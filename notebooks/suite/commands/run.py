"""Run the notebooks that are not up to date and write results/<profile>/ and the report."""

from __future__ import annotations

import argparse

from suite.runner import run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs=argparse.REMAINDER)


def main(options: argparse.Namespace) -> int:
    return run.main(options.words)
