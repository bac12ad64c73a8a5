"""The compiled world plays the very rollouts that the role loop plays."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from made_states import MadeEncoder, RoundedEncoder, assert_same, jobs_of

from suite import evaluation
from suite.checkers import check_answer, is_right
from suite.pools import load_pool
from suite.questions import load_questions
from suite.stats.rollouts import cube, plays_table
from suite.worlds.live import LiveWorld
from suite.worlds.recorded import RecordedWorld
from suite.worlds.routing import RoutingWorld
from suite.worlds.simulated import SimulatedWorld
from suite.worlds.tree import READ, SAYINGS, VAGUE_PLAN, SimulatedTree
from trinity_core.coordinator import HeadPolicy
from trinity_core.draws import key_text, uniform_rows, uniforms
from trinity_core.heads import HEADS, make_head
from trinity_core.rollout import LoopSettings, run_rollouts
from trinity_core.types import ROLES
from trinity_core.world import World


@pytest.fixture(scope="module")
def questions():
    return load_questions(per_family=3, split="train")


@pytest.fixture(scope="module")
def pool(questions):
    return load_pool("paper7", questions=questions)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRINITY_CACHE", str(tmp_path))


def population(head, rollouts, count, seed=0, size=5, scale=0.4):
    generator = np.random.default_rng(seed)
    thetas = scale * generator.standard_normal((size, head.size))
    return thetas, generator.integers(0, count, (size, rollouts)), np.arange(size * rollouts).reshape(size, rollouts)


@pytest.mark.parametrize("mode", ["sample", "argmax"])
@pytest.mark.parametrize("rule", ["paper", "released"])
@pytest.mark.parametrize(
    ("head_name", "names_role"), [("linear", 1.0), ("sparse", 1.0), ("low-rank", 1.0), ("linear", 0.5)]
)
def test_rollouts_are_those_of_the_role_loop(questions, rule, mode, head_name, names_role):
    pool = load_pool("paper7", questions=questions, assumptions={"names_role": names_role})
    settings = LoopSettings(seed=3, transcript=rule, mode=mode, max_turns=6)
    head = make_head(head_name, 7, 24)
    thetas, asked, replicates = population(head, 20, len(questions))
    plays = SimulatedWorld(questions, pool, MadeEncoder(), settings).play(head, thetas, asked, replicates)
    jobs = jobs_of(questions, asked, replicates)
    rollouts = run_rollouts(jobs, HeadPolicy(head, thetas), RoundedEncoder(), pool, settings, check=is_right)
    assert len({rollout.stop for rollout in rollouts}) == 3  # every way to end was met
    assert_same(plays, rollouts, questions)


def test_a_cube_has_each_rollout_at_its_place(questions, pool):
    world, head = SimulatedWorld(questions, pool, MadeEncoder()), make_head("linear", 7, 24)
    numbers = np.broadcast_to(np.tile(np.arange(3), len(questions)), (2, 3 * len(questions)))
    asked = np.broadcast_to(np.repeat(np.arange(len(questions)), 3), numbers.shape)
    plays = world.play(head, population(head, 1, 1, size=2)[0], asked, numbers)
    table = plays_table(plays, questions)
    for name in ("reward", "cost"):
        assert np.array_equal(cube(table, name), getattr(plays, name).reshape(2, len(questions), 3))
    assert np.array_equal(cube(table[::-1])[::-1, ::-1, ::-1], cube(table))
    with pytest.raises(ValueError, match="71 rollouts do not fill"):
        cube(table[1:])


def test_a_live_pool_gives_the_same_plays(questions, pool):
    settings = LoopSettings(seed=5, transcript="released")
    head = make_head("linear", 7, 24)
    thetas, asked, replicates = population(head, 8, len(questions), seed=1)
    fast = SimulatedWorld(questions, pool, MadeEncoder(), settings)
    slow = LiveWorld(questions, pool, RoundedEncoder(), settings)
    one, other = (world.play(head, thetas, asked, replicates) for world in (fast, slow))
    for name in ("questions", "reward", "turns", "stop", "tokens_in", "tokens_out", "agents", "roles", "named"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    seen = one.nodes >= 0
    assert np.array_equal(fast.states(one.nodes[seen]), slow.states(other.nodes[seen]))
    assert isinstance(fast, World) and isinstance(slow, World)
    agents, places = np.arange(7).repeat(len(questions)), np.tile(np.arange(len(questions)), 7)
    assert np.array_equal(fast.solve(agents, places, places), slow.solve(agents, places, places))


def test_rollouts_do_not_depend_on_what_is_played_beside_them(questions, pool):
    head = make_head("linear", 7, 24)
    thetas, asked, replicates = population(head, 12, len(questions))
    world = SimulatedWorld(questions, pool, MadeEncoder())
    whole = world.play(head, thetas, asked, replicates)
    order = np.random.default_rng(0).permutation(12)
    for candidate in range(len(thetas)):
        alone = SimulatedWorld(questions, pool, MadeEncoder()).play(
            head, thetas[[candidate]], asked[[candidate]][:, order], replicates[[candidate]][:, order]
        )
        assert np.array_equal(alone.agents[0], whole.agents[candidate][order])
        assert np.array_equal(alone.reward[0], whole.reward[candidate][order])


@pytest.mark.parametrize("head_name", HEADS)
def test_every_head_plays(questions, pool, head_name):
    head = make_head(head_name, 7, 24)
    thetas, asked, replicates = population(head, 4, len(questions))
    plays = SimulatedWorld(questions, pool, MadeEncoder()).play(head, thetas, asked, replicates)
    assert plays.fitness.shape == (5,) and set(np.unique(plays.reward)) <= {0.0, 1.0}
    assert plays.agent_share().sum() == pytest.approx(1) and plays.role_share().sum() == pytest.approx(1)


def test_known_answers_are_what_the_checkers_say(questions, pool):
    tree = SimulatedTree(questions, pool, "released")
    for place, question in enumerate(questions):
        for saying in (0, 1):
            node = int(tree.child(np.array([place]), np.array([saying]))[0])
            text = tree.transcripts[node].entries[-1].text
            found = check_answer(question.kind, question.reference, text, question=question)
            assert found.correct == (tree.answer[node] == 0), (question.id, saying)


def test_a_grown_tree_holds_every_run_of_answers(questions, pool):
    tree = SimulatedTree(questions[:2], pool, "released")
    tree.grow(3)
    assert len(tree) == 2 * (1 + 2 + 4 + 8) == len(set(tree.transcripts))


def test_under_the_released_rule_plans_and_verdicts_leave_no_trace(questions, pool):
    tree = SimulatedTree(questions, pool, "released")
    answered = tree.child(np.array([0]), np.array([1]))
    for saying in range(VAGUE_PLAN, SAYINGS):
        assert tree.child(answered, np.array([saying])) == answered
    paper = SimulatedTree(questions, pool, "paper")
    children = {int(paper.child(np.array([0]), np.array([saying]))[0]) for saying in (0, 2, 3, 4, 5)}
    assert len(children) == 5 and 0 not in children


def test_a_failed_rollout_is_left_out_of_the_fitness(questions, pool):
    head = make_head("linear", 7, 24)
    plays = SimulatedWorld(questions, pool, MadeEncoder()).play(head, *population(head, 4, len(questions)))
    plays.reward[0] = [1, np.nan, 0, np.nan]
    plays.reward[1] = np.nan
    assert plays.fitness[0] == 0.5 and np.isnan(plays.fitness[1])


def test_rows_of_draws_are_the_single_draws():
    keys = [("decision", 3, "q-1", 7, 2), ("simulated", 0, "é\x1f", "a", "worker", 101)]
    rows = uniform_rows(4, [key_text(*key) for key in keys])
    assert np.array_equal(rows, [uniforms(4, *key) for key in keys])
    with pytest.raises(ValueError, match="9 numbers"):
        uniform_rows(9, ["a"])


def test_shapes_that_do_not_fit_are_named(questions, pool):
    world, head = SimulatedWorld(questions, pool, MadeEncoder()), make_head("linear", 7, 24)
    with pytest.raises(ValueError, match=r"theta\[None\]"):
        world.play(head, np.zeros(head.size), np.zeros((1, 2), int), np.zeros((1, 2), int))
    with pytest.raises(ValueError, match=r"\(240,\)|239|240"):
        world.play(head, np.zeros((1, 239)), np.zeros((1, 2), int), np.zeros((1, 2), int))


def test_only_what_is_read_is_encoded(questions, pool):
    encoder = MadeEncoder()
    world = SimulatedWorld(questions, pool, encoder, LoopSettings(transcript="released"))
    head = make_head("linear", 7, 24)
    plays = world.play(head, *population(head, 20, len(questions)))
    read = np.unique(plays.nodes[plays.nodes >= 0])
    kept = {len(world.tree.transcripts[node].entries) for node in np.unique(world.read(read))}
    assert encoder.encoded == len(np.unique(world.read(read))) < len(world.tree) and max(kept) == READ
    assert np.array_equal(world.states(read[::-1]), world.states(read)[::-1])
    assert encoder.encoded == len(np.unique(world.read(read)))


def test_a_simulated_world_reads_the_last_answers(questions, pool):
    """Under the released rule; the whole transcript under the paper's."""
    world = SimulatedWorld(questions, pool, MadeEncoder(), LoopSettings(transcript="released"))
    node = np.array([1])
    for saying in (0, 1, 1, 0, 1):
        node = world.tree.child(node, np.array([saying]))
    read = world.tree.transcripts[int(world.read(node)[0])]
    assert len(world.tree.transcripts[int(node[0])].entries) == 5 and read.question == questions[1].text
    assert read.entries == world.tree.transcripts[int(node[0])].entries[-READ:]
    assert np.array_equal(world.states(node), world.states(world.read(node)))
    whole = SimulatedWorld(questions, pool, MadeEncoder(), LoopSettings(transcript="paper"))
    nodes = whole.tree.grow(5)
    assert np.array_equal(whole.read(nodes), nodes)


def test_every_world_has_the_protocols_members():
    for world in (SimulatedWorld, RecordedWorld, RoutingWorld, LiveWorld):
        for name in ("describe", "states", "solve", "play"):
            ours, theirs = (list(inspect.signature(getattr(one, name)).parameters) for one in (world, World))
            assert ours == theirs, (world, name)


def test_rules_written_by_hand_pick_agents_by_the_training_questions(questions, pool):
    train, world = (SimulatedWorld(some, pool, MadeEncoder()) for some in (questions[::2], questions[1::2]))
    even, plain, pair = (evaluation.fixed(world, rule, 3) for rule in evaluation.hand_written(train, world).values())
    verifier, unanswered = even.roles == ROLES.index("verifier"), world.tree.answer[even.nodes] < 0
    assert verifier.any() and not (verifier & unanswered).any()
    chances, asked = np.concatenate(list(evaluation.alone(train).values())), [q.family for q in train.questions]
    means = {kind: chances[:, [one == kind for one in asked]].mean(axis=1) for kind in dict.fromkeys(asked)}
    assert set(plain.agents[plain.agents >= 0]) == {np.mean(list(means.values()), axis=0).argmax()}
    for place, question in enumerate(world.questions):
        mine = pair.agents[0, 3 * place : 3 * place + 3]
        assert set(mine[mine >= 0]) <= set(np.argsort(-means[question.family])[:2].tolist())
    assert (pair.roles[~pair.named & (pair.roles >= 0)] == ROLES.index("thinker")).all()
