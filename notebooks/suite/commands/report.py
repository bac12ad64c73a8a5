"""`python -m suite.commands.report`: merges a profile's claims, prints the ledger, writes REPORT.md and index.html."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from suite.console import run_command
from suite.profiles import PROFILES, get_profile
from suite.results import ledger, pages
from suite.runner import freshness
from trinity_core import paths


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0; 1 where there are no results or a claims file is wrong; 2 for a wrong option."""
    parser = argparse.ArgumentParser(
        prog="python -m suite.commands.report",
        description="Merges every notebook's claims of a profile, prints them beside the paper's numbers, and writes "
        "claims.json, REPORT.md and index.html into the profile's results folder.",
    )
    parser.add_argument("--profile", default="offline", metavar="NAME", help=f"one of {', '.join(PROFILES)}; "
                        "default: offline")
    parser.add_argument("--out", metavar="DIR", help="the folder that holds <profile>/NN_name, as given to "
                        "./run_all.sh --out; default: results")
    options = parser.parse_args(arguments)
    try:
        profile = get_profile(options.profile).name
    except ValueError as error:
        parser.error(str(error))
    if options.out is not None and not options.out:
        parser.error("--out '': name a folder")
    try:
        folder = (Path(os.path.expanduser(options.out)) if options.out else paths.results_root()) / profile
        notebooks = ledger.load(folder, profile, freshness.remarks(folder, profile))
        written = {
            "claims.json": ledger.merged_json(notebooks, profile),
            "REPORT.md": pages.as_markdown(notebooks, profile),
            "index.html": pages.as_html(notebooks, profile, folder),
        }
        for name, text in written.items():
            paths.write_atomic(folder / name, text)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    print(pages.as_text(notebooks))
    print(f"Wrote {', '.join(written)} in {_shown(folder)}")
    return 0


def _shown(folder: Path) -> str:
    """The folder as a reader at the prompt would write it."""
    relative = os.path.relpath(folder)
    return str(folder) if relative.startswith("..") else relative


if __name__ == "__main__":
    run_command(main)
