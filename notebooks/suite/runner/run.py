"""The runner: executes what is not up to date, one folder of results a notebook, and makes the report.

A notebook writes into `results/<profile>/.NN_name.staging`; when its last cell is done the folder takes the place of
`results/<profile>/NN_name`. So results are whole or absent, and a run that was stopped resumes where it stopped.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from tqdm import tqdm

from suite.profiles import DATA_VARIABLE, PROFILES, PUBLISHED, RECORDED, data_dir
from suite.results import headlines, ledger, pages
from suite.runner.freshness import Inputs, locked, read_record, recover, up_to_date
from suite.runner.notebook import Notebook, NotebookError, discover
from suite.sandbox.run import sandbox_status
from suite.worlds.recorded_states import encode_all
from trinity_core.paths import NOTEBOOKS, ROOT, results_root, write_atomic

REPORT_FILES = ("claims.json", "REPORT.md", "index.html")
GONE = "its notebook is no longer there, so its claims are left out; remove this folder"
UNSEEN = f"made with recorded files that were not compared, because {DATA_VARIABLE} is not set"
CHANGED = "not what ./run_all.sh would make now: the notebook, the suite or these files changed since"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
JOBS = 4  # notebooks at once, at most: beyond, cores serve better within the longest ones


def start(notebooks: list[Notebook], options: argparse.Namespace) -> int:
    """What `trinity run` does with options that `choose` has checked; the exit status."""
    folder = (options.out.absolute() if options.out else results_root()) / options.profile
    if options.test:  # tests/conftest.py puts the longest first and gives each worker its share of the threads
        return hand_over(["-m", "pytest", "-n", str(CORES), "--dist", "worksteal", *options.rest])
    if options.lab:
        return open_lab(options.rest)
    if options.list:
        return show_list(notebooks, folder)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup stays in force
            signal.signal(number, lambda number, _: sys.exit(128 + number))  # as Ctrl-C: stops kernels on the way out
    try:
        with locked(folder):
            return run(notebooks, folder, options)
    except (KeyboardInterrupt, SystemExit):
        print("\nStopped. Finished results are whole; the same command resumes.", file=sys.stderr)
        raise


def hand_over(words: list[str]) -> int:
    """Becomes another Python program, in the repository's folder."""
    environment = {**os.environ, **folders()}
    os.chdir(ROOT)
    sys.stdout.flush()
    return os.execve(sys.executable, [sys.executable, *words], environment)


def open_lab(rest: list[str]) -> int:
    """Becomes JupyterLab, in notebooks/."""
    place = f"--ServerApp.root_dir={ROOT}", "--LabApp.default_url=/lab/tree/notebooks"
    return hand_over(["-m", "jupyterlab", *place, *rest])


def show_list(notebooks: list[Notebook], folder: Path) -> int:
    """One line a notebook."""
    inputs = Inputs()
    for book in notebooks:
        try:
            task, title = inputs.task(book, folder, {}), book.title
            failed = "failed" if task.failed_copy.exists() else ""
            old = "out of date" if task.results.exists() else "never run"
            state = "up to date" if up_to_date(task) else failed or old
        except NotebookError as error:
            state, title = "not runnable", str(error)
        took = tqdm.format_interval(read_record(folder / book.name).get("seconds", 0))
        print(f"{book.name[:2]}  {book.name[3:]:28} {state:12} {took:>7}  {title}")
    tell(folder.name)
    return 0


def tell(profile: str) -> None:
    """Names notebooks that are none of the suite's, where a slip would go unnoticed, and recorded files that lack."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not path.match("[0-9][0-9]_*.ipynb"):
            print(f"left out: {NOTEBOOKS.name}/{path.name} (its name is not NN_name.ipynb)")
    if profile == RECORDED and not os.environ.get(DATA_VARIABLE):
        print(
            f"{DATA_VARIABLE} is not set: notebooks on recorded LLMs end after one line, and results made with their "
            f"files are left as they are, uncompared. The files are published at {PUBLISHED}."
        )


def run(notebooks: list[Notebook], folder: Path, options: argparse.Namespace) -> int:
    """Executes what is not up to date, makes the report, says what happened."""
    began, profile, inputs = time.monotonic(), folder.name, Inputs()
    print(f"profile {profile}, encoder {PROFILES[profile].encoder}, results in {shown(folder)}")
    print(sandbox_status(), flush=True)
    tell(profile)
    recover(folder)
    tasks = [inputs.task(book, folder, dict(options.param)) for book in notebooks]
    old = [task for task in tasks if options.force or not up_to_date(task)]
    due = [task for task in old if options.force or not task.needs_data]
    for name in (task.name for task in old if task not in due):
        print(f"{name}: out of date, and left as it is: it was made with {DATA_VARIABLE}, which is not set")
    failed = encode_ahead([task.name for task in due if task.data is not None])
    ready = [task for task in due if task.name not in failed]
    ready.sort(key=lambda task: -read_record(task.results).get("seconds", 1e9))  # the longest first
    jobs = min(options.jobs or min(CORES, JOBS), max(len(ready), 1))
    if ready:
        from suite.runner.execution import execute_all  # seconds, which a run of nothing need not wait

        failed += execute_all(ready, jobs, kernel_environment(folder, jobs))
    reported = make_report(folder)
    if options.update and not failed:
        own = [task for task in tasks if task.notebook.own_profile == profile]
        for task in own:
            write_atomic(task.notebook.path, (task.results / task.notebook.path.name).read_bytes())
        write_atomic(headlines.README, headlines.readme())
        others = ", ".join(task.name for task in tasks if task not in own)
        rest = f"; not {others}, committed from another profile" if others else ""
        print(f"{len(own)} executed notebooks copied to {NOTEBOOKS.name}/{rest}")
    if idle := ", ".join(task.name for task in tasks if task.notebook.own_profile == RECORDED != profile):
        print(f"{idle}: one line here; they need {DATA_VARIABLE} and --profile {RECORDED} (README)")
    names = f" ({', '.join(sorted(failed))})" if failed else ""
    counts = f"{len(due) - len(failed)} run, {len(tasks) - len(old)} up to date, {len(failed)} failed{names}"
    print(f"{counts}, {tqdm.format_interval(time.monotonic() - began)}")
    return 1 if failed or not reported else 0


def encode_ahead(names: list[str]) -> list[str]:
    """Encodes, in sight, what these notebooks read, so that they run warm; returns those that now cannot run."""
    if names:
        print(f"Encoding what {', '.join(names)} read", flush=True)
        try:
            encode_all(data_dir())
        except (ValueError, OSError) as error:
            print(f"The encoding failed: {error}; not run: {', '.join(names)}", flush=True)
            return names
    return []


def kernel_environment(folder: Path, jobs: int) -> dict[str, str]:
    """What the kernels see: this suite, this run's folders, their share of the cores, no network where none is due."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MPLBACKEND", "TRINITY_STAGING")}
    environment |= folders() | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(NOTEBOOKS), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "TRINITY_RESULTS": str(folder.parent),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "TOKENIZERS_PARALLELISM": "false",
        "TQDM_DISABLE": "1",  # a bar would stay in the executed copy; the runner's own line shows the progress
    }
    shares = {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(max(1, CORES // jobs))}  # where the caller sets none
    return shares | environment | ({"HF_HUB_OFFLINE": "1"} if folder.name != "paper" else {})


def folders() -> dict[str, str]:
    """The caller's folders by variable: whoever gets them works in another folder than the caller."""
    names = ("TRINITY_CACHE", DATA_VARIABLE, "TRINITY_RESULTS")
    return {name: os.path.abspath(os.path.expanduser(os.environ[name])) for name in names if os.environ.get(name)}


def remarks(folder: Path) -> dict[str, str]:
    """What a reader of `results/<profile>` has to know: by results folder, why it is not what a run would make now.

    Empty text: it is. Results of other parameters, of an earlier state of the suite, or of a notebook that was renamed
    look like any others, so the report says it beside them.
    """
    books, inputs = {book.name: book for book in discover()}, Inputs()
    names = sorted(file.parent.name for file in folder.glob("[0-9][0-9]_*/claims.json"))
    return {name: _remark(books[name], folder, inputs) if name in books else GONE for name in names}


def _remark(book: Notebook, folder: Path, inputs: Inputs) -> str:
    try:
        task = inputs.task(book, folder, {})
    except NotebookError as error:
        return f"out of date: {error}"
    if up_to_date(task):
        return UNSEEN if task.needs_data else ""
    own = {name: repr(value) for name, value in task.parameters.items()}
    made = read_record(task.results).get("parameters", {}).items()
    other = ", ".join(f"{name} = {value}" for name, value in made if own.get(name) != value)
    return f"made with other parameters than the notebook's own: {other}" if other else CHANGED


def write_report(folder: Path) -> list[ledger.Notebook]:
    """Merges the claims of `results/<profile>`, writes the report's files, and returns what they hold."""
    notebooks = ledger.load(folder, folder.name, remarks(folder), GONE)
    texts = ledger.merged_json(notebooks, folder.name), pages.as_markdown(notebooks, folder.name)
    for name, text in zip(REPORT_FILES, (*texts, pages.as_html(notebooks, folder.name, folder)), strict=True):
        write_atomic(folder / name, text)
    return notebooks


def make_report(folder: Path) -> bool:
    """Makes the report and prints the count of verdicts; False where it failed."""
    if not list(folder.glob("[0-9][0-9]_*/claims.json")):
        return True  # nothing has claimed anything yet
    try:
        claims = [claim for notebook in write_report(folder) for claim in notebook.claims]
    except (ValueError, OSError) as error:
        print(f"The report failed: {error}", file=sys.stderr)
        return False
    verdicts = Counter(claim.verdict.value for claim in claims if claim.verdict)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    print(f"{len(claims)} claims: {counts or 'no verdict'}; {shown(folder / 'REPORT.md')}")
    return True


def shown(path: Path) -> str:
    """The path as the caller would write it: relative where it lies below the working folder."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
