"""Model directories and hub caches as their tools leave them, made small."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path

from envdoctor.snapshot.digests import digest
from envdoctor.snapshot.inventory import inventory
from envdoctor.snapshot.lock import Lock
from envdoctor.snapshot.manifest import outlined, summed
from envdoctor.snapshot.verification import Verified, expect_lock, verify

COMMIT = "37fe0008d4b4d4c2d2c0d6c2c1f2a0e6b9a1c0de"


def shard(tensors: Mapping[str, tuple[str, list[int], bytes]], metadata: Mapping[str, str] | None = None) -> bytes:
    """A safetensors file: names to dtype, shape and data."""
    table: dict[str, object] = {} if metadata is None else {"__metadata__": dict(metadata)}
    position = 0
    for name, (dtype, shape, data) in tensors.items():
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [position, position + len(data)]}
        position += len(data)
    header = json.dumps(table).encode()
    return struct.pack("<Q", len(header)) + header + b"".join(data for _, _, data in tensors.values())


CONFIG = {
    "model_type": "llama",
    "torch_dtype": "float16",
    "hidden_size": 4,
    "vocab_size": 6,
    "rope_scaling": {"type": "linear", "factor": 2.0},
}
CODE = b'''"""A model."""


class Model:
    size = 3

    def forward(self, x):
        return x + 1


def helper():
    return 2
'''
WEIGHTS = {"layers.0.weight": ("F16", [2, 2], bytes(8)), "layers.1.weight": ("F16", [2, 2], bytes(8)), "head": ("F16", [2], bytes(4))}
MODEL: dict[str, bytes] = {
    "config.json": json.dumps(CONFIG, indent=2).encode(),
    "generation_config.json": json.dumps({"eos_token_id": [151329], "do_sample": True}).encode(),
    "tokenizer_config.json": json.dumps({"tokenizer_class": "LlamaTokenizer", "chat_template": "{{ messages }}"}).encode(),
    "tokenizer.json": json.dumps({"added_tokens": [{"id": 5, "content": "<s>"}], "model": {"vocab": {"a": 0}}}).encode(),
    "modeling_x.py": CODE,
    "model.safetensors": shard(WEIGHTS),
    "README.md": b"# A model\n",
    "extra/notes.dat": b"\x00\x01",
}


def write(directory: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return directory


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def git_blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def etag(name: str, data: bytes) -> str:
    """As the hub has it: large files are in LFS and known by their sha256, others by their git blob id."""
    return sha256(data) if name.endswith((".safetensors", ".bin")) else git_blob(data)


def tree(files: Mapping[str, bytes]) -> bytes:
    """The listing of a commit, as huggingface_hub keeps it."""
    listed: dict[str, dict[str, object]] = {}
    for name, data in files.items():
        listed[name] = {"size": len(data), "blob_id": git_blob(data)}
        if name.endswith((".safetensors", ".bin")):
            listed[name] |= {"blob_id": git_blob(b"pointer"), "lfs_sha256": sha256(data), "lfs_size": len(data), "xet_hash": "0" * 64}
    return json.dumps({"format_version": 1, "files": listed}).encode()


def hub_cache(
    cache: Path, files: Mapping[str, bytes], *, repository: str = "org/model", commit: str = COMMIT, listed: bool = False
) -> Path:
    """A snapshot in a hub cache: links to blobs that are named by their digests. The path is that of the snapshot."""
    folder = cache / f"models--{repository.replace('/', '--')}"
    snapshot = folder / "snapshots" / commit
    for name, data in files.items():
        blob = folder / "blobs" / etag(name, data)
        blob.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(data)
        link = snapshot / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / "main").write_text(commit, encoding="utf-8")
    if listed:
        (folder / "trees").mkdir()
        (folder / "trees" / f"{commit}.json").write_bytes(tree(files))
    return snapshot


def download(directory: Path, files: Mapping[str, bytes], *, commit: str = COMMIT, at: float = 4e9) -> Path:
    """A plain directory as ``hf download --local-dir`` leaves it."""
    write(directory, files)
    for name, data in files.items():
        note = directory / ".cache" / "huggingface" / "download" / f"{name}.metadata"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"{commit}\n{etag(name, data)}\n{at}\n", encoding="utf-8")
    return directory


def lock_of(directory: Path) -> Lock:
    """The lock of a directory as it is, without stack and plan."""
    files = inventory(directory)
    digested = digest(files.entries)
    assert digested.unread == {}
    records, outliner = outlined(files, digested.records)
    return Lock("envdoctor 0", "2026-01-02T03:04:05Z", records, summed(records, outliner.tensors), left_out=files.left_out)


def against(lock: Lock, directory: Path) -> Verified:
    return verify(inventory(directory), expect_lock(lock, "the lock"))


def told(verified: Verified) -> dict[str, str]:
    """Rule and detail of every finding; each rule once."""
    found = {defect.rule: defect.detail for defect in verified.defects}
    assert len(found) == len(verified.defects)
    return found
