"""Run the notebooks that are not up to date; write results/<profile>/ and the report."""

from __future__ import annotations

import argparse

from suite.runner.options import add_arguments as add_arguments
from suite.runner.options import choose


def main(options: argparse.Namespace) -> int:
    notebooks = choose(options)
    if options.check:
        return 0
    from suite.runner.run import start

    return start(notebooks, options)
