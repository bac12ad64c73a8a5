"""The command `trinity bank`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from suite.console import run_command
from suite.worlds.bank import StateBank, add, bank_folder
from trinity_core import paths
from trinity_core.encoder import Encoder


def fill(encoder: Encoder, profile: str, turns: int = 4) -> int:
    """Meets every transcript of up to `turns` answers of the training and test questions, so that no policy of five
    turns can read one that the bank lacks (released rule: only answers enter a transcript); returns how many."""
    from tqdm import tqdm

    from suite.experiments import get_world
    from suite.worlds.tree import TranscriptTree

    bank, met, splits = StateBank(encoder), 0, ("train", "test")
    places = [(w, place) for w in (get_world(profile, split) for split in splits) for place in range(len(w.questions))]
    for world, place in tqdm(places, unit="question"):
        tree = TranscriptTree(world.questions[place : place + 1], world.pool, "released")
        tree.grow(turns)
        bank.encode([transcript.messages() for transcript in tree.transcripts])
        met += len(tree)
    return met


def main(arguments: Sequence[str] | None = None) -> int:
    """The bank of hidden states that training reads."""
    from suite.profiles import PROFILES, get_profile
    from trinity_core.encoder import load_encoder

    parser = argparse.ArgumentParser(prog="python -m suite.worlds.bank", description=main.__doc__)
    parser.add_argument("--profile", default="offline", choices=list(PROFILES), help="whose encoder")
    parser.add_argument("--position", default="penultimate", choices=("penultimate", "last"))
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--status", action="store_true", help="how many texts it holds, how many more were met")
    action.add_argument("--fill", action="store_true", help="meet all transcripts that training can read, then --add")
    action.add_argument("--add", action="store_true", help="put the texts that were met and lacked into new files")
    action.add_argument("--rebuild", action="store_true", help="drop the files; then --fill, run the notebooks, --add")
    options = parser.parse_args(arguments)
    try:
        encoder = load_encoder(get_profile(options.profile).encoder, position=options.position)
        folder = bank_folder(encoder)
        if options.fill:
            print(f"{fill(encoder, options.profile)} transcripts met")
        if options.add or options.fill:
            print(f"{add(encoder)} texts added")
        if options.rebuild:
            files = sorted(folder.glob("*.npz"))
            for path in files:
                path.unlink()
            print(f"{len(files)} files dropped")
        bank = StateBank(encoder)
    except (ValueError, OSError) as error:  # BankError is a ValueError
        print(error, file=sys.stderr)
        return 2
    met = len(set(bank.notes.read_text(encoding="utf-8").splitlines())) if bank.notes.is_file() else 0
    files = len(list(folder.glob("*.npz")))
    print(f"{folder.relative_to(paths.ROOT)}: {len(bank)} texts in {files} files; {met} more met")
    return 0


if __name__ == "__main__":
    run_command(main)
