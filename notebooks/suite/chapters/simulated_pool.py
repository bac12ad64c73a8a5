"""What fixed ways to coordinate gain in the simulated pool, exactly and without a coordinator; and its two spreads.

Whether a schedule (who acts in which role at each turn) ends with a right answer depends on a rollout's past only
through the latest answer (none, wrong, right), the last verdict on it (none, REVISE, REVISE with a fault named) and the
last plan (none, general, concrete). So its chance is found by carrying the distribution over these 27 states from turn
to turn, for all questions at once: no sampling. The sweep solves abilities again for every setting, so that the single
agents score the same everywhere.

`spreads` measures how much questions and agents differ on a record of repeated answers. By the model of
`pools.calibration` agent a is right on question q with chance sigmoid(theta_a - s_d x_q + s_p y_aq), x and y standard
normal. The variance of an agent's true chance over questions is that of its mean scores less the binomial part; the
covariance between two agents needs no correction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from suite.pools.calibration import Assumptions, calibrated_logits, sigmoid, subject_of
from suite.pools.simulated import SimulatedPool
from suite.pools.solutions import sayings
from trinity_core.roles import Transcript, build_prompt
from trinity_core.types import Question, Role

NONE, WRONG, RIGHT = 0, 1, 2  # the latest answer
FRESH, REVISED, DIAGNOSED = 0, 1, 2  # the last verdict on it
# An agent's number, one number a question (n,), or None: drawn evenly among all at each turn.
Who = int | np.ndarray | None
Schedule = Sequence[tuple[Who, Role]]
SETTINGS = ("private_sd", "plan_gain_good", "quality")  # of a sweep
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class World:
    """Logits (L, n) of the agents' own chances, each question's family (n,), and the assumptions."""

    logits: np.ndarray
    families: np.ndarray
    assumptions: Assumptions

    @cached_property
    def rows(self) -> dict[str, np.ndarray]:
        """Each family's places among the questions, in order of appearance."""
        return {name: np.flatnonzero(self.families == name) for name in dict.fromkeys(self.families.tolist())}

    @cached_property
    def single(self) -> np.ndarray:
        """What each agent scores alone, (L, families)."""
        return self.scores(sigmoid(self.logits))

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Means over each family's questions: values (..., n) -> (..., families)."""
        return np.stack([values[..., rows].mean(axis=-1) for rows in self.rows.values()], axis=-1)


class Outcome(NamedTuple):
    """Per question: the chance of a right final answer, and the expected number of calls."""

    right: np.ndarray
    calls: np.ndarray


def world_of(pool: SimulatedPool, split: str = "test", **changed: float) -> World:
    """The world of a pool's questions of one split; other assumptions: same draws, abilities solved again."""
    assumptions = pool.assumptions.model_copy(update=changed)
    places = [n for n, question in enumerate(pool.questions) if question.split == split]
    questions = [pool.questions[n] for n in places]
    logits = calibrated_logits(pool.agents, questions, pool.terms.at(places), assumptions, pool.targets)
    return World(logits, np.array([question.family for question in questions]), assumptions)


def run_schedule(world: World, schedule: Schedule) -> Outcome:
    """The exact outcome of a schedule. A Thinker may only act before any Worker: later it would name the next role."""
    roles = [role for _, role in schedule]
    if "worker" in roles and "thinker" in roles[roles.index("worker") :]:
        raise ValueError(f"schedule {roles}: a Thinker after a Worker names the next role, which a schedule has fixed")
    n = world.logits.shape[1]
    state = np.zeros((3, 3, 3, n))  # (answer, verdict, plan: none, general, concrete; question)
    state[NONE, FRESH, NONE] = 1.0
    accepted, calls = np.zeros(n), np.zeros(n)
    for who, role in schedule:
        if role == "verifier":
            state[NONE] = 0.0  # a Verifier before any answer ends the rollout, reward 0, without a call
        calls += state.sum(axis=(0, 1, 2))
        agents = range(len(world.logits)) if who is None else [who]
        moved = [_turn(role, state, world.assumptions, world.logits[agent, np.arange(n)]) for agent in agents]
        state = np.mean([new for new, _ in moved], axis=0)
        accepted += np.mean([right for _, right in moved], axis=0)
    return Outcome(accepted + state[RIGHT].sum(axis=(0, 1)), calls)


def _turn(role: Role, state: np.ndarray, a: Assumptions, z: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
    """(the state after a turn of an agent whose own logits are z (n,), the chance that a right answer was accepted)."""
    new, skill = np.zeros_like(state), sigmoid(z)
    if role == "thinker":
        mass = state.sum(axis=2)
        new[:, :, 1], new[:, :, 2] = mass * (1 - skill), mass * skill
        return new, 0.0
    if role == "verifier":
        for answer in (WRONG, RIGHT):
            refused = state[answer].sum(axis=0) * (1 - a.accept(answer == RIGHT, skill))
            new[answer, DIAGNOSED], new[answer, REVISED] = refused * skill, refused * (1 - skill)
        return new, state[RIGHT].sum(axis=(0, 1)) * a.accept(True, skill)
    repeated = a.keep * state[1:, FRESH]  # an answer that nobody has rejected: (wrong or right, plan, n)
    told = state[WRONG, DIAGNOSED]
    untold = state.sum(axis=(0, 1)) - told - repeated.sum(axis=0)
    z = z + np.array([0.0, a.plan_gain_vague, a.plan_gain_good])[:, None]
    right = untold * sigmoid(z) + told * sigmoid(z + a.diagnosis_gain)
    new[WRONG, FRESH] = repeated[0] + untold + told - right
    new[RIGHT, FRESH] = repeated[1] + right
    return new, 0.0


def best_single(world: World) -> int:
    """The agent whose mean score over the families is highest: the one to beat."""
    return int(world.single.mean(axis=-1).argmax())


def family_rank(world: World, rank: int) -> np.ndarray:
    """For each question the agent that is number `rank` (0: best) on its family."""
    order = np.argsort(-world.single, axis=0, kind="stable")[rank]
    chosen = np.empty(len(world.families), dtype=int)
    for agent, rows in zip(order, world.rows.values(), strict=True):
        chosen[rows] = agent
    return chosen


def policies(world: World) -> dict[str, Schedule]:
    """Sensible fixed ways to use the pool, none of which looks at the question beyond its family; at most 5 turns."""
    best, first, second = best_single(world), family_rank(world, 0), family_rank(world, 1)
    w, t, v = "worker", "thinker", "verifier"
    return {
        "best single agent": [(best, w)],
        "random agents, checked": [(None, w), (None, v), (None, w), (None, v), (None, w)],
        "best agent checks itself": [(best, w), (best, v), (best, w), (best, v), (best, w)],
        "plan first, one agent": [(best, t), (best, w), (best, v), (best, w), (best, v)],
        "choice by family": [(first, w)],
        "family's best two, taking turns": [(first, w), (second, v), (second, w), (first, v), (first, w)],
        "family's best two, plan first": [(first, t), (first, w), (second, v), (second, w), (first, v)],
    }


def gain(world: World, schedule: Schedule) -> float:
    """Mean score over the families, minus the best single agent's, in points (0 to 100)."""
    ours = world.scores(run_schedule(world, schedule).right).mean()
    single = world.single.mean(axis=-1).max()
    return float(100 * (ours - single))


def verdict_quality(quality: float) -> dict[str, float]:
    """Assumptions of Verifiers whose P(accept | right) - P(accept | wrong) is `quality`, whoever it is; 0 is a coin."""
    if not -1 <= quality <= 1:
        raise ValueError(f"verdict quality is {quality}; it must lie between -1 and 1")
    right, wrong = (1 + quality) / 2, (1 - quality) / 2
    return {f"accept_{a}_{b}": v for a, v in (("right", right), ("wrong", wrong)) for b in ("weak", "strong")}


def sweep(
    pool: SimulatedPool, policy: str, x: str, xs: Sequence[float], y: str, ys: Sequence[float], **fixed: float
) -> np.ndarray:
    """Gains (len(ys), len(xs)) of a policy; x and y name two of `SETTINGS`, `fixed` sets others (defaults: the pool's).
    Worlds are solved once for each private_sd: nothing else moves the single agents."""
    if unknown := [name for name in (x, y, *fixed) if name not in SETTINGS]:
        raise ValueError(f"unknown setting {unknown[0]!r} of a sweep; choose among {', '.join(SETTINGS)}")
    worlds: dict[float, World] = {}
    gains = np.empty((len(ys), len(xs)))
    for row, at_y in enumerate(ys):
        for column, at_x in enumerate(xs):
            values = fixed | {x: at_x, y: at_y}
            spread = values.pop("private_sd", pool.assumptions.private_sd)
            if spread not in worlds:
                worlds[spread] = world_of(pool, private_sd=spread)
            if "quality" in values:
                values |= verdict_quality(values.pop("quality"))
            assumptions = worlds[spread].assumptions.model_copy(update=values)
            world = replace(worlds[spread], assumptions=assumptions)
            gains[row, column] = gain(world, policies(world)[policy])
    return gains


def break_even(gains: np.ndarray, ys: Sequence[float]) -> np.ndarray:
    """For each column of gains (len(ys), columns) the y, rising, from which the gain stays above 0; NaN where none."""
    found = np.full(gains.shape[1], np.nan)
    for column, values in enumerate(gains.T):
        below = np.flatnonzero(values <= 0)
        if not len(below):
            found[column] = ys[0]
        elif (last := below[-1]) + 1 < len(ys):
            share = values[last] / (values[last] - values[last + 1])
            found[column] = ys[last] + share * (ys[last + 1] - ys[last])
    return found


def difference(world: World, ours: np.ndarray, theirs: np.ndarray, z: float = 1.96) -> tuple[float, float, float]:
    """(mean over families of ours - theirs, low, high) in points, for chances (n,); the interval is over questions."""
    gaps = 100 * (ours - theirs)
    variance = sum(gaps[rows].var(ddof=1) / len(rows) for rows in world.rows.values()) / len(world.rows) ** 2
    middle, width = float(world.scores(gaps).mean()), z * float(np.sqrt(variance))
    return middle, middle - width, middle + width


def outcomes(world: World) -> pd.DataFrame:
    """One row a policy: mean score over the families and per family (percent), gain with interval, calls a question."""
    single = sigmoid(world.logits)[best_single(world)]
    rows = []
    for name, schedule in policies(world).items():
        outcome = run_schedule(world, schedule)
        scores = 100 * world.scores(outcome.right)
        middle, low, high = difference(world, outcome.right, single)
        rows.append(
            {"policy": name, **dict(zip(world.rows, scores, strict=True)), "mean": scores.mean()}
            | {"gain": middle, "low": low, "high": high, "calls": world.scores(outcome.calls).mean()}
        )
    return pd.DataFrame(rows)


def complementarity(world: World, pool: SimulatedPool) -> pd.DataFrame:
    """One row a family: best single agent and its score, the best agent of each question (percent), and the gap."""
    chances = sigmoid(world.logits)
    best, union = world.single.argmax(axis=0), world.scores(chances.max(axis=0))
    return pd.DataFrame(
        {
            "family": name,
            "best single agent": pool.agents[best[n]].name,
            "its score": 100 * world.single[best[n], n],
            "best agent of each question": 100 * union[n],
            "gap": max(0.0, 100 * (union[n] - world.single[best[n], n])),
            "agents that are best somewhere": len(set(chances[:, world.rows[name]].argmax(axis=0).tolist())),
        }
        for n, name in enumerate(world.rows)
    )


def readable(pool: SimulatedPool) -> pd.DataFrame:
    """What choosing an agent for a single call gains by what is known of a question: test questions, percent, one row a
    way to choose. Learnt: the agent that was best on the training questions of the same kind; known: by the pool's own
    terms. Only the last row needs more than a text shows."""
    train, test = (world_of(pool, split) for split in ("train", "test"))
    asked = [question for question in pool.questions if question.split == "test"]
    places = [n for n, question in enumerate(pool.questions) if question.split == "test"]
    shown = test.logits - pool.assumptions.private_sd * pool.terms.at(places).private
    learnt_on = [question for question in pool.questions if question.split == "train"]
    chances = sigmoid(train.logits)

    def learnt(kind: Callable[[Question], str]) -> np.ndarray:
        kinds = np.array([kind(question) for question in learnt_on])
        best = {name: int(chances[:, kinds == name].mean(axis=1).argmax()) for name in dict.fromkeys(kinds.tolist())}
        family = family_rank(train, 0)
        of_family = {question.family: int(family[n]) for n, question in enumerate(learnt_on)}
        return np.array([best.get(kind(question), of_family[question.family]) for question in asked])

    ways = {
        "one agent for all": np.full(len(asked), best_single(train)),
        "by family, learnt": learnt(lambda question: question.family),
        "by subject or template, learnt": learnt(lambda question: f"{question.family} {subject_of(question)}"),
        "by all that the text shows, known": shown.argmax(axis=0),
        "by question, known": test.logits.argmax(axis=0),
    }
    right = {name: sigmoid(test.logits)[agent, np.arange(len(asked))] for name, agent in ways.items()}
    rows = {name: [*100 * test.scores(values), 100 * test.scores(values).mean()] for name, values in right.items()}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=[*test.rows, "mean"])
    return table.rename_axis("agent chosen").reset_index()


def measured(pool: SimulatedPool, replicates: int, split: str = "test", z: float = 2.576) -> pd.DataFrame:
    """One row an agent and family: its target, and its share of right answers in real replies to a first Worker's
    prompt, with an interval from the exact spread of single answers, sum of p (1 - p)."""
    rows = []
    asked = [(n, question) for n, question in enumerate(pool.questions) if question.split == split]
    prompts = {n: build_prompt("worker", Transcript(question.text)) for n, question in asked}
    right = {n: sayings(question).right for n, question in asked}
    for number, agent in enumerate(pool.agents):
        for family in dict.fromkeys(question.family for _, question in asked):
            chosen = [(n, question) for n, question in asked if question.family == family]
            marks = [pool.reply(number, prompts[n], r).text == right[n] for n, _ in chosen for r in range(replicates)]
            chances = pool.chances[number, [n for n, _ in chosen]]
            width = z * np.sqrt((chances * (1 - chances)).sum() * replicates) / len(marks)
            target, mean = pool.targets[agent.name, family], np.mean(marks)
            rows.append(
                {"agent": agent.name, "family": family, "target": 100 * target.value, "measured": 100 * mean}
                | {"low": 100 * (mean - width), "high": 100 * (mean + width), "assumed": target.assumed}
                | {"source": target.source}
            )
    return pd.DataFrame(rows)


def model_moments(means: np.ndarray, difficulty_sd: float, private_sd: float) -> tuple[float, float]:
    """Mean variance and covariance of true chances by the model, for agents of mean scores (L,), by quadrature."""
    total = np.hypot(difficulty_sd, private_sd)
    low, high = np.full(len(means), -60.0), np.full(len(means), 60.0)
    for _ in range(60):
        theta = (low + high) / 2
        below = sigmoid(theta[:, None] + total * NODES) @ WEIGHTS < means
        low, high = np.where(below, theta, low), np.where(below, high, theta)
    variance = sigmoid(theta[:, None] + total * NODES) ** 2 @ WEIGHTS - means**2
    given = sigmoid(theta[:, None, None] + difficulty_sd * NODES[:, None] + private_sd * NODES) @ WEIGHTS
    covariance = (given * WEIGHTS) @ given.T - np.outer(means, means)
    return float(variance.mean()), float(covariance[~np.eye(len(means), dtype=bool)].mean())


def spreads(scores: np.ndarray, answers: int) -> tuple[float, float]:
    """(s_d, s_p) in logits of scores (n, L): each the mean of `answers` right-or-wrong answers of an agent."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] < 2 or answers < 2:
        raise ValueError(f"scores {scores.shape} of {answers} answers: need (n, L >= 2) means of at least 2 answers")
    covariance, means, apart = np.cov(scores.T), scores.mean(axis=0), ~np.eye(scores.shape[1], dtype=bool)
    noise = (scores * (1 - scores)).mean(axis=0) / (answers - 1)
    wanted = np.array([(np.diag(covariance) - noise).mean(), covariance[apart].mean()])
    if not ((means > 0) & (means < 1)).all():
        raise ValueError(f"mean scores are {means}; an agent that is always right or always wrong tells no spread")
    fit = least_squares(lambda sd: 100 * (np.array(model_moments(means, *sd)) - wanted), [1.5, 1.5], bounds=(0.01, 20))
    return float(fit.x[0]), float(fit.x[1])
