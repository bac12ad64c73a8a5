"""Many answers to one question, made into one: a majority of samples, and a mixture of agents (A.7.1).

Majority: of five answers of one agent the one that most of them give. Whether two samples give the same answer is for
the checkers to say, one sample's answer standing as the other's reference (code: equal syntax trees), never by the
grading reference. A sample without a readable answer has no vote; a tie goes to the answer seen first.

Mixture of agents (Wang et al. 2024), one layer: every agent proposes, one drawn at random is asked as a Worker who sees
all proposals in a drawn order. A simulated agent repeats the last proposal or works on its own: calls and costs are
right here, what reading proposals is worth is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from suite.baselines.base import OfAgents, Untrained, ask_once, call_turn, failed, merged, numbered
from suite.checkers import check as checkers
from suite.checkers import check_answer, choice_answers, is_right, math_reading, text_answers
from suite.checkers.marks import shown
from trinity_core.draws import uniforms
from trinity_core.pool import Pool
from trinity_core.roles import Transcript, build_prompt, condense, visible
from trinity_core.rollout import TURNS_A_REPLICATE, ask_all
from trinity_core.types import DataError, Question, Rollout

SAMPLES = 5


class Majority(OfAgents):
    """Each agent's majority of `SAMPLES` answers."""

    name = "majority"

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout an agent and question, agent by agent; its samples are replicates 5r to 5r + 4 of `single`."""
        pairs = self.pairs(pool, questions)
        replicates = range(SAMPLES * replicate, SAMPLES * (replicate + 1))
        asked = ask_once(pool, pairs, seed=seed, replicates=replicates)
        rollouts = []
        for place, (agent, question) in enumerate(pairs):
            samples = asked[place :: len(pairs)]
            chosen = vote(question, [sample.answer for sample in samples])
            reward = None if failed(samples) else 0.0 if chosen is None else samples[chosen].reward
            answer = None if chosen is None else samples[chosen].answer
            rollouts.append(merged(samples, answer, reward, candidate=agent, replicate=replicate))
        return rollouts


def vote(question: Question, answers: Sequence[str | None]) -> int | None:
    """The place of the first answer that says what most of them say; None where none can be read."""
    groups: list[tuple[str, list[int]]] = []  # what the first of a group states, and the places of its answers
    for place, answer in enumerate(answers):
        stated = None if answer is None else stated_answer(question, answer)
        if stated is None:
            continue
        for first, places in groups:
            if same_answer(question, first, stated, answer):
                places.append(place)
                break
        else:
            groups.append((stated, [place]))
    return max(groups, key=lambda group: len(group[1]))[1][0] if groups else None


def stated_answer(question: Question, answer: str) -> str | None:
    """What a text states as its answer, read as the question's kind of checker reads it; None: nothing."""
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

    name = "moa"

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """One rollout of L + 1 calls a question; of L where a proposer's call failed, which fails the rollout."""
        n_agents = len(pool.agents)
        pairs = [(agent, question) for question in questions for agent in _order(question, n_agents, seed, replicate)]
        asked = ask_once(pool, pairs, seed=seed, replicates=[replicate])
        layers = [asked[start : start + n_agents] for start in range(0, len(asked), n_agents)]
        whole = [layer for layer in layers if not failed(layer)]
        requests = []
        for layer in whole:
            question = layer[0].question
            (draw,) = uniforms(1, "moa aggregator", seed, question.id, replicate)
            transcript = Transcript(question.text)
            for proposal in layer:
                transcript = transcript.append("worker", proposal.turns[0].output)
            prompt = build_prompt("worker", transcript)
            requests.append((int(draw * n_agents), prompt, replicate * TURNS_A_REPLICATE + 2))
        replies = dict(zip(map(id, whole), zip(requests, ask_all(pool, requests), strict=True), strict=True))
        return [self._aggregate(layer, replies.get(id(layer)), n_agents, replicate) for layer in layers]

    def _aggregate(self, layer: list[Rollout], last: tuple | None, n_agents: int, replicate: int) -> Rollout:
        if last is None:
            return merged(layer, None, None, replicate=replicate)
        (agent, prompt, _), message = last
        question, answer, reward = layer[0].question, None, 0.0
        if message.finish == "error":
            reward = None
        elif message.finish == "stop" and (answer := visible(message.text) or None):
            reward = float(is_right(question, answer))
        turn = call_turn(agent, n_agents, "worker", prompt, message, condense("worker", message))
        turns = numbered([*(turn for proposal in layer for turn in proposal.turns), turn])
        stop = "failed call" if reward is None else "turn limit"
        return Rollout(question, 0, replicate, turns, answer, reward, stop)


def _order(question: Question, n_agents: int, seed: int, replicate: int) -> list[int]:
    """The agents in the order in which the aggregator reads them."""
    keys = [uniforms(1, "moa order", seed, question.id, replicate, agent)[0] for agent in range(n_agents)]
    return sorted(range(n_agents), key=keys.__getitem__)
