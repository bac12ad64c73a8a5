"""The simulated pool: text-producing, fallible agents of different strength, which stand in for LLMs.

One draw decides each reply. With theta, difficulty and private as in `calibration`, p = sigmoid(theta - difficulty +
subject + private) is agent a's own chance on question q, and

    Worker    right with chance sigmoid(logit p + plan gain + diagnosis gain), else the question's wrong answer;
              first, where it sees an answer that no Verifier has rejected, it repeats that one with chance `keep`
    Thinker   says the concrete plan with chance p, else the general one: who could solve it can plan it. With chance
              `names_role` it names who is next: the Verifier where it would accept the answer itself, else the Worker
    Verifier  accepts a right or a wrong answer with its own rates, linear in p; a REVISE names a fault with chance p

The gain of a plan is that of the last plan which the Worker can read, whoever said it; a diagnosis counts where it is
the last verdict and the answer that it was about is wrong (the fault it names is then there to be found). As any LLM,
the pool gets nothing but the messages. The texts of `solutions` are known to be right or wrong; any other text goes
through the real checker.

Draws are keyed by (seed, question, agent, role, replicate), never by order. The same key gives the same draw in
whatever transcript, so a plan can turn wrong into right but never right into wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from operator import index
from typing import Any

from suite.checkers import is_right
from suite.pools.calibration import SimulatedFile, calibrated_logits, draw_terms, output_tokens, read_targets, sigmoid
from suite.pools.config import Messages, checked
from suite.pools.prompts import Case, ScriptedPool, kept
from suite.pools.solutions import Sayings, sayings
from suite.questions import load_questions
from trinity_core.draws import uniforms
from trinity_core.pool import PoolError, check_agent
from trinity_core.roles import parse_suggestion
from trinity_core.types import Message, Question

PLANS = {None: None, "vague": False, "good": True}
CHARACTERS_A_TOKEN = 4  # the usual rule of thumb for English; only counts and costs depend on it


@dataclass(frozen=True)
class SimulatedQuestion:
    """What the pool knows of a question: its texts, and how each kept Worker text or plan reads."""

    place: int
    question: Question
    says: Sayings
    correct: dict[str, bool]  # of a kept Worker text
    good: dict[str, bool]  # of a plan
    diagnosis: str  # as the transcript keeps it


class SimulatedPool(ScriptedPool):
    """Simulated agents over a fixed set of questions.

    `config` is the mapping of a pool file (see data/pools/paper7.yaml), `questions` those that it will be asked (None:
    those of the four in-distribution families). `chances` is p (L, n) in the order of `questions`, `logits` their
    logits, `terms` the normals behind them, `targets` the scores that were met.
    """

    remedy = "give it in load_pool(..., questions=...)"

    def __init__(
        self,
        config: Mapping[str, Any],
        questions: Sequence[Question] | None = None,
        seed: int = 0,
        assumptions: Mapping[str, float] | None = None,
    ) -> None:
        changed = {**config, "assumptions": {**config.get("assumptions", {}), **(assumptions or {})}}
        file = checked(SimulatedFile, changed, "the file")
        self.agents = tuple(entry.agent() for entry in file.agents)
        self.assumptions, self.seed = file.assumptions, int(seed)
        questions = load_questions() if questions is None else questions
        if not questions:
            raise PoolError("the simulated pool was given no questions; pass questions=load_questions()")
        self._learn([self._say_all(place, question) for place, question in enumerate(questions)])
        if len(self._by_text) < len(questions) or len(self._by_id) < len(questions):
            raise PoolError("a question stands twice in `questions` (same text or id); give each once")
        families = list(dict.fromkeys(question.family for question in questions))
        self.targets = read_targets(file)
        if missing := [family for family in families if family not in file.scores]:
            raise PoolError(f"no `scores` for the questions' family {missing[0]!r}; add its table and column")
        self._tokens = output_tokens(file, families)
        self.terms = draw_terms(self.agents, self.questions, self.seed)
        self.logits = calibrated_logits(self.agents, self.questions, self.terms, self.assumptions, self.targets)
        self.chances = sigmoid(self.logits)
        self._logits, self._chances = self.logits.tolist(), self.chances.tolist()  # floats: quicker one at a time

    def _say_all(self, place: int, question: Question) -> SimulatedQuestion:
        says = sayings(question)
        correct = {kept(says.right): True, kept(says.wrong): False}
        good = {parse_suggestion(texts[0]).plan: bool(value) for value, texts in enumerate(says.plans)}
        return SimulatedQuestion(place, question, says, correct, good, kept(says.diagnosis, "verifier"))

    def probability(
        self, agent: int, question: Question | str, *, plan: str | None = None, diagnosed: bool = False
    ) -> float:
        """P(a fresh Worker's answer is right), exactly, with the last plan read ("good" or "vague") and with a true
        diagnosis or not."""
        check_agent(self, agent)
        return self._solves(agent, self.known(question).place, PLANS[plan], diagnosed)

    def plan_probability(self, agent: int, question: Question | str) -> float:
        """P(a Thinker's plan is the concrete one) = p, which is also P(its REVISE as a Verifier names a fault)."""
        check_agent(self, agent)
        return self._chances[agent][self.known(question).place]

    def accept_probability(self, agent: int, question: Question | str, right: bool) -> float:
        """P(a Verifier accepts) an answer that is right, or wrong."""
        return self.assumptions.accept(right, self.plan_probability(agent, question))

    def mean_tokens(self, agent: int, family: str) -> float:
        """The average output tokens of one call of an agent on a family's questions."""
        return self._tokens[check_agent(self, agent).name, family]

    def _solves(self, agent: int, place: int, good_plan: bool | None, diagnosed: bool) -> float:
        gains, z = self.assumptions, self._logits[agent][place]
        if good_plan is not None:
            z += gains.plan_gain_good if good_plan else gains.plan_gain_vague
        if diagnosed:
            z += gains.diagnosis_gain
        return 1.0 / (1.0 + exp(-z)) if z > -700 else 0.0

    def _answer(self, agent: int, known: SimulatedQuestion, case: Case, messages: Messages, replicate: int) -> Message:
        who = self.agents[agent]
        draw = uniforms(4, "simulated", self.seed, known.question.id, who.name, case.role, index(replicate)).tolist()
        text = self._say(agent, known, case, draw)
        tokens_in = -(-sum(len(message["content"]) for message in messages) // CHARACTERS_A_TOKEN)
        width = self.assumptions.token_spread
        tokens_out = round(self._tokens[who.name, known.question.family] * (1 - width + 2 * width * draw[3]))
        cost = None if who.price is None else tokens_in * who.price[0] + tokens_out * who.price[1]
        return Message(text, tokens_in, tokens_out, cost, "stop")

    def _say(self, agent: int, known: SimulatedQuestion, case: Case, draw: list[float]) -> str:
        gains, says, skill = self.assumptions, known.says, self._chances[agent][known.place]
        stands = case.answer is not None and not case.rejected
        if case.role == "worker":
            if stands and draw[1] < gains.keep:
                return case.answer
            good = None if case.plan is None else known.good.get(case.plan, False)  # an unknown plan is a general one
            diagnosed = case.verdict == known.diagnosis and not self._right(known, case.answer)
            if draw[0] < self._solves(agent, known.place, good, diagnosed):
                return says.right
            return says.wrong
        accept = gains.accept(self._right(known, case.answer), skill)
        if case.role == "thinker":
            named = 1 + (stands and draw[1] < accept) if draw[2] < gains.names_role else 0
            return says.plans[draw[0] < skill][named]
        if draw[0] < accept:
            return says.accept
        return says.diagnosis if draw[2] < skill else says.revise

    def _right(self, known: SimulatedQuestion, answer: str | None) -> bool:
        if answer is not None and answer not in known.correct:
            known.correct[answer] = is_right(known.question, answer)
        return answer is not None and known.correct[answer]
