"""Checks of single values, with errors that name the value and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any


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
