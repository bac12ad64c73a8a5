"""Run the notebooks that are not up to date; write results/<profile>/ and the report."""

from __future__ import annotations

import argparse
import sys

from suite.runner.options import add_arguments as add_arguments
from suite.runner.options import choose


def main(options: argparse.Namespace) -> int:
    notebooks = choose(options)
    if options.setup and not options.check:
        print(f"The environment is ready: {sys.prefix}")
    if options.setup or options.check:
        return 0
    from suite.runner.run import start

    return start(notebooks, options)
