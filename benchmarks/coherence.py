"""What the static check of a large snapshot costs, against a bare parse of the same headers.

    python benchmarks/coherence.py [--shards 60] [--tensors 100000] [--runs 5] [--folder FOLDER]

Makes a mixture-of-experts snapshot of sparse files with real headers and an index in a temporary folder (FOLDER where the
default one has no sparse files), and runs `envdoctor check SNAPSHOT --facts ...` beside a Python that reads the same headers
and index with json.loads and does nothing else. Wall seconds, CPU seconds (median) and peak memory (most) of each child are
printed, and their ratios.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HIDDEN, EXPERT, HEADS, KV_HEADS, HEAD_DIM, VOCABULARY = 2048, 768, 32, 4, 128, 151936
EXPERTS = 512
FACTS = """
[packages]
transformers = "4.57.1"
torch = "2.8.0"
safetensors = "0.6.2"

[plan]
method = "lora"
"""
BARE = """
import json, struct, sys, pathlib
folder = pathlib.Path(sys.argv[1])
kept = [json.loads((folder / "model.safetensors.index.json").read_bytes())]
for path in sorted(folder.glob("*.safetensors")):
    with open(path, "rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        kept.append(json.loads(stream.read(length)))
"""


def shapes(tensors: int) -> dict[str, tuple[int, ...]]:
    """About so many tensors of a qwen3_moe, whole layers of them."""
    layers = max(1, round(tensors / (3 * EXPERTS + 9)))
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN)}
    for layer in range(layers):
        at = f"model.layers.{layer}"
        found[f"{at}.input_layernorm.weight"] = found[f"{at}.post_attention_layernorm.weight"] = (HIDDEN,)
        found[f"{at}.self_attn.q_norm.weight"] = found[f"{at}.self_attn.k_norm.weight"] = (HEAD_DIM,)
        found[f"{at}.self_attn.q_proj.weight"] = (HEADS * HEAD_DIM, HIDDEN)
        found[f"{at}.self_attn.k_proj.weight"] = found[f"{at}.self_attn.v_proj.weight"] = (KV_HEADS * HEAD_DIM, HIDDEN)
        found[f"{at}.self_attn.o_proj.weight"] = (HIDDEN, HEADS * HEAD_DIM)
        found[f"{at}.mlp.gate.weight"] = (EXPERTS, HIDDEN)
        for expert in range(EXPERTS):
            found[f"{at}.mlp.experts.{expert}.gate_proj.weight"] = found[f"{at}.mlp.experts.{expert}.up_proj.weight"] = (EXPERT, HIDDEN)
            found[f"{at}.mlp.experts.{expert}.down_proj.weight"] = (HIDDEN, EXPERT)
    return found | {"model.norm.weight": (HIDDEN,), "lm_head.weight": (VOCABULARY, HIDDEN)}


def config(layers: int) -> dict[str, object]:
    return {
        "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "torch_dtype": "bfloat16", "transformers_version": "4.57.1",
        "hidden_size": HIDDEN, "intermediate_size": 6144, "moe_intermediate_size": EXPERT, "num_hidden_layers": layers,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "num_experts": EXPERTS,
        "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": VOCABULARY,
        "tie_word_embeddings": False, "eos_token_id": 151645,
    }  # fmt: skip


def make(folder: Path, shards: int, tensors: int) -> tuple[int, int]:
    """The snapshot; its number of tensors and the bytes of its headers."""
    found = shapes(tensors)
    layers = sum(name.endswith("mlp.gate.weight") for name in found)
    (folder / "config.json").write_text(json.dumps(config(layers), indent=2))
    names = list(found)
    weight_map: dict[str, str] = {}
    total = headers = 0
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        header: dict[str, object] = {"__metadata__": {"format": "pt"}}
        position = 0
        for name in names[shard * len(names) // shards : (shard + 1) * len(names) // shards]:
            size = 2
            for length in found[name]:
                size *= length
            header[name] = {"dtype": "BF16", "shape": list(found[name]), "data_offsets": [position, position + size]}
            position += size
            weight_map[name] = file
        raw = json.dumps(header, separators=(",", ":")).encode()
        raw += b" " * (-len(raw) % 8)
        with (folder / file).open("wb") as stream:
            stream.write(struct.pack("<Q", len(raw)) + raw)
            stream.truncate(stream.tell() + position)
        total += position
        headers += len(raw)
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
    return len(names), headers


def cost(command: list[str], environ: dict[str, str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MiB of one run."""
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environ)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        sys.exit(f"{command} ended with {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=60)
    parser.add_argument("--tensors", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make is not None:
        print(json.dumps(make(options.make, options.shards, options.tensors)))
        return 0
    compileall.compile_dir(str(ROOT / "envdoctor"), quiet=2)
    with tempfile.TemporaryDirectory(dir=options.folder) as made, tempfile.TemporaryDirectory() as cache:
        snapshot, facts = Path(made) / "model", Path(made) / "facts.toml"
        snapshot.mkdir()
        facts.write_text(FACTS)
        # In a process of its own: a child is charged with the memory that its parent had when it was started.
        making = [sys.executable, __file__, "--make", str(snapshot), "--shards", str(options.shards), "--tensors", str(options.tensors)]
        tensors, headers = json.loads(subprocess.run(making, capture_output=True, check=True).stdout)
        commands = {
            "envdoctor check": [sys.executable, "-m", "envdoctor", "check", str(snapshot), "--facts", str(facts)],
            "bare json.loads": [sys.executable, "-c", BARE, str(snapshot)],
            "python -c pass": [sys.executable, "-c", "pass"],
        }
        environ = {**os.environ, "XDG_CACHE_HOME": cache}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        measured: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
        for run in range(options.runs + 1):
            for name, command in commands.items():
                found = cost(command, environ)
                if run:
                    measured[name].append(found)
    rows = {
        name: {
            "wall_s": round(statistics.median(wall for wall, _, _ in runs), 3),
            "cpu_s": round(statistics.median(cpu for _, cpu, _ in runs), 3),
            "peak_mib": round(max(peak for _, _, peak in runs), 1),
        }
        for name, runs in measured.items()
    }
    check, bare = rows["envdoctor check"], rows["bare json.loads"]
    ratios = {key: round(check[key] / bare[key], 2) for key in check}
    print(json.dumps({"tensors": tensors, "shards": options.shards, "header_bytes": headers, "rows": rows, "of_bare": ratios}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
