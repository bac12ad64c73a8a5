"""Learn to coordinate the simulated pool by one method; killed and started again, it goes on.

Writes log.jsonl (a line an iteration), history.csv, coordinator.safetensors and result.json.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

from suite.console import from_0, from_1, output_folder
from suite.profiles import PROFILES

METHODS = ("sep-cma-es", "random-search", "reinforce", "sft")
NAMES = ("profile", "method", "seed", "head", "transcript", "sampling")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", default="offline", choices=list(PROFILES))
    parser.add_argument("--method", default="sep-cma-es", choices=METHODS)
    parser.add_argument("--seed", type=from_0, default=1)
    parser.add_argument("--budget", type=from_1, help="atomic evaluations (default: the paper's; smoke: a tenth)")
    heads = "linear, low-rank, sparse, block-diagonal-2, block-diagonal-10"
    parser.add_argument("--head", default="linear", metavar="NAME", help=heads)
    parser.add_argument("--transcript", default="released", choices=("paper", "released"))
    parser.add_argument("--sampling", default="independent", choices=("independent", "stratified", "common"))
    parser.add_argument("--out", type=output_folder, required=True, metavar="DIR")


def main(options: argparse.Namespace) -> int:
    from tqdm import tqdm

    from suite.experiments import Experiment, make_task, run_experiment
    from trinity_core.coordinator import Coordinator
    from trinity_core.paths import write_atomic
    from trinity_core.training.train import PAPER_BUDGET

    budget = options.budget or (PAPER_BUDGET // 10 if options.profile == "smoke" else PAPER_BUDGET)
    experiment = replace(Experiment(), budget=budget, **{name: getattr(options, name) for name in NAMES})
    options.out.mkdir(parents=True, exist_ok=True)
    with tqdm(total=budget, unit="rollout", desc=f"{options.method}, seed {options.seed}") as bar:
        trained = run_experiment(experiment, options.out / "log.jsonl", bar.update)
    result = trained.result
    write_atomic(options.out / "history.csv", result.history.to_csv(index=False))
    Coordinator.of(make_task(experiment), result.theta).save(options.out / "coordinator")
    summary = {"method": options.method, "seed": options.seed, "evaluations": result.evaluations}
    summary |= {"budget": budget, "stop": result.stop}
    for split, rewards in (("training", trained.train_rewards), ("test", trained.test_rewards)):
        summary[f"reward, {split} questions"] = round(float(rewards.mean()), 4)
    text = json.dumps(summary, indent=1) + "\n"
    write_atomic(options.out / "result.json", text)
    print(f"{text}simulated pool; everything is in {options.out}")
    return 0
