"""The published benchmarks of the paper: where each is, which revision is read, its licence and its fields.

| split | in the paper | here |
| --- | --- | --- |
| LiveCodeBench train, test | V1, 400 questions; V6, 175 | `test.jsonl`; `test6.jsonl` |
| MATH500, MMLU test | their test questions | the published test files |
| MMLU train | not said | the published validation questions (1,531) |
| MATH500 train | not said | none is published in MATH-500: give a file |
| RLPR train, test | not said | RLPR-Train-Dataset; the WebInstruct part (638) of RLPR-Evaluation |
| held out (AIME2025, BigCodeBench, MT-Bench, GPQA-D) | test only | test only; of BigCodeBench the hard set (148) |

The released code takes 240 of LiveCodeBench's 400 for training and keeps the rest for validation and test; whoever
trains decides that. A revision `main` was not to be had as a commit's number when the table was made.
"""

from __future__ import annotations

from dataclasses import dataclass

from trinity_core.types import Family


@dataclass(frozen=True)
class Benchmark:
    """One published benchmark. `files` holds, for each published split, (repository, revision, file in it).

    `fields`: what each row must hold; `optional` what it may lack. `gated`: the hub asks for an account and consent.
    """

    title: str
    family: Family
    licence: str
    fields: tuple[str, ...]
    files: dict[str, tuple[str, str, str]]
    optional: tuple[str, ...] = ()
    gated: bool = False
    kind: str = "dataset"  # of repository on the hub


_LCB = "livecodebench/code_generation_lite", "0fe84c3912ea0c4d4a78037083943e8f0c4dd505"
_MMLU = "cais/mmlu", "c30699e8356da336a370243923dbaf21066bb9fe"

BENCHMARKS: dict[str, Benchmark] = {
    "math500": Benchmark(
        title="MATH-500",
        family="math",
        licence="MIT (that of MATH)",
        fields=("problem", "answer", "unique_id"),
        optional=("solution", "subject", "level"),
        files={"test": ("HuggingFaceH4/MATH-500", "ff5b20257d8185524591543f8ff5993951537bb8", "test.jsonl")},
    ),
    "mmlu": Benchmark(
        title="MMLU",
        family="knowledge",
        licence="MIT",
        fields=("question", "choices", "answer"),
        optional=("subject",),
        files={
            "train": (*_MMLU, "all/validation-00000-of-00001.parquet"),
            "test": (*_MMLU, "all/test-00000-of-00001.parquet"),
        },
    ),
    "rlpr": Benchmark(
        title="RLPR",
        family="reasoning",
        licence="CC BY-NC 4.0 (evaluation part; of the training part see its card)",
        fields=("prompt", "reward_model"),
        optional=("data_source", "ability", "extra_info"),
        files={
            "train": ("openbmb/RLPR-Train-Dataset", "922eeb37157ebce90c1ee8233cdf04f04fbad728", "rlpr_train.parquet"),
            "test": ("openbmb/RLPR-Evaluation", "main", "WebInstruct-verified-val_Avg2.parquet"),
        },
    ),
    "livecodebench": Benchmark(
        title="LiveCodeBench",
        family="code",
        licence="CC",
        fields=("question_id", "question_content", "public_test_cases", "private_test_cases", "metadata"),
        optional=("question_title", "platform", "contest_id", "contest_date", "starter_code", "difficulty"),
        files={"train": (*_LCB, "test.jsonl"), "test": (*_LCB, "test6.jsonl")},
    ),
    "aime2025": Benchmark(
        title="AIME 2025",
        family="aime",
        licence="not stated (contest of the MAA)",
        fields=("problem", "answer"),
        optional=("id",),
        files={"test": ("math-ai/aime25", "563bb8404243c5f09de6ec262f2db674fe5bce9b", "test.jsonl")},
    ),
    "bigcodebench": Benchmark(
        title="BigCodeBench (hard set)",
        family="bigcode",
        licence="Apache-2.0",
        fields=("task_id", "instruct_prompt", "code_prompt", "canonical_solution", "test", "entry_point"),
        optional=("complete_prompt", "doc_struct", "libs", "q_idx", "question", "score", "_id"),
        files={"test": ("bigcode/bigcodebench-hard", "main", "data/v0.1.4-00000-of-00001.parquet")},
    ),
    "mtbench": Benchmark(
        title="MT-Bench",
        family="mtbench",
        licence="Apache-2.0",
        fields=("question_id", "category", "turns"),
        optional=("reference",),
        files={"test": ("lmsys/mt-bench", "main", "data/mt_bench/question.jsonl")},
        kind="space",
    ),
    "gpqa": Benchmark(
        title="GPQA Diamond",
        family="gpqa",
        licence="CC BY 4.0",
        fields=(
            "Record ID",
            "Question",
            "Correct Answer",
            "Incorrect Answer 1",
            "Incorrect Answer 2",
            "Incorrect Answer 3",
        ),
        optional=("Subdomain", "High-level domain"),
        files={"test": ("Idavidrein/gpqa", "633f5ee89ab8ad4522a9f850766b73f62147ffdd", "gpqa_diamond.csv")},
        gated=True,
    ),
}
