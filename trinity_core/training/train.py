"""`train`: one signature for every way to learn a coordinator, one budget, one log.

The budget B_env counts atomic evaluations, that is single rollouts: an iteration that would pass it is not begun (for
random search it is cut to whole vectors). Failed rollouts count, but are left out of a candidate's mean; a candidate
all of whose rollouts failed is played again once, then the training stops with an error, its log whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trinity_core.checks import one_of, whole
from trinity_core.training.learners import Learner, RandomSearch, Reinforce, SepCmaEs
from trinity_core.training.log import TrainingLog
from trinity_core.training.sft import Sft, collect, fit
from trinity_core.training.task import Task
from trinity_core.types import ROLES
from trinity_core.world import Plays

if TYPE_CHECKING:
    import pandas as pd

METHODS = {"sep-cma-es": SepCmaEs(), "random-search": RandomSearch(), "reinforce": Reinforce(), "sft": Sft()}
PAPER_BUDGET = 33 * 16 * 60


class TrainingError(RuntimeError):
    """A training that cannot go on; its log is whole."""


@dataclass(frozen=True)
class TrainingResult:
    """`theta` (n,), its history (one row an iteration: see `_summary`), the atomic `evaluations` spent, why it ended
    (`stop`). `checkpoints`: asked budget -> theta (n,) after the last whole iteration within that budget."""

    method: str
    theta: np.ndarray
    history: pd.DataFrame
    evaluations: int
    stop: str
    checkpoints: Mapping[int, np.ndarray] = field(default_factory=dict)


def train(
    method: str,
    task: Task,
    budget: int,
    seed: int,
    *,
    settings: Any = None,
    log: str | Path | None = None,
    progress: Callable[[int], None] | None = None,
    checkpoints: Sequence[int] = (),
) -> TrainingResult:
    """Learns theta for `task` by `method` (a key of `METHODS`) within `budget` atomic evaluations.

    `settings` replaces the method's own. `log`: a file to write and, where it is there already, to go on from.
    `progress` is called with the evaluations of each iteration. `checkpoints`: smaller budgets whose results are kept
    on the way. ValueError for an unknown method, a seed below 0 or a budget too small for one iteration; `LogError` for
    a log of other settings; `TrainingError` where a candidate cannot be judged.
    """
    one_of("method", method, METHODS)
    budget, seed = whole("budget", budget, 0), whole("seed", seed, 0)
    settings = METHODS[method] if settings is None else settings
    if not isinstance(settings, type(METHODS[method])):
        raise ValueError(f"settings of {method} must be a {type(METHODS[method]).__name__}, not {settings!r}")
    import pandas as pd

    described = {"method": method, "budget": budget, "seed": seed, "settings": asdict(settings)}
    opened = closing(TrainingLog(log, described | {"task": task.describe()})) if log else nullcontext()
    with opened as written:
        if method == "sft":
            return _by_labels(task, budget, seed, settings, written)
        learner = settings.start(task, seed)
        rows, kept = _by_rollouts(task, learner, budget, seed, written, progress, sorted(checkpoints))
        history = pd.DataFrame(rows)
        return TrainingResult(method, learner.theta, history, rows[-1]["evaluations"], "budget spent", kept)


def _by_rollouts(
    task: Task, learner: Learner, budget: int, seed: int, log: TrainingLog | None, progress: Any, checkpoints: list[int]
) -> tuple[list[dict[str, Any]], dict[int, np.ndarray]]:
    """Ask and tell until the next iteration would pass the budget: (the history's rows, checkpoints)."""
    rows: list[dict[str, Any]] = []
    kept: dict[int, np.ndarray] = {}
    evaluations = 0
    lines = log.lines if log else []
    while True:
        iteration = len(rows)
        thetas, rollouts = learner.ask(iteration)
        for smaller in checkpoints[len(kept) :]:
            if evaluations + len(thetas) * rollouts > smaller:
                kept[smaller] = learner.theta.copy()
        affordable = (budget - evaluations) // rollouts
        if affordable < (1 if learner.divisible else len(thetas)):
            break
        thetas = thetas[:affordable]
        if iteration < len(lines):
            line = lines[iteration]
            learner.replay(np.array(line["fitness"]), line["told"])
        else:
            fitness, plays, spent = _play(task, thetas, rollouts, seed, iteration, evaluations, budget)
            told = learner.tell(fitness, plays)
            row = {"iteration": iteration, "evaluations": evaluations + spent, **_summary(task, fitness, plays, told)}
            line = {"iteration": iteration, "fitness": fitness.tolist(), "told": told, "row": row}
            if log:
                log.append(line)
        rows.append(line["row"])
        if progress:
            progress(rows[-1]["evaluations"] - evaluations)
        evaluations = rows[-1]["evaluations"]
    if not rows:
        least = rollouts if learner.divisible else len(thetas) * rollouts
        raise ValueError(f"a budget of {budget} evaluations is too small for one iteration; give at least {least}")
    return rows, kept


def _play(
    task: Task, thetas: np.ndarray, rollouts: int, seed: int, iteration: int, before: int, budget: int
) -> tuple[np.ndarray, Plays, int]:
    """(fitness (lambda,), the rollouts, how many were spent); a candidate whose rollouts all failed is played again."""
    questions, replicates = task.cells(len(thetas), rollouts, seed, iteration, before)
    plays = task.play(thetas, questions, replicates)
    fitness, spent = plays.fitness.copy(), len(thetas) * rollouts
    for place in np.flatnonzero(np.isnan(fitness)):
        trouble = f"iteration {iteration}: all rollouts of candidate {place} failed, {rollouts} and"
        if before + spent + rollouts > budget:
            raise TrainingError(f"{trouble} the budget of {budget} has no room to play it again; see the pool's errors")
        one = slice(place, place + 1)
        again = task.play(thetas[one], questions[one], before + spent + np.arange(rollouts)[None])
        spent += rollouts
        fitness[place] = again.fitness[0]
        if np.isnan(fitness[place]):
            raise TrainingError(f"{trouble} {rollouts} more; see the pool's errors; started again it goes on from here")
    return fitness, plays, spent


def _summary(task: Task, fitness: np.ndarray, plays: Plays, told: Mapping[str, Any]) -> dict[str, Any]:
    names = [agent.name for agent in task.world.pool.agents]
    return {
        "fitness": float(fitness.mean()),
        "best": float(fitness.max()),
        "flat": bool(len(fitness) > 1 and (fitness == fitness[0]).all()),
        "failed": int(np.isnan(plays.reward).sum()),
        "sigma": told.get("sigma"),
        "turns": float(plays.turns.mean()),
        "tokens": float(plays.tokens_in.sum() + plays.tokens_out.sum()),
        "cost": float(plays.cost.sum()),
        **{f"agent: {name}": float(share) for name, share in zip(names, plays.agent_share(), strict=True)},
        **{f"role: {name}": float(share) for name, share in zip(ROLES, plays.role_share(), strict=True)},
    }


def _by_labels(task: Task, budget: int, seed: int, settings: Sft, log: TrainingLog | None) -> TrainingResult:
    import pandas as pd

    task.check_linear("SFT")
    if log and log.lines:
        questions, labels, spent = (np.array(log.lines[0][name]) for name in ("questions", "labels", "evaluations"))
    else:
        questions, labels, spent = collect(task, settings, budget, seed)
        if log:
            line = {"questions": questions.tolist(), "labels": labels.tolist(), "evaluations": spent}
            log.append({"iteration": 0} | line)
    features = task.features(questions)  # node i of a world is question i alone
    n_roles = task.head.size // task.head.d - task.world.n_agents  # 0 for a single step
    theta = fit(features, labels, settings, task.world.n_agents, n_roles, seed)
    logits = task.head.logits(theta, features)[:, : task.world.n_agents]
    accuracy = float((np.argmax(logits, axis=1) == labels).mean())
    row = {"iteration": 0, "evaluations": int(spent), "labels": len(labels), "label_accuracy": accuracy}
    return TrainingResult("sft", theta, pd.DataFrame([row]), int(spent), "labels fitted")
