"""The runner behind `./run_all.sh`: executes what is not up to date, one folder of results a notebook.

A notebook writes into `results/<profile>/.NN_name.staging`; when its last cell is done the folder takes the place of
`results/<profile>/NN_name`. So results are whole or absent, and a run that was stopped resumes where it stopped.
Only the standard library is imported here: arguments are checked before any environment is set up.
"""

from __future__ import annotations

import argparse
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

from suite.console import run_command
from suite.profiles import DATA_VARIABLE, PROFILES, PUBLISHED, RECORDED
from suite.runner import env, freshness
from suite.runner.execution import elapsed, execute_all, run_visibly
from suite.runner.notebook import Notebook, NotebookError
from suite.runner.options import build_parser, choose, parse
from trinity_core.paths import NOTEBOOKS, ROOT, write_atomic

ENCODE = ("suite.commands", "recordings", "encode")  # every hidden state that notebooks on recorded LLMs read
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
    tell_data(options)
    return 0


def tell_unnumbered() -> None:
    """Names the notebooks that are none of the suite's: a slip in a new name would go unnoticed."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not path.match("[0-9][0-9]_*.ipynb"):
            print(f"left out: {NOTEBOOKS.name}/{path.name} (its name is not NN_name.ipynb)", flush=True)


def tell_data(options: argparse.Namespace) -> None:
    """Says which notebooks go without recorded LLMs' files where these are asked for and not named."""
    if options.profile != RECORDED or os.environ.get(DATA_VARIABLE):
        return
    print(
        f"{DATA_VARIABLE} is not set: notebooks on recorded LLMs end after one line, and results made with their files "
        f"are left as they are, uncompared. The files are published at {PUBLISHED}.",
        flush=True,
    )


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


def write_report(folder: Path, profile: str) -> list[Any]:
    """Merges the claims of `results/<profile>` and writes the report; what it was made from."""
    from suite.results import ledger, pages

    notebooks = ledger.load(folder, profile, freshness.remarks(folder, profile), freshness.GONE)
    merged = ledger.merged_json(notebooks, profile), pages.as_markdown(notebooks, profile)
    for name, text in zip(REPORT_FILES, (*merged, pages.as_html(notebooks, profile, folder)), strict=True):
        write_atomic(folder / name, text)
    return notebooks


def open_lab(rest: list[str]) -> int:
    return hand_over(argparse.Namespace(test=False, rest=rest))


def run(notebooks: list[Notebook], options: argparse.Namespace) -> int:
    """Executes what is not up to date, makes the report, says what happened."""
    began = time.monotonic()
    profile = PROFILES[options.profile]
    print(f"profile {profile.name}, encoder {profile.encoder}, results in {shown(options.folder)}", flush=True)
    from suite.sandbox.run import sandbox_status  # --help does not wait for it

    print(sandbox_status(), flush=True)
    tell_unnumbered()
    tell_data(options)
    freshness.recover(options.folder)
    inputs = freshness.inputs_digest()
    tasks = [freshness.make_task(book, options.folder, profile.name, options.changes, inputs) for book in notebooks]
    due = [task for task in tasks if options.force or not freshness.up_to_date(task)]
    kept = [] if options.force else [task for task in due if freshness.needs_data(task)]
    for task in kept:
        print(f"{task.name}: out of date, and left as it is: it was made with {DATA_VARIABLE}, which is not set")
    due = [task for task in due if task not in kept]
    failed = encode_ahead([task.name for task in due if task.data is not None], options)
    failed += execute_all([task for task in due if task.name not in failed], options.jobs, kernel_environment(options))
    report = make_report(options)
    if options.update and not failed:
        own = [task for task in tasks if task.notebook.own_profile == options.profile]
        for task in own:
            write_atomic(task.notebook.path, (task.results / task.notebook.path.name).read_bytes())
        others = [task.name for task in tasks if task not in own]
        rest = f"; not {', '.join(others)}, committed from another profile" if others else ""
        print(f"{len(own)} executed notebooks copied to {NOTEBOOKS.name}/{rest}")
    idle = [task.name for task in tasks if task.notebook.own_profile == RECORDED != profile.name]
    if idle:
        print(f"{', '.join(idle)}: one line here; they need {DATA_VARIABLE} and --profile {RECORDED} (README)")
    names = f" ({', '.join(failed)})" if failed else ""
    current = len(tasks) - len(due) - len(kept)
    counts = f"{len(due) - len(failed)} run, {current} up to date, {len(failed)} failed{names}"
    print(f"{counts}, {elapsed(time.monotonic() - began)}")
    return 1 if failed or not report else 0


def encode_ahead(names: list[str], options: argparse.Namespace) -> list[str]:
    """Encodes, in sight, what these notebooks read, so that they run warm; returns those that now cannot run."""
    if not names:
        return []
    print(f"Encoding what {', '.join(names)} read", flush=True)
    environment = kernel_environment(options)
    for name in ("TQDM_DISABLE", "OMP_NUM_THREADS"):  # a bar, and every core: no notebook runs beside it
        environment.pop(name, None)
        environment |= {name: os.environ[name]} if name in os.environ else {}
    status = run_visibly(environment, *ENCODE)
    if not status:
        return []
    print(f"The encoding failed with status {status}; not run: {', '.join(names)}", flush=True)
    return names


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
        command = ["-P", "-m", "suite.commands", "report", "--profile", options.profile, "--out", str(options.root)]
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
