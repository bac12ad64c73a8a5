"""`train`: one signature for every way to learn a coordinator, one budget, one log.

The budget B_env counts atomic evaluations, that is single rollouts. No method can spend more: an iteration that would
is not begun (for random search it is cut to whole vectors). Failed rollouts have been paid for and count, but are left
out of a candidate's mean; a candidate all of whose rollouts failed is played again once, then the training stops with
an error, its log whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trinity_core.training.learners import Learner, RandomSearch, Reinforce, SepCmaEs
from trinity_core.training.log import TrainingLog
from trinity_core.training.sft import Sft, collect, fit, told_labels
from trinity_core.training.task import Task
from trinity_core.types import ROLES
from trinity_core.world import Plays

if TYPE_CHECKING:
    import pandas as pd

METHODS: dict[str, Any] = {
    "sep-cma-es": SepCmaEs(),
    "random-search": RandomSearch(),
    "reinforce": Reinforce(),
    "sft": Sft(),
}
PAPER_BUDGET = 33 * 16 * 60


class TrainingError(RuntimeError):
    """A training that cannot go on; its log is whole."""


@dataclass(frozen=True)
class TrainingResult:
    """`theta` (n,), its history (one row an iteration), the atomic `evaluations` spent, and why it ended (`stop`).

    `history` columns: iteration, evaluations, fitness, best, flat (all candidates equal), failed, sigma, turns, tokens,
    cost, one `agent: NAME` and one `role: NAME` share each. `checkpoints`: asked budget -> theta (n,) after the last
    whole iteration within that budget.
    """

    method: str
    theta: np.ndarray
    history: pd.DataFrame
    evaluations: int
    stop: str
    seconds: float
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
    on the way (no method here looks ahead to its budget). ValueError for an unknown method, a seed below 0 or a
    budget too small for one iteration; `LogError` for a log of other settings; `TrainingError` where a candidate cannot
    be judged.
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}")
    for name, value in (("seed", seed), ("budget", budget)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{name} is {value!r}; give a whole number of at least 0")
    settings = METHODS[method] if settings is None else settings
    if not isinstance(settings, type(METHODS[method])):
        raise ValueError(f"settings of {method} must be a {type(METHODS[method]).__name__}, not {settings!r}")
    began = time.perf_counter()
    writer = None
    if log is not None:
        described = {"method": method, "budget": int(budget), "seed": int(seed), "settings": asdict(settings)}
        writer = TrainingLog(log, described | {"task": task.describe()})
    try:
        if method == "sft":
            result = _train_sft(task, int(budget), int(seed), settings, writer)
        else:
            run = _Run(task, int(budget), int(seed), settings, writer, progress or (lambda _: None))
            result = run.run(method, checkpoints)
    finally:
        if writer:
            writer.close()
    return replace(result, seconds=time.perf_counter() - began)


class _Run:
    """One training by ask and tell."""

    def __init__(
        self,
        task: Task,
        budget: int,
        seed: int,
        settings: Any,
        log: TrainingLog | None,
        progress: Callable[[int], None],
    ) -> None:
        self.task, self.budget, self.seed, self.log, self.progress = task, budget, seed, log, progress
        self.settings = settings
        self.learner: Learner = settings.start(task, seed)
        self.evaluations = 0
        self.rows: list[dict[str, Any]] = []

    def run(self, method: str, checkpoints: Sequence[int]) -> TrainingResult:
        """The whole training."""
        import pandas as pd

        kept: dict[int, np.ndarray] = {}
        stop = self._loop(sorted(checkpoints), kept)
        if not self.rows:
            thetas, rollouts = self.learner.ask(0)
            least = rollouts if isinstance(self.settings, RandomSearch) else len(thetas) * rollouts
            raise ValueError(
                f"a budget of {self.budget} atomic evaluations is too small for one iteration of {method}; give at "
                f"least {least}"
            )
        return TrainingResult(method, self.learner.theta, pd.DataFrame(self.rows), self.evaluations, stop, 0.0, kept)

    def _loop(self, checkpoints: list[int], kept: dict[int, np.ndarray]) -> str:
        lines = self.log.lines if self.log else []
        iteration = 0
        while True:
            thetas, rollouts = self.learner.ask(iteration)
            for budget in checkpoints[len(kept) :]:
                if self.evaluations + len(thetas) * rollouts > budget:
                    kept[budget] = self.learner.theta.copy()
            affordable = (self.budget - self.evaluations) // rollouts
            if affordable < len(thetas):
                if not isinstance(self.settings, RandomSearch) or affordable < 1:
                    return "budget spent"
                thetas = thetas[:affordable]
            if iteration < len(lines):
                line = lines[iteration]
                fitness = np.array(line["fitness"])
                if len(fitness) != len(thetas):
                    raise TrainingError(
                        f"the log's iteration {iteration} has {len(fitness)} candidates, not {len(thetas)}"
                    )
                self.learner.replay(fitness, line["told"])
            else:
                line = self._play(iteration, thetas, rollouts)
                if self.log:
                    self.log.append(line)
            spent = line["row"]["evaluations"] - self.evaluations
            self.evaluations = line["row"]["evaluations"]
            self.rows.append(line["row"])
            self.progress(spent)
            iteration += 1

    def _play(self, iteration: int, thetas: np.ndarray, rollouts: int) -> dict[str, Any]:
        questions, replicates = self.task.cells(len(thetas), rollouts, self.seed, iteration, self.evaluations)
        plays = self.task.play(thetas, questions, replicates)
        fitness, spent = plays.fitness.copy(), thetas.shape[0] * rollouts
        for place in np.flatnonzero(np.isnan(fitness)):
            if self.evaluations + spent + rollouts > self.budget:
                raise TrainingError(
                    f"iteration {iteration}: all {rollouts} rollouts of candidate {place} failed and the budget of "
                    f"{self.budget} has no room to play it again; see the pool's errors, then start again"
                )
            again = self.task.play(
                thetas[place : place + 1],
                questions[place : place + 1],
                self.evaluations + spent + np.arange(rollouts)[None],
            )
            spent += rollouts
            fitness[place] = again.fitness[0]
            if np.isnan(fitness[place]):
                raise TrainingError(
                    f"iteration {iteration}: all {2 * rollouts} rollouts of candidate {place} failed; see the pool's "
                    "errors, then start again: the training goes on from here"
                )
        told = self.learner.tell(fitness, plays)
        row = self._row(iteration, fitness, plays, spent, told)
        return {"iteration": iteration, "fitness": fitness.tolist(), "told": told, "row": row}

    def _row(
        self, iteration: int, fitness: np.ndarray, plays: Plays, spent: int, told: dict[str, Any]
    ) -> dict[str, Any]:
        names = [agent.name for agent in self.task.world.pool.agents]
        return {
            "iteration": iteration,
            "evaluations": self.evaluations + spent,
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


def _train_sft(task: Task, budget: int, seed: int, settings: Sft, log: TrainingLog | None) -> TrainingResult:
    import pandas as pd

    if task.head.name != "linear" or task.svf is not None:
        raise ValueError(f"SFT trains the linear head without SVF, not {task.head.name!r}")
    if log and log.lines:
        questions, labels, spent = told_labels(log.lines[0])
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
    row = {"iteration": 0, "evaluations": spent, "labels": len(labels), "label_accuracy": accuracy}
    return TrainingResult("sft", theta, pd.DataFrame([row]), spent, "labels fitted", 0.0)
