"""The command `trinity`: a verb is a thin face over functions that the notebooks call too.

A verb's module imports what is heavy only when it runs, so that `trinity VERB --help` answers at once.
Exit status of every verb: 0; 1 where something that was asked for failed; 2 where it cannot be done as asked.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Sequence
from typing import NoReturn

from suite.commands import bank, baselines, lab, questions, recordings, report, rollout, run, train
from suite.console import run_command

VERBS = {
    "run": run,
    "rollout": rollout,
    "train": train,
    "baselines": baselines,
    "recordings": recordings,
    "questions": questions,
    "bank": bank,
    "report": report,
    "lab": lab,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit status. Errors of the suite's own are told in one line, without a traceback."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    at = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(prog="trinity", description="TRINITY, reproduced: every tool of the suite.")
    verbs = parser.add_subparsers(required=True, metavar="VERB", title="verbs", help="`trinity VERB --help` tells more")
    for name, verb in VERBS.items():
        text = inspect.getdoc(verb)
        form = {"description": text, "formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
        own = verbs.add_parser(name, help=text.split("\n")[0], **form)
        own.set_defaults(main=verb.main, error=own.error)
        verb.add_arguments(own)
    options = parser.parse_args(arguments[:at])
    options.rest = arguments[at + 1 :]
    if options.rest and options.main not in (lab.main, run.main):
        options.error(f"arguments after -- go with `trinity lab` and `trinity run` alone: {' '.join(options.rest)}")
    try:
        return options.main(options)
    except Exception as error:
        own = type(error).__module__.startswith(("suite.", "trinity_core.")) or isinstance(error, (ValueError, OSError))
        if isinstance(error, BrokenPipeError) or not own:
            raise
        print(error, file=sys.stderr)
        return 2


def run_trinity() -> NoReturn:
    """The console script."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # for terminals with few letters
    run_command(main)
