"""Trains the coordinators with SVF whose logs are `data/runs`: `python data/make/runs.py SEED...`, half an hour each.

The settings are the paper's: sep-CMA-ES, 33 candidates, 16 rollouts each, 60 generations; SVF by the rule `layer`.
Stopped at any time, the same command goes on where it was.
"""

import sys

from tqdm import tqdm

from suite.chapters.svf_and_position import training_log
from suite.experiments import Experiment, make_task
from trinity_core.training import train

if __name__ == "__main__":
    experiment = Experiment(svf="layer")
    task = make_task(experiment)
    for seed in map(int, sys.argv[1:]):
        with tqdm(total=experiment.budget, desc=f"seed {seed}") as bar:
            train(experiment.method, task, experiment.budget, seed, log=training_log(experiment, seed), progress=bar.update)
