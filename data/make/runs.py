"""Trains the coordinators with SVF whose logs are `data/runs`: `python data/make/runs.py SEED...`, a quarter of an
hour each. Stopped at any time, the same command goes on where it was."""

import sys

from tqdm import tqdm

from suite.chapters.svf_and_position import WITH_SVF, training_log
from suite.experiments import make_task
from trinity_core.training import train

if __name__ == "__main__":
    task = make_task(WITH_SVF)
    for seed in map(int, sys.argv[1:]):
        with tqdm(total=WITH_SVF.budget, desc=f"seed {seed}") as bar:
            train(WITH_SVF.method, task, WITH_SVF.budget, seed, log=training_log(WITH_SVF, seed), progress=bar.update)
