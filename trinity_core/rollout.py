"""The tri-role loop (section 3.2), for many rollouts at once, in lockstep by turn; the reference for every other one.

Turn k of a rollout: the transcript C_(k-1) is encoded, the head gives the chances, agent A_k and role R_k are drawn,
A_k is asked with the role's prompt, its message M_k is condensed into O_k and appended. It stops at the first Verifier
who accepts, else after K turns; the latest Worker's answer, whole, is checked and gives the reward R in {0, 1}. What
the paper leaves open stands in `world` (rules of a turn) and `roles` (messages).

Each distinct transcript is encoded once, all heads act in one einsum, each distinct call is made once, all calls run
concurrently. Every draw is keyed by (seed, question, replicate, turn), so a rollout is the same whatever else is in the
batch; but float32 sums of other batches differ by some 1e-5 in a state, unless the encoder's cache holds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from trinity_core.coordinator import Policy
from trinity_core.draws import uniforms
from trinity_core.heads import agent_role_probabilities, decide
from trinity_core.pool import Pool, pool_loop
from trinity_core.roles import TRANSCRIPT_RULES, Transcript, build_prompt, condense, judge, suggestion, visible
from trinity_core.types import ROLES, Message, Question, Role, Rollout, Turn
from trinity_core.world import EARLY, FAILED, GOES_ON, NOBODY, STOPS, acting_roles, after_turn, rewards, too_early

if TYPE_CHECKING:
    from trinity_core.encoder import Encoder

TURNS_A_REPLICATE = 100  # a call's `replicate` is the rollout's times this plus the turn: each turn is a fresh draw
NOT_ASKED = Message("", 0, 0, 0.0, "stop")  # a Verifier who has nothing to verify is not called


@dataclass(frozen=True)
class Job:
    """One rollout to make: which question, by which candidate of the policy, and which replicate of its draws."""

    question: Question
    candidate: int = 0
    replicate: int = 0


@dataclass(frozen=True)
class LoopSettings:
    """`max_turns`: K (5 in the paper). `mode`: sample (training) or argmax. `transcript`: see `roles`. `seed`."""

    max_turns: int = 5
    mode: Literal["sample", "argmax"] = "sample"
    transcript: Literal["paper", "released"] = "paper"
    seed: int = 42

    def __post_init__(self) -> None:
        if not 1 <= self.max_turns < TURNS_A_REPLICATE:
            raise ValueError(f"max_turns is {self.max_turns}; give 1 to {TURNS_A_REPLICATE - 1}")
        if self.mode not in ("sample", "argmax"):
            raise ValueError(f"unknown decision mode {self.mode!r}; choose sample or argmax")
        if self.transcript not in TRANSCRIPT_RULES:
            raise ValueError(f"unknown transcript rule {self.transcript!r}; choose {' or '.join(TRANSCRIPT_RULES)}")


@dataclass
class Live:
    """A rollout under way."""

    job: Job
    transcript: Transcript
    turns: list[Turn] = field(default_factory=list)
    answer: str | None = None
    plan: str = ""  # the last Thinker's, for the next call alone (released rule)
    named: int = NOBODY  # the role that the last Thinker named, a place in ROLES
    stop: int = GOES_ON  # a place in STOPS


Check = Callable[[Question, str], bool]


def run_rollouts(
    jobs: Sequence[Job],
    policy: Policy,
    encoder: Encoder,
    pool: Pool,
    settings: LoopSettings = LoopSettings(),
    *,
    check: Check,
) -> list[Rollout]:
    """One `Rollout` a job, in the jobs' order. `check(question, answer)` says whether an answer is right.

    ValueError where the policy's agents are not the pool's, and what `check` raises for a question that it cannot
    judge, both before any call. A pool's `BudgetExceeded` passes through: answers so far are cached, so a rerun goes
    on there.
    """
    if policy.n_agents != len(pool.agents):
        raise ValueError(f"the policy chooses among {policy.n_agents} agents but the pool has {len(pool.agents)}")
    live = begin(jobs, check, settings.transcript)
    for turn in range(1, settings.max_turns + 1):
        acting = [state for state in live if state.stop == GOES_ON]
        if not acting:
            break
        logits = _logits(acting, policy, encoder)
        draws = [uniforms(2, "decision", settings.seed, s.job.question.id, s.job.replicate, turn) for s in acting]
        decision = decide(logits, policy.n_agents, mode=settings.mode, uniforms=np.array(draws))
        chances = agent_role_probabilities(logits, policy.n_agents)
        take_turn(acting, turn, decision.agents, decision.roles, pool, chances)
    return finish(live, check)


def begin(jobs: Sequence[Job], check: Check, transcript: str = "paper") -> list[Live]:
    """The jobs' rollouts before their first turn. Each question is tried on `check` with an empty answer, so that one
    that cannot be judged is refused before any call is paid for."""
    for question in {job.question.id: job.question for job in jobs}.values():
        check(question, "")
    return [Live(job, Transcript(job.question.text, rule=transcript)) for job in jobs]


def _logits(acting: list[Live], policy: Policy, encoder: Encoder) -> np.ndarray:
    """(batch, L + 3): each distinct transcript is encoded once."""
    candidates = np.array([state.job.candidate for state in acting])
    if hasattr(policy, "states"):  # SVF: each candidate reads by its own encoder
        return policy.logits(candidates, policy.states(candidates, [s.transcript.messages() for s in acting]))
    row_of = {transcript: row for row, transcript in enumerate({state.transcript: None for state in acting})}
    distinct = encoder.encode([transcript.messages() for transcript in row_of], reuse_prefix=True)
    return policy.logits(candidates, distinct[[row_of[state.transcript] for state in acting]])


def take_turn(
    acting: Sequence[Live], turn: int, agents: np.ndarray, roles: np.ndarray, pool: Pool, chances: Any = None
) -> None:
    """Moves `acting` on by one turn, number `turn`, by the chosen `agents` and `roles` (batch,), places in ROLES.

    `chances`: of agents (batch, L) and of roles (batch, 3), for the record; None: 1 for what was chosen.
    """
    named, answered = np.array([s.named for s in acting]), np.array([s.answer is not None for s in acting])
    roles = acting_roles(roles, named)
    shares = chances or (np.eye(len(pool.agents))[agents], np.eye(len(ROLES))[roles])
    names = [ROLES[role] for role in roles.tolist()]
    prompts = [
        () if early else tuple(build_prompt(name, s.transcript, answer=s.answer, plan=s.plan))
        for s, name, early in zip(acting, names, too_early(roles, answered).tolist(), strict=True)
    ]
    agents = np.asarray(agents).tolist()
    calls = [
        (agent, list(prompt), s.job.replicate * TURNS_A_REPLICATE + turn)
        for s, agent, prompt in zip(acting, agents, prompts, strict=True)
        if prompt
    ]
    replies = iter(ask_all(pool, calls))
    messages = [next(replies) if prompt else NOT_ASKED for prompt in prompts]
    heard = [_hear(name, m, s.transcript.rule) for s, name, m in zip(acting, names, messages, strict=True)]
    after = after_turn(
        roles,
        answered,
        whole=np.array([bool(h.output) and m.finish == "stop" for h, m in zip(heard, messages, strict=True)]),
        accepts=np.array([h.verdict == "ACCEPT" for h in heard]),
        suggested=np.array([NOBODY if h.suggests is None else ROLES.index(h.suggests) for h in heard]),
        failed=np.array([message.finish == "error" for message in messages]),
    )
    columns = (acting, agents, names, prompts, messages, heard, *(part.tolist() for part in (*after, *shares, named)))
    for s, agent, name, prompt, message, h, stop, names_next, answers, *record, was_named in zip(*columns, strict=True):
        if answers:
            s.answer = visible(message.text)  # not the output: code that lost its beginning would never pass
        s.plan, s.named, s.stop = h.plan, names_next, stop
        s.transcript = s.transcript.append(name, h.output)
        odds = (tuple(part) for part in record)
        overridden = was_named != NOBODY
        s.turns.append(Turn(turn, agent, name, overridden, *odds, prompt, message, h.output, h.verdict, h.suggests))


class _Heard(NamedTuple):
    """What a message amounts to: O_k, a plan for the next call alone, a Verifier's verdict, the role it names."""

    output: str = ""
    plan: str = ""
    verdict: Literal["ACCEPT", "REVISE"] | None = None
    suggests: Role | None = None


def _hear(role: Role, message: Message, rule: str) -> _Heard:
    if message is NOT_ASKED or message.finish == "error":
        return _Heard()
    output = condense(role, message)
    if role == "verifier":
        return _Heard(output, verdict="ACCEPT" if judge(message).accept else "REVISE")
    if role == "thinker":
        plan, suggests = suggestion(message, rule)
        return _Heard(plan, plan, None, suggests) if rule == "released" else _Heard(output, "", None, suggests)
    return _Heard(output)


def ask_all(pool: Pool, requests: list[tuple[int, list[dict[str, str]], int]]) -> list[Message]:
    """The replies in order; equal requests are made once, all of them concurrently."""
    keys = [(agent, replicate, *(m["content"] for m in messages)) for agent, messages, replicate in requests]
    distinct = dict(zip(keys, requests, strict=True))
    reply = getattr(pool, "reply", None)  # a pool that answers at once (the simulated one) needs no event loop
    if reply is not None:
        answers = [reply(*request) for request in distinct.values()]
    else:

        async def gather() -> list[Message]:
            return await asyncio.gather(*(pool.ask(*request) for request in distinct.values()))

        future = asyncio.run_coroutine_threadsafe(gather(), pool_loop())
        try:
            answers = future.result()
        except BaseException:  # also KeyboardInterrupt: no call goes on behind a stopped cell
            future.cancel()
            raise
    answer_of = dict(zip(distinct, answers, strict=True))
    return [answer_of[key] for key in keys]


def finish(live: Sequence[Live], check: Check) -> list[Rollout]:
    """The rollouts with their rewards; equal answers to a question are checked once."""
    found: dict[tuple[str, str], bool] = {}
    rollouts = []
    for state in live:
        question, stop = state.job.question, STOPS[state.stop]
        key = (question.id, state.answer)
        if state.answer is not None and state.stop not in (EARLY, FAILED) and key not in found:
            found[key] = check(question, state.answer)
        reward = None if state.stop == FAILED else float(rewards(state.stop, found.get(key, False)))
        rollouts.append(
            Rollout(question, state.job.candidate, state.job.replicate, tuple(state.turns), state.answer, reward, stop)
        )
    return rollouts
