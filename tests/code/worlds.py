"""A small transformers and a small snapshot, written to disk for a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from envdoctor.checks.hit import Hit
from envdoctor.code.examine import examine
from envdoctor.code.history import History
from envdoctor.code.library import InstalledLibrary
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.sources.model.model_directory import ModelDirectory

LIBRARY: Mapping[str, str] = {
    "transformers/__init__.py": """
        from typing import TYPE_CHECKING
        from .utils import _LazyModule
        _import_structure = {
            "cache_utils": ["Cache", "DynamicCache"],
            "configuration_utils": ["PretrainedConfig"],
            "generation": ["GenerationMixin"],
            "modeling_utils": ["PreTrainedModel"],
            "tokenization_utils": ["PreTrainedTokenizer"],
        }
        if TYPE_CHECKING:
            from .modeling_utils import *
        else:
            import sys
            sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], _import_structure)
    """,
    "transformers/utils.py": """
        class _LazyModule: ...
        def is_torch_available(): return True
    """,
    "transformers/cache_utils.py": """
        class Cache:
            def get_seq_length(self, layer_idx=0): return 0
        class DynamicCache(Cache):
            def __init__(self, data=None): self.layers = []
    """,
    "transformers/masking_utils.py": """
        def create_causal_mask(config, inputs_embeds, attention_mask=None): return attention_mask
    """,
    "transformers/configuration_utils.py": """
        class PretrainedConfig:
            def __init__(self, *, use_cache=True, **kwargs):
                self.use_cache = use_cache
                for key, value in kwargs.items():
                    setattr(self, key, value)
    """,
    "transformers/generation/__init__.py": """
        from .utils import GenerationMixin
    """,
    "transformers/generation/utils.py": """
        class GenerationMixin:
            def _extract(self, outputs):
                return "past_key_values", outputs.past
            def _update_model_kwargs_for_generation(self, outputs, model_kwargs, is_encoder_decoder=False):
                name, cache = self._extract(outputs)
                model_kwargs[name] = cache
                return model_kwargs
            def generate(self, inputs, **kwargs):
                model_inputs = self.prepare_inputs_for_generation(inputs, **kwargs)
                return self._update_model_kwargs_for_generation(model_inputs, kwargs, is_encoder_decoder=True)
            def prepare_inputs_for_generation(self, input_ids, **kwargs): return {}
    """,
    "transformers/modeling_utils.py": """
        import inspect
        from functools import partial
        from torch import nn
        from .generation import GenerationMixin
        class PreTrainedModel(nn.Module, GenerationMixin):
            supports_gradient_checkpointing = False
            def __init__(self, config):
                super().__init__()
                self.config = config
            def post_init(self):
                self.plan = {}
            def load(self):
                for key in self.plan:
                    print(key)
            def tie_weights(self, missing_keys=None): ...
            def start(self):
                self.tie_weights(missing_keys=[])
            def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs=None):
                old = "value" in inspect.signature(self._set_gradient_checkpointing).parameters
                if not old:
                    self._set_gradient_checkpointing(enable=True)
                else:
                    self.apply(partial(self._set_gradient_checkpointing, value=True))
            def _set_gradient_checkpointing(self, enable=True): ...
    """,
    "transformers/tokenization_utils.py": """
        class PreTrainedTokenizerBase:
            def __getattr__(self, key): raise AttributeError(key)
            def pad(self, inputs, padding_side=None):
                return self._pad(inputs, padding_side=padding_side)
            def _pad(self, inputs, padding_side=None): return inputs
        class PreTrainedTokenizer(PreTrainedTokenizerBase):
            def __init__(self, **kwargs):
                self._add_tokens([])
            def _add_tokens(self, tokens):
                if tokens is None:
                    return 0
                return len(self.get_vocab())
            def get_vocab(self): return {}
            @property
            def vocab_size(self): return 0
    """,
}

# What some release of this small library had.
HISTORY = History(
    ("4.40.0", "4.50.0", "5.0.0"),
    {
        "model": {"_gone": "-0", "post_init": "-", "generate": "-"},
        "tokenizer": {"batch_encode_plus": "-1"},
        "config": {"max_length": "-1"},
        "cache": {"get_max_length": "-0", "seen_tokens": "-0"},
        "module transformers.utils": {"is_torch_fx_available": "-0"},
    },
)


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return root


def library(root: Path, changes: Mapping[str, str] | None = None, release: str = "5.0.0") -> InstalledLibrary:
    return InstalledLibrary([write(root / "site", {**LIBRARY, **(changes or {})})], {"transformers": release})


def found(
    root: Path,
    code: Mapping[str, str],
    entries: tuple[str, ...],
    *,
    changes: Mapping[str, str] | None = None,
    release: str = "5.0.0",
    settings: Mapping[str, object] | None = None,
    plan: Mapping[str, bool] | Mapping[str, bool | tuple[str, ...]] | None = None,
) -> list[Hit]:
    """What is found in a snapshot of these files."""
    directory = ModelDirectory(write(root / "snapshot", code))
    facts = Facts({name: Fact(name, value, Origin("test")) for name, value in (plan or {}).items()})
    hits = examine(directory, entries, library(root, changes, release), settings, facts, HISTORY)
    assert directory.skips == []
    return list(hits)


def brief(hits: list[Hit]) -> list[tuple[str, str, int | None]]:
    return [(hit.rule.removeprefix("remote-code-"), hit.detail.partition(":")[0], hit.line) for hit in hits]
