"""Playing trained heads on a world's questions, with the draws that every evaluation shares.

Rollout r of question q has the same draws for whatever plays it: for all thetas (one a seed of a training) and for any
turn budget. So differences are paired.

Symbols: S -> thetas, n_q -> questions of the world, R -> rollouts a question, K -> turn budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from suite.experiments import REPLICATES
from trinity_core.heads import make_head
from trinity_core.training.task import FRESH
from trinity_core.types import ROLES
from trinity_core.world import Plays

NEVER = -60.0  # a logit that is not chosen in any draw


def play_all(world: Any, head: Any, thetas: Any, replicates: int = REPLICATES, **settings: Any) -> Plays:
    """Every question `replicates` times for each of `thetas` (S, n): Plays of shape (S, n_q R), question by question.

    `settings` go to `world.play` (`mode`, `adapted_states`).
    """
    thetas, count = np.asarray(thetas, np.float64), len(world.questions)
    cells = np.repeat(np.arange(count), replicates), FRESH + np.tile(np.arange(replicates), count)
    return world.play(head, thetas, *(np.broadcast_to(one, (len(thetas), len(one))) for one in cells), **settings)


def rewards_of(plays: Plays, world: Any) -> np.ndarray:
    """Rewards (S, n_q, R) of `play_all`'s rollouts."""
    return plays.reward.reshape(len(plays.reward), len(world.questions), -1)


def alone(world: Any) -> dict[str, np.ndarray]:
    """Each agent alone, one answer a question: its exact chances, in the shape of rewards (1 seed, n_q)."""
    agents = enumerate(world.pool.agents)
    return {a.name: np.array([[world.pool.probability(place, q) for q in world.questions]]) for place, a in agents}


def untrained(world: Any, head: Any, replicates: int = REPLICATES) -> Plays:
    """The head with all weights 0, which draws agent and role evenly whatever it reads; so no text is encoded."""
    nothing = {"adapted_states": lambda candidates, nodes: np.zeros((len(nodes), world.d))}
    return play_all(world, head, np.zeros((1, head.size)), replicates, **nothing)


def fixed(
    world: Any, logits: Mapping[str, tuple[Any, Any]], replicates: int = REPLICATES, mode: str = "sample"
) -> Plays:
    """A rule that looks at nothing but the question's family and whether there is an answer: family -> logits (L + 3,)
    before the first answer, and after it."""
    head, families = make_head("linear", world.n_agents, world.d), list(logits)
    weights = np.zeros((world.n_agents + len(ROLES), world.d))
    weights[:, : 2 * len(families)] = np.concatenate([np.array(pair, float) for pair in logits.values()]).T
    family = np.array([families.index(question.family) for question in world.questions])

    def seen(candidates: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        answered = world.tree.answer[nodes] >= 0
        return np.eye(world.d)[2 * family[world.tree.rows["question"][nodes]] + answered]

    return play_all(world, head, weights.ravel()[None], replicates, adapted_states=seen, mode=mode)


def hand_written(train: Any, world: Any) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Rules that a person would write down, for `fixed` on `world`; agents are picked by their chances on the training
    questions of the same family, for a family that `train` lacks on all of them.

    - even choice, no early Verifier: any agent in any role, but no Verifier before there is an answer, who ends all;
    - best agent, always a Thinker: the agent that is best on all training questions plans, and names who acts next;
    - best two, plan and check: of each family, the best agent acts until there is an answer, then the second best.
    """
    single = np.concatenate(list(alone(train).values()))
    asked = np.array([question.family for question in train.questions])
    of_kind = {kind: single[:, asked == kind].mean(axis=1) for kind in dict.fromkeys(asked.tolist())}
    overall = np.mean(list(of_kind.values()), axis=0)
    rules: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    for kind in dict.fromkeys(question.family for question in world.questions):
        first, second = np.argsort(-of_kind.get(kind, overall), kind="stable")[:2].tolist()
        thinks = _only(world, int(overall.argmax()), "thinker")
        for name, logits in (
            ("even choice, no early Verifier", (_only(world, None, "thinker", "worker"), _only(world))),
            ("best agent, always a Thinker", (thinks, thinks)),
            ("best two, plan and check", (_only(world, first, "thinker"), _only(world, second, "thinker"))),
        ):
            rules.setdefault(name, {})[kind] = logits
    return rules


def _only(world: Any, agent: int | None = None, *roles: str) -> np.ndarray:
    """Logits (L + 3,) that allow one agent (None: all) and some roles (none given: all), evenly."""
    allowed = np.array([agent in (None, a) for a in range(world.n_agents)] + [r in (roles or ROLES) for r in ROLES])
    return np.where(allowed, 0.0, NEVER)


def blind(world: Any, head: Any, thetas: Any, plays: Plays, replicates: int = REPLICATES, **settings: Any) -> Plays:
    """The same heads, each text replaced by the average text: they know how long the transcript is, and nothing else.

    Averages are taken over all that was read in `plays` (of the same world), by the number of entries. `settings` as in
    `play_all`.
    """
    read = plays.nodes[plays.nodes >= 0]
    states, entries = world.states(read), _entries(world, read)
    means = np.stack([states[entries == count].mean(axis=0) for count in range(entries.max() + 1)])

    def average(candidates: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        return means[np.minimum(_entries(world, nodes), len(means) - 1)]

    return play_all(world, head, thetas, replicates, adapted_states=average, **settings)


def at_turns(plays: Plays, world: Any, budgets: Any) -> np.ndarray:
    """Rewards (len(budgets), S, n_q, R) had the rollouts been stopped after K turns, for each K of `budgets`.

    A rollout that had ended by then keeps its reward; of any other the latest answer counts, as at a turn limit. Draws
    are keyed by turn, so these are exactly the rollouts of a world whose `max_turns` is K. ValueError for a K outside
    1 to the plays' own limit.
    """
    limit, found = plays.nodes.shape[-1], []
    for budget in budgets:
        if not 1 <= budget <= limit:
            raise ValueError(f"a turn budget of {budget}: these rollouts have 1 to {limit} turns")
        cut = plays.turns > budget
        answer = world.tree.answer[plays.nodes[..., min(budget, limit - 1)]]
        found.append(np.where(cut, answer == 0, plays.reward))
    return np.array(found).reshape(len(found), len(plays.reward), len(world.questions), -1)


def calls_at(plays: Plays, budgets: Any) -> np.ndarray:
    """(len(budgets),): mean number of turns of those rollouts."""
    return np.array([np.minimum(plays.turns, budget).mean() for budget in budgets])


def _entries(world: Any, nodes: np.ndarray) -> np.ndarray:
    return np.array([len(world.tree.transcripts[node].entries) for node in nodes.tolist()])
