"""The command that looks at benchmark files.

    python -m suite.commands.questions --list
    python -m suite.commands.questions --check NAME [--split SPLIT] [--path FILE]

Exit status of --check: 0 all rows are fine, 1 some were refused (each is listed), 2 nothing could be checked.
"""

from __future__ import annotations

import argparse
import sys

from suite.benchmarks.catalogue import BENCHMARKS
from suite.console import run_command
from suite.questions.files import SPLITS


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m suite.commands.questions", description="List or check the benchmarks.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="name the benchmarks and where they are published")
    action.add_argument("--check", choices=tuple(BENCHMARKS), metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}")
    parser.add_argument("--split", choices=SPLITS, default="test", help="which split the file is (default: test)")
    parser.add_argument("--path", metavar="FILE", help=".jsonl, .json, .csv or .parquet; without it the hub is asked")
    options = parser.parse_args(arguments)
    if options.list:
        if options.path:
            parser.error("--path goes with --check")
        _list()
        return 0
    return _check(options.check, options.split, options.path)


def _list() -> None:
    for name, benchmark in BENCHMARKS.items():
        consent = ", gated" if benchmark.gated else ""
        print(f"{name}: {benchmark.title}; licence {benchmark.licence}{consent}; fields {', '.join(benchmark.fields)}")
        for split, (repository, revision, file) in benchmark.files.items():
            print(f"    {split}: {repository} ({benchmark.kind}, revision {revision}), {file}")


def _check(name: str, split: str, path: str | None) -> int:
    from suite.benchmarks.loading import read_benchmark

    try:
        reading = read_benchmark(name, split, path)
    except (ValueError, OSError) as error:
        print(f"{name} {split}: {error}", file=sys.stderr)
        return 2
    kinds = sorted({question.kind for question in reading.questions})
    read = f"{len(reading.questions)} of {reading.rows} rows read" + (
        f" (checked as {', '.join(kinds)})" if kinds else ""
    )
    print(f"{name} {split}: {read}, {len(reading.refused)} refused")
    for place, reason in reading.refused:
        print(f"{place}: {reason}")
    return 1 if reading.refused else 0


if __name__ == "__main__":
    run_command(main)
