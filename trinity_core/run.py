"""The runner behind `./run_all.sh`: executes what is not up to date, one folder of results a notebook.

A notebook writes into `results/<profile>/.NN_name.staging`; when its last cell is done the folder takes the place of
`results/<profile>/NN_name`. So results are whole or absent, and a run that was stopped resumes where it stopped.
Only the standard library is imported here: arguments are checked before any environment is set up.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from trinity_core import env, freshness
from trinity_core.console import run_command
from trinity_core.execution import elapsed, execute_all
from trinity_core.notebook import Notebook, NotebookError, discover
from trinity_core.paths import NOTEBOOKS, ROOT, results_root, write_atomic
from trinity_core.profiles import PROFILES

DEFAULT_PROFILE = "offline"
REPORT_FILES = ("claims.json", "REPORT.md", "index.html")
REPORT_KEY = ".report"  # a digest of what the report was made from
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """A signal asked the run to stop."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.status = 128 + number


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 all done, 1 something failed, 2 refused arguments, 128 + n stopped by signal n."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = build_parser()
    try:
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup stays in force
                signal.signal(number, _stop)
        options = parse(parser, arguments)
        notebooks = choose(parser, options)
        if options.list:
            return show_list(notebooks, options)
        fresh = env.ensure(arguments)
        if fresh or options.setup or options.test:
            said = env.install_bubblewrap()
            print(said, end="\n" if said else "", flush=True)
        if options.setup:
            print(f"The environment is ready: {sys.prefix}")
            return 0
        if options.test or options.lab:
            return hand_over(options)
        with freshness.locked(options.folder):
            return run(notebooks, options)
    except (env.SetupError, NotebookError) as error:
        print(f"run_all.sh: {error}", file=sys.stderr)
        return 1
    except Stopped as stopped:
        print("\nStopped. Finished results are whole; the same command resumes.", file=sys.stderr)
        return stopped.status


def _stop(number: int, _: Any) -> None:
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)  # once is enough: the children are stopped on the way out
    raise Stopped(number)


# --- arguments ---


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
    if options.update and (options.profile != DEFAULT_PROFILE or options.param):
        parser.error(f"--update needs profile {DEFAULT_PROFILE} and the notebooks' own parameters")
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
    for book in chosen if not options.list else ():  # a list says of each notebook what is wrong with it
        for name in options.changes.keys() - book.parameters.keys():
            parser.error(f"--param {name}: {book.name} has no such parameter; it has {', '.join(book.parameters)}")
        for name, value in options.changes.items():
            own = book.parameters[name]
            if not fits(value, own):
                parser.error(f"--param {name}={value!r}: in {book.name} it is of type {type(own).__name__}, as {own!r}")
    return chosen


# --- actions ---


def show_list(notebooks: list[Notebook], options: argparse.Namespace) -> int:
    """One line a notebook."""
    inputs = freshness.inputs_digest()
    for book in notebooks:
        record = freshness.read_record(options.folder / book.name)
        try:
            task = freshness.make_task(book, options.folder, options.profile, {}, inputs)
            failed = "failed" if task.failed_copy.exists() else ""
            old = "out of date" if task.results.exists() else "never run"
            state = "up to date" if freshness.up_to_date(task) else failed or old
            title = book.title
        except NotebookError as error:
            state, title = "not runnable", str(error)
        seconds = f"{record['seconds']:.0f} s" if "seconds" in record else "-"
        print(f"{book.name[:2]}  {book.name[3:]:28} {state:12} {seconds:>7}  {title}")
    tell_unnumbered()
    return 0


def tell_unnumbered() -> None:
    """Names the notebooks that are none of the suite's: a slip in a new name would go unnoticed."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not path.match("[0-9][0-9]_*.ipynb"):
            print(f"left out: {NOTEBOOKS.name}/{path.name} (its name is not NN_name.ipynb)", flush=True)


def hand_over(options: argparse.Namespace) -> int:
    """Becomes pytest or JupyterLab."""
    environment = {**os.environ, **absolute_folders(), "PYTHONPATH": env.python_path()}
    if options.test:
        command = ["-m", "pytest", *options.rest]
    else:
        where = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url=/lab/tree/{NOTEBOOKS.name}"]
        command = ["-m", "jupyterlab", *where, *options.rest]
    os.chdir(ROOT)
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *command], environment)
    return 1


def run(notebooks: list[Notebook], options: argparse.Namespace) -> int:
    """Executes what is not up to date, makes the report, says what happened."""
    began = time.monotonic()
    profile = PROFILES[options.profile]
    print(f"profile {profile.name}, encoder {profile.encoder}, results in {shown(options.folder)}", flush=True)
    from trinity_core.tasks.sandbox import sandbox_status  # --help does not wait for it

    print(sandbox_status(), flush=True)
    tell_unnumbered()
    freshness.recover(options.folder)
    inputs = freshness.inputs_digest()
    tasks = [freshness.make_task(book, options.folder, profile.name, options.changes, inputs) for book in notebooks]
    due = [task for task in tasks if options.force or not freshness.up_to_date(task)]
    failed = execute_all(due, options.jobs, kernel_environment(options))
    report = make_report(options)
    if options.update and not failed:
        for task in tasks:
            write_atomic(task.notebook.path, (task.results / task.notebook.path.name).read_bytes())
        print(f"{len(tasks)} executed notebooks copied to {NOTEBOOKS.name}/")
    names = f" ({', '.join(failed)})" if failed else ""
    counts = f"{len(due) - len(failed)} run, {len(tasks) - len(due)} up to date, {len(failed)} failed{names}"
    print(f"{counts}, {elapsed(time.monotonic() - began)}")
    return 1 if failed or not report else 0


def kernel_environment(options: argparse.Namespace) -> dict[str, str]:
    """What the kernels see: this suite, this run's folders, no network where the profile needs none."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MPLBACKEND", "TRINITY_STAGING")}
    environment |= absolute_folders()
    environment |= {
        "PYTHONPATH": env.python_path(),
        "TRINITY_RESULTS": str(options.root),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "TOKENIZERS_PARALLELISM": "false",
        "TQDM_DISABLE": "1",  # a bar would stay in the executed copy; the runner's own line shows the progress
    }
    environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as in `slm`, for notebooks that import torch first
    if options.profile != "paper":
        environment["HF_HUB_OFFLINE"] = "1"
    if options.jobs > 1:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        environment.setdefault("OMP_NUM_THREADS", str(max(1, cores // options.jobs)))
    return environment


def absolute_folders() -> dict[str, str]:
    """The caller's folders by variable: whoever gets them works in another folder than the caller."""
    names = ("TRINITY_CACHE", "TRINITY_DATA", "TRINITY_RESULTS")
    given = {name: os.environ[name] for name in names if os.environ.get(name)}
    return {name: os.path.abspath(os.path.expanduser(value)) for name, value in given.items()}


def make_report(options: argparse.Namespace) -> bool:
    """Makes the report where it is not current and prints the count of verdicts; False where it failed."""
    folder = options.folder
    records = sorted(folder.glob(f"[0-9][0-9]_*/{freshness.RECORD}"))
    if not any((record.parent / "claims.json").is_file() for record in records):
        return True  # nothing has claimed anything yet
    made_from = [[record.parent.name, freshness.file_digest(record)] for record in records]
    made_from += [freshness.remarks(folder, options.profile)]
    made = folder / REPORT_KEY

    def key() -> str:
        written = [freshness.file_digest(folder / name) if (folder / name).is_file() else "" for name in REPORT_FILES]
        return freshness.digest([made_from, written])

    if not made.is_file() or made.read_bytes() != key().encode():
        command = ["-P", "-m", "trinity_core.report", "--profile", options.profile, "--out", str(options.root)]
        environment = kernel_environment(options)
        done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            words = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
            print(f"The report failed with status {done.returncode}: {words}", file=sys.stderr)
            return False
        write_atomic(made, key())
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))["claims"]
    verdicts = Counter(claim["verdict"] for claim in claims)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    print(f"{len(claims)} claims: {counts or 'no verdict'}; {shown(folder / 'REPORT.md')}")
    return True


def shown(path: Path) -> str:
    """The path as the caller would write it: relative where it lies below the working folder."""
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


if __name__ == "__main__":
    run_command(main)
