"""The four sizes of a run: one code path, four profiles."""

from __future__ import annotations

from dataclasses import dataclass

RECORDED = "recorded"
DATA_VARIABLE = "TRINITY_DATA"  # names the folder of recorded files; they are read from there and never shipped
DATA_FOLDERS = ("routerdc", "routerbench", "routellm")  # what is read below it
PUBLISHED = (
    "GitHub: shuhao02/RouterDC (datasets/split2_model7 and datasets/routerbench_zs), "
    "lm-sys/RouteLLM (routellm/evals); data/README.md says more"
)


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
