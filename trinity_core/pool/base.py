"""The pool's interface, its configuration files, and one event loop for all calls.

A pool is L agents; `ask(agent, messages, replicate)` is one LLM call. `replicate` is one integer that makes repeated
identical calls different draws, and the same draw on a rerun. A call that fails for good is a `Message` with
`finish="error"`, never an exception; only `BudgetExceeded` and wrong use of the pool raise.

A configuration file is `data/pools/<name>.yaml` with a `kind`, and is read strictly: an unknown key, a key given twice,
two agents of one name or a secret in the file are errors that name the thing and the remedy.

All calls of a process run on one event loop in a thread of its own. So a plain script, a thread and a notebook's cell
(whose own loop is running already) all ask the same way, the limit on concurrent calls holds across them, and no
connection outlives the loop it belongs to.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from trinity_core.paths import DATA
from trinity_core.types import Message

POOLS = DATA / "pools"
# The module of each kind has `build(config, **settings) -> Pool`; `config` is the file's mapping, `kind` taken out.
KINDS = {
    "simulated": "trinity_core.pool.simulated",
    "slm": "trinity_core.pool.slm",
    "litellm": "trinity_core.pool.llm",
    "recorded": "trinity_core.pool.recorded",
}
AGENT_KEYS = ("name", "model", "parameters", "description", "price_per_million")
SECRET_NAME = re.compile(r"api[_-]?key|secret|password|authori[sz]ation|bearer|credential|(^|[_-])token$", re.I)
T = TypeVar("T")


class PoolError(ValueError):
    """A pool's configuration or use is wrong; the message names the thing, its value and the remedy."""


class BudgetExceeded(RuntimeError):
    """The next call would pass the budget. Nothing was sent; answers so far are on disk, so a rerun goes on there."""


@dataclass(frozen=True)
class Agent:
    """One agent: `model` as its kind understands it, and the call's `parameters` (temperature, max_tokens, ...).

    Two agents may be one model with other parameters (a reasoning and a direct one). `price` is dollars a token,
    (input, output); None: the price list of litellm decides, and the cost is unknown where that has no entry.
    """

    name: str
    model: str
    parameters: dict[str, Any] = field(default_factory=dict, hash=False)
    description: str = ""
    price: tuple[float, float] | None = None


class Pool(Protocol):
    """L agents in a fixed order (the order of the head's agent logits)."""

    agents: tuple[Agent, ...]

    async def ask(self, agent: int, messages: list[dict[str, str]], replicate: int) -> Message:
        """The reply of agent number `agent` to chat messages ({"role", "content"})."""
        ...


def load_pool(name_or_path: str | Path, **settings: Any) -> Pool:
    """The pool of a file: `data/pools/<name>.yaml`, or any path to a .yaml file.

    `settings` go to the pool's kind (`questions=` for the simulated pool, `budget=`, `cache=` for litellm, `data=` and
    `says=` for recorded answers ...).
    PoolError names what is wrong with the file or a setting.
    """
    config = read_config(find_config(name_or_path))
    kind = config.pop("kind", None)
    if kind not in KINDS:
        raise PoolError(f"{name_or_path}: unknown kind {kind!r}; choose one of {', '.join(KINDS)}")
    try:
        return importlib.import_module(KINDS[kind]).build(config, **settings)
    except PoolError as error:
        raise PoolError(f"{name_or_path}: {error}") from None


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
    import yaml

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


def check_agent(pool: Pool, agent: int) -> Agent:
    """The agent of that number; PoolError names a number that the pool does not have."""
    if not 0 <= agent < len(pool.agents):
        raise PoolError(f"no agent {agent}: the pool has the agents 0 to {len(pool.agents) - 1}")
    return pool.agents[agent]


_loop: tuple[int, asyncio.AbstractEventLoop] | None = None
_loop_lock = threading.Lock()


def pool_loop() -> asyncio.AbstractEventLoop:
    """The event loop that all calls of this process run on, in a daemon thread; made at the first call."""
    global _loop
    with _loop_lock:
        if _loop is None or _loop[0] != os.getpid():  # a forked child has no thread that would run its parent's loop
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="trinity-pool", daemon=True).start()
            _loop = (os.getpid(), loop)
        return _loop[1]


async def on_pool_loop(call: Coroutine[Any, Any, T]) -> T:
    """Awaits a coroutine that runs on the pool's loop, from any loop; cancelling here cancels it there."""
    if asyncio.get_running_loop() is pool_loop():
        return await call
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, pool_loop()))


def ask_sync(pool: Pool, agent: int, messages: list[dict[str, str]], replicate: int) -> Message:
    """`pool.ask` for code that is not async: in a script, a thread, or a notebook cell whose loop is running."""
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is pool_loop():
        raise RuntimeError("ask_sync would wait for itself here: inside a pool's own calls use `await pool.ask(...)`")
    future = asyncio.run_coroutine_threadsafe(pool.ask(agent, messages, replicate), pool_loop())
    try:
        return future.result()
    except BaseException:  # also KeyboardInterrupt: the call must not go on behind a stopped cell
        future.cancel()
        raise
