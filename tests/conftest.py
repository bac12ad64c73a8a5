"""What every test shares: nothing is written into results/, nothing asks the network; side by side where asked (-n)."""

from __future__ import annotations

import os

import pytest

from trinity_core.paths import NOTEBOOKS, ROOT

OURS = [str(ROOT), str(NOTEBOOKS)]  # for the processes that tests start
os.environ["PYTHONPATH"] = os.pathsep.join([*OURS, *filter(None, [os.environ.get("PYTHONPATH")])])
os.environ["HF_HUB_OFFLINE"] = "1"  # before any test imports the hub's client, which reads it once
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["TQDM_DISABLE"] = "1"
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # see trinity_core.slm
if WORKERS := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 0)):  # their share of the cores, before torch is imported
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // WORKERS)))

SLOWEST = ("07", "06", "02", "09", "13")  # notebooks, the longest first: what starts last should be short


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Notebooks that run again come first, the longest before the others: workers then end at about one time."""
    ranks = {number: rank for rank, number in enumerate(SLOWEST)}

    def rank(item: pytest.Item) -> int:
        if not item.name.startswith("test_notebook_runs_again"):
            return 1000
        return ranks.get(item.callspec.params["path"].name[:2], 100)

    items.sort(key=rank)


@pytest.fixture(scope="session", autouse=True)
def results_elsewhere(tmp_path_factory):
    """Results go to a folder of this session. The cache stays the user's, so that no text is encoded twice."""
    kept = {name: os.environ.pop(name, None) for name in ("TRINITY_RESULTS", "TRINITY_STAGING")}
    os.environ["TRINITY_RESULTS"] = str(tmp_path_factory.mktemp("results"))
    yield
    del os.environ["TRINITY_RESULTS"]
    os.environ.update({name: value for name, value in kept.items() if value is not None})


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory):
    """A cache of the module's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRINITY_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
