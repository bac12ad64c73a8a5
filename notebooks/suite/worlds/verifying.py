"""The benchmarks with recorded answers on which coordinators hold conversations, and all texts that these can read.

    arc, winogrande   RouterBench, eleven LLMs: training questions drawn from its training file, the whole test file
    gsm8k             RouteLLM, two LLMs: one file, training and test questions drawn apart

So that few texts are encoded, a Worker says its letter or number alone and only answers enter the transcript
(`released` rule); `VISIBLE` is the one setting in which the coordinator sees whole replies and verdicts (`paper` rule),
with fewer turns. `texts_to_encode` lists every transcript of every setting before anything is played.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from suite.pools import load_pool
from suite.pools.recorded import RecordedPool
from suite.worlds.recorded import Messages, RecordedWorld, draw_questions, in_order, texts_of
from trinity_core.progress import progress
from trinity_core.rollout import LoopSettings
from trinity_core.types import Question

TRAIN, TEST = 150, 400  # questions; TEST where a file is divided here


class Benchmark(NamedTuple):
    """A pool file of recorded answers; `divided`: its one file holds training and test questions alike."""

    title: str
    pool: str
    divided: bool = False


BENCHMARKS = {
    "arc": Benchmark("ARC-Challenge", "routerbench-arc"),
    "winogrande": Benchmark("Winogrande", "routerbench-winogrande"),
    "gsm8k": Benchmark("GSM8K", "routellm-gsm8k", divided=True),
}


class Setting(NamedTuple):
    """What the coordinator sees and for how long: `transcript` and `turns` as in `LoopSettings`, `says` as in
    `RecordedPool`."""

    transcript: str = "released"
    turns: int = 5
    says: str = "answer"


HIDDEN, VISIBLE = Setting(), Setting("paper", 3, "text")
READ = (("arc", HIDDEN), ("winogrande", HIDDEN), ("winogrande", VISIBLE), ("gsm8k", HIDDEN))  # all that is encoded


@lru_cache(maxsize=8)
def get_pool(data: Path, name: str, says: str = "text") -> RecordedPool:
    """The pool of a benchmark, read once a process."""
    return load_pool(BENCHMARKS[name].pool, data=data, says=says)


def get_questions(data: Path, name: str, split: str) -> list[Question]:
    """The questions of one split: `TRAIN` training questions, drawn by key, or those of the test."""
    divided, every = BENCHMARKS[name].divided, get_pool(data, name).questions
    known = [question for question in every if divided or question.split == "train"]
    train = draw_questions(known, min(TRAIN, len(known) // 2), "train")
    if split == "train":
        return train
    if not divided:
        return [question for question in every if question.split == split]
    taken = {question.id for question in train}
    rest = [question for question in every if question.id not in taken]
    return draw_questions(rest, min(TEST, len(rest)), "test")


def get_world(data: Path, name: str, split: str, reader: Any, setting: Setting = HIDDEN) -> RecordedWorld:
    """The world of a benchmark's questions of one split; `reader`: the encoder."""
    settings = LoopSettings(transcript=setting.transcript, max_turns=setting.turns)
    return RecordedWorld(get_questions(data, name, split), get_pool(data, name, setting.says), reader, settings)


def texts_to_encode(data: Path, reader: Any) -> list[Messages]:
    """Every transcript that a rollout of any of the settings can read, each once."""
    worlds = [get_world(data, name, split, reader, how) for name, how in READ for split in ("train", "test")]
    return list({repr(text): text for world in worlds for text in texts_of(world)}.values())


def encode_ahead(data: Path, reader: Any) -> None:
    """Encodes all of them that the encoder's cache lacks, with a bar over the tokens that are left."""
    texts = texts_to_encode(data, reader)
    formed = [reader.format(text) for text in texts]
    length = {text: len(ids) for text, ids in zip(formed, reader.tokenizer(formed)["input_ids"], strict=True)}
    # Of a transcript that goes on from another one only what is new is encoded.
    begun = [length.get(reader.format(text[:-1]), 0) if text[1:] else 0 for text in texts]
    new = [length[one] - known for one, known in zip(formed, begun, strict=True)]
    with progress(sum(new), f"encoding conversations with {reader.name}") as left:
        for batch in in_order(texts):
            reader.encode([texts[place] for place in batch], reuse_prefix=True)
            left.update(sum(new[place] for place in batch))
