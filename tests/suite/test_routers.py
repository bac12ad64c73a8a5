"""RouterDC, Smoothie, MasRouter: planted optima found, and lost without the key ingredient; gradients, closed forms."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
import torch

from suite.baselines import masrouter, routerdc, smoothie
from suite.baselines.masrouter import TEAMS, Controller, ControllerSettings, MasRouter, play_teams
from suite.baselines.routerdc import RouterDC, RouterSettings
from suite.baselines.smoothie import Smoothie
from suite.stats.rollouts import rollouts_table, turns_table
from trinity_core.pool import Agent
from trinity_core.roles import read_prompt
from trinity_core.types import Message, Question

QUICK = RouterSettings(steps=300)


def planted(seed, n=240, d=24, agents=5, kinds=4):
    """States in `kinds` clouds; on kind k agent k is right in 90 %, the others in 30 %. Scores of 5 answers each."""
    draw = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(kinds, d)) * 2
    kind = draw.integers(kinds, size=n)
    chance = np.where(np.arange(agents) == kind[:, None], 0.9, 0.3)
    return centres[kind] + draw.normal(size=(n, d)), draw.binomial(5, chance) / 5, chance, kind


# --- RouterDC: the core -----------------------------------------------------------------------------------------------


def test_routerdc_finds_the_planted_agents_and_is_lost_with_shuffled_states():
    states, scores, _, _ = planted(0)
    test_states, _, chance, kind = planted(1)
    router = routerdc.fit(states, scores, seed=0, settings=QUICK)
    chosen = router.choose(test_states)
    assert (chosen == kind).mean() > 0.95
    assert chance[np.arange(len(kind)), chosen].mean() > 0.87  # the optimum is 0.9, the best fixed agent has 0.45

    shuffled = np.random.default_rng(2).permutation(len(states))
    blind = routerdc.fit(states[shuffled], scores, seed=0, settings=QUICK).choose(test_states)
    assert chance[np.arange(len(kind)), blind].mean() < 0.6


def test_routerdc_needs_the_agents_loss_and_not_the_other():
    states, scores, _, _ = planted(0)
    test_states, _, _, kind = planted(1)
    alone = routerdc.fit(states, scores, seed=0, settings=replace(QUICK, weight=0.0))
    assert (alone.choose(test_states) == kind).mean() > 0.9
    noise = np.random.default_rng(3).random(scores.shape)  # scores that have nothing to do with the questions
    assert (routerdc.fit(states, noise, seed=0, settings=QUICK).choose(test_states) == kind).mean() < 0.6


def test_routerdc_loss_is_the_sum_of_softmaxes():
    draw = np.random.default_rng(6)
    x, scores = draw.normal(size=(12, 7)), draw.integers(0, 6, size=(12, 6)) / 5
    against = routerdc.contrasts(scores, RouterSettings(), draw)
    near, far = routerdc.neighbours(draw.integers(3, size=12), 2, draw)
    assert (near >= 0).any() and against.any()
    projection, agents = draw.normal(size=(4, 7)), draw.normal(size=(6, 4))
    u, k = x @ projection.T, agents
    u, k = u / np.linalg.norm(u, axis=1)[:, None], k / np.linalg.norm(k, axis=1)[:, None]
    first = second = 0.0
    for i in range(len(x)):
        for t in range(6):
            odds = [np.exp(u[i] @ k[v] / 0.5) for v in np.flatnonzero(against[i, t])]
            own = np.exp(u[i] @ k[t] / 0.5)
            first -= np.log(own / (own + sum(odds)))
        if near[i] >= 0:
            own = np.exp(u[i] @ u[near[i]] / 0.5)
            second -= np.log(own / (own + sum(np.exp(u[i] @ u[j] / 0.5) for j in far[i])))
    expected = first / len(x) + 2.0 * second / (near >= 0).sum()
    trained = (torch.as_tensor(projection), torch.as_tensor(agents))
    found = routerdc.loss(trained, x, against, near, far, RouterSettings(temperature=0.5, weight=2.0))
    assert found.item() == pytest.approx(expected)


def test_routerdc_contrasts():
    scores = np.array([[1.0, 0.8, 0.6, 0.4, 0.2, 0.0], [0.0] * 6, [1.0] * 6, [0.4, 0.4, 0.4, 0.4, 0.4, 0.4]])
    against = routerdc.contrasts(scores, RouterSettings(), np.random.default_rng(0))
    assert np.array_equal(against[0], np.outer([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]))
    assert not against[1:].any()  # none right: no example; all above a half: no counter-example; equals: neither
    two = np.array([[1.0, 0.0]])  # K+ and K- overlap where agents are few
    assert routerdc.contrasts(two, RouterSettings(), np.random.default_rng(0))[0].sum() == 1


def test_routerdc_neighbours_are_of_the_right_cluster():
    cluster = np.array([0, 0, 0, 1, 1, 2])
    near, far = routerdc.neighbours(cluster, 3, np.random.default_rng(0))
    assert near[5] == -1  # alone in its cluster
    rows = np.flatnonzero(near >= 0)
    assert rows.tolist() == [0, 1, 2, 3, 4]
    assert (cluster[near[rows]] == cluster[rows]).all() and (near[rows] != rows).all()
    assert (cluster[far[rows]] != cluster[rows, None]).all()
    assert (routerdc.neighbours(cluster, 4, np.random.default_rng(0))[0][:3] == -1).all()  # only 3 of other clusters


def test_routerdc_is_a_function_of_the_seed():
    states, scores, _, _ = planted(0, n=60)
    few = replace(QUICK, steps=50)
    first, again, other = (routerdc.fit(states, scores, seed=seed, settings=few) for seed in (4, 4, 5))
    assert np.array_equal(first.projection, again.projection) and len(first.held_out) == 1
    assert not np.array_equal(first.projection, other.projection)
    assert first.parameters == 16 * 25 + 5 * 16


def test_routerdc_can_prefer_one_agent_everywhere():
    states = np.random.default_rng(0).normal(size=(100, 6))  # nothing in the states says who is right
    scores = np.tile([0.0, 0.0, 1.0, 0.0], (100, 1))
    router = routerdc.fit(states, scores, seed=0, settings=QUICK)
    fresh = np.random.default_rng(1).normal(size=(200, 6))
    assert (router.choose(fresh) == 2).all()


def test_routerdc_keeps_the_checkpoint_that_did_best_on_held_out_questions():
    states, scores, _, _ = planted(0, n=60)
    whole = routerdc.fit(states, scores, seed=0, settings=replace(QUICK, steps=200))
    best = int(np.flatnonzero(whole.held_out == whole.held_out.max())[-1])
    until = routerdc.fit(states, scores, seed=0, settings=replace(QUICK, steps=50 * (best + 1)))
    assert len(whole.held_out) == 4 and np.array_equal(whole.projection, until.projection)


def test_routerdc_leaves_its_input_alone_and_takes_constant_dimensions():
    states, scores, _, _ = planted(0, n=40)
    states[:, 3] = 7.0
    kept = states.copy(), scores.copy()
    router = routerdc.fit(states, scores, seed=0, settings=replace(QUICK, steps=5))
    assert np.array_equal(states, kept[0]) and np.array_equal(scores, kept[1])
    assert np.isfinite(router.projection).all() and set(router.choose(states)) <= set(range(5))


def test_routerdc_refuses_scores_that_teach_nothing():
    states, scores, _, _ = planted(0, n=40)
    with pytest.raises(ValueError, match="no pair of agents"):
        routerdc.fit(states, np.ones_like(scores), seed=0, settings=QUICK)


# --- Smoothie: the core -----------------------------------------------------------------------------------------------


def gaussian_outputs(n, spread, dim=30, seed=0):
    """z + e_i with independent errors: outputs (n, L, dim), and d_i = dim sigma_i^2."""
    draw = np.random.default_rng(seed)
    best = 5 * draw.normal(size=(n, 1, dim))
    return best + np.array(spread)[:, None] * draw.normal(size=(n, len(spread), dim)), dim * np.array(spread) ** 2


def test_smoothie_recovers_each_agents_error():
    spread = [1.0, 0.4, 2.0, 0.7, 1.5, 0.5, 1.2]
    outputs, truth = gaussian_outputs(4000, spread)
    estimate = smoothie.errors(smoothie.squared_distances(outputs).mean(axis=0))
    assert estimate == pytest.approx(truth, rel=0.02, abs=0.2)
    assert np.argsort(estimate).tolist() == np.argsort(spread).tolist()
    assert set(smoothie.choose(outputs, "independent")) == {1}


def test_smoothie_closed_form_is_exact_and_the_mean_over_triplets():
    truth = np.array([3.0, 1.0, 4.0, 1.5, 9.0])
    exact = truth[:, None] + truth
    np.fill_diagonal(exact, 0.0)
    assert smoothie.errors(exact) == pytest.approx(truth, abs=1e-12)

    d = smoothie.squared_distances(np.random.default_rng(1).normal(size=(1, 5, 3)))[0]
    by_triplets = [
        np.mean([(d[i, j] + d[i, k] - d[j, k]) / 2 for j, k in combinations([o for o in range(5) if o != i], 2)])
        for i in range(5)
    ]
    assert smoothie.errors(d) == pytest.approx(by_triplets)


def test_smoothie_chooses_per_question_what_one_agent_cannot():
    one, _ = gaussian_outputs(100, [0.3, 1.0, 1.0, 1.0, 1.0], seed=1)
    two, _ = gaussian_outputs(100, [1.0, 1.0, 0.3, 1.0, 1.0], seed=2)
    outputs, best = np.concatenate([one, two]), np.repeat([0, 2], 100)
    assert (smoothie.choose(outputs, "dependent") == best).mean() > 0.95
    assert (smoothie.choose(outputs, "independent") == best).mean() == 0.5


def test_smoothie_is_lost_where_outputs_do_not_depend_on_quality():
    draw = np.random.default_rng(0)
    outputs = draw.normal(size=(600, 5, 30))  # agent 3 is said to be the best one; its outputs do not show it
    assert abs((smoothie.choose(outputs, "dependent") == 3).mean() - 0.2) < 0.05
    estimate = smoothie.errors(smoothie.squared_distances(outputs).mean(axis=0))
    assert np.ptp(estimate) < 0.1 * estimate.mean()


def test_smoothie_is_misled_where_wrong_agents_agree():
    outputs, _ = gaussian_outputs(500, [0.1, 1.0, 1.0, 1.0], seed=3)
    shared = 3 * np.random.default_rng(4).normal(size=(500, 1, 30))
    outputs[:, 1:] += shared  # one error that three agents share: the model's independence is gone
    assert 0 not in smoothie.choose(outputs, "independent")


# --- MasRouter: the core ----------------------------------------------------------------------------------------------


HELD = 20  # questions that validate


def random_controller(seed, n_agents=4, d=6):
    draw = np.random.default_rng(seed)
    controller = Controller(n_agents, np.zeros(d), np.eye(d))
    for weights in (controller.choices, controller.places):
        weights.data += torch.as_tensor(draw.normal(size=tuple(weights.shape)) * 0.4)
    return controller, draw.normal(size=(40, d)), draw


def test_masrouter_chances_sum_to_one_over_all_teams():
    controller, states, _ = random_controller(0, n_agents=2)
    total = np.zeros(len(states))
    for team, (_, roles) in enumerate(TEAMS):
        for members in np.ndindex(*[2] * len(roles)):
            agents = np.tile([*members, *[-1] * (3 - len(roles))], (len(states), 1))
            total += controller.log_chance(states, np.full(len(states), team), agents).exp().detach().numpy()
    assert total == pytest.approx(np.ones(len(states)))


def test_masrouter_draws_follow_the_chances():
    controller, states, draw = random_controller(1)
    one = np.repeat(states[:1], 4000, axis=0)
    teams, agents = controller.choose(one, draw.random((4000, 5)))
    assert ((agents >= 0) == (masrouter.ROLE_OF[teams] >= 0)).all()
    modes, within, members = (part.detach().exp().numpy() for part in controller.chances(states[:1]))
    expected = modes[0, masrouter.MODE_OF] * within[0]
    assert np.bincount(teams, minlength=len(TEAMS)) / 4000 == pytest.approx(expected, abs=0.03)
    likeliest = int(expected.argmax())
    share = np.bincount(agents[teams == likeliest, 0], minlength=4) / (teams == likeliest).sum()
    assert share == pytest.approx(members[0, likeliest, 0], abs=0.05)


def planted_game(seed, rewarded=True, n=60):
    """Two kinds of questions: on kind 0 agent 1 alone is right, on kind 1 only Thinker 2 with Worker 0 is."""
    draw = np.random.default_rng(seed)
    kind = np.arange(n) % 2
    states = np.where(kind == 1, 1.5, -1.5)[:, None] * np.ones(8) + draw.normal(size=(n, 8))

    def right(rows, teams, agents):
        alone = (teams == 0) & (agents[:, 0] == 1)
        planned = (teams == 1) & (agents[:, 0] == 2) & (agents[:, 1] == 0)
        return np.where(kind[rows] == 0, alone, planned).astype(float)

    def partly(rows, teams, agents):
        """Half of the reward for each right step, so that there is a way to the optimum."""
        mode = (masrouter.MODE_OF[teams] == kind[rows]) * 0.3
        role = (teams == kind[rows]) * 0.2
        worker = np.where(kind[rows] == 0, agents[:, 0] == 1, (teams == 1) & (agents[:, 1] == 0)) * 0.25
        thinker = np.where(kind[rows] == 0, True, (teams == 1) & (agents[:, 0] == 2)) * 0.25
        return mode + role + worker + thinker

    def play(rows, teams, agents, number):
        rewards = partly(rows, teams, agents) if rewarded else np.random.default_rng([seed, number]).random(len(rows))
        return rewards, np.ones(len(rows))

    return states, play, right


@pytest.mark.parametrize("seed", [0, 1])
def test_masrouter_finds_the_planted_teams_and_is_lost_without_the_reward(seed):
    settings = ControllerSettings(samples=1024)
    found = []
    for rewarded in (True, False):
        states, play, right = planted_game(seed, rewarded)
        controller, history = masrouter.train(states, HELD, 3, play, seed=seed, settings=settings)
        assert len(history) == settings.epochs
        found.append(right(np.arange(len(states)), *controller.choose(states)).mean())
    assert found[0] > 0.9 and found[1] <= 0.5


def test_masrouter_cost_term_turns_to_cheap_teams():
    states = np.random.default_rng(0).normal(size=(40, 4))

    def play(rows, teams, agents, number):
        return np.full(len(rows), 0.5), (agents >= 0).sum(axis=1) * np.where(agents[:, 0] == 2, 1.0, 3.0)

    settings = ControllerSettings(cost_weight=1.0)
    controller, _ = masrouter.train(states, HELD, 3, play, seed=0, settings=settings)
    teams, agents = controller.choose(states)
    assert (teams == 0).mean() > 0.9 and (agents[:, 0] == 2).mean() > 0.9  # one Worker, the cheapest
    free, _ = masrouter.train(states, HELD, 3, play, seed=0, settings=replace(settings, cost_weight=0.0))
    assert not free.choices.any()  # equal rewards and no cost: nothing to learn


def test_masrouter_is_a_function_of_the_seed_and_keeps_the_best_checkpoint():
    states, play, _ = planted_game(0)
    train = partial(masrouter.train, states, HELD, 3)

    def judged(*utilities):
        """The result of so many epochs, of which the validations say this."""
        values = iter(utilities)

        def judging(rows, teams, agents, number):
            rewards, costs = play(rows, teams, agents, number)
            return (np.full(len(rows), next(values)), 0 * costs) if len(rows) == HELD else (rewards, costs)

        return train(judging, seed=3, settings=ControllerSettings(epochs=len(utilities)))

    best, history = judged(0.25, 0.75, 0.5, 0.75, 0.125)
    fourth, fifth = judged(0, 0, 0, 1)[0], judged(0, 0, 0, 0, 1)[0]
    assert history == [0.25, 0.75, 0.5, 0.75, 0.125] and torch.equal(best.places, fourth.places)
    assert torch.equal(best.choices, fourth.choices) and not torch.equal(best.choices, fifth.choices)
    plain = [train(play, seed=seed, settings=ControllerSettings())[0] for seed in (3, 3, 4)]
    assert torch.equal(plain[0].choices, plain[1].choices) and not torch.equal(plain[0].choices, plain[2].choices)


def test_masrouter_leaves_failed_plays_out_and_refuses_what_cannot_teach():
    states, play, _ = planted_game(0)
    settings = ControllerSettings()

    def failing(rows, teams, agents, number):
        rewards, costs = play(rows, teams, agents, number)
        return np.where(teams == 4, np.nan, rewards), costs  # no vote ever ends

    def unheard(rows, teams, agents, number):
        rewards, costs = play(rows, teams, agents, number)
        return (rewards * np.nan, costs) if len(rows) == HELD else (rewards, costs)

    controller, _ = masrouter.train(states, HELD, 3, failing, seed=0, settings=settings)
    assert controller.choices.isfinite().all()
    nothing = np.full(16, np.nan)
    for bad, message in (
        (lambda *_: (nothing, nothing), "cost nan"),
        (lambda *_: (np.zeros(16), np.zeros(16)), "cost 0.0"),
        (unheard, "validation after epoch 1"),
    ):
        with pytest.raises(ValueError, match=message):
            masrouter.train(states, HELD, 3, bad, seed=0, settings=settings)


# --- all three, over a pool -------------------------------------------------------------------------------------------

FAMILIES = ("math", "knowledge", "reasoning")
QUESTIONS = [
    Question(f"{family}-{split}-{i}", family, split, f"{family}: {i} + {i}?", f"{i} + {i}", 0, "math", str(2 * i))
    for split in ("train", "test")
    for family in FAMILIES
    for i in range(1, 13)
]
TRAIN = [q for q in QUESTIONS if q.split == "train"]
TEST = [q for q in QUESTIONS if q.split == "test"]


class Encoder:
    """States: the family's direction and a little of the text. An answer moves a text by its own direction."""

    d = 12

    def encode(self, texts, *, reuse_prefix=False):
        return np.array([self.one(text) for text in texts], np.float32)

    def one(self, text):
        question, _, answer = text.partition("\n")
        where = [FAMILIES.index(question.split(":")[0]), 3 + sum(map(ord, answer)) % 9 if answer else 11]
        noise = np.random.default_rng(list(question.encode())).normal(size=12) * 0.1
        return noise + 3.0 * np.eye(12)[where].sum(axis=0)


class Planted:
    """Agent a solves family a alone, agent 3 everything with a plan; a Verifier accepts right answers only.

    `expert`: agents right on every question, instead. Wrong answers differ by agent. `failing`: agents that fail.
    """

    def __init__(self, expert=(), failing=()):
        self.agents = tuple(Agent(f"a{k}", "fake") for k in range(4))
        self.expert, self.failing, self.calls = expert, failing, []

    def reply(self, agent, messages, replicate):
        role, parts = read_prompt(messages)
        self.calls.append((agent, role, replicate))
        if agent in self.failing:
            return Message("", None, None, None, "error", error="down")
        family, _, rest = parts["Question"].partition(": ")
        right = 2 * int(rest.split(" ")[0])
        if role == "thinker":
            return Message("PLAN: add\nNEXT: VERIFIER", 2, 1, 0.1, "stop")
        if role == "verifier":
            good = parts["Latest answer"].endswith(f"Answer: {right}")
            return Message(f"VERDICT: {'ACCEPT' if good else 'REVISE'}", 2, 1, 0.1, "stop")
        knows = agent in self.expert if self.expert else family == FAMILIES[min(agent, 2)] and agent < 3
        knows = knows or (agent == 3 and "[thinker]" in parts.get("Notes so far", ""))
        return Message(f"Answer: {right if knows else right + 1 + agent}", 10, 5, 1.0, "stop")

    async def ask(self, agent, messages, replicate):
        return self.reply(agent, messages, replicate)


def accuracy(rollouts):
    return np.mean([r.reward for r in rollouts])


def test_routerdc_on_a_pool():
    pool, router = Planted(), RouterDC(Encoder(), QUICK)
    with pytest.raises(ValueError, match="not been trained"):
        router.run(pool, TEST, seed=0)
    router.fit(pool, TRAIN, seed=0)
    assert len(pool.calls) == len(TRAIN) * 4 * 5 and {role for _, role, _ in pool.calls} == {"worker"}
    assert len(router.training) == len(pool.calls)
    pool.calls.clear()
    done = router.run(pool, TEST, seed=0, replicate=2)
    assert accuracy(done) == 1.0 and len(pool.calls) == len(TEST)
    assert [(len(r.turns), r.candidate, r.replicate) for r in done] == [(1, 0, 2)] * len(TEST)
    assert rollouts_table(done)["tokens_out"].tolist() == [5.0] * len(TEST)
    assert turns_table(done, pool)["p_agent"].tolist() == [1.0] * len(TEST)


def test_routerdc_leaves_out_questions_that_an_agent_failed_on():
    table, asked = routerdc.score_table(Planted(failing=(1,)), TRAIN[:3], answers=2, seed=0)
    assert len(asked) == 3 * 4 * 2
    assert table.shape == (3, 4) and np.isnan(table[:, 1]).all() and table[0, 0] == 1.0 and table[0, 2] == 0.0
    with pytest.raises(ValueError, match="at least one training question"):
        RouterDC(Encoder(), QUICK).fit(Planted(failing=(1,)), TRAIN, seed=0)


@pytest.mark.parametrize("kind", ["independent", "dependent"])
def test_smoothie_on_a_pool_finds_who_agrees_with_another_expert(kind):
    pool, router = Planted(expert=(1, 2)), Smoothie(Encoder(), kind)
    router.fit(pool, TRAIN, seed=0)
    assert not pool.calls  # no label is read
    done = router.run(pool, TEST, seed=0)
    assert accuracy(done) == 1.0
    assert len(pool.calls) == 4 * len(TEST)
    for rollout in done:  # every call counts, and the chosen one speaks last
        assert sorted(turn.agent for turn in rollout.turns) == [0, 1, 2, 3]
        assert [turn.index for turn in rollout.turns] == [1, 2, 3, 4]
        assert rollout.turns[-1].agent in (1, 2) and rollout.turns[-1].message.text == rollout.answer
    assert rollouts_table(done)["tokens_in"].tolist() == [40.0] * len(TEST)


def test_smoothie_on_a_pool_is_lost_where_nobody_agrees_and_refuses_two_agents():
    alone = Smoothie(Encoder()).run(Planted(expert=(2,)), TEST, seed=0)
    assert accuracy(alone) < 0.7  # the only right answer is as far from the others as any wrong one
    few = Planted()
    few.agents = few.agents[:2]
    with pytest.raises(ValueError, match=r"2 agents.*at least 3"):
        Smoothie(Encoder(), "independent").run(few, TEST, seed=0)
    assert not few.calls


def test_masrouter_on_a_pool():
    pool, router = Planted(), MasRouter(Encoder(), ControllerSettings(samples=512))
    with pytest.raises(ValueError, match="not been trained"):
        router.run(pool, TEST, seed=0)
    router.fit(pool, TRAIN, seed=0)
    assert len(router.history) == 5 and len(router.training) == 16 + 5 * 512 + 5 * 9
    done = router.run(pool, TEST, seed=0)
    assert accuracy(done) > 0.9  # the best fixed agent alone: 1/3; chance: less
    assert [r.turns for r in router.run(pool, TEST, seed=5)] == [r.turns for r in done]
    with pytest.raises(ValueError, match="3 training questions"):
        router.fit(pool, TRAIN[:3], seed=0)


def one_team(pool, roles, agents, question=TEST[0]):
    team = next(n for n, (_, own) in enumerate(TEAMS) if own == roles)
    (done,) = play_teams(pool, [question], np.array([team]), np.array([agents]), 0)
    return done, [(t.agent, t.role) for t in done.turns]


def test_teams_play_as_their_mode_says():
    pool = Planted()
    done, turns = one_team(pool, ("worker",), [0, -1, -1])
    assert (done.reward, turns) == (1.0, [(0, "worker")])
    done, turns = one_team(pool, ("thinker", "worker"), [1, 3, -1])  # the named role, Verifier, changes nothing
    assert (done.reward, turns) == (1.0, [(1, "thinker"), (3, "worker")])
    done, turns = one_team(pool, ("worker", "verifier"), [0, 2, -1])
    assert (done.reward, done.stop, turns) == (1.0, "accepted", [(0, "worker"), (2, "verifier")])
    done, turns = one_team(pool, ("worker", "verifier"), [1, 2, -1])  # not accepted: the Worker tries once more
    assert (done.reward, done.stop, turns[2:]) == (0.0, "turn limit", [(1, "worker")])
    done, turns = one_team(pool, ("thinker", "worker", "verifier"), [0, 1, 2])
    assert turns == [(0, "thinker"), (1, "worker"), (2, "verifier"), (1, "worker")]


def test_a_vote_is_blind_and_takes_the_commonest_answer():
    pool = Planted(expert=(1, 2))
    done, turns = one_team(pool, ("worker",) * 3, [0, 1, 2])
    assert done.reward == 1.0 and turns == [(0, "worker"), (1, "worker"), (2, "worker")]
    assert not any("Notes so far" in turn.prompt[1]["content"] for turn in done.turns)
    assert len({replicate for _, _, replicate in pool.calls}) == 3  # three draws, also of one agent
    done, _ = one_team(Planted(expert=(2,)), ("worker",) * 3, [0, 1, 2])
    assert done.answer == done.turns[0].message.text  # of equals the first


def test_a_failed_call_fails_the_team():
    done, turns = one_team(Planted(failing=(2,)), ("worker",) * 3, [0, 2, 1])
    assert done.reward is None and done.stop == "failed call" and len(turns) == 2


def test_a_question_for_a_judge_is_refused_before_any_call():
    pool = Planted()
    with pytest.raises(ValueError, match="math-test-1 has no automatic checker"):
        one_team(pool, ("worker",), [0, -1, -1], replace(TEST[0], kind="judge"))
    assert not pool.calls


def test_masrouter_needs_to_know_what_teams_cost():
    class Unpriced(Planted):
        def reply(self, agent, messages, replicate):
            return replace(super().reply(agent, messages, replicate), cost=None)

    router = MasRouter(Encoder(), ControllerSettings(samples=32, epochs=1))
    with pytest.raises(ValueError, match="costs must be known"):
        router.fit(Unpriced(), TRAIN, seed=0)


def test_masrouter_reads_whitened_principal_components():
    draw = np.random.default_rng(0)
    states = draw.normal(size=(50, 3)) @ draw.normal(size=(3, 9)) * np.linspace(1, 100, 9) + 5
    states[:, 4] = 2.0
    controller = Controller(3, *masrouter.principal_axes(states, 16))
    features = controller.features(states)
    assert features.shape == (50, 4)  # the states have 3 dimensions, a constant one adds none
    assert features[:, :3].mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    assert features[:, :3].T @ features[:, :3] * 3 / 50 == pytest.approx(np.eye(3), abs=1e-8)
    assert (features[:, 3] == 1).all()
