"""What `./run_all.sh` is asked to do: its options, checked before any environment is set up; the notebooks they name.

Only the standard library is imported here.
"""

from __future__ import annotations

import argparse
import ast
import os
from typing import Any

from suite.profiles import DATA_FOLDERS, DATA_VARIABLE, PROFILES, PUBLISHED, RECORDED
from suite.runner.notebook import Notebook, discover
from trinity_core.paths import results_root

DEFAULT_PROFILE = "offline"
COMMITTED_PROFILES = (DEFAULT_PROFILE, RECORDED)  # each notebook's outputs are committed from one of them: its own


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run_all.sh",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs the notebooks in order and writes results/<profile>/. What is up to date is not run again.",
        epilog="profiles:\n" + "\n".join(f"  {p.name:9} {p.purpose} (encoder {p.encoder})" for p in PROFILES.values()),
    )
    add = parser.add_argument
    add("--profile", metavar="NAME", help=f"one of {', '.join(PROFILES)} (default {DEFAULT_PROFILE})")
    add("--only", metavar="LIST", help="these notebooks alone, by number or name: 00,02 or 02_separability")
    add("--param", metavar="NAME=VALUE", action="append", help="another value for a parameter; a Python literal")
    add("--out", metavar="DIR", help="the folder for results in place of results/")
    add("--force", action="store_true", help="run also what is up to date")
    add("--jobs", metavar="N", help="notebooks run at once (default 1)")
    add("--update", action="store_true", help="for maintainers: then copy the executed notebooks over notebooks/")
    actions = parser.add_mutually_exclusive_group()
    add = actions.add_argument
    add("--list", action="store_true", help="number, name, title, state and last duration of each notebook")
    add("--setup", action="store_true", help="set up the environment, nothing else")
    add("--lab", action="store_true", help="open JupyterLab in notebooks/; what follows -- goes to it")
    add("--test", action="store_true", help="run every test; what follows -- goes to pytest")
    return parser


def parse(parser: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """The options, checked; whatever cannot be meant ends the program with status 2 and names the value."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:at])
    options.rest = rest = arguments[at + 1 :]
    action = next((f"--{name}" for name in ("list", "setup", "lab", "test") if getattr(options, name)), None)
    if rest and action not in ("--lab", "--test"):
        parser.error(f"arguments after -- go with --lab or --test: {' '.join(rest)}")
    taken = ("profile", "only", "out") if action == "--list" else ()
    for name in ("profile", "only", "param", "out", "force", "jobs", "update"):
        if action and name not in taken and getattr(options, name):
            parser.error(f"--{name} does not go with {action}")
    options.profile = DEFAULT_PROFILE if options.profile is None else options.profile
    if options.profile not in PROFILES:
        parser.error(f"unknown profile {options.profile!r}; choose one of {', '.join(PROFILES)}")
    if options.update and (options.profile not in COMMITTED_PROFILES or options.param):
        names = " or ".join(COMMITTED_PROFILES)
        parser.error(f"--update needs profile {names} and the notebooks' own parameters")
    if options.profile == RECORDED:
        check_data(parser, options.update)
    jobs = "1" if options.jobs is None else options.jobs
    if not jobs.isdecimal() or int(jobs) < 1:
        parser.error(f"--jobs {jobs}: give a whole number from 1")
    options.jobs = int(jobs)
    if options.out is not None:
        if not options.out:
            parser.error("--out '': name a folder")
        os.environ["TRINITY_RESULTS"] = os.path.abspath(os.path.expanduser(options.out))
    said = f"--out {options.out}" if options.out is not None else "TRINITY_RESULTS"
    try:
        options.root = results_root()
        options.folder = options.root / options.profile
        for folder in (options.folder, *options.folder.parents):
            if folder.exists() and not folder.is_dir():
                parser.error(f"{said}: {folder} is not a folder")
    except (OSError, RuntimeError) as error:  # a name too long, a folder that may not be looked into, no such home
        parser.error(f"{said}: {getattr(error, 'strerror', None) or error}")
    options.changes = {}
    for text in options.param or []:
        name, _, value = text.partition("=")
        name = name.strip()
        try:
            literal = ast.literal_eval(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            parser.error(f"--param {text}: write NAME=VALUE with a Python literal, such as seed=7 or \"name='text'\"")
        if name == "profile":
            parser.error(f"--param {text}: use --profile")
        if name in options.changes:
            parser.error(f"--param {text}: {name} is given twice; give it once")
        if not plain(literal):
            parser.error(f"--param {text}: give numbers, texts, lists of them, or dicts whose keys are texts")
        options.changes[name] = literal
    return options


def check_data(parser: argparse.ArgumentParser, needed: bool) -> None:
    """Refuses a `TRINITY_DATA` that names no folder of recorded files, and one that is not set where it is needed."""
    named = os.environ.get(DATA_VARIABLE)
    folder = os.path.expanduser(named or "")
    if named and not any(os.path.isdir(os.path.join(folder, name)) for name in DATA_FOLDERS):
        what = f"holds none of the folders {', '.join(DATA_FOLDERS)}" if os.path.isdir(folder) else "is not a folder"
        parser.error(f"{DATA_VARIABLE}={named} {what}; it names the folder that holds them, published at {PUBLISHED}")
    if needed and not named:
        parser.error(f"--update with profile {RECORDED} needs {DATA_VARIABLE}; the files are published at {PUBLISHED}")


def plain(value: Any) -> bool:
    """Whether JSON, by which values reach a notebook, keeps the value as it is (a tuple arrives as a list)."""
    if isinstance(value, (list, tuple)):
        return all(map(plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(plain, value.values()))
    return value is None or isinstance(value, (bool, int, float, str))


def fits(value: Any, default: Any) -> bool:
    """Whether a parameter whose own value is `default` may be `value`: the same kind, or whole numbers for floats."""
    kinds = [list if isinstance(one, tuple) else type(one) for one in (value, default)]
    return default is None or kinds[0] is kinds[1] or kinds == [int, float]


def choose(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[Notebook]:
    """The notebooks that the options name, their parameters checked."""
    if options.setup or options.lab or options.test:
        return []
    every = discover()
    chosen = every
    if options.only is not None:
        wanted = [word.strip() for word in options.only.split(",")]
        for word in wanted:
            if not any(word in (book.name, book.name[:2], book.name[3:]) for book in every):
                names = ", ".join(book.name for book in every)
                parser.error(f"--only {options.only}: no notebook {word!r}; choose from {names}")
        chosen = [book for book in every if {book.name, book.name[:2], book.name[3:]} & set(wanted)]
    if options.list:
        return chosen
    own = [book for book in chosen if book.own_profile == options.profile]
    if options.update and not own:
        profiles = ", ".join(f"{book.name}: --profile {book.own_profile}" for book in chosen)
        parser.error(f"--update: no chosen notebook is committed from profile {options.profile} ({profiles})")
    if options.profile == RECORDED and options.only is None and own:
        chosen = own  # what the others say does not depend on recorded LLMs
    for book in chosen:
        for name in options.changes.keys() - book.parameters.keys():
            parser.error(f"--param {name}: {book.name} has no such parameter; it has {', '.join(book.parameters)}")
        for name, value in options.changes.items():
            default = book.parameters[name]
            if not fits(value, default):
                kind = type(default).__name__
                parser.error(f"--param {name}={value!r}: in {book.name} it is of type {kind}, as {default!r}")
    return chosen
