"""Checks of single values, with errors that name the value and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np


def whole(name: str, value: Any, least: int | None = None) -> int:
    """`value` as an int. ValueError where it is no whole number (Python's or numpy's; a bool is none) or below."""
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or (least is not None and number < least):
        bound = "" if least is None else f" of at least {least}"
        raise ValueError(f"{name} is {value!r}; give a whole number{bound}")
    return number


def one_of(name: str, value: Any, choices: Iterable[str]) -> None:
    """ValueError where `value` is none of the choices."""
    choices = list(choices)
    if value not in choices:
        raise ValueError(f"unknown {name} {value!r}; choose one of {', '.join(choices)}")


def candidates_of(candidates: Any, population: int) -> np.ndarray:
    """`candidates` (batch,) as int64. ValueError where one is not in 0 ... population - 1."""
    candidates = np.asarray(candidates, dtype=np.int64)
    if candidates.size and not 0 <= candidates.min() <= candidates.max() < population:
        raise ValueError(
            f"candidates {candidates.min()} to {candidates.max()} asked of a population of {population};"
            f" give 0 to {population - 1}"
        )
    return candidates
