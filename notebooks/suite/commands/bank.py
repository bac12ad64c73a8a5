"""Look after the bank of hidden states that training reads (data/bank)."""

from __future__ import annotations

import argparse

from suite.profiles import PROFILES, get_profile
from trinity_core.paths import ROOT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", default="offline", choices=list(PROFILES), help="whose encoder")
    parser.add_argument("--position", default="penultimate", choices=("penultimate", "last"))
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--status", action="store_true", help="how many texts it holds, how many more were met")
    action.add_argument("--fill", action="store_true", help="meet all transcripts that training can read, then --add")
    action.add_argument("--add", action="store_true", help="put the texts that were met and lacked into new files")
    action.add_argument("--rebuild", action="store_true", help="drop the files; then --fill, run the notebooks, --add")


def main(options: argparse.Namespace) -> int:
    from suite.experiments import meet_transcripts
    from suite.worlds.bank import StateBank, add, bank_folder
    from trinity_core.encoder import load_encoder

    encoder = load_encoder(get_profile(options.profile).encoder, position=options.position)
    folder = bank_folder(encoder)
    if options.fill:
        print(f"{meet_transcripts(encoder, options.profile)} transcripts met")
    if options.add or options.fill:
        print(f"{add(encoder)} texts added")
    if options.rebuild:
        files = sorted(folder.glob("*.npz"))
        for path in files:
            path.unlink()
        print(f"{len(files)} files dropped")
    bank = StateBank(encoder)
    met = len(set(bank.notes.read_text(encoding="utf-8").splitlines())) if bank.notes.is_file() else 0
    files = len(list(folder.glob("*.npz")))
    print(f"{folder.relative_to(ROOT)}: {len(bank)} texts in {files} files; {met} more met")
    return 0
