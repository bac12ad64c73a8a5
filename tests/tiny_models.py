"""Small random Llama and Qwen3 models with a word tokenizer and a chat template, as local folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = [f"w{i}" for i in range(60)]
SPECIAL = ["<unk>", "<pad>", "<s>", "<e>", "<think>", "</think>"]
TEMPLATE = (
    "{% for m in messages %}<s> {{ m['role'] }} {{ m['content'] }} <e> {% endfor %}"
    "{% if add_generation_prompt %}<s> assistant {% if not enable_thinking %}<think> </think> {% endif %}{% endif %}"
)
ROLES = [role + mark for role in ("user", "assistant", "worker", "thinker", "verifier") for mark in ("", ":")]


def tiny_config(kind: str, vocabulary: int, tied: bool = True, biased: bool = False, layers: int = 4) -> Any:
    """Three query heads a key head; a head size that is not d over the number of heads; matrices wide and tall."""
    from transformers import LlamaConfig, Qwen3Config

    made = {"llama": LlamaConfig, "qwen3": Qwen3Config}[kind]
    bias = {"attention_bias": biased} | ({"mlp_bias": biased} if kind == "llama" else {})
    return made(
        vocab_size=vocabulary, hidden_size=48, intermediate_size=64, num_hidden_layers=layers, num_attention_heads=6,
        num_key_value_heads=2, head_dim=10, max_position_embeddings=128, tie_word_embeddings=tied,
        initializer_range=0.3, **bias,
    )  # fmt: skip


def make_model(folder: Path, kind: str, **settings: Any) -> str:
    """Writes a causal language model whose every parameter is random; returns the folder's name."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *ROLES, *WORDS])}
    plain = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    plain.pre_tokenizer = WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="<unk>", pad_token="<pad>")
    tokenizer.chat_template = TEMPLATE
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(tiny_config(kind, len(tokenizer), **settings))
        for parameter in model.parameters():
            if parameter.ndim == 1:  # norms start at 1 and biases at 0, where swapping them would not show
                torch.nn.init.normal_(parameter.data, mean=float(parameter.data.mean()), std=0.3)
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
