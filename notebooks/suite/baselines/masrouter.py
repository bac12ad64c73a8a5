"""MasRouter (ACL 2025): a cascade of choices builds a small team for each question, trained by policy gradient (A.7.1).

    pi(team | x) = pi(mode | x) pi(roles | x, mode) prod_slots pi(agent | x, role, slot)
    maximise E[R - cost_weight C],   C: cost of the team, in units of the untrained controller's mean cost

Modes: `single` (one Worker), `chain` (a Thinker before, a Verifier after, or both; a Worker who is not accepted tries
once more), `vote` (three Workers who do not see each other). Choices are softmaxes of linear functions of the first q
principal components of the frozen state; agents also have a logit by place. Learning is REINFORCE.

Departures: the authors embed questions, modes, 26 roles and LLMs, take six modes and up to six agents, and charge
dollars; here roles are the paper's three, and the cost is relative. Epochs, batch and Adam are those of their code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from suite.baselines.base import Untrained
from suite.baselines.committee import vote
from suite.baselines.routerdc import question_states, standardiser
from suite.checkers import is_right
from suite.stats.rollouts import rollouts_table
from trinity_core.draws import uniforms
from trinity_core.encoder import Encoder
from trinity_core.pool import Pool
from trinity_core.roles import Transcript
from trinity_core.rollout import Job, begin, finish, take_turn
from trinity_core.types import ROLES, Question, Role, Rollout
from trinity_core.world import GOES_ON, NOBODY

MODES = ("single", "chain", "vote")
TEAMS: tuple[tuple[str, tuple[Role, ...]], ...] = (  # a mode, and the role of each slot that an agent is chosen for
    ("single", ("worker",)),
    ("chain", ("thinker", "worker")),
    ("chain", ("worker", "verifier")),
    ("chain", ("thinker", "worker", "verifier")),
    ("vote", ("worker", "worker", "worker")),
)
SLOTS = 3
# A team's slots, turn by turn. A chain with a Verifier ends in a second try, unless it accepts before.
TURNS_OF = ((0,), (0, 1), (0, 1, 0), (0, 1, 2, 1), (0, 1, 2))
MODE_OF = np.array([MODES.index(mode) for mode, _ in TEAMS])
ROLE_OF = np.array([[*map(ROLES.index, roles), *[-1] * (SLOTS - len(roles))] for _, roles in TEAMS])  # (teams, slots)
# play(questions (m,) int, teams (m,) int, agents (m, SLOTS) int, round) -> rewards (m,), costs (m,); NaN: left out
Play = Callable[[np.ndarray, np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class ControllerSettings:
    """`cost_weight`: reward given up for one untrained team's cost. The rest: see the module."""

    samples: int = 256
    epochs: int = 5
    batch: int = 16
    components: int = 16  # q
    learning_rate: float = 0.01
    cost_weight: float = 0.05


class Controller:
    """The cascade's weights, 0 at first: all is equally likely. `choices` (3 + teams + 3 L, q + 1): rows of modes,
    teams, then agents role by role; `places` (teams, SLOTS, L): the agents' logits by place. `mean` (d,), `axes`
    (q, d): the features that are read of a state."""

    def __init__(self, n_agents: int, mean: np.ndarray, axes: np.ndarray) -> None:
        self.n_agents, self.mean, self.axes = n_agents, mean, axes
        rows = len(MODES) + len(TEAMS) + len(ROLES) * n_agents
        shapes = (rows, len(axes) + 1), (len(TEAMS), SLOTS, n_agents)
        self.choices, self.places = (torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)

    def features(self, states: np.ndarray) -> np.ndarray:
        """(n, d) -> (n, q + 1): the components, of mean square 1 / q each on the training states, and a constant 1."""
        x = (states - self.mean) @ self.axes.T / np.sqrt(max(len(self.axes), 1))
        return np.hstack([x, np.ones((len(x), 1))])

    def chances(self, states: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """ln pi(mode) (n, 3), ln pi(team | mode) (n, teams), ln pi(agent | team, slot) (n, teams, SLOTS, L)."""
        logits = torch.as_tensor(self.features(states)) @ self.choices.T
        modes, teams, agents = logits.split([len(MODES), len(TEAMS), len(ROLES) * self.n_agents], dim=1)
        within = torch.empty_like(teams)
        for mode in range(len(MODES)):
            within[:, MODE_OF == mode] = teams[:, MODE_OF == mode].log_softmax(dim=1)
        by_role = agents.reshape(len(logits), len(ROLES), self.n_agents)
        return modes.log_softmax(dim=1), within, (by_role[:, ROLE_OF] + self.places).log_softmax(dim=-1)

    def choose(self, states: np.ndarray, draws: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """teams (n,) and agents (n, SLOTS), -1 in empty slots; `draws` (n, 2 + SLOTS) uniforms, None: the likeliest."""
        modes, within, agents = (part.detach().exp().numpy() for part in self.chances(states))
        rows = np.arange(len(modes))
        mode = _pick(modes, None if draws is None else draws[:, 0])
        team = _pick(np.where(mode[:, None] == MODE_OF, within, 0.0), None if draws is None else draws[:, 1])
        chosen = [_pick(agents[rows, team, k], None if draws is None else draws[:, 2 + k]) for k in range(SLOTS)]
        return team, np.where(ROLE_OF[team] >= 0, np.stack(chosen, axis=1), -1)

    def log_chance(self, states: np.ndarray, teams: np.ndarray, agents: np.ndarray) -> Tensor:
        """ln pi (n,) of the whole choice."""
        modes, within, members = self.chances(states)
        rows = np.arange(len(teams))
        slots = members[rows[:, None], teams[:, None], np.arange(SLOTS), agents] * torch.as_tensor(ROLE_OF[teams] >= 0)
        return modes[rows, MODE_OF[teams]] + within[rows, teams] + slots.sum(dim=1)


def principal_axes(states: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """mean (d,) and axes (q, d), q <= count: principal components of the standardised states, each of unit variance."""
    mean, scale = standardiser(states)
    _, sizes, directions = np.linalg.svd((states - mean) / scale, full_matrices=False)
    kept = min(count, int((sizes > 1e-9 * max(sizes[0], 1e-300)).sum()))
    return mean, directions[:kept] / (sizes[:kept, None] / np.sqrt(len(states))) / scale


def train(
    states: np.ndarray, held_out: int, n_agents: int, play: Play, *, seed: int, settings: ControllerSettings
) -> tuple[Controller, list[float]]:
    """The best of the epochs' checkpoints on validation (of equals the last), and every epoch's validation utility.

    `states` (n, d) of the questions that `play` numbers; the first `held_out` validate, by their likeliest teams.
    ValueError where the first batch all failed or cost nothing, or all validation plays failed.
    """
    controller = Controller(n_agents, *principal_axes(states[held_out:], settings.components))
    adam = torch.optim.Adam([controller.choices, controller.places], settings.learning_rate)

    def one_batch(number: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Rewards, costs and (rows, teams, agents) of one batch of plays, failed ones left out."""
        draws = np.array([uniforms(3 + SLOTS, "masrouter", seed, number, k) for k in range(settings.batch)])
        rows = held_out + (draws[:, 0] * (len(states) - held_out)).astype(int)
        teams, agents = controller.choose(states[rows], draws[:, 1:])
        rewards, costs = play(rows, teams, agents, number)
        ok = ~np.isnan(rewards + costs)
        return rewards[ok], costs[ok], [rows[ok], teams[ok], agents[ok]]

    _, costs, _ = one_batch(0)  # of untrained teams: it sets the unit of cost and teaches nothing
    unit = float(costs.mean()) if len(costs) else np.nan
    if not unit > 0:
        raise ValueError(
            f"the first teams cost {unit} dollars on average; costs must be known and above 0: give prices"
        )
    history, best = [], []
    batches = -(-settings.samples // settings.batch)
    for epoch in range(settings.epochs):
        for number in range(1 + epoch * batches, 1 + (epoch + 1) * batches):
            rewards, costs, (rows, teams, agents) = one_batch(number)
            utility = rewards - settings.cost_weight * costs / unit
            if len(utility) > 1:
                advantage = torch.as_tensor(utility - utility.mean())
                adam.zero_grad()
                (-(advantage * controller.log_chance(states[rows], teams, agents)).mean()).backward()
                adam.step()
        rewards, costs = play(np.arange(held_out), *controller.choose(states[:held_out]), 0)
        utility = rewards - settings.cost_weight * costs / unit
        if np.isnan(utility).all():
            raise ValueError(f"all plays of the validation after epoch {epoch + 1} failed; see the turns' errors")
        history.append(float(utility[~np.isnan(utility)].mean()))
        if history[-1] == max(history):
            best = [weights.detach().clone() for weights in (controller.choices, controller.places)]
    controller.choices, controller.places = best
    return controller, history


def _pick(chances: np.ndarray, draws: np.ndarray | None) -> np.ndarray:
    """One column a row of chances (n, k): the likeliest, or by draws (n,) in [0, 1) through the running sum."""
    if draws is None:
        return chances.argmax(axis=1)
    sums = chances.cumsum(axis=1)
    return (sums <= draws[:, None] * sums[:, -1:]).sum(axis=1)


# --- over a pool ---


def play_teams(
    pool: Pool, questions: Sequence[Question], teams: np.ndarray, agents: np.ndarray, replicate: int
) -> list[Rollout]:
    """One rollout a question, by its team (n,) of agents (n, SLOTS), all in lockstep by turn. The role that a Thinker
    names changes nothing."""
    slots_of, voting = [TURNS_OF[team] for team in teams], [TEAMS[team][0] == "vote" for team in teams]
    live = begin([Job(question, 0, replicate) for question in questions], is_right)
    votes: list[list[str]] = [[] for _ in live]
    for turn in range(1, max(map(len, slots_of)) + 1):
        rows = [n for n, state in enumerate(live) if state.stop == GOES_ON and turn <= len(slots_of[n])]
        for n in rows:
            live[n].named = NOBODY
            if voting[n]:  # nobody sees what the others said
                live[n].transcript, live[n].answer = Transcript(live[n].job.question.text), None
        if not rows:
            break
        slots = [slots_of[n][turn - 1] for n in rows]
        take_turn([live[n] for n in rows], turn, agents[rows, slots], ROLE_OF[teams[rows], slots], pool)
        for n in rows:
            if voting[n] and live[n].answer is not None:
                votes[n].append(live[n].answer)
    for n, state in enumerate(live):
        if voting[n]:
            place = vote(state.job.question, votes[n])
            state.answer = None if place is None else votes[n][place]
    return finish(live, is_right)


class MasRouter(Untrained):
    """The baseline: trained on three quarters of the training questions, the checkpoint chosen on the last quarter."""

    def __init__(self, encoder: Encoder, settings: ControllerSettings = ControllerSettings()) -> None:
        self.encoder, self.settings = encoder, settings
        self.controller: Controller | None = None

    def fit(self, pool: Pool, questions_train: Sequence[Question], *, seed: int) -> None:
        """Plays epochs x samples teams and a batch more, validates after each epoch. ValueError under 4 questions."""
        if len(questions_train) < 4:
            raise ValueError(f"{len(questions_train)} training questions are too few for MasRouter; give 4 or more")
        drawn = sorted(questions_train, key=lambda q: uniforms(1, "masrouter split", seed, q.id)[0])
        held_out, self.training = len(drawn) // 4, []

        def play(rows: np.ndarray, teams: np.ndarray, agents: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
            # Other seeds hear other answers.
            done = play_teams(pool, [drawn[row] for row in rows], teams, agents, 10_000 * seed + number)
            self.training.extend(done)
            table = rollouts_table(done)
            return table["reward"].to_numpy(float), table["cost"].to_numpy(float)

        states = [question_states(self.encoder, part) for part in (drawn[:held_out], drawn[held_out:])]
        given = np.concatenate(states), held_out, len(pool.agents), play
        self.controller, self.history = train(*given, seed=seed, settings=self.settings)

    def run(self, pool: Pool, questions: Sequence[Question], *, seed: int, replicate: int = 0) -> list[Rollout]:
        """Each question's likeliest team plays it. ValueError before `fit`. The choice itself draws nothing."""
        if self.controller is None:
            raise ValueError("MasRouter has not been trained; call fit(pool, questions_train, seed=...) first")
        teams, agents = self.controller.choose(question_states(self.encoder, questions))
        return play_teams(pool, questions, teams, agents, replicate)
