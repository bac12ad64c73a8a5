"""Many answers to one question, made into one: a majority of samples, and a mixture of agents (A.7.1).

Majority: of five answers of one agent the one that most of them give. The checkers say whether two samples give the
same answer, one standing as the other's reference (code: equal syntax trees); the grading reference is never read. A
sample without a readable answer has no vote; a tie goes to the answer seen first.

Mixture of agents (Wang et al. 2024), one layer: every agent proposes, one drawn at random is asked as a Worker who sees
all proposals in a drawn order. A simulated agent repeats the last proposal or works on its own: calls and costs are
right here, what reading proposals is worth is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from suite.baselines.base import Untrained, ask_all_agents, ask_once, failed, merged
from suite.baselines.single import Single
from suite.checkers import check as checkers
from suite.checkers import check_answer, choice_answers, is_right, math_reading, text_answers
from suite.checkers.marks import shown
from trinity_core.draws import uniforms
from trinity_core.pool import Pool
from trinity_core.rollout import Job, begin, finish, take_turn
from trinity_core.types import DataError, Question, Rollout
from trinity_core.world import WORKER

SAMPLES = 5


class Majority(Single):
    """Each agent's majority of `SAMPLES` answers."""

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout an agent and question, agent by agent; its samples are replicates 5r to 5r + 4 of `single`."""
        pairs = self.pairs(pool, questions)
        replicates = range(SAMPLES * replicate, SAMPLES * (replicate + 1))
        asked = ask_once(pool, pairs, seed=seed, replicates=replicates)
        rollouts = []
        for place, (agent, question) in enumerate(pairs):
            samples = asked[place :: len(pairs)]
            first = vote(question, [sample.answer for sample in samples])
            chosen = failed(samples) or (None if first is None else samples[first])
            rollouts.append(merged(samples, chosen, candidate=agent, replicate=replicate))
        return rollouts


def vote(question: Question, answers: Sequence[str | None]) -> int | None:
    """The place of the first answer that says what most of them say; None where none can be read."""
    groups: dict[str, list[int]] = {}  # what the first of a group states, and the places of its answers
    for place, answer in enumerate(answers):
        stated = None if answer is None else stated_answer(question, answer)
        if stated is not None:
            alike = (first for first in groups if same_answer(question, first, stated, answer))
            groups.setdefault(next(alike, stated), []).append(place)
    return max(groups.values(), key=len)[0] if groups else None


def stated_answer(question: Question, answer: str) -> str | None:
    """What a text states as its answer, as the question's kind of checker reads it; None: nothing."""
    if question.kind == "code":
        return checkers.extract_code(answer, question.meta.get("entry_point"))
    if question.kind == "choice":
        return choice_answers.extract(shown(answer), question.meta.get("options") or ())
    read = math_reading.extract if question.kind == "math" else text_answers.extract
    return read(shown(answer))


def same_answer(question: Question, first: str, stated: str, answer: str) -> bool:
    """Whether `answer`, which states `stated`, says what an earlier answer said, which stated `first`."""
    if first == stated:
        return True
    if question.kind == "code":
        try:
            return ast.dump(ast.parse(first)) == ast.dump(ast.parse(stated))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    try:
        return check_answer(question.kind, first, answer, question=question).correct
    except DataError:  # what an agent said need not be a sound reference
        return False


class MixtureOfAgents(Untrained):
    """One layer of all agents as proposers, one of them as aggregator."""

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout of L + 1 calls a question; of L where a proposer's call failed, which fails the rollout."""
        layers = []
        for column in ask_all_agents(pool, questions, seed=seed, replicate=replicate):
            name = column[0].question.id
            keys = [uniforms(1, "moa order", seed, name, replicate, agent)[0] for agent in range(len(column))]
            layers.append([column[agent] for agent in np.argsort(keys, kind="stable")])  # as the aggregator reads them
        whole = [layer for layer in layers if not failed(layer)]
        live = begin([Job(layer[0].question, 0, replicate) for layer in whole], is_right)
        for state, layer in zip(live, whole, strict=True):
            for proposal in layer:
                state.transcript = state.transcript.append("worker", proposal.turns[0].output)
        if live:
            draws = [uniforms(1, "moa aggregator", seed, state.job.question.id, replicate)[0] for state in live]
            agents = (np.array(draws) * len(pool.agents)).astype(int)
            take_turn(live, 2, agents, np.full(len(live), WORKER), pool)
        last = iter(finish(live, is_right))
        parts = [layer if failed(layer) else [*layer, next(last)] for layer in layers]
        return [merged(part, failed(part) or part[-1], replicate=replicate) for part in parts]
