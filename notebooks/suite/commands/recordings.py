"""Look at files of recorded LLMs, or train a router on some and test it on others.

Three published formats are read and told apart by what they hold: RouterDC (JSON), RouterBench and RouteLLM (CSV). A
benchmark's name is the file's without train, test, val, dev or responses. data/README.md says where to find files.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from suite.console import from_1, output_file

METHODS = {
    "sep-cma-es": "the paper's: a linear head on the hidden state, evolved on scores of one choice each",
    "sft": "the same head, taught which LLM did best on questions whose scores it may ask for",
    "reinforce": "the same head, by policy gradients",
    "random-search": "the same head, the best of many drawn",
    "full-information": "a linear router that reads all training scores, as in notebook 16",
    "routerdc": "a contrastive router (RouterDC) that reads all training scores",
    "knn": "the LLM that does best on the nearest training questions",
    "best-single": "the LLM that does best on the training files, for every question",
    "per-benchmark-best": "the LLM that does best on the training file of the question's benchmark, which it is told",
}
EXAMPLES = """
The first four take --budget; the two last train nothing. Training counts every benchmark alike; accuracies come per
benchmark and on average, with 95 % intervals over seeds and questions. Training questions that stand in a test file
too, and questions without a score of every LLM, are left out and named; nothing is filled in.

example: trinity recordings train --train a_train.csv --test a_test.csv --method knn --json out.json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True)
    about = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    add = actions.add_parser("inspect", help="print files' LLMs, counts, accuracies", **about).add_argument
    add("inspect", nargs="+", metavar="PATH", help="a file; a folder: its .json and .csv files")
    add("--json", type=output_file, metavar="OUT", help="write what is printed as numbers to this file too")
    epilog = "methods:\n" + "".join(f"  {name:20} {text}\n" for name, text in METHODS.items()) + EXAMPLES
    add = actions.add_parser("train", help="train a router, test it", epilog=epilog, **about).add_argument
    for name in ("--train", "--test"):
        add(name, nargs="+", action="extend", required=True, metavar="FILE")
    add("--method", choices=METHODS, default="sep-cma-es", metavar="NAME", help="how it chooses (default: %(default)s)")
    add("--seeds", type=from_1, default=5, metavar="S", help="trainings (default: %(default)s)")
    add("--budget", type=from_1, default=33 * 16 * 60, metavar="N", help="scores a training may read (%(default)s)")
    add("--encoder", default="smollm2-135m", metavar="NAME", help="the packaged model, a folder or a hub id")
    add("--layer", type=int, default=-1, metavar="K", help="the layer that is read; negative: from the last")
    add("--json", type=output_file, metavar="OUT", help="write what is printed as numbers to this file too")
    actions.add_parser("encode", help="encode ahead all that notebooks 16 and 17 read of TRINITY_DATA", **about)


def main(options: argparse.Namespace) -> int:
    from suite.profiles import data_dir
    from suite.recordings.inspect import files_of, inspect_files
    from trinity_core.paths import write_atomic

    if options.action == "encode":
        from suite.worlds.recorded_states import encode_all

        encode_all(data_dir())
        return 0
    inputs = files_of(options.inspect) if options.action == "inspect" else [*options.train, *options.test]
    if options.json and options.json.resolve() in {Path(path).resolve() for path in inputs}:
        options.error(f"--json is {str(options.json)!r}, a file that is read; give another")
    if options.action == "inspect":
        report = inspect_files(inputs)
    else:
        from suite.routers.files import as_text, evaluate_files

        names = ("method", "seeds", "budget", "encoder", "layer")
        report = evaluate_files(options.train, options.test, **{name: getattr(options, name) for name in names})
        print(as_text(report), flush=True)  # before a file is written, which may fail
    if options.json and report is not None:
        write_atomic(options.json, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return 2 if report is None else 0
