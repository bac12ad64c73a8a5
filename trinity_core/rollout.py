"""The tri-role loop (section 3.2), for many rollouts at once, in lockstep by turn.

Turn k of a rollout: the transcript C_(k-1) is encoded, the head gives the chances, agent A_k and role R_k are drawn,
A_k is asked with the role's prompt, its message M_k is condensed into O_k and appended. It stops at the first Verifier
who accepts, else after K turns; the latest Worker's answer is checked and gives the reward R in {0, 1}.

All rollouts advance one turn together: each distinct transcript is encoded once, all heads act in one einsum, each
distinct call is made once, all calls run concurrently. Every draw is keyed by (seed, question, replicate, turn), so a
rollout is the same whatever else is in the batch. One limit: float32 sums of other batches differ by about 1e-5 in a
state, so recorded chances agree to some 1e-6 only, and a draw that near a boundary would fall on its other side; states
that the encoder's cache holds are the same bytes.

Rules that the paper leaves open:
- A Thinker's named role replaces the head's at the next turn (the agent is still the head's), then is used up.
- A Verifier before there is any answer ends the rollout with reward 0, without a call.
- The answer is the Worker's whole text; only the transcript's copy O_k is shortened (see `roles`).
- A message cut at the output cap adds its text, but is no answer; an empty message adds nothing; both count as a turn.
- A call that fails for good ends the rollout as failed: reward None, left out of every mean, never a wrong answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trinity_core.coordinator import Policy
from trinity_core.draws import uniforms
from trinity_core.heads import agent_role_probabilities, decide
from trinity_core.pool import Pool, pool_loop
from trinity_core.roles import TRANSCRIPT_RULES, Transcript, build_prompt, condense, judge, suggestion, visible
from trinity_core.types import ROLES, Message, Question, Role, Rollout, Turn

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
    named_role: Role | None = None
    stop: Any = None


def run_rollouts(
    jobs: Sequence[Job],
    policy: Policy,
    encoder: Encoder,
    pool: Pool,
    settings: LoopSettings = LoopSettings(),
    *,
    check: Callable[[Question, str], bool],
) -> list[Rollout]:
    """One `Rollout` a job, in the jobs' order. `check(question, answer)` says whether an answer is right.

    ValueError where the policy's agents are not the pool's. A pool's
    `BudgetExceeded` passes through: answers so far are cached, so a rerun goes on there.
    """
    if policy.n_agents != len(pool.agents):
        raise ValueError(f"the policy chooses among {policy.n_agents} agents but the pool has {len(pool.agents)}")
    live = [Live(job, Transcript(job.question.text, rule=settings.transcript)) for job in jobs]
    for turn in range(1, settings.max_turns + 1):
        acting = [state for state in live if state.stop is None]
        if not acting:
            break
        _one_turn(turn, acting, policy, encoder, pool, settings)
    return finish(live, check)


def _one_turn(
    turn: int, acting: list[Live], policy: Policy, encoder: Encoder, pool: Pool, settings: LoopSettings
) -> None:
    candidates = np.array([state.job.candidate for state in acting])
    if hasattr(policy, "states"):  # SVF: each candidate reads by its own encoder
        states = policy.states(candidates, [state.transcript.messages() for state in acting])
    else:
        row_of = {transcript: row for row, transcript in enumerate({state.transcript: None for state in acting})}
        distinct = encoder.encode([transcript.messages() for transcript in row_of], reuse_prefix=True)
        states = distinct[[row_of[state.transcript] for state in acting]]
    logits = policy.logits(candidates, states)
    draws = np.array([uniforms(2, "decision", settings.seed, s.job.question.id, s.job.replicate, turn) for s in acting])
    decision = decide(logits, policy.n_agents, mode=settings.mode, uniforms=draws)
    agent_chances, role_chances = agent_role_probabilities(logits, policy.n_agents)

    calls: list[tuple[Live, int, Role, list[dict[str, str]] | None]] = []
    for state, agent, role_index in zip(acting, decision.agents.tolist(), decision.roles.tolist(), strict=True):
        role = state.named_role or ROLES[role_index]
        asked = not (role == "verifier" and state.answer is None)
        prompt = build_prompt(role, state.transcript, answer=state.answer, plan=state.plan) if asked else None
        calls.append((state, agent, role, prompt))
    messages = ask_all(
        pool,
        [
            (agent, prompt, state.job.replicate * TURNS_A_REPLICATE + turn)
            for state, agent, _, prompt in calls
            if prompt is not None
        ],
    )
    replies = iter(messages)
    for (state, agent, role, prompt), agents, roles in zip(
        calls, agent_chances.tolist(), role_chances.tolist(), strict=True
    ):
        message = NOT_ASKED if prompt is None else next(replies)
        advance(state, turn, agent, role, tuple(agents), tuple(roles), tuple(prompt or ()), message)


def advance(
    state: Live,
    turn: int,
    agent: int,
    role: Role,
    agents: tuple[float, ...],
    roles: tuple[float, ...],
    prompt: tuple[dict[str, str], ...],
    message: Message,
) -> None:
    """Turns a message into O_k and moves one rollout on by a turn."""
    overridden, state.named_role, state.plan = state.named_role is not None, None, ""
    output, verdict, named = condense(role, message), None, None
    if message is NOT_ASKED:
        state.stop = "verifier before answer"
    elif message.finish == "error":
        state.stop = "failed call"
    elif role == "worker":
        if output and message.finish == "stop":
            state.answer = visible(message.text)  # not `output`: code that lost its beginning would never pass
    elif role == "thinker":
        found = suggestion(message, state.transcript.rule)
        output, named = found.plan if state.transcript.rule == "released" else output, found.next_role
        state.named_role = named
        state.plan = found.plan if state.transcript.rule == "released" else ""
    else:
        verdict = "ACCEPT" if judge(message).accept else "REVISE"
        if verdict == "ACCEPT":
            state.stop = "accepted"
    state.transcript = state.transcript.append(role, output)
    state.turns.append(Turn(turn, agent, role, overridden, agents, roles, prompt, message, output, verdict, named))


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


def finish(live: list[Live], check: Callable[[Question, str], bool]) -> list[Rollout]:
    rewards: dict[tuple[str, str], float] = {}
    rollouts = []
    for state in live:
        question, stop = state.job.question, state.stop or "turn limit"
        reward: float | None = 0.0
        if stop == "failed call":
            reward = None
        elif state.answer is not None and stop != "verifier before answer":
            key = (question.id, state.answer)
            if key not in rewards:
                rewards[key] = float(check(question, state.answer))
            reward = rewards[key]
        rollouts.append(
            Rollout(question, state.job.candidate, state.job.replicate, tuple(state.turns), state.answer, reward, stop)
        )
    return rollouts
