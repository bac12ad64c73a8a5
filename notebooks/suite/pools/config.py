"""Pools' configuration files, read strictly.

A file is `data/pools/<name>.yaml` with a `kind`: an unknown key, a key given twice, two agents of one name or a secret in
the file are errors that name the thing and the remedy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from trinity_core.paths import DATA
from trinity_core.pool import Agent, PoolError

POOLS = DATA / "pools"
AGENT_KEYS = ("name", "model", "parameters", "description", "price_per_million")
SECRET_NAME = re.compile(r"api[_-]?key|secret|password|authori[sz]ation|bearer|credential|(^|[_-])token$", re.I)


def pool_kind(name_or_path: str | Path) -> str:
    """The kind that a pool's file names (a key of `KINDS`, where it names a right one); nothing of it is built."""
    return str(read_config(find_config(name_or_path)).get("kind"))


def find_config(name_or_path: str | Path) -> Path:
    """The file of a pool's name or path."""
    path = Path(name_or_path).expanduser()
    if path.suffix not in (".yaml", ".yml"):
        path = POOLS / f"{name_or_path}.yaml"
    if not path.is_file():
        names = sorted(file.stem for file in POOLS.glob("*.yaml"))
        raise PoolError(
            f"no pool {str(name_or_path)!r}: give one of {', '.join(names) or '(none)'} (files of data/pools/), or the "
            "path of a .yaml file"
        )
    return path


def read_config(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; PoolError where it is not one, or where a key stands twice."""
    class StrictLoader(yaml.SafeLoader):
        """YAML keeps the last of two equal keys without a word; here that is an error."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen: set[Any] = set()
            for key_node, _ in node.value:
                key = str(key_node.value)
                if key in seen and key != "<<":
                    raise PoolError(f"{path.name}, line {key_node.start_mark.line + 1}: key {key!r} is given twice")
                seen.add(key)
            return super().construct_mapping(node, deep=deep)

    try:
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=StrictLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PoolError(f"{path.name} is not readable YAML: {' '.join(str(error).split())}") from None
    if not isinstance(config, dict):
        raise PoolError(f"{path.name} holds {type(config).__name__}, not a mapping with `kind` and `agents`")
    return config


def check_keys(mapping: Any, where: str, *, known: Sequence[str], required: Sequence[str] = ()) -> None:
    """PoolError where `mapping` is none, lacks a required key or has one that is not known."""
    if not isinstance(mapping, Mapping):
        raise PoolError(f"{where} is {mapping!r}, not a mapping; it takes the keys {', '.join(known)}")
    unknown = [str(key) for key in mapping if key not in known]
    if unknown:
        raise PoolError(f"{where} has the unknown key {unknown[0]!r}; known: {', '.join(known)}")
    for key in required:
        if key not in mapping:
            raise PoolError(f"{where} lacks the key {key!r}")


def number(value: Any, where: str, *, least: float = 0.0, whole: bool = False) -> Any:
    """`value` where it is a finite number of at least `least`; PoolError names it otherwise."""
    wrong = isinstance(value, bool) or not isinstance(value, int if whole else (int, float))
    if wrong or not least <= value < float("inf"):
        hint = " (in YAML write an exponent with a point and a sign: 1.0e-6)" if isinstance(value, str) else ""
        raise PoolError(f"{where} is {value!r}; give {'a whole' if whole else 'a'} number of at least {least:g}{hint}")
    return value


def read_agents(entries: Any, *, extra_keys: Sequence[str] = ()) -> tuple[Agent, ...]:
    """The agents of a file's `agents` list. `extra_keys` belong to the kind, which reads them itself."""
    if not isinstance(entries, list) or not entries:
        raise PoolError(f"`agents` is {entries!r}; give a list of at least one agent with `name` and `model`")
    agents: list[Agent] = []
    for place, entry in enumerate(entries):
        where = f"agent {place}"
        check_keys(entry, where, known=(*AGENT_KEYS, *extra_keys), required=("name", "model"))
        for key in ("name", "model", "description"):
            if not isinstance(entry.get(key, ""), str) or (key != "description" and not entry[key].strip()):
                raise PoolError(f"{where}: `{key}` is {entry.get(key)!r}; give a text (in quotes)")
        if any(entry["name"] == agent.name for agent in agents):
            raise PoolError(f"two agents are named {entry['name']!r}; names must differ (a table's row is one agent)")
        parameters = entry.get("parameters") or {}
        if not isinstance(parameters, dict):
            raise PoolError(f"{where} ({entry['name']}): `parameters` is {parameters!r}, not a mapping")
        refuse_secrets(parameters, f"{where} ({entry['name']}): parameter")
        price = entry.get("price_per_million")
        if price is not None:
            here = f"{where} ({entry['name']}): price_per_million"
            check_keys(price, here, known=("input", "output"), required=("input", "output"))
            price = tuple(number(price[side], f"{here}.{side}") / 1e6 for side in ("input", "output"))
        agents.append(Agent(entry["name"], entry["model"], parameters, entry.get("description", ""), price))
    return tuple(agents)


def refuse_secrets(value: Any, where: str) -> None:
    """PoolError where a mapping, at any depth, has a key that names a secret: keys come from the environment only."""
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        if SECRET_NAME.search(str(key)):
            raise PoolError(
                f"{where} {key!r} would put a secret into a file; take it out and set the provider's environment "
                "variable (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...) instead"
            )
        refuse_secrets(inner, where)


