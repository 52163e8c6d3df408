"""Whole small models: configuration, tensors and shards, as the tests of weights need them."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from tests.coherence.situations import write

Shapes = Mapping[str, tuple[str, tuple[int, ...]]]
"""Dtype and shape by name of the tensor."""

_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1}
CONFIG: Mapping[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
    "vocab_size": 16,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def llama(layers: int = 2, rows: int = 16, dtype: str = "BF16") -> dict[str, tuple[str, tuple[int, ...]]]:
    """The tensors of the model that CONFIG describes."""
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (rows, 8)}
    for layer in range(layers):
        at = f"model.layers.{layer}."
        shapes |= {
            f"{at}input_layernorm.weight": (8,),
            f"{at}mlp.down_proj.weight": (8, 12),
            f"{at}mlp.gate_proj.weight": (12, 8),
            f"{at}mlp.up_proj.weight": (12, 8),
            f"{at}post_attention_layernorm.weight": (8,),
            f"{at}self_attn.k_proj.weight": (4, 8),
            f"{at}self_attn.o_proj.weight": (8, 8),
            f"{at}self_attn.q_proj.weight": (8, 8),
            f"{at}self_attn.v_proj.weight": (4, 8),
        }
    shapes |= {"model.norm.weight": (8,), "lm_head.weight": (rows, 8)}
    return {name: (dtype, shape) for name, shape in shapes.items()}


def packed(shapes: Shapes, *, same: Mapping[str, str] | None = None) -> bytes:
    """A safetensors file whose data follow from the names, or from another tensor's name where ``same`` says so."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = bytearray()
    for name, (dtype, shape) in shapes.items():
        size = math.prod(shape) * _BYTES[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + size]}
        data += hashlib.shake_256((same or {}).get(name, name).encode()).digest(size)
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + bytes(data)


def shard(number: int, count: int) -> str:
    return f"model-{number:05}-of-{count:05}.safetensors"


def sharded(shapes: Shapes, count: int = 2, **more: object) -> dict[str, object]:
    """Shards of equally many tensors and their index, by file name."""
    names = list(shapes)
    files: dict[str, object] = {}
    weight_map: dict[str, str] = {}
    for number in range(count):
        part = names[number * len(names) // count : (number + 1) * len(names) // count]
        files[shard(number + 1, count)] = packed({name: shapes[name] for name in part})
        weight_map |= dict.fromkeys(part, shard(number + 1, count))
    total = sum(math.prod(shape) * _BYTES[dtype] for dtype, shape in shapes.values())
    return {**files, "model.safetensors.index.json": index(weight_map, total), **more}


def index(weight_map: Mapping[str, str], total_size: object) -> dict[str, object]:
    return {"metadata": {"total_size": total_size}, "weight_map": dict(weight_map)}


def model(path: Path, files: Mapping[str, object] | None = None, **config: object) -> Path:
    """A healthy two-layer llama in one file, but for what is given; a key of config that is None is left out."""
    told = {key: value for key, value in {**CONFIG, **config}.items() if value is not None}
    return write(path, {"config.json": told, **({"model.safetensors": packed(llama())} if files is None else files)})


@lru_cache(maxsize=1)
def tiny_models() -> dict[str, dict[str, dict[str, object]]]:
    """Tiny models of many kinds, as transformers 4.57.1 and 5.23.0 both save them.

    ``verdicts`` say what from_pretrained of both releases makes of the weights when one number of config.json is another:
    mismatch (refused), missing (left random), unexpected (left out), refused (config.json itself), ok.
    """
    found: dict[str, dict[str, dict[str, object]]] = json.loads((Path(__file__).parent / "tiny_models.json").read_text())
    return found
