"""Pools' files, `data/pools/<name>.yaml`, read strictly: each kind declares its file as a pydantic model.

An unknown key, a key given twice, two agents of one name, a secret in the file or a value of the wrong type is a
PoolError that names the thing, its value and the remedy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from trinity_core.paths import DATA
from trinity_core.pool import Agent, PoolError

POOLS = DATA / "pools"
SECRET_NAME = re.compile(r"api[_-]?key|secret|password|authori[sz]ation|bearer|credential|(^|[_-])token$", re.I)
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Amount = Annotated[float, Field(ge=0)]
Messages = list[dict[str, str]]  # of a chat: {"role", "content"}
M = TypeVar("M", bound=BaseModel)


class Strict(BaseModel):
    """A mapping with these keys alone; nothing is converted (a number in quotes is a text), nothing is infinite."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _knows_its_keys(cls, value: Any) -> Any:
        """pydantic names an unknown key; this names the known ones too."""
        if isinstance(value, Mapping) and (unknown := [key for key in value if key not in cls.model_fields]):
            raise ValueError(f"unknown key {unknown[0]!r}; known: {', '.join(cls.model_fields)}")
        return value


def refuse_secrets(value: Any) -> Any:
    """ValueError where a mapping, at any depth, has a key that names a secret: keys come from the environment only."""
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        if SECRET_NAME.search(str(key)):
            raise ValueError(
                f"{key!r} would put a secret into a file; set the provider's environment variable (OPENAI_API_KEY, "
                "ANTHROPIC_API_KEY, ...) instead"
            )
        refuse_secrets(inner)
    return value


class AgentEntry(Strict):
    """One agent of a file."""

    name: Text
    model: Text
    parameters: Annotated[dict[str, Any], AfterValidator(refuse_secrets)] = {}
    description: str = ""
    price_per_million: Annotated[dict[Literal["input", "output"], Amount], Field(min_length=2)] | None = None  # dollars

    def agent(self) -> Agent:
        """The agent as the pool holds it."""
        listed = self.price_per_million
        price = None if listed is None else (listed["input"] / 1e6, listed["output"] / 1e6)
        return Agent(self.name, self.model, self.parameters, self.description, price)


def different_names(entries: list[Any]) -> list[Any]:
    """ValueError where two agents have one name."""
    names = [entry.name for entry in entries]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"two agents are named {twice[0]!r}; names must differ (a table's row is one agent)")
    return entries


class AgentsFile(Strict):
    """What the files of agents have in common; all that a file of a local model has."""

    description: str = ""
    agents: Annotated[list[AgentEntry], Field(min_length=1), AfterValidator(different_names)]


def checked(model: type[M], value: Any, where: str) -> M:
    """`value` as a model; PoolError says where it is wrong and how, in terms of the file."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in found["loc"]).lstrip(".")
    value, says = found["input"], found["msg"].replace("Input should", "it should")
    if found["type"] == "missing":
        raise PoolError(f"{place.rpartition('.')[0] or where} lacks the key {found['loc'][-1]!r}")
    if found["type"] == "value_error":
        raise PoolError(f"{place or where}: {says.removeprefix('Value error, ')}")
    if found["type"] == "float_type" and isinstance(value, str):
        says += " (in YAML without quotes; an exponent with a point and a sign: 1.0e-6)"
    raise PoolError(f"{place or where} is {value!r}: {says}")


class StrictLoader(yaml.SafeLoader):
    """YAML keeps the last of two equal keys without a word; here that is an error."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key for key, _ in node.value]
        for place, key in enumerate(keys):
            if key.value in [earlier.value for earlier in keys[:place]]:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} is given twice", key.start_mark)
        return super().construct_mapping(node, deep=deep)


def read_config(name_or_path: str | Path) -> dict[str, Any]:
    """The mapping in a pool's file, by the pool's name or the file's path; PoolError where there is none."""
    path = Path(name_or_path).expanduser()
    if path.suffix not in (".yaml", ".yml"):
        path = POOLS / f"{name_or_path}.yaml"
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in POOLS.glob("*.yaml")))
        raise PoolError(
            f"no pool {str(name_or_path)!r}: give one of {names} (files of data/pools/), or the path of a .yaml file"
        )
    try:
        with path.open(encoding="utf-8") as file:
            config = yaml.load(file, StrictLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PoolError(f"{path.name} is not readable YAML: {' '.join(str(error).split())}") from None
    if not isinstance(config, dict):
        raise PoolError(f"{path.name} holds {type(config).__name__}, not a mapping with `kind` and `agents`")
    return config
