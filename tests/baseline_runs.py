"""A baseline made, fitted and run, as the command does it."""

from __future__ import annotations

from suite.baselines import make_baseline


def run_baseline(name, pool, questions_test, questions_train=(), *, seed=0, replicate=0, **settings):
    """The rollouts of the test questions."""
    baseline = make_baseline(name, **settings)
    baseline.fit(pool, questions_train, seed=seed)
    return baseline.run(pool, questions_test, seed=seed, replicate=replicate)
