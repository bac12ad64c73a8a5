"""`python -m suite.commands.train`: one training, its log and its coordinator in a folder; run again, it goes on."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace

from suite.console import output_folder, run_command
from suite.profiles import PROFILES
from trinity_core.paths import write_atomic


def main(arguments: Sequence[str] | None = None) -> int:
    """Learn to coordinate the simulated pool by one method. Writes log.jsonl (an iteration a line: a killed training
    goes on from it), history.csv, coordinator.safetensors with coordinator.json, and result.json."""
    from trinity_core.coordinator import Coordinator
    from trinity_core.heads import HEADS
    from trinity_core.training.train import METHODS, PAPER_BUDGET, TrainingError

    parser = argparse.ArgumentParser(prog="python -m suite.commands.train", description=main.__doc__)
    parser.add_argument("--profile", default="offline", choices=list(PROFILES))
    parser.add_argument("--method", default="sep-cma-es", choices=list(METHODS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, help=f"atomic evaluations (default: {PAPER_BUDGET}; smoke: a tenth)")
    parser.add_argument("--head", default="linear", choices=HEADS)
    parser.add_argument("--transcript", default="released", choices=("paper", "released"))
    parser.add_argument("--sampling", default="independent", choices=("independent", "stratified", "common"))
    parser.add_argument("--out", type=output_folder, required=True, metavar="DIR")
    options = parser.parse_args(arguments)
    if options.seed < 0:
        parser.error(f"--seed is {options.seed}; give 0 or more")
    if options.budget is not None and options.budget < 1:
        parser.error(f"--budget is {options.budget}; give 1 or more")
    from tqdm import tqdm

    from suite.experiments import Experiment, make_task, run_experiment

    budget = options.budget or (PAPER_BUDGET // 10 if options.profile == "smoke" else PAPER_BUDGET)
    names = ("profile", "method", "seed", "head", "transcript", "sampling")
    experiment = replace(Experiment(), budget=budget, **{name: getattr(options, name) for name in names})
    folder = options.out
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tqdm(total=budget, unit="rollout", desc=f"{options.method}, seed {options.seed}") as bar:
            trained = run_experiment(experiment, folder / "log.jsonl", bar.update)
        result, task = trained.result, make_task(experiment)
        write_atomic(folder / "history.csv", result.history.to_csv(index=False))
        Coordinator.of(task, result.theta).save(folder / "coordinator")
    except (ValueError, OSError, TrainingError) as error:
        print(error, file=sys.stderr)
        return 2
    summary = {
        "method": options.method,
        "seed": options.seed,
        "evaluations": result.evaluations,
        "budget": budget,
        "stop": result.stop,
        "reward, training questions": round(float(trained.train_rewards.mean()), 4),
        "reward, test questions": round(float(trained.test_rewards.mean()), 4),
    }
    write_atomic(folder / "result.json", json.dumps(summary, indent=1) + "\n")
    for name, value in summary.items():
        print(f"{name}: {value}")
    print(f"simulated pool; everything is in {folder}")
    return 0


if __name__ == "__main__":
    run_command(main)
