"""The pool: files, real HTTP calls to a misbehaving server, answers on disk, budget, notebooks, the local SLM."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from fake_llm_server import FakeServer

from suite.pools import KINDS, load_pool, pool_kind
from suite.pools.budget import Budget
from suite.pools.cache import AnswerCache
from suite.pools.config import POOLS
from suite.pools.llm import LiteLLMPool
from suite.pools.providers import load_litellm, redact
from suite.pools.slm import SlmPool
from suite.questions import load_questions
from trinity_core.pool import Agent, BudgetExceeded, PoolError, ask_sync, on_pool_loop, pool_loop
from trinity_core.roles import Transcript, build_prompt, condense, judge
from trinity_core.types import Message

KEY = "sk-planted-0123456789abcdefXYZ"
HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture(autouse=True)
def planted_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def server():
    load_litellm()
    with FakeServer() as running:
        yield running


def file_of(*agents: tuple, price=None, **settings) -> dict:
    """A litellm pool's file of agents (name, model, parameters), all of one price in dollars a token."""
    more = {} if price is None else {"price_per_million": {"input": price[0] * 1e6, "output": price[1] * 1e6}}
    listed = [dict(zip(("name", "model", "parameters"), agent)) | more for agent in agents]  # noqa: B905
    return {"agents": listed, "settings": settings}


def live_pool(
    server: FakeServer, folder: Path, *models: str, parameters=None, provider="openai", budget=None, **settings
) -> LiteLLMPool:
    """Agents `<provider>/<behaviour>` of the fake server; retries wait in `pool.slept`, not in real time."""
    given = {"api_base": server.url, **(parameters or {})}
    agents = [(model, f"{provider}/{model}", given) for model in models]
    config = file_of(*agents, **{"timeout": 30, "retries": 2, **settings})
    pool = LiteLLMPool(config, budget=budget, cache=folder / "answers")
    pool.slept = []

    async def sleep(seconds: float) -> None:
        pool.slept.append(seconds)

    pool.sleep = sleep
    return pool


def says(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def gather(pool, asks):
    """All of (agent, text) at once, in order; exceptions in their places."""

    async def main():
        return await asyncio.gather(*(pool.ask(agent, says(text), 0) for agent, text in asks), return_exceptions=True)

    return asyncio.run(main())


def numbered(count: int) -> list[tuple[int, str]]:
    return [(0, f"question {i}") for i in range(count)]


# --- CASES.md 11 to 14 and the two rows after ---------------------------------------------------------------------


def test_cases_11_content_null_is_never_a_text_and_what_is_cut_or_withheld_is_not_complete(server, tmp_path):
    pool = live_pool(server, tmp_path, "null", "reasoning-only", "cut", "filtered")
    cut, silent, *incomplete = (ask_sync(pool, agent, HELLO, 0) for agent in range(4))
    assert cut == Message("", 11, 200, None, "length") and not judge(cut).accept and condense("worker", cut) == ""
    assert silent.text == "" and silent.finish == "stop"
    assert [message.finish for message in incomplete] == ["length", "length"]
    assert ask_sync(pool, 0, HELLO, 0) == replace(cut, cached=True) and len(server.requests) == 4


@pytest.mark.parametrize(
    ("behaviour", "retries", "requests", "error"),
    [
        ("no-choices", 2, 3, "EmptyReply"),  # case 12
        ("500", 1, 2, "status 500"),  # case 13
        ("400", 2, 1, "status 400"),
        ("malformed", 2, 3, "InternalServerError"),
        ("html", 2, 3, "InternalServerError"),
        ("drop", 2, 3, "Connection error"),
        ("503", 2, 3, "ServiceUnavailableError"),
        ("429", 2, 3, "RateLimitError"),
        ("404", 2, 1, "NotFoundError"),
        ("quota", 2, 1, "exceeded your current quota"),
        ("429-hour", 2, 1, "the server asks to wait 3600 s"),
    ],
)
def test_cases_12_13_failures_are_typed_and_bounded(server, tmp_path, capfd, behaviour, retries, requests, error):
    pool = live_pool(server, tmp_path, behaviour, retries=retries)
    message = ask_sync(pool, 0, HELLO, 0)
    assert (message.finish, message.text) == ("error", "") and error in message.error and "\n" not in message.error
    assert len(server.requests) == requests == pool.budget.calls == len(pool.slept) + 1
    assert capfd.readouterr() == ("", "")
    ask_sync(pool, 0, HELLO, 0)  # a failure is never stored: the next ask tries again
    assert len(server.requests) == 2 * requests


@pytest.mark.parametrize("provider", ["deepinfra", "nebius", "together_ai", "hosted_vllm", "anthropic", "openrouter"])
def test_cases_13_whatever_the_provider(server, tmp_path, monkeypatch, provider):
    """litellm's ways to other providers drop or keep `max_retries=0` each in its own manner; none sends it on."""
    monkeypatch.setenv(f"{provider.replace('_ai', 'ai').upper()}_API_KEY", KEY)
    message = ask_sync(live_pool(server, tmp_path, "500", provider=provider, retries=1), 0, HELLO, 0)
    assert message.finish == "error" and len(server.requests) == 2
    assert not any("max_retries" in str(body) or "allowed_openai" in str(body) for body in server.requests)


CELL = """
texts = [ask_sync(pool, 0, [{"role": "user", "content": f"sync {i}"}], 0).text for i in range(3)]
texts += [(await pool.ask(0, [{"role": "user", "content": f"async {i}"}], 0)).text for i in range(2)]
texts
"""


def test_cases_14_notebook_cell(server, tmp_path):
    """Three sync asks and two async ones in one cell, under papermill and then under nbval."""
    import nbformat
    import papermill

    config = tmp_path / "fake.yaml"
    agent = {"name": "fake", "model": "openai/ok", "parameters": {"api_base": server.url}}
    config.write_text(json.dumps({"kind": "litellm", "agents": [agent]}))  # JSON is YAML
    setup = (
        "from suite.pools import load_pool\nfrom trinity_core.pool import ask_sync\n"
        f"pool = load_pool({str(config)!r}, cache={str(tmp_path / 'answers')!r})"
    )
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(setup), nbformat.v4.new_code_cell(CELL)],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    source, executed = tmp_path / "source.ipynb", tmp_path / "executed.ipynb"
    nbformat.write(notebook, source)
    papermill.execute_notebook(source, executed, progress_bar=False, kernel_name="python3")
    outputs = [output for cell in nbformat.read(executed, 4).cells for output in cell.outputs]
    assert [output.output_type for output in outputs] == ["execute_result"]  # no error, nothing on stderr
    expected = [f"You said: sync {i}" for i in range(3)] + [f"You said: async {i}" for i in range(2)]
    assert outputs[0].data["text/plain"] == repr(expected).replace("', '", "',\n '")
    assert len(server.requests) == 5

    command = f"{sys.executable} -m pytest --nbval {executed} -q -p no:cacheprovider -c {os.devnull}".split()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr
    assert "never awaited" not in done.stdout + done.stderr
    assert len(server.requests) == 5


def test_cases_unknown_tokens_and_prices_are_unknown_costs(server, tmp_path):
    """The run goes on; also where litellm itself would call the model free."""
    message = ask_sync(live_pool(server, tmp_path, "no-usage", price=(1e-6, 1e-6)), 0, HELLO, 0)
    assert message == Message("You said: hello", None, None, None, "stop")
    pool = live_pool(server, tmp_path, "ok")
    assert ask_sync(pool, 0, HELLO, 0).cost is None
    assert pool.price(Agent("a", "anthropic/no-such-model-ever")) is None
    assert pool.price(Agent("a", "openai/gpt-5")) == (1.25e-06, 1e-05)
    assert pool.price(Agent("a", "openai/gpt-5", price=(0.0, 0.0))) == (0.0, 0.0)
    priced = live_pool(server, tmp_path / "priced", "ok", price=(2e-6, 1e-5))
    assert ask_sync(priced, 0, HELLO, 0).cost == pytest.approx(11 * 2e-6 + 7 * 1e-5)


# --- what else a server can do ------------------------------------------------------------------------------------


def test_recovers_and_honours_retry_after(server, tmp_path):
    pool = live_pool(server, tmp_path, "500+no-choices+drop+malformed+ok", "429x2+ok", "429-date+ok", retries=4)
    assert ask_sync(pool, 0, HELLO, 0).text == "You said: hello"
    assert len(server.requests) == 5 == pool.budget.calls
    assert all(0.5 * 2**i <= seconds <= 1.5 * 2**i for i, seconds in enumerate(pool.slept))
    assert ask_sync(pool, 1, HELLO, 0).finish == "stop"
    assert len(pool.slept) == 6 and all(7 <= seconds <= 8 for seconds in pool.slept[4:])
    assert ask_sync(pool, 2, HELLO, 0).finish == "stop"
    assert 0 <= pool.slept[6] <= 1  # a date in the past: at once


def test_slow_server_times_out(server, tmp_path):
    pool = live_pool(server, tmp_path, "slow", timeout=0.3, retries=1)
    message = ask_sync(pool, 0, HELLO, 0)
    assert message.finish == "error" and message.error.startswith("Timeout")
    assert len(server.requests) == 2


def test_concurrency_limit_per_provider(server, tmp_path):
    """Across threads and loops too: all calls run on one loop."""
    server.seconds = 0.05
    pool = live_pool(server, tmp_path, "ok", concurrency={"openai": 3, "default": 50})
    asks = numbered(24)
    threads = [threading.Thread(target=gather, args=(pool, asks[start::2])) for start in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 24 and server.most_in_work == 3


def test_parameters_reach_the_provider(server, tmp_path, monkeypatch):
    """The paper's parameters, as the live pool's file gives them, in the very bodies that are sent."""
    monkeypatch.setenv("DEEPINFRA_API_KEY", "planted-deepinfra-key")
    live = load_pool("paper7-live", cache=tmp_path)
    here = [(agent.name, agent.model, agent.parameters | {"api_base": server.url}) for agent in live.agents]
    chosen = [agent for agent in here if agent[1].startswith(("openai/", "deepinfra/Qwen"))]
    pool = LiteLLMPool(file_of(*chosen, retries=0), cache=tmp_path)
    for agent in range(3):
        ask_sync(pool, agent, HELLO, 0)
    gpt5, reasoning, direct = server.requests
    assert (gpt5["temperature"], gpt5["reasoning_effort"], gpt5["max_completion_tokens"]) == (1, "minimal", 4096)
    assert (direct["temperature"], direct["max_tokens"]) == (0.1, 4096)
    assert reasoning["model"] == direct["model"]
    assert reasoning["chat_template_kwargs"] == {"enable_thinking": True}
    assert direct["chat_template_kwargs"] == {"enable_thinking": False}


# --- answers on disk ----------------------------------------------------------------------------------------------


def test_cache_names_one_draw(server, tmp_path):
    pool = live_pool(server, tmp_path, "ok", price=(1e-6, 1e-6))
    first = ask_sync(pool, 0, HELLO, 0)
    again = ask_sync(live_pool(server, tmp_path, "ok", price=(1e-6, 1e-6)), 0, HELLO, 0)
    assert again == replace(first, cached=True) and again.cost > 0  # what it cost when it was asked
    assert len(server.requests) == 1
    ask_sync(pool, 0, HELLO, 1)
    ask_sync(live_pool(server, tmp_path, "ok", parameters={"temperature": 0.5}), 0, HELLO, 0)
    ask_sync(pool, 0, says("other"), 0)
    assert len(server.requests) == 4
    assert pool.cache.served()["size"].to_dict() == {("openai/ok", "fake-model-2026"): 4}


def test_equal_asks_at_once_are_one_request(server, tmp_path):
    server.seconds = 0.05
    pool = live_pool(server, tmp_path, "ok")
    messages = gather(pool, [(0, "same")] * 10)
    assert {message.text for message in messages} == {"You said: same"} and len(server.requests) == 1
    assert sum(message.cached for message in messages) == 9


def ask_all(url: str, folder: Path, count: int) -> None:
    """A program of its own: all questions at once, two at a time."""
    pool = LiteLLMPool(file_of(("fake", "openai/ok", {"api_base": url}), concurrency={"default": 2}), cache=folder)
    said = [message.text for message in gather(pool, numbered(count))]
    assert said == [f"You said: question {i}" for i in range(count)]


def test_a_killed_run_and_two_at_once_pay_for_nothing_twice(server, tmp_path):
    """kill -9 in the middle: the file is whole, and what had not come back is asked once by two reruns together."""
    folder, enough = tmp_path / "answers", threading.Event()
    programs = multiprocessing.get_context("forkserver")
    programs.set_forkserver_preload(["litellm", "test_pool"])
    first, *others = (programs.Process(target=ask_all, args=(server.url, folder, 20)) for _ in range(3))
    server.seconds = 0.1
    server.watch = lambda: len(server.requests) >= 8 and enough.set()
    first.start()
    assert enough.wait(120)
    first.kill()
    first.join(60)
    with sqlite3.connect(folder / "answers.sqlite") as database:
        stored = database.execute("SELECT COUNT(*) FROM entries").fetchone()[0]
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    asked = len(server.requests)
    assert asked - 2 <= stored <= asked < 20  # at most the two in work were lost
    server.seconds = 0.05
    for program in others:
        program.start()
    for program in others:
        program.join(120)
    assert [program.exitcode for program in others] == [0, 0]
    assert len(server.requests) - asked == 20 - stored


def test_damaged_cache_is_named(tmp_path):
    (tmp_path / "answers.sqlite").write_bytes(b"no database at all, but long enough to be read as one" * 100)
    with pytest.raises(PoolError, match=r"answers\.sqlite cannot be read .* move a damaged file away.*asked again"):
        AnswerCache(tmp_path)


def test_cancelled_ask(server, tmp_path):
    """One that waits for its turn is not sent; one that was sent comes back and is kept."""
    server.seconds = 0.2
    pool = live_pool(server, tmp_path, "ok", concurrency={"default": 1})
    arrived = threading.Event()
    server.watch = arrived.set

    async def main():
        sent = asyncio.create_task(pool.ask(0, says("sent"), 0))
        await asyncio.to_thread(arrived.wait, 60)
        queued = asyncio.create_task(pool.ask(0, says("queued"), 0))
        await asyncio.sleep(0)
        for task in (sent, queued):
            task.cancel()
        await asyncio.gather(sent, queued, return_exceptions=True)
        return await pool.ask(0, says("last"), 0)  # has its turn after the sent one

    assert asyncio.run(main()).text == "You said: last"
    assert [body["messages"][0]["content"] for body in server.requests] == ["sent", "last"]
    assert ask_sync(pool, 0, says("sent"), 0).cached


def test_keys_are_in_no_file_and_no_message(server, tmp_path, capfd, caplog):
    pool = live_pool(server, tmp_path, "ok", "echo-key")
    messages = gather(pool, [(0, "a"), (0, "b"), (1, "a")])
    assert messages[2].finish == "error" and "Incorrect API key provided: Bearer [key]" in messages[2].error
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 2 and not any(KEY.encode() in path.read_bytes() for path in files)
    out, err = capfd.readouterr()
    assert KEY not in repr(messages) + out + err + caplog.text


@pytest.mark.parametrize(
    "text",
    ["sk-proj-abc123def456", "gsk_abc123def456", "AIzaSyA1234567890abc", "hf_abcdefghijk", "sk-abcd****wxyz", KEY],
)
def test_redact(text, monkeypatch):
    monkeypatch.setenv("SOME_SECRET", "correct horse battery")
    for place in (f"bad key {text}.", f"https://x/y?key={text}&z=1", f"Bearer {text}", f'{{"key": "{text}"}}'):
        assert text.rstrip(".") not in redact(place) and "[key]" in redact(place)
    assert redact("it was correct horse battery, and a task-specific risk") == "it was [key], and a task-specific risk"


def test_missing_key_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    pool = LiteLLMPool(file_of(("live", "openai/gpt-5")), cache=tmp_path)
    with pytest.raises(PoolError, match=r"agent live: openai/gpt-5 needs OPENAI_API_KEY in the environment"):
        ask_sync(pool, 0, HELLO, 0)


# --- budget -------------------------------------------------------------------------------------------------------


def test_budget_of_calls_stops_and_resumes(server, tmp_path):
    asks = numbered(12)
    server.seconds = 0.02
    results = gather(live_pool(server, tmp_path, "ok", budget=Budget(max_calls=5)), asks)
    refused = [result for result in results if isinstance(result, BudgetExceeded)]
    assert len(server.requests) == 5 and len(refused) == 7
    assert "5 of 5 calls are spent" in str(refused[0]) and "run again" in str(refused[0])
    pool = live_pool(server, tmp_path, "ok", budget=Budget(max_calls=7))
    messages = gather(pool, asks)
    assert len(server.requests) == 12 and [message.cached for message in messages].count(True) == 5
    assert [message.text for message in messages] == [f"You said: question {i}" for i in range(12)]


def test_budget_counts_retries(server, tmp_path):
    pool = live_pool(server, tmp_path, "500", retries=5, budget=Budget(max_calls=3))
    with pytest.raises(BudgetExceeded, match="3 of 3 calls"):
        ask_sync(pool, 0, HELLO, 0)
    assert len(server.requests) == 3


def test_budget_of_dollars_is_never_passed(server, tmp_path):
    """A request that may cost $0.0101 or more is sent only where that is left, also while others are in work."""
    server.seconds = 0.02
    budget = Budget(max_dollars=0.03)
    pool = live_pool(server, tmp_path, "ok", price=(1e-6, 1e-3), parameters={"max_tokens": 10}, budget=budget)
    results = gather(pool, numbered(12))
    sent = len(server.requests)
    assert budget.dollars == pytest.approx(sent * (11e-6 + 7e-3)) and budget.dollars <= 0.03
    assert budget.dollars + 0.0101 > 0.03  # and it stopped only where the next might not fit
    assert sum(isinstance(result, BudgetExceeded) for result in results) == 12 - sent


def test_budget_charges_the_most_where_the_bill_is_unknown(server, tmp_path):
    settings = {"price": (0.0, 1e-3), "parameters": {"max_tokens": 10}, "retries": 0}
    for behaviour, dollars in (("no-usage", 0.01), ("drop", 0.01), ("500", 0.0), ("ok", 0.007), ("no-choices", 0.007)):
        budget = Budget(max_dollars=1)
        ask_sync(live_pool(server, tmp_path, behaviour, budget=budget, **settings), 0, HELLO, 0)
        assert budget.dollars == pytest.approx(dollars), behaviour


def test_dollar_cap_needs_a_price_and_a_bound(server, tmp_path):
    with pytest.raises(PoolError, match=r"price, and that of ok \(openai/ok\) is unknown: give `price_per_million"):
        live_pool(server, tmp_path, "ok", budget=Budget(max_dollars=1))
    with pytest.raises(PoolError, match="needs `max_tokens` among the parameters of ok"):
        live_pool(server, tmp_path, "ok", price=(1e-6, 1e-6), budget=Budget(max_dollars=1))
    for most in (nan, -1):
        with pytest.raises(ValueError, match=f"max_dollars is {most}"):
            Budget(max_dollars=most)


def test_estimate_is_printable(tmp_path):
    pool = load_pool("paper7-live", cache=tmp_path)
    said = pool.estimate(1000, 600, 400)
    assert said.startswith("1000 calls of 600 tokens in and 400 out: about $")
    assert f"to ${1000 * (600 * 3e-6 + 400 * 15e-6):.2f} by agent" in said  # Claude-4-Sonnet is the dearest
    assert "no price for x" in LiteLLMPool(file_of(("x", "openai/unknown")), cache=tmp_path).estimate(10)


# --- configuration ------------------------------------------------------------------------------------------------

GOOD = "kind: litellm\nagents:\n  - {name: a, model: openai/ok}\n"


def agent_with(words: str, kind: str = "litellm") -> str:
    return f"kind: {kind}\nagents:\n  - {{name: a, model: openai/ok, {words}}}\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (GOOD + "extra: 1\n", "the file: unknown key 'extra'; known: description, agents, settings"),
        (GOOD + "kind: slm\n", r"key 'kind' is given twice in .*pool.yaml.*, line 4"),
        (GOOD.replace("model", "modell"), r"agents\[0\]: unknown key 'modell'; known: name, model"),
        ("kind: litellm\nagents:\n  - {name: a}\n", r"agents\[0\] lacks the key 'model'"),
        (GOOD + "  - {name: a, model: openai/other}\n", "two agents are named 'a'"),
        ("kind: litellm\nagents: []\n", r"agents is \[\]: List should have at least 1 item"),
        ("kind: litellm\nagents:\n  - {name: 5, model: m}\n", r"agents\[0\].name is 5: it should be a valid string"),
        ("kind: litellm\nagents:\n  - {name: ' ', model: m}\n", "name is ' ': String should have at least 1 char"),
        ("kind: quantum\nagents: []\n", "unknown kind 'quantum'; choose one of simulated, slm, litellm, recorded"),
        ("agents: [\n", "not readable YAML"),
        ("- 1\n", "holds list, not a mapping"),
        (agent_with("parameters: {api_key: x}"), "'api_key' would put a secret into a file"),
        (agent_with("parameters: {extra_headers: {Authorization: x}}"), "'Authorization' would put"),
        (agent_with("parameters: {num_retries: 3}"), "parameter 'num_retries' is the pool's own"),
        (agent_with("price_per_million: {input: 1e-6, output: 1}"), "input is '1e-6'.*1.0e-6"),
        (agent_with("price_per_million: {input: -1, output: 1}"), "input is -1: it should be greater"),
        (agent_with("price_per_million: {input: .inf, output: 1}"), "is inf: it should be a finite number"),
        (GOOD + "settings: {retry: 3}\n", "settings: unknown key 'retry'; known: timeout, retries, concurrency"),
        (GOOD + "settings: {timeout: 0}\n", "settings.timeout is 0: it should be greater than or equal to 0.01"),
        (GOOD + "settings: {retries: true}\n", "settings.retries is True: it should be a valid integer"),
        (GOOD + "settings: {concurrency: {openai: 0}}\n", "settings.concurrency.openai is 0"),
        (
            GOOD.replace("openai/ok", "simulated/GPT-5"),
            "agent a: no 'simulated/GPT-5'; choose a pool of such agents by the key `simulated`",
        ),
        (agent_with("parameters: {top_k: 3}", "slm"), "unknown key 'top_k'; known: temp"),
        (agent_with("parameters: {top_p: 0}", "slm"), "top_p is 0: it should be greater than 0"),
    ],
)
def test_wrong_files_are_named(tmp_path, text, error):
    path = tmp_path / "pool.yaml"
    path.write_text(text)
    with pytest.raises(PoolError, match=error):
        load_pool(path, cache=tmp_path)


def test_wrong_use_is_named(server, tmp_path):
    with pytest.raises(PoolError, match=r"no pool 'paper8': give one of .*local.*, or the path of a .yaml file"):
        load_pool("paper8")
    with pytest.raises(TypeError, match="unexpected keyword argument 'retires'"):
        load_pool("paper7-live", retires=3)
    pool = live_pool(server, tmp_path, "ok")
    for agent in (-1, 1):
        with pytest.raises(PoolError, match=f"no agent {agent}: the pool has the agents 0 to 0"):
            ask_sync(pool, agent, HELLO, 0)
    with pytest.raises(PoolError, match="not plain JSON values"):
        ask_sync(pool, 0, [{"role": "user", "content": b"bytes"}], 0)


def test_shipped_files(tmp_path):
    assert {pool_kind(path) for path in POOLS.glob("*.yaml")} == set(KINDS)
    live = load_pool("paper7-live", cache=tmp_path)
    names = [agent.name for agent in live.agents]
    assert names[0] == "GPT-5" and names[5:] == ["Qwen3-32B (reasoning)", "Qwen3-32B (direct)"]
    assert live.agents[5].model == live.agents[6].model and live.agents[5].parameters != live.agents[6].parameters


def test_mixed_file_answers_as_its_parts_do(tmp_path):
    """The simulated agents of data/pools/mixed.yaml say and cost what they do in their own pool."""
    questions = load_questions("math", "test", 3)
    mixed = load_pool("mixed", questions=questions, cache=tmp_path)
    simulated = load_pool("paper7", questions=questions)
    numbers = {agent.name: number for number, agent in enumerate(simulated.agents)}
    for number, agent in enumerate(mixed.agents[:2]):
        for question in questions:
            messages = build_prompt("worker", Transcript(question.text))
            expected = ask_sync(simulated, numbers[agent.model.partition("/")[2]], messages, 101)
            assert ask_sync(mixed, number, messages, 101) == expected and "Answer:" in expected.text
    path = tmp_path / "wrong.yaml"
    path.write_text("kind: litellm\nsimulated: paper7\nagents:\n  - {name: a, model: simulated/GPT-9}\n")
    with pytest.raises(PoolError, match=r"agent a: no 'simulated/GPT-9'; choose one of simulated/GPT-5"):
        load_pool(path, questions=questions, cache=tmp_path)


# --- asking from anywhere -----------------------------------------------------------------------------------------


class Echo:
    """A pool without litellm."""

    agents = (Agent("echo", "echo"), Agent("failing", "failing"))

    def __init__(self, word: str = "echo") -> None:
        self.word = word

    async def ask(self, agent, messages, replicate):
        await asyncio.sleep(0)
        if agent == 1:
            return Message("", None, None, None, "error", error="unknown question; load its family")
        return Message(f"{self.word} {messages[-1]['content']} {replicate}", 3, 4, 0.25, "stop")


def test_ask_sync_anywhere():
    pool = Echo()
    found = [ask_sync(pool, 0, HELLO, 1).text]
    thread = threading.Thread(target=lambda: found.append(ask_sync(pool, 0, HELLO, 2).text))
    thread.start()
    thread.join()

    async def main():
        found.append(ask_sync(pool, 0, HELLO, 3).text)
        found.append((await pool.ask(0, HELLO, 4)).text)
        found.append((await on_pool_loop(pool.ask(0, HELLO, 5))).text)

    asyncio.run(main())
    assert found == [f"echo hello {i}" for i in range(1, 6)]


def test_ask_sync_inside_a_call_is_refused():
    async def inside():
        return ask_sync(Echo(), 0, HELLO, 0)

    with pytest.raises(RuntimeError, match="would wait for itself"):
        asyncio.run_coroutine_threadsafe(inside(), pool_loop()).result(60)


# --- the simulated pool and the local model in a litellm pool -------------------------------------------------------


def test_simulated_and_real_agents_side_by_side(server, tmp_path):
    """Two pools with other simulated parts, and a real server; failures of what answers here are not tried again."""
    names = ("GPT-5", "Gemma-3-27B-It")
    agents = [*((name, f"simulated/{name}") for name in names), ("live", "openai/ok", {"api_base": server.url})]
    config = file_of(*agents) | {"simulated": "paper7"}
    one, two = (LiteLLMPool(config, cache=tmp_path, budget=Budget(max_calls=1)) for _ in range(2))
    for pool, word in ((one, "one"), (two, "two")):
        pool.simulated = Echo(word)
        pool.simulated.agents = tuple(Agent(name, "echo") for name in names)
    assert ask_sync(one, 0, HELLO, 7) == Message("one hello 7", 3, 4, 0.25, "stop")
    assert ask_sync(two, 0, HELLO, 8).text == "two hello 8"
    assert ask_sync(one, 0, HELLO, 9).text == "one hello 9"
    broken = ask_sync(one, 1, HELLO, 0)
    assert broken.finish == "error" and "unknown question; load its family" in broken.error
    assert ask_sync(one, 2, HELLO, 0).text == "You said: hello"
    assert one.budget.calls == 1 == len(server.requests)  # what answers here costs no call of the budget


@pytest.fixture(scope="module")
def slm_answers(tmp_path_factory):
    """The local pool's answers to three prompts, asked one by one: agent, prompt, replicate -> message."""
    pool = local_pool(tmp_path_factory.mktemp("serial"))
    return {ask: ask_sync(pool, ask[0], prompt(ask[1]), ask[2]) for ask in SLM_ASKS}


SLM_ASKS = [(0, "2+2?", 0), (0, "Name a colour.", 0), (1, "Name a colour.", 0), (1, "Name a colour.", 1)]


def prompt(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Answer in one sentence."}, {"role": "user", "content": text}]


def local_pool(folder: Path):
    sampled = {"max_tokens": 6, "temperature": 1.5, "top_p": 0.95}
    agents = (("greedy", "smollm2-135m", {"max_tokens": 6}), ("sampled", "smollm2-135m", sampled))
    return SlmPool({"agents": file_of(*agents)["agents"]}, cache=folder)


def test_slm_answers_are_real(slm_answers):
    for message in slm_answers.values():
        assert message.finish in ("stop", "length") and message.text and message.cost == 0.0
        assert message.tokens_in > 10 and 1 <= message.tokens_out <= 6
        assert (message.finish == "length") <= (message.tokens_out == 6)
    assert slm_answers[SLM_ASKS[2]].text != slm_answers[SLM_ASKS[3]].text  # another replicate, another draw


def test_slm_concurrent_equals_serial(slm_answers, tmp_path):
    """In another order, all at once, with nothing on disk; while the model works the loop goes on."""
    pool, beats = local_pool(tmp_path), 0

    async def heart():
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    async def main():
        beating = asyncio.create_task(on_pool_loop(heart()))
        found = await asyncio.gather(*(pool.ask(a, prompt(text), r) for a, text, r in reversed(SLM_ASKS)))
        beating.cancel()
        return found

    assert asyncio.run(main()) == [slm_answers[ask] for ask in reversed(SLM_ASKS)]
    assert beats > 5
    assert ask_sync(pool, 0, prompt("2+2?"), 0) == replace(slm_answers[SLM_ASKS[0]], cached=True)


def test_slm_in_a_litellm_pool_says_the_same(slm_answers, tmp_path):
    pool = LiteLLMPool(file_of(("slm", "slm/smollm2-135m", {"max_tokens": 6})), cache=tmp_path)
    agent, text, replicate = SLM_ASKS[0]
    assert ask_sync(pool, agent, prompt(text), replicate) == slm_answers[SLM_ASKS[0]]


def test_slm_too_long_prompt_and_unknown_model(tmp_path):
    pool = local_pool(tmp_path)
    message = ask_sync(pool, 0, prompt("word " * 9000), 0)
    assert message.finish == "error" and "PromptTooLong" in message.error and "8192" in message.error
    with pytest.raises(ValueError, match="unknown model 'no model'"):
        ask_sync(SlmPool({"agents": [{"name": "a", "model": "no model"}]}, cache=tmp_path), 0, HELLO, 0)
