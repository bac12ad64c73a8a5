"""The command for recorded LLMs.

    python -m suite.commands.recordings --inspect PATH ...
    python -m suite.commands.recordings --train FILE ... --test FILE ... [--method M] [--seeds S] [--budget N]
                                    [--encoder NAME] [--json OUT]
    python -m suite.commands.recordings --encode [--data-dir DIR]

Exit status: 0, or 2 where an argument or a file cannot be used.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from suite.console import run_command
from suite.profiles import RecordedError

LEARNERS = ("sep-cma-es", "sft", "reinforce", "random-search")
METHODS = (*LEARNERS, "full-information", "routerdc", "knn", "best-single", "per-benchmark-best")
DEFAULTS = {"method": "sep-cma-es", "seeds": 5, "budget": 31680, "encoder": "smollm2-135m", "layer": -1}
ABOUT = """\
Look at files of recorded LLMs, or train a router on some and test it on others. Three published formats are read and
told apart by what they hold: RouterDC (JSON), RouterBench (CSV) and RouteLLM (CSV). Any number of LLMs, from 2 on, and
any benchmark; its name is the file's without train, test, val, dev or responses. data/README.md says where files are
published."""
EXAMPLES = """\
methods:
  sep-cma-es           the paper's: a linear head on the question's hidden state, evolved on scores of one choice each
  sft                  the same head, taught which LLM did best on questions whose scores it may ask for
  reinforce            the same head, by policy gradients
  random-search        the same head, the best of many drawn
  full-information     a linear router that reads all training scores, as in notebook 16
  routerdc             a contrastive router (RouterDC) that reads all training scores
  knn                  the LLM that does best on the nearest training questions
  best-single          the LLM that does best on the training files, for every question
  per-benchmark-best   the LLM that does best on the training file of the question's benchmark, which it is told
The first four take --budget; the two last train nothing.

examples:
  python -m suite.commands.recordings --inspect data/routerdc            every .json and .csv file of a folder
  python -m suite.commands.recordings --inspect mmlu_test.json gsm8k-test.json
  python -m suite.commands.recordings --train mmlu_train.json gsm8k-train.json --test mmlu_test.json gsm8k-test.json
  python -m suite.commands.recordings --train a_train.csv --test a_test.csv --method knn --json out.json

Training counts every benchmark alike; accuracies come per benchmark and on average, with 95 % intervals over seeds and
questions. Training questions that stand in a test file too are left out and named. Questions without a score of every
LLM are left out and named; nothing is filled in."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    _check(parser, options)
    try:
        if options.inspect:
            return _inspect(options)
        return _encode(options) if options.encode else _evaluate(options)
    except BrokenPipeError:
        raise
    except (RecordedError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m suite.commands.recordings",
        description=ABOUT,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_argument_group("what to do (one of three)")
    what.add_argument(
        "--inspect",
        nargs="+",
        action="extend",
        metavar="PATH",
        help="print a file's LLMs, counts and accuracies; of a folder, its .json and .csv files",
    )
    what.add_argument(
        "--train", nargs="+", action="extend", metavar="FILE", help="train a router on these; with --test"
    )
    what.add_argument("--test", nargs="+", action="extend", metavar="FILE", help="test it on these; with --train")
    what.add_argument("--encode", action="store_true", help="encode ahead all that the notebooks on recorded LLMs read")
    how = parser.add_argument_group("how to train and test")
    how.add_argument("--method", choices=METHODS, help=f"how the router chooses (default: {DEFAULTS['method']})")
    how.add_argument("--seeds", type=_whole, metavar="S", help=f"trainings, 1 or more (default: {DEFAULTS['seeds']})")
    how.add_argument(
        "--budget",
        type=_whole,
        metavar="N",
        help="recorded scores that a training of the first four methods may read, 1 or more (default: the paper's, "
        f"{DEFAULTS['budget']})",
    )
    how.add_argument(
        "--encoder",
        metavar="NAME",
        help="the small language model that reads the questions: the packaged one, a folder or a hub id (default: "
        f"{DEFAULTS['encoder']})",
    )
    how.add_argument(
        "--layer",
        type=int,
        metavar="K",
        help="the layer whose hidden state is read, as transformers counts; negative: from the last (default: -1)",
    )
    where = parser.add_argument_group("files")
    where.add_argument("--json", metavar="OUT", help="write what is printed as numbers to this file too")
    where.add_argument("--data-dir", metavar="DIR", help="of --encode: the recorded data (default: TRINITY_DATA)")
    return parser


def _whole(word: str) -> int:
    try:
        number = int(word)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{word[:40]!r} is no whole number from 1 on; give 1 or more")
    return number


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the command where the arguments do not go together; fills in the defaults."""
    pair = bool(options.train or options.test)
    for name in ("inspect", "train", "test"):
        if any(not path.strip() for path in getattr(options, name) or ()):
            parser.error(f"--{name} is given an empty name; name a file")
    asked = [name for name, given in (("--inspect", options.inspect), ("--encode", options.encode)) if given]
    if len(asked) + pair != 1:
        given = " and ".join([*asked, *(["--train/--test"] if pair else [])]) or "nothing"
        verb = "are" if len(asked) + pair > 1 else "is"
        parser.error(f"{given} {verb} given; give one of --inspect PATH..., --train FILE... --test FILE..., --encode")
    if pair and not (options.train and options.test):
        here, lacking = ("--train", "--test") if options.train else ("--test", "--train")
        parser.error(f"{here} is given without {lacking}; give both")
    for name, default in DEFAULTS.items():
        if getattr(options, name) is None:
            setattr(options, name, default)
        elif not pair:
            parser.error(f"--{name} is given with {asked[0]}; it goes with --train and --test alone")
    if options.encoder.strip() == "":
        parser.error(f"--encoder is {options.encoder!r}; name a model, such as {DEFAULTS['encoder']}")
    if options.data_dir is not None and not options.encode:
        parser.error("--data-dir goes with --encode; elsewhere give files by their paths")
    if options.json is not None:
        if options.encode:
            parser.error("--encode prints no numbers; leave out --json")
        _check_output(parser, options)
    both = {os.path.realpath(path) for path in options.train or ()} & {os.path.realpath(p) for p in options.test or ()}
    if both:
        parser.error(f"{min(both)} is given to both --train and --test; test on other questions")


def _check_output(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuses, before anything is computed, a file that cannot be written or that is read."""
    out = Path(options.json)
    try:
        folder = next((parent for parent in out.absolute().parents if parent.exists()), out.absolute().parent)
        there = out.stat()
    except (FileNotFoundError, NotADirectoryError):
        there = None
    except (OSError, ValueError) as error:
        parser.error(f"--json is {options.json[:80]!r}, which cannot be a file ({error}); give another name"[:300])
    if not options.json.strip() or (there and not stat.S_ISREG(there.st_mode)):
        parser.error(f"--json is {options.json!r}, which is no name of a file; give one, such as out.json")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        parser.error(f"--json is {options.json!r}, but {folder} is no folder that can be written; give another")
    inputs = [*(options.inspect or ()), *(options.train or ()), *(options.test or ())]
    folders = [path for path in inputs if os.path.isdir(path)]
    if os.path.realpath(out) in map(os.path.realpath, inputs) or (
        out.exists() and os.path.realpath(out.absolute().parent) in map(os.path.realpath, folders)
    ):
        parser.error(f"--json is {options.json!r}, a file that is read; give another")


def _inspect(options: argparse.Namespace) -> int:
    import json

    from suite.recordings.inspect import files_of, inspect_files
    from trinity_core.paths import write_atomic

    report = inspect_files(files_of(options.inspect))
    if options.json and report is not None:
        write_atomic(Path(options.json), json.dumps(report, indent=1) + "\n")
    return 2 if report is None else 0


def _evaluate(options: argparse.Namespace) -> int:
    import json

    from suite.routers.files import as_text, evaluate_files
    from trinity_core.paths import write_atomic
    from trinity_core.training.train import TrainingError

    settings = {name: getattr(options, name) for name in DEFAULTS}
    try:
        report = evaluate_files(options.train, options.test, **settings)
    except (ValueError, TrainingError) as error:
        print(error, file=sys.stderr)
        return 2
    print(as_text(report), flush=True)  # before a file is written, which may fail
    if options.json:
        write_atomic(Path(options.json), json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return 0


def _encode(options: argparse.Namespace) -> int:
    from suite.profiles import data_dir

    folder = data_dir(options.data_dir)
    from suite.worlds.recorded_states import encode_all

    encode_all(folder)
    return 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # for terminals with few letters
    run_command(main)
