"""List the published benchmarks, or check a file of one.

Exit status of --check: 0 all rows are fine, 1 some were refused (each is listed), 2 nothing could be checked.
"""

from __future__ import annotations

import argparse

SPLITS = ("train", "test")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="name the benchmarks and where they are published")
    action.add_argument("--check", metavar="NAME", help="a benchmark, as --list names it")
    parser.add_argument("--split", choices=SPLITS, default="test", help="which split the file is (default: test)")
    parser.add_argument("--path", metavar="FILE", help=".jsonl, .csv or .parquet; without it the hub is asked")


def main(options: argparse.Namespace) -> int:
    from suite.benchmarks.catalogue import BENCHMARKS
    from suite.benchmarks.loading import read_benchmark

    if options.list:
        if options.path:
            options.error("--path goes with --check")
        for name, benchmark in BENCHMARKS.items():
            licence = benchmark.licence + (", gated" if benchmark.gated else "")
            print(f"{name}: {benchmark.title}; licence {licence}; fields {', '.join(benchmark.fields)}")
            for split, (repository, revision, file) in benchmark.files.items():
                print(f"    {split}: {repository} ({benchmark.kind}, revision {revision}), {file}")
        return 0
    if options.check not in BENCHMARKS:
        options.error(f"argument --check: no benchmark {options.check!r}; choose one of {', '.join(BENCHMARKS)}")
    head = f"{options.check} {options.split}"
    try:
        reading = read_benchmark(options.check, options.split, options.path)
    except (ValueError, OSError) as error:
        raise ValueError(f"{head}: {error}") from error
    kinds = sorted({question.kind for question in reading.questions})
    checked = f" (checked as {', '.join(kinds)})" if kinds else ""
    rows = len(reading.questions) + len(reading.refused)
    print(f"{head}: {len(reading.questions)} of {rows} rows read{checked}, {len(reading.refused)} refused")
    for place, reason in reading.refused:
        print(f"{place}: {reason}")
    return 1 if reading.refused else 0
