"""What `trinity run` is asked to do: its options, what goes with what, and the notebooks that they name.

Only the standard library is used: wrong arguments are refused before anything is set up.
"""

from __future__ import annotations

import argparse
import ast
import os
from typing import Any

from suite.console import from_1, output_folder
from suite.profiles import DATA_VARIABLE, PROFILES, RECORDED, data_dir
from suite.runner.notebook import Notebook, discover


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `./run_all.sh` and `trinity run`."""
    sizes = "\n".join(f"  {p.name:9} {p.purpose} (encoder {p.encoder})" for p in PROFILES.values())
    parser.epilog = f"profiles:\n{sizes}"
    add = parser.add_argument
    add("--profile", choices=list(PROFILES), metavar="NAME", help=f"one of {', '.join(PROFILES)} (default offline)")
    add("--only", metavar="LIST", help="these notebooks alone, by number or name: 00,02 or 02_separability")
    value = "another value for a parameter; a Python literal"
    add("--param", type=parameter, metavar="NAME=VALUE", action="append", default=[], help=value)
    add("--out", type=output_folder, metavar="DIR", help="the folder for results in place of results/")
    add("--force", action="store_true", help="run also what is up to date")
    add("--jobs", type=from_1, metavar="N", help="notebooks run at once (default: one a core, at most 4)")
    add("--update", action="store_true", help="for maintainers: then copy the executed notebooks over notebooks/")
    add("--check", action="store_true", help=argparse.SUPPRESS)  # for run_all.sh: refuse wrong arguments, do no more
    add = parser.add_mutually_exclusive_group().add_argument
    add("--list", action="store_true", help="number, name, title, state and last duration of each notebook")
    add("--setup", action="store_true", help="set up the environment, nothing else")
    add("--lab", action="store_true", help="open JupyterLab in notebooks/; what follows -- goes to it")
    add("--test", action="store_true", help="run every test; what follows -- goes to pytest")


def parameter(text: str) -> tuple[str, Any]:
    """An argparse type: `NAME=VALUE` with a Python literal."""
    name, _, value = text.partition("=")
    if name.strip() == "profile":
        raise argparse.ArgumentTypeError(f"{text}: use --profile")
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        example = "write NAME=VALUE with a Python literal, such as seed=7 or \"name='text'\""
        raise argparse.ArgumentTypeError(f"{text}: {example}") from None


def choose(options: argparse.Namespace) -> list[Notebook]:
    """The notebooks that the options name, once these are checked and their defaults filled in.

    What cannot be meant ends the program with status 2 and names the value.
    """
    action = next((name for name in ("list", "setup", "lab", "test") if getattr(options, name)), "")
    taken = ("profile", "only", "out") if action == "list" else ()
    for name in ("profile", "only", "param", "out", "force", "jobs", "update"):
        if action and name not in taken and getattr(options, name):
            options.error(f"--{name} does not go with --{action}")
    if options.rest and action not in ("lab", "test"):
        options.error(f"arguments after -- go with --lab or --test: {' '.join(options.rest)}")
    profile = options.profile = options.profile or "offline"
    if options.update and (profile not in ("offline", RECORDED) or options.param):
        options.error(f"--update needs profile offline or {RECORDED} and the notebooks' own parameters")
    if profile == RECORDED and (options.update or os.environ.get(DATA_VARIABLE)):
        data_dir()  # RecordedError where the variable names no folder of recorded files
    if action and action != "list":
        return []
    books = chosen = discover()
    if options.only is not None:
        wanted = {word.strip() for word in options.only.split(",")}
        chosen = [book for book in books if {book.name, book.name[:2], book.name[3:]} & wanted]
        for word in wanted - {name for book in books for name in (book.name, book.name[:2], book.name[3:])}:
            options.error(f"no notebook {word!r}; choose from {', '.join(book.name for book in books)}")
    if options.list:
        return chosen
    own = [book for book in chosen if book.own_profile == profile]
    if options.update and not own:
        profiles = ", ".join(f"{book.name}: --profile {book.own_profile}" for book in chosen)
        options.error(f"--update: no chosen notebook is committed from profile {profile} ({profiles})")
    if profile == RECORDED and options.only is None and own:
        chosen = own  # what the others say does not depend on recorded LLMs
    names = [name for name, _ in options.param]
    for name, value in options.param:
        if names.count(name) > 1:
            options.error(f"--param {name} is given twice; give it once")
        for book in chosen:
            if name not in book.parameters:
                options.error(f"--param {name}: {book.name} has no such parameter; it has {', '.join(book.parameters)}")
            if not fits(value, default := book.parameters[name]):
                kind = type(default).__name__
                options.error(f"--param {name}={value!r}: in {book.name} it is of type {kind}, as {default!r}")
    return chosen


def fits(value: Any, default: Any) -> bool:
    """Whether a parameter whose own value is `default` may be `value`: the same kind, or whole numbers for floats."""
    kinds = [list if isinstance(one, tuple) else type(one) for one in (value, default)]
    return default is None or kinds[0] is kinds[1] or kinds == [int, float]
