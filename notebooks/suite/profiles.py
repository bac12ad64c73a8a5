"""The four sizes of a run: one code path, four profiles."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

RECORDED = "recorded"
DATA_VARIABLE = "TRINITY_DATA"  # names the folder of recorded files; they are read from there and never shipped
DATA_FOLDERS = ("routerdc", "routerbench", "routellm")  # what is read below it
PUBLISHED = (
    "GitHub: shuhao02/RouterDC (datasets/split2_model7 and datasets/routerbench_zs), "
    "lm-sys/RouteLLM (routellm/evals); data/README.md says more"
)


class RecordedError(ValueError):
    """A recorded file, or a set of them, cannot be used; the message names file, place, value and remedy."""


@dataclass(frozen=True)
class Profile:
    """What a profile changes. `per_family` counts questions a family and split; `encoder` is a `load_encoder` name."""

    name: str
    encoder: str
    per_family: int
    purpose: str


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("smoke", "smollm2-135m", 12, "a few questions: checks that everything runs, seconds a notebook"),
        Profile("offline", "smollm2-135m", 120, "the default: a real small language model, no key, no download"),
        Profile(RECORDED, "smollm2-135m", 120, "real LLMs' recorded answers: set TRINITY_DATA to their folder"),
        Profile("paper", "Qwen/Qwen3-0.6B", 120, "the paper's own encoder from the model hub, LLMs through litellm"),
    )
}


def get_profile(name: str) -> Profile:
    """The profile of that name; ValueError names the value and the choices."""
    if name not in PROFILES:
        raise ValueError(f"unknown profile {name!r}; choose one of {', '.join(PROFILES)}")
    return PROFILES[name]


def data_dir(named: str | Path | None = None) -> Path:
    """The folder of recorded data: `named`, else TRINITY_DATA. RecordedError says what is missing and where it is
    published."""
    source = "--data-dir" if named is not None else DATA_VARIABLE
    value = str(os.environ.get(DATA_VARIABLE, "") if named is None else named)
    folder = Path(value).expanduser()
    if not value.strip():
        fault = "is not set; set it to a folder of recorded data"
    elif not folder.is_dir():
        fault = f"is {value!r}, which is no folder"
    elif not any((folder / name).is_dir() for name in DATA_FOLDERS):
        fault = f"is {value!r}, which holds no recorded data"
    else:
        return folder
    raise RecordedError(f"{source} {fault}; it needs {', '.join(DATA_FOLDERS)} (see data/README.md). {PUBLISHED}")
