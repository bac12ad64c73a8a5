"""The simulated pool: text-producing, fallible agents of different strength, which stand in for LLMs.

One draw decides each reply. With theta, difficulty and private as in `calibration`, p = sigmoid(theta - difficulty +
private) is agent a's own chance on question q, and

    Worker    right with chance sigmoid(logit p + plan gain + diagnosis gain), else one of the question's wrong answers;
              first, where it sees an answer that no Verifier has rejected, it repeats that one with chance `keep`
    Thinker   says the concrete plan with chance p, else the general one: who could solve it can plan it. It names the
              Worker next, or the Verifier where there is an answer that it would accept itself
    Verifier  accepts a right or a wrong answer with its own rates, linear in p; a REVISE names a fault with chance p

The gain of a plan is that of the last plan which the Worker can read, whoever said it; a diagnosis counts where it is
the last verdict and the answer that it was about is wrong (the fault it names is then there to be found).

The pool gets nothing but the messages, as any LLM: role, question, notes, plan and latest answer are read from the
prompt. The question is found by its text among those it was given. An answer's correctness is known for the closed set
of `solutions`; any other text goes through the real checker.

Draws are keyed by (seed, question, agent, role, replicate), never by order. The same key gives the same draw in
whatever transcript, so a plan can turn wrong into right but never right into wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf
from operator import index
from typing import Any, Literal

from suite.pools.calibration import (
    Target,
    calibrated_logits,
    draw_terms,
    output_tokens,
    read_assumptions,
    read_targets,
    sigmoid,
)
from suite.pools.config import check_keys, read_agents
from suite.pools.prompts import Case, read_case
from suite.pools.solutions import kept, sayings, spread
from trinity_core.draws import uniforms
from trinity_core.pool import PoolError, check_agent
from trinity_core.roles import parse_suggestion
from trinity_core.types import Message, Question

KEYS = ("description", "scores", "tokens", "assumptions", "agents")
CHARACTERS_A_TOKEN = 4  # the usual rule of thumb for English; only counts and costs depend on it
CACHED_PROMPTS = 4096
Plan = Literal["good", "vague"]


@dataclass(frozen=True)
class Known:
    """What the pool keeps of a question: its place, its texts, and how each kept Worker text or plan reads."""

    place: int
    question: Question
    says: Any
    correct: dict[str, bool]  # of a kept Worker text
    good: dict[str, bool]  # of a plan
    diagnosis: str  # as the transcript keeps it
    shares: Sequence[float]


class SimulatedPool:
    """Seven (or any number of) simulated agents over a fixed set of questions.

    `config` is the mapping of a pool file (see data/pools/paper7.yaml), `questions` those that it will be asked; their
    order does not matter. `abilities[family, split]` is theta (L,), `chances` p (L, n) in the order of `questions`,
    `terms` the normals behind them, `targets` the scores that were met. PoolError names a bad key, value or question.
    """

    def __init__(self, config: Mapping[str, Any], questions: Sequence[Question], seed: int = 0) -> None:
        check_keys(config, "the file", known=KEYS, required=("scores", "tokens", "assumptions", "agents"))
        self.agents = read_agents(config["agents"], extra_keys=("rows", "assumed"))
        self.assumptions = read_assumptions(config["assumptions"])
        self.seed, self.questions = int(seed), tuple(questions)
        if not self.questions:
            raise PoolError("the simulated pool was given no questions; pass questions=load_questions()")
        self._say_all()
        families = list(dict.fromkeys(question.family for question in self.questions))
        self.targets: dict[tuple[str, str], Target] = read_targets(_entries(config["agents"]), config["scores"])
        for family in families:
            if (self.agents[0].name, family) not in self.targets:
                raise PoolError(f"no `scores` for the questions' family {family!r}; add its table and column")
        self._tokens = output_tokens(self.agents, config["tokens"], families)
        self.terms = draw_terms(self.agents, self.questions, self.seed)
        self.logits, self.abilities = calibrated_logits(
            self.agents, self.questions, self.terms, self.assumptions, self.targets
        )
        self.chances = sigmoid(self.logits)
        self._logits, self._chances = self.logits.tolist(), self.chances.tolist()  # floats: quicker one at a time
        self._case = lru_cache(CACHED_PROMPTS)(read_case)

    def _say_all(self) -> None:
        self._known: dict[str, Known] = {}
        ids: set[str] = set()
        for place, question in enumerate(self.questions):
            if question.text.strip() in self._known or question.id in ids:
                raise PoolError(f"question {question.id} stands twice in `questions` (same text or id); give each once")
            ids.add(question.id)
            says = sayings(question)
            correct = {kept(says.right): True} | {kept(text): False for text in says.wrong}
            good = {parse_suggestion(texts[0]).plan: bool(value) for value, texts in enumerate(says.plans)}
            fault = f"REVISE {says.diagnosis.partition(chr(10))[0]}"
            shares = spread(self.assumptions.first_slip, len(says.wrong))
            self._known[question.text.strip()] = Known(place, question, says, correct, good, fault, shares)
        self._place = {question.id: place for place, question in enumerate(self.questions)}

    def probability(
        self, agent: int, question: Question | str, *, plan: Plan | None = None, diagnosed: bool = False
    ) -> float:
        """P(a fresh Worker's answer is right), exactly, with the last plan read and with a true diagnosis or not."""
        if plan not in (None, "good", "vague"):
            raise PoolError(f"plan is {plan!r}; choose 'good', 'vague' or None")
        return self._solves(agent, self._find(agent, question), None if plan is None else plan == "good", diagnosed)

    def plan_probability(self, agent: int, question: Question | str) -> float:
        """P(a Thinker's plan is the concrete one) = p, which is also P(its REVISE as a Verifier names a fault)."""
        return self._chances[agent][self._find(agent, question)]

    def accept_probability(self, agent: int, question: Question | str, right: bool) -> float:
        """P(a Verifier accepts) an answer that is right, or wrong."""
        return self.assumptions.accept(right, self._chances[agent][self._find(agent, question)])

    def known(self, question: Question | str) -> Known:
        """What the pool keeps of a question (by itself or its id); PoolError where it was not given."""
        return self._known[self.questions[self._find(0, question)].text.strip()]

    def mean_tokens(self, agent: int, family: str) -> float:
        """The average output tokens of one call of an agent on a family's questions."""
        return self._tokens[check_agent(self, agent).name, family]

    def _find(self, agent: int, question: Question | str) -> int:
        check_agent(self, agent)
        name = question if isinstance(question, str) else question.id
        if name not in self._place:
            raise PoolError(f"no question {name!r} in this simulated pool; give it among `questions`")
        return self._place[name]

    def _solves(self, agent: int, place: int, good_plan: bool | None, diagnosed: bool) -> float:
        gains, z = self.assumptions, self._logits[agent][place]
        if good_plan is not None:
            z += gains.plan_gain_good if good_plan else gains.plan_gain_vague
        if diagnosed:
            z += gains.diagnosis_gain
        return 1.0 / (1.0 + exp(-z)) if z > -700 else 0.0

    def reply(self, agent: int, messages: list[dict[str, str]], replicate: int) -> Message:
        """The agent's message; an error message where the prompt is not one of the roles' or the question unknown."""
        who = check_agent(self, agent)
        try:
            case = self._case(*(message["content"] for message in messages))
        except (ValueError, KeyError, TypeError) as error:
            return _failed(f"NotAPrompt: {error}; the simulated pool answers prompts of roles.build_prompt only")
        known = self._known.get(case.question)
        if known is None:
            return _failed(
                f"UnknownQuestion: no question of this text among the {len(self.questions)} that the simulated pool "
                f"was given ({case.question[:60]!r}); pass it in load_pool(..., questions=...)"
            )
        draw = uniforms(4, "simulated", self.seed, known.question.id, who.name, case.role, index(replicate)).tolist()
        say = {"worker": self._work, "thinker": self._think, "verifier": self._verify}[case.role]
        text = say(agent, known, case, draw)
        tokens_in = -(-sum(len(message["content"]) for message in messages) // CHARACTERS_A_TOKEN)
        width = self.assumptions.token_spread
        tokens_out = round(self._tokens[who.name, known.question.family] * (1 - width + 2 * width * draw[3]))
        cost = None if who.price is None else tokens_in * who.price[0] + tokens_out * who.price[1]
        return Message(text, tokens_in, tokens_out, cost, "stop")

    async def ask(self, agent: int, messages: list[dict[str, str]], replicate: int) -> Message:
        """`reply`, for callers that await."""
        return self.reply(agent, messages, replicate)

    def _work(self, agent: int, known: Known, case: Case, draw: list[float]) -> str:
        if case.answer is not None and not case.rejected and draw[1] < self.assumptions.keep:
            return case.answer
        good = None if case.plan is None else known.good.get(case.plan, False)  # an unknown plan is a general one
        diagnosed = case.verdict == known.diagnosis and not self._right(known, case.answer)
        if draw[0] < self._solves(agent, known.place, good, diagnosed):
            return known.says.right
        return next(t for t, share in zip(known.says.wrong, (*known.shares[:-1], inf), strict=True) if draw[2] < share)

    def _think(self, agent: int, known: Known, case: Case, draw: list[float]) -> str:
        skill = self._chances[agent][known.place]
        to_verifier = False
        if case.answer is not None and not case.rejected:
            to_verifier = draw[1] < self.assumptions.accept(self._right(known, case.answer), skill)
        return known.says.plans[draw[0] < skill][to_verifier]

    def _verify(self, agent: int, known: Known, case: Case, draw: list[float]) -> str:
        skill = self._chances[agent][known.place]
        if draw[0] < self.assumptions.accept(self._right(known, case.answer), skill):
            return known.says.accept
        return known.says.diagnosis if draw[2] < skill else known.says.revise

    def _right(self, known: Known, answer: str | None) -> bool:
        if answer not in known.correct:
            if answer is None:
                return False
            from suite.checkers import check_answer

            question = known.question
            known.correct[answer] = check_answer(question.kind, question.reference, answer, question=question).correct
        return known.correct[answer]


def _failed(error: str) -> Message:
    return Message("", None, None, None, "error", error=error)


def _entries(agents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The agents' calibration keys, checked: `rows` (table -> row), `assumed`."""
    entries = []
    for agent in agents:
        rows, assumed = agent.get("rows", {}), agent.get("assumed", False)
        if not isinstance(rows, Mapping) or not all(isinstance(v, str) for v in (*rows, *rows.values())):
            raise PoolError(f"agent {agent['name']}: `rows` is {rows!r}; give a mapping from table to row")
        if not isinstance(assumed, bool):
            raise PoolError(f"agent {agent['name']}: `assumed` is {assumed!r}; give true or false")
        entries.append({"name": agent["name"], "rows": rows, "assumed": assumed})
    return entries


def build(config: Mapping[str, Any], *, questions: Sequence[Question] | None = None, seed: int = 0) -> SimulatedPool:
    """The pool of a file's mapping. `questions` None: those of the four in-distribution families."""
    if questions is None:
        from suite.questions import load_questions

        questions = load_questions()
    return SimulatedPool(config, questions, seed)
