"""Small snapshots and situations, as the tests of tokens, templates, adapters and quantization need them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Defect, Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.sources.model.snapshot import Snapshot, read_snapshot
from envdoctor.sources.model.snapshot_facts import snapshot_facts

Tensors = Mapping[str, tuple[str, list[int]]]
_BYTES = {"F32": 4, "F16": 2, "BF16": 2, "U8": 1}


def safetensors(tensors: Tensors) -> bytes:
    """A file of zeros: dtype and shape by name."""
    header: dict[str, object] = {}
    position = 0
    for name, (dtype, shape) in tensors.items():
        size = _BYTES[dtype]
        for length in shape:
            size *= length
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [position, position + size]}
        position += size
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + bytes(position)


def write(path: Path, files: Mapping[str, object]) -> Path:
    """A directory; what is not bytes is written as JSON."""
    path.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (path / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content, indent=1).encode())
    return path


def snapshot(path: Path, files: Mapping[str, object]) -> Snapshot:
    return read_snapshot(write(path, {"config.json": {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, **files}))


def situation(read: Snapshot | None = None, closed: bool = False, /, **stated: object) -> Facts:
    """What a snapshot says, and statements: ``plan_method="lora"`` is plan.method, ``transformers="4.48.0"`` a package."""
    facts = Facts({}, closed).with_facts(() if read is None else snapshot_facts(read).facts)
    named = {
        name.replace("_", ".", 1) if name.startswith(("plan_", "model_")) else f"packages.{name.replace('_', '-')}": value
        for name, value in stated.items()
    }
    return facts.with_facts(Fact(name, parse_value(name, value), Origin("stated")) for name, value in named.items())


def added(*tokens: tuple[int, str]) -> dict[str, object]:
    """added_tokens_decoder, as tokenizer_config.json has it."""
    return {str(number): {"content": text, "special": True} for number, text in tokens}


def run(
    checks: Iterable[Callable[[Snapshot, Facts], Iterable[Defect | Hit]]], read: Snapshot, facts: Facts | None = None
) -> list[Defect | Hit]:
    told = situation(read) if facts is None else facts
    return [found for check in checks for found in check(read, told)]


def rules(found: Iterable[Defect | Hit]) -> list[str]:
    return [one.rule for one in found]
