"""Merge every notebook's claims of a profile, print them beside the paper's numbers, write the report.

claims.json, REPORT.md and index.html go into the profile's results folder.
"""

from __future__ import annotations

import argparse

from suite.console import output_folder
from suite.profiles import PROFILES
from trinity_core.paths import results_root


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", default="offline", choices=list(PROFILES))
    where = "the folder that holds <profile>/NN_name, as given to `trinity run --out`; default: results"
    parser.add_argument("--out", metavar="DIR", type=output_folder, help=where)


def main(options: argparse.Namespace) -> int:
    from suite.results import pages
    from suite.runner.run import REPORT_FILES, shown, write_report

    folder = (options.out.absolute() if options.out else results_root()) / options.profile
    print(pages.as_text(write_report(folder)))
    print(f"Wrote {', '.join(REPORT_FILES)} in {shown(folder)}")
    return 0
