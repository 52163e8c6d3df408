"""The weight files of a snapshot as one whole save, and what they cost to examine when somebody means harm."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.coherence import weights
from envdoctor.facts.fact import Defect, Fact, Facts, Origin
from envdoctor.sources.model.safetensors_header import header_of
from envdoctor.sources.model.snapshot import Snapshot, read_snapshot
from envdoctor.sources.model.weights import Weights
from tests.coherence.models import CONFIG, index, llama, model, packed, shard, sharded
from tests.coherence.situations import rules, situation, write

HEALTHY: list[Defect] = []


def found(path: Path | Snapshot) -> list[Defect]:
    read = path if isinstance(path, Snapshot) else read_snapshot(path)
    return [defect for check in weights.CHECKS for defect in check(read, situation(transformers="5.0.0"))]


def only(path: Path) -> Defect:
    (defect,) = found(path)
    return defect


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_save_is_sound(tmp_path: Path, count: int) -> None:
    assert found(model(tmp_path, sharded(llama(), count) if count else None)) == HEALTHY


# --- index and headers


def test_a_tensor_that_the_index_does_not_name(tmp_path: Path) -> None:
    files = sharded(llama())
    told = {name: shard(1 if position < 10 else 2, 2) for position, name in enumerate(llama())}
    del told["lm_head.weight"]
    path = model(tmp_path, {**files, "model.safetensors.index.json": index(told, sum_of(llama()))})
    defect = only(path)
    assert (defect.rule, defect.file) == ("snapshot-tensor-not-in-index", str(path / shard(2, 2)))
    assert defect.detail == "model-00002-of-00002.safetensors holds lm_head.weight, which the index does not name"


def test_many_tensors_that_the_index_does_not_name(tmp_path: Path) -> None:
    path = model(
        tmp_path, {**sharded(llama()), "model.safetensors.index.json": index(dict.fromkeys(["model.norm.weight"], shard(2, 2)), 16)}
    )
    assert "snapshot-tensor-not-in-index" in rules(found(path))
    detail = next(defect.detail for defect in found(path) if defect.rule == "snapshot-tensor-not-in-index")
    assert detail.endswith("and 7 more, which the index does not name")


@pytest.mark.parametrize(("stated", "sound"), [(1.0, True), (1.009, True), (0.991, True), (1.02, False), (0.5, False), (2, False)])
def test_total_size(tmp_path: Path, stated: float, sound: bool) -> None:
    files = sharded(llama())
    whole = json.loads(json.dumps(files["model.safetensors.index.json"]))
    whole["metadata"]["total_size"] = int(stated * sum_of(llama()))
    path = model(tmp_path, {**files, "model.safetensors.index.json": whole})
    if sound:
        assert found(path) == HEALTHY
    else:
        defect = only(path)
        assert defect.rule == "snapshot-index-total-size"
        assert (
            defect.detail
            == f"total_size is {int(stated * sum_of(llama()))} and the headers of its files count {sum_of(llama())} bytes of tensors"
        )
        assert defect.line == 3


@pytest.mark.parametrize("metadata", [None, {}, [], {"total_size": None}, {"total_size": "1"}, {"total_parameters": 1}])
def test_an_index_without_a_size(tmp_path: Path, metadata: object) -> None:
    files = sharded(llama())
    whole = json.loads(json.dumps(files["model.safetensors.index.json"])) | {"metadata": metadata}
    assert found(model(tmp_path, {**files, "model.safetensors.index.json": whole})) == HEALTHY


def sum_of(shapes: dict[str, tuple[str, tuple[int, ...]]]) -> int:
    raw = packed(shapes)
    return len(raw) - 8 - int.from_bytes(raw[:8], "little")


# --- two saves in one directory


def test_shards_of_an_older_save(tmp_path: Path) -> None:
    older = {name: content for name, content in sharded(llama(), 3).items() if not name.endswith(".json")}
    defect = only(model(tmp_path, {**older, **sharded(llama(), 2)}))
    assert defect.rule == "snapshot-weights-of-another-save"
    assert defect.detail == "3 files such as model-00003-of-00003.safetensors belong to another save than model.safetensors.index.json"


def test_a_single_file_beside_an_index(tmp_path: Path) -> None:
    files = sharded(llama())
    path = model(tmp_path, {"model.safetensors": packed(llama()), "model.safetensors.index.json": files["model.safetensors.index.json"]})
    assert only(path).rule == "snapshot-weights-of-another-save"
    whole = model(tmp_path / "whole", {"model.safetensors": packed(llama()), **files})
    assert only(whole).detail.startswith("2 files such as model-00002-of-00002.safetensors")


def test_an_index_of_the_single_file_is_no_other_save(tmp_path: Path) -> None:
    told = dict.fromkeys(llama(), "model.safetensors")
    assert found(model(tmp_path, {"model.safetensors": packed(llama()), "model.safetensors.index.json": index(told, 1)})) == HEALTHY


@pytest.mark.parametrize("name", ["consolidated.safetensors", "consolidated-00001-of-00002.safetensors", "adapter_model.safetensors"])
def test_weights_of_another_format_are_normal(tmp_path: Path, name: str) -> None:
    """Mistral publishes its own division beside that of transformers."""
    assert found(model(tmp_path, {**sharded(llama()), name: packed(llama()), "pytorch_model.bin": b"\x80\x02."})) == HEALTHY


def test_names_that_the_index_gives_are_followed(tmp_path: Path) -> None:
    """Shards called model.safetensors-00001-of-00002.safetensors are published, too."""
    names = {"model.safetensors-00001-of-00001.safetensors": packed(llama())}
    told = dict.fromkeys(llama(), "model.safetensors-00001-of-00001.safetensors")
    assert found(model(tmp_path, {**names, "model.safetensors.index.json": index(told, sum_of(llama()))})) == HEALTHY


# --- tensors that stand twice, and empty ones


def test_a_tensor_in_two_shards(tmp_path: Path) -> None:
    files = sharded(llama())
    more = dict(list(llama().items())[len(llama()) // 2 :]) | {"model.embed_tokens.weight": ("BF16", (16, 8))}
    path = model(tmp_path, {**files, shard(2, 2): packed(more)})
    defect = next(defect for defect in found(path) if defect.rule == "snapshot-tensor-repeated")
    assert defect.detail == f"model.embed_tokens.weight is in {shard(1, 2)} and in {shard(2, 2)}"


def test_of_two_copies_the_index_says_which_is_meant(tmp_path: Path) -> None:
    files = sharded(llama())
    more = dict(list(llama().items())[len(llama()) // 2 :]) | {"model.embed_tokens.weight": ("BF16", (3, 8))}
    read = read_snapshot(model(tmp_path, {**files, shard(2, 2): packed(more)}))
    assert read.weights.tensors["model.embed_tokens.weight"].shape == (16, 8)
    assert read.weights.repeated == {"model.embed_tokens.weight": [shard(1, 2), shard(2, 2)]}
    assert len(read.weights.tensors) == len(llama())


def test_a_tensor_that_a_header_names_twice(tmp_path: Path) -> None:
    """safetensors reads such a file and takes the last one."""
    entry = json.dumps({"dtype": "F16", "shape": [2], "data_offsets": [0, 4]})
    raw = f'{{"a": {entry}, "b": {json.dumps({"dtype": "F16", "shape": [1], "data_offsets": [4, 6]})}, "a": {entry}}}'.encode()
    path = model(tmp_path, {"model.safetensors": struct.pack("<Q", len(raw)) + raw + bytes(6)})
    defect = only(path)
    assert defect.rule == "snapshot-tensor-repeated"
    assert defect.detail == "the header names a more than once; the last one counts"


def test_empty_weights(tmp_path: Path) -> None:
    """What ZeRO-3 leaves when nobody gathers the parameters."""
    shapes = {**llama(), "model.layers.1.mlp.up_proj.weight": ("BF16", (0,)), "model.layers.0.mlp.up_proj.weight": ("BF16", (12, 0))}
    defect = only(model(tmp_path, {"model.safetensors": packed(shapes)}))
    assert defect.rule == "snapshot-tensor-empty"
    assert defect.detail == "model.layers.0.mlp.up_proj.weight, model.layers.1.mlp.up_proj.weight have no elements"


def test_what_zero_3_leaves_of_a_parameter_that_is_no_weight(tmp_path: Path) -> None:
    shapes = {**llama(), "model.layers.0.mixer.A_log": ("BF16", (0,))}
    assert only(model(tmp_path, {"model.safetensors": packed(shapes)})).detail == "model.layers.0.mixer.A_log has no elements"


def test_empty_tensors_of_quantizers_are_normal(tmp_path: Path) -> None:
    shapes = {**llama(), "model.layers.0.mlp.up_proj.g_idx": ("I32", (0,)), "model.layers.0.mlp.up_proj.bias": ("F16", (0,))}
    assert found(model(tmp_path, {"model.safetensors": packed(shapes)})) == HEALTHY


# --- dtypes


@pytest.mark.parametrize(
    ("stored", "said", "sound"),
    [
        ("BF16", "bfloat16", True), ("F16", "float16", True), ("F32", "float32", True), ("F32", "bfloat16", True),
        ("F16", "bfloat16", True), ("BF16", None, True), ("BF16", "auto", True), ("BF16", 3, True), ("BF16", "torch.bfloat16", True),
        ("BF16", "float32", False), ("F16", "float32", False), ("BF16", "float16", False), ("BF16", "torch.float32", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["torch_dtype", "dtype"])
def test_stored_and_said(tmp_path: Path, key: str, stored: str, said: object, sound: bool) -> None:
    config = {name: value for name, value in CONFIG.items() if name != "torch_dtype"} | {key: said}
    path = write(tmp_path, {"config.json": config, "model.safetensors": packed(llama(dtype=stored))})
    if sound:
        assert found(path) == HEALTHY
    else:
        defect = only(path)
        assert (defect.rule, defect.file) == ("snapshot-dtype-not-of-config", str(path / "config.json"))
        assert defect.line is not None
        assert f"config.json says {said}" in defect.detail


def test_a_dtype_of_config_that_the_plan_does_not_load_costs_nothing(tmp_path: Path) -> None:
    read = read_snapshot(model(tmp_path, torch_dtype="float32"))
    assert rules(weights.dtypes(read, situation(plan_load_dtype="bfloat16"))) == []
    assert rules(weights.dtypes(read, situation(plan_load_dtype="auto"))) == ["snapshot-dtype-not-of-config"]


@pytest.mark.parametrize("told", [{"plan_load_dtype": "float32"}, {"plan_trainer": "llamafactory"}, {"not_loaded": "model"}])
def test_a_dtype_by_its_name_is_meant(tmp_path: Path, told: dict[str, str]) -> None:
    read = read_snapshot(model(tmp_path, torch_dtype="float32"))
    assert rules(weights.dtypes(read, _said(told))) == []


@pytest.mark.parametrize(("trl", "harm"), [("0.26.2", True), ("0.27.0", False), ("0.29.0", False)])
def test_a_trainer_of_trl_that_is_given_a_name_asks_for_float32(tmp_path: Path, trl: str, harm: bool) -> None:
    read = read_snapshot(model(tmp_path, torch_dtype="float32"))
    by_name = situation(transformers="5.1.0", trl=trl, plan_trainer="trl")
    assert rules(weights.dtypes(read, by_name)) == (["snapshot-dtype-not-of-config"] if harm else [])
    by_hand = situation(transformers="5.1.0", trl=trl, plan_trainer="trl", plan_load_dtype_argument="none")
    assert rules(weights.dtypes(read, by_hand)) == ["snapshot-dtype-not-of-config"]


def _said(told: Mapping[str, str]) -> Facts:
    stated = situation(transformers="5.0.0", **{name: value for name, value in told.items() if name.startswith("plan_")})
    unused = [Fact("not_loaded", (told["not_loaded"],), Origin("stated"))] if "not_loaded" in told else []
    return stated.with_facts(unused)


@pytest.mark.parametrize(("transformers", "harm"), [("4.57.1", False), ("5.0.0", True), (">=4.50", False), (None, False)])
def test_a_dtype_of_config_costs_nothing_before_transformers_5(tmp_path: Path, transformers: str | None, harm: bool) -> None:
    read = read_snapshot(model(tmp_path, torch_dtype="float32"))
    stated = {} if transformers is None else {"transformers": transformers}
    assert rules(weights.dtypes(read, situation(**stated))) == (["snapshot-dtype-not-of-config"] if harm else [])


def test_a_quantized_model_is_stored_as_its_method_wants(tmp_path: Path) -> None:
    path = model(tmp_path, torch_dtype="float32", quantization_config={"quant_method": "bitsandbytes"})
    assert found(path) == HEALTHY


def test_norms_and_routers_in_float32_are_normal(tmp_path: Path) -> None:
    shapes = {name: ("F32" if "norm" in name else dtype, shape) for name, (dtype, shape) in llama().items()}
    shapes["model.layers.0.mlp.gate.weight"] = ("F32", (4, 8))
    assert found(model(tmp_path, {"model.safetensors": packed(shapes)})) == HEALTHY


def test_layers_stored_in_two_ways(tmp_path: Path) -> None:
    shapes = {name: ("F32" if "layers.1." in name else dtype, shape) for name, (dtype, shape) in llama().items()}
    defect = only(model(tmp_path, {"model.safetensors": packed(shapes)}))
    assert defect.rule == "snapshot-dtypes-mixed"
    assert "model.layers.0.mlp.down_proj.weight as bfloat16, model.layers.1.mlp.down_proj.weight as float32" in defect.detail
    assert defect.detail.endswith("and 6 more kinds of tensor")


# --- downloads


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("model.safetensors.aria2", "model.safetensors is not complete"),
        ("model-00002-of-00002.safetensors.aria2", "model-00002-of-00002.safetensors is not there"),
        ("tokenizer.model.part", "tokenizer.model is not there"),
        ("tokenizer.json.incomplete", "tokenizer.json is not there"),
        ("pytorch_model.bin.tmp", "pytorch_model.bin is not there"),
        ("vocab.json.crdownload", "vocab.json is not there"),
    ],
)
def test_a_download_that_was_interrupted(tmp_path: Path, name: str, said: str) -> None:
    defect = only(model(tmp_path, {"model.safetensors": packed(llama()), name: b"x"}))
    assert defect.rule == "snapshot-download-unfinished"
    assert defect.detail == f"{name} is of a download that has not ended: {said}"


@pytest.mark.parametrize(
    "name", ["model.safetensors.part", "config.json.incomplete", "model.safetensors.tmp", "notes.tmp", "party", "aria2.md"]
)
def test_a_trace_of_what_has_arrived_since_is_no_news(tmp_path: Path, name: str) -> None:
    assert found(model(tmp_path, {"model.safetensors": packed(llama()), name: b"x"})) == HEALTHY


def hashed(name: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha1(f"{name}.metadata".encode()).digest()).decode()


def begun(path: Path, *names: str) -> Path:
    folder = path / ".cache" / "huggingface" / "download"
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_bytes(b"")
    return path


def test_a_local_download_of_huggingface_hub(tmp_path: Path) -> None:
    absent, present = hashed("tokenizer.model"), hashed("model.safetensors")
    arrived = begun(model(tmp_path / "arrived"), f"{present}.abc.incomplete", "model.safetensors.metadata", "config.json.lock")
    assert found(arrived) == HEALTHY
    waiting = begun(model(tmp_path / "waiting"), f"{absent}.abc.incomplete", "tokenizer.model.metadata")
    assert only(waiting).detail == "1 downloads into this directory have not ended: tokenizer.model"
    before = begun(
        model(tmp_path / "before"), "tokenizer.model.abc.incomplete", "model.safetensors.abc.incomplete", "tokenizer.model.metadata"
    )
    assert only(before).detail == "1 downloads into this directory have not ended: tokenizer.model"


def test_a_shard_that_is_on_its_way_is_called_by_its_name(tmp_path: Path) -> None:
    files = sharded(llama())
    files.pop(shard(2, 2))
    path = begun(model(tmp_path, files), f"{hashed(shard(2, 2))}.0123.incomplete")
    assert only(path).detail == f"1 downloads into this directory have not ended: {shard(2, 2)}"


@pytest.mark.large
def test_thousands_of_begun_downloads_and_of_files_take_no_time(tmp_path: Path) -> None:
    files = {"model.safetensors.index.json": index({str(number): f"{number}.safetensors" for number in range(20_000)}, 1)}
    names = [*map(str, range(1000)), hashed("7.safetensors")]
    detail = only(begun(model(tmp_path, files), *(f"{name}.abc.incomplete" for name in names))).detail
    assert detail.startswith("1001 downloads into this directory have not ended: 0.abc.incomplete, 1.abc.incomplete, ")


def test_the_name_of_huggingface_hub_is_the_one_that_is_looked_for(tmp_path: Path) -> None:
    from huggingface_hub._local_folder import get_local_download_paths

    path = model(tmp_path)
    incomplete = get_local_download_paths(path, "tokenizer.model").incomplete_path("etag")
    incomplete.write_bytes(b"")
    (incomplete.parent / "tokenizer.model.metadata").write_text("")
    assert only(path).detail.endswith(": tokenizer.model")


# --- holes

sparse = pytest.mark.skipif(not hasattr(os, "SEEK_HOLE"), reason="this system tells of no holes")


def with_hole(path: Path, written: int, unwritten: int) -> Path:
    """A model of one tensor whose last bytes were never written."""
    raw = json.dumps({"a": {"dtype": "U8", "shape": [written + unwritten], "data_offsets": [0, written + unwritten]}}).encode()
    model(path, {})
    with (path / "model.safetensors").open("wb") as stream:
        stream.write(struct.pack("<Q", len(raw)) + raw + b"\1" * written)
        stream.truncate(stream.tell() + unwritten)
    return path


@sparse
def test_a_file_that_was_reserved_and_not_filled(tmp_path: Path) -> None:
    path = with_hole(tmp_path, 2**20, 2**20)
    defect = only(path)
    assert defect.rule == "snapshot-weights-unwritten"
    assert defect.file == str(path / "model.safetensors")
    assert "never written to the disk and read as zeros" in defect.detail


@sparse
@pytest.mark.parametrize(("written", "unwritten"), [(2**22, 0), (2**22, 2**16), (1, 0)])
def test_a_file_that_was_filled(tmp_path: Path, written: int, unwritten: int) -> None:
    """A few rows of zeros are in many models: padding of the embedding."""
    assert found(with_hole(tmp_path, written, unwritten)) == HEALTHY


# --- hostile snapshots

_EXAMINE = """
import sys
from pathlib import Path
from envdoctor.coherence import arithmetic, embeddings, weights
from envdoctor.facts.fact import Facts
from envdoctor.sources.model.snapshot import read_snapshot

read = read_snapshot(Path(sys.argv[1]))
told = [one.rule for module in (arithmetic, embeddings, weights) for check in module.CHECKS for one in check(read, Facts())]
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(peak // 1024, len(read.directory.skips), *told)
"""
on_linux = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no account of the peak of memory")


def examined(path: Path) -> tuple[int, int, list[str]]:
    """Peak of memory in MiB, number of skips, and rules, of an examination in a process of its own."""
    done = subprocess.run([sys.executable, "-c", _EXAMINE, str(path)], capture_output=True, text=True, timeout=120, check=True)
    peak, skips, *told = done.stdout.split()
    return int(peak), int(skips), told


def header(raw: bytes, held: int = 0) -> bytes:
    return struct.pack("<Q", len(raw)) + raw + bytes(held)


def many_tensors(count: int) -> bytes:
    entries = (f'"{number:x}":{{"dtype":"U8","shape":[0,{number}],"data_offsets":[0,0]}}' for number in range(count))
    return b"{" + ",".join(entries).encode() + b"}"


HOSTILE: dict[str, Callable[[], bytes]] = {
    "lists": lambda: header(b'{"a":[' + b"[]," * 5_000_000 + b"[]]}"),
    "objects": lambda: header(b'{"a":[' + b'{"a":0},' * 2_000_000 + b"0]}"),
    "texts": lambda: header(b'{"a":[' + '"é\N{GRINNING FACE}",'.encode() * 2_000_000 + b"0]}"),
    "escapes": lambda: header(b'{"' + b"\\ud83d\\ude00" * 300_000 + b'":{}}'),
    "numbers": lambda: header(b'{"a":[' + b"1e9," * 5_000_000 + b"0]}"),
    "tensors": lambda: header(many_tensors(120_000)),
    "names": lambda: header(b'{"' + b"a" * 30_000_000 + b'":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
    "zeros": lambda: header(bytes(60_000_000)),
}


@pytest.mark.large
@on_linux
@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_a_header_made_to_fill_the_memory_does_not(tmp_path: Path, kind: str) -> None:
    path = model(tmp_path, {"model.safetensors": HOSTILE[kind]()})
    peak, _, _ = examined(path)
    assert peak < 300


# Headers of what stays in memory once they are read: many names, long ones, letters that take four bytes each, many sizes.
HELD: dict[str, Callable[[], bytes]] = {
    "tensors": lambda: header(many_tensors(20_000)),
    "names": lambda: header(named("a" * 10_000, [0])),
    "wide names": lambda: header(named("a" * 10_000 + "\N{GRINNING FACE}", [0])),
    "sizes": lambda: header(named("a", [0, *range(10**9, 10**9 + 1000)])),
}


def named(name: str, shape: list[int]) -> bytes:
    tensors = {f"{name}{number}": {"dtype": "U8", "shape": [*shape, number], "data_offsets": [0, 0]} for number in range(20)}
    return json.dumps(tensors, ensure_ascii=False).encode()


@pytest.mark.parametrize("kind", HELD)
def test_what_a_header_keeps_in_memory_is_reckoned_and_never_less(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(HELD[kind]())
    read = header_of(path)
    kept = {id(part): part for name, tensor in read.tensors.items() for part in (name, tensor, tensor.shape, *tensor.shape)}
    taken = Weights("safetensors")
    taken.add(path.name, read)
    reckoned = Weights("safetensors").memory - taken.memory
    assert sys.getsizeof(read.tensors) + sum(map(sys.getsizeof, kept.values())) <= reckoned < 2**24


@pytest.mark.large
@on_linux
def test_many_headers_together_do_not_fill_the_memory(tmp_path: Path) -> None:
    shards = [shard(number, 12) for number in range(1, 13)]
    told = {f"{number}{'x' * 40}": shards[number % 12] for number in range(20_000)}
    wide = header(named("a" * 400_000 + "\N{GRINNING FACE}", [0]))
    path = model(tmp_path, {shards[0]: wide, "model.safetensors.index.json": index(told, 1)})
    for other in shards[1:]:
        os.link(path / shards[0], path / other)
    peak, skips, _ = examined(path)
    assert peak < 300
    assert skips > 0


@pytest.mark.large
@on_linux
def test_an_index_made_to_fill_the_memory_is_said_and_not_read(tmp_path: Path) -> None:
    raw = b'{"weight_map":{' + b",".join(b'"%x":[]' % number for number in range(2_500_000)) + b"}}"
    path = model(tmp_path, {"model.safetensors.index.json": raw})
    peak, skips, _ = examined(path)
    assert (peak < 300, skips) == (True, 1)


@on_linux
@sparse
def test_ten_gigabytes_claimed_by_a_small_header_take_none(tmp_path: Path) -> None:
    size = 10 * 2**30
    raw = json.dumps({"a": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    path = model(tmp_path, {})
    with (path / "model.safetensors").open("wb") as stream:
        stream.write(struct.pack("<Q", len(raw)) + raw)
        stream.truncate(stream.tell() + size)
    peak, _, told = examined(path)
    assert peak < 100
    assert "snapshot-weights-unwritten" in told


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_survived(raw: bytes, framed: bool) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = model(Path(folder), {"model.safetensors": header(raw) if framed else raw, "model.safetensors.index.json": raw})
        assert all(defect.detail.isprintable() for defect in found(path))
