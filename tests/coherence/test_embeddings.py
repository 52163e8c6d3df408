"""Rows of the embedding against config.json and the tokenizer, and the output layer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.checks.hit import Hit
from envdoctor.coherence import embeddings
from envdoctor.facts.fact import Defect, Facts
from envdoctor.sources.model.snapshot import Snapshot, read_snapshot
from tests.coherence.models import llama, model, packed, sharded
from tests.coherence.situations import added, rules, situation, write

Check = Callable[[Snapshot, Facts], Iterable[Defect | Hit]]
HEALTHY: list[Defect | Hit] = []


def found(path: Path, facts: Facts | None = None) -> list[Defect | Hit]:
    read = read_snapshot(path)
    return [one for check in embeddings.CHECKS for one in check(read, facts or Facts())]


def only(path: Path, facts: Facts | None = None) -> Defect | Hit:
    (one,) = found(path, facts)
    return one


def bpe(size: int, **more: object) -> bytes:
    """A tokenizer.json as tokenizers writes it: the vocabulary in the order of its ids, then the merges."""
    vocabulary = {"tok" + str(number): number for number in range(size)}
    document = {"version": "1.0", "added_tokens": [], "model": {"type": "BPE", **more, "vocab": vocabulary, "merges": ["t o"]}}
    return json.dumps(document, indent=2).encode()


def weights(rows: int = 16) -> dict[str, object]:
    return {"model.safetensors": packed(llama(rows=rows))}


# --- rows


def test_as_many_rows_as_tokens(tmp_path: Path) -> None:
    assert found(model(tmp_path)) == HEALTHY


@pytest.mark.parametrize("count", [15, 17, 32000])
def test_other_rows_than_config_counts(tmp_path: Path, count: int) -> None:
    path = model(tmp_path, vocab_size=count)
    defect = only(path)
    assert defect.rule == "snapshot-embedding-rows-not-vocab-size"
    assert defect.detail == f"model.embed_tokens.weight has 16 rows and config.json counts {count} tokens"
    assert defect.line is not None
    assert f'"vocab_size": {count}' in (path / "config.json").read_text().splitlines()[defect.line - 1]


def test_an_output_layer_of_its_own_height(tmp_path: Path) -> None:
    shapes = {**llama(), "lm_head.weight": ("BF16", (24, 8))}
    assert only(model(tmp_path, {"model.safetensors": packed(shapes)})).detail.startswith("lm_head.weight has 24 rows")


# --- tokens


def test_padding_of_the_embedding_is_normal(tmp_path: Path) -> None:
    """Qwen: 151,851 tokens and 151,936 rows."""
    tokens = {"added_tokens_decoder": added((12, "<|end|>"), (13, "<|pad|>"))}
    assert found(model(tmp_path, {**weights(), "tokenizer.json": bpe(12), "tokenizer_config.json": tokens})) == HEALTHY


def test_the_last_row_has_a_token(tmp_path: Path) -> None:
    tokens = {"added_tokens_decoder": added((15, "<|pad|>"))}
    assert found(model(tmp_path, {**weights(), "tokenizer.json": bpe(15), "tokenizer_config.json": tokens})) == HEALTHY


@pytest.mark.parametrize(("last", "told"), [(15, False), (16, True)])
def test_a_tokenizer_that_transformers_5_saved_has_its_tokens_in_tokenizer_json_alone(tmp_path: Path, last: int, told: bool) -> None:
    tokens = {
        "added_tokens": [{"id": last, "content": "[PAD]", "special": True}],
        "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
    }
    path = model(tmp_path, {**weights(), "tokenizer.json": tokens, "tokenizer_config.json": {"pad_token": "[PAD]"}})
    assert [one.rule for one in found(path)] == (["snapshot-added-token-beyond-embedding"] if told else [])


def test_a_token_without_a_row(tmp_path: Path) -> None:
    tokens = {"added_tokens_decoder": added((15, "<s>"), (16, "[PAD]"))}
    path = model(tmp_path, {**weights(), "tokenizer.json": bpe(15), "tokenizer_config.json": tokens})
    defect = only(path)
    assert defect.rule == "snapshot-added-token-beyond-embedding"
    assert defect.file == str(path / "tokenizer_config.json")
    assert defect.detail == "[PAD] is 16; model.embed_tokens.weight has 16 rows, the last id is 15"


PAD = {"tokenizer_config.json": {"added_tokens_decoder": added((16, "[PAD]"))}, "tokenizer.json": bpe(15)}


@pytest.mark.parametrize("beside", [{}, {"pytorch_model.bin": b"PK"}])
@pytest.mark.parametrize(("architecture", "told"), [("BloomForCausalLM", True), ("GPT2LMHeadModel", True), ("Wav2Vec2ForCTC", False)])
def test_where_no_header_tells_the_rows_config_json_does(tmp_path: Path, beside: dict[str, object], architecture: str, told: bool) -> None:
    config = {"model_type": "other", "architectures": [architecture], "vocab_size": 16}
    path = write(tmp_path, {"config.json": config, **PAD, **beside})
    assert [one.detail for one in found(path)] == (["[PAD] is 16; config.json counts 16 rows, the last id is 15"] if told else [])


def test_a_token_for_images_is_named_by_the_configuration(tmp_path: Path) -> None:
    inner = {"model_type": "llama", "vocab_size": 16}
    config = {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "text_config": inner}
    assert len(found(write(tmp_path / "a", {"config.json": config, **PAD}))) == 1
    assert found(write(tmp_path / "b", {"config.json": {**config, "image_token_index": 16}, **PAD})) == HEALTHY


def test_added_tokens_json_counts_too(tmp_path: Path) -> None:
    path = model(tmp_path, {**weights(), "added_tokens.json": {f"<extra\x1b{number}>": number for number in range(14, 25)}})
    defect = only(path)
    assert defect.file == str(path / "added_tokens.json")
    assert defect.detail.isprintable()
    assert "is 16" in defect.detail
    assert "and 5 more; " in defect.detail


def test_a_placeholder_of_images_needs_no_row(tmp_path: Path) -> None:
    """Gemma 3: the text model has the tokenizer of its siblings that see, with a token behind the last of its own rows."""
    decoder = added((16, "<image_soft_token>"))
    named: dict[str, object] = {"image_token": "<image_soft_token>"}
    nested: dict[str, object] = {"extra_special_tokens": named}
    for number, naming in enumerate((named, nested)):
        tokens: dict[str, object] = {"added_tokens_decoder": decoder, **naming}
        files: dict[str, object] = {**weights(), "tokenizer.json": bpe(17), "tokenizer_config.json": tokens}
        assert found(model(tmp_path / str(number), files)) == HEALTHY


def test_the_tokenizer_of_another_model(tmp_path: Path) -> None:
    path = model(tmp_path, {**weights(), "tokenizer.json": bpe(40), "tokenizer_config.json": {"added_tokens_decoder": added((40, "<s>"))}})
    defect = only(path)
    assert defect.rule == "snapshot-vocabulary-beyond-embedding"
    assert defect.file == str(path / "tokenizer.json")
    assert "has tokens up to 39 and model.embed_tokens.weight has 16 rows" in defect.detail


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"model": {"vocab": {}, "merges": []}}',
        b'{"model": {"type": "Unigram", "vocab": [["a", -1.5], ["b", 99999]]}}',
        b'{"model": {"type": "WordPiece", "vocab": {"a": 99999}}}',
        b'"merges"' * 1000,
        b'{"text": ": 99999}, \\"merges\\": ["}',
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
        b"\xff" * 100,
    ],
)
def test_a_tokenizer_that_tells_nothing(tmp_path: Path, content: bytes) -> None:
    assert found(model(tmp_path, {**weights(), "tokenizer.json": content})) == HEALTHY


@given(st.lists(st.integers(0, 30), unique=True, max_size=6), st.integers(1, 30))
def test_tokens_are_told_of_exactly_where_one_has_no_row(ids: list[int], size: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        tokens = {"added_tokens_decoder": added(*((number, f"<{number}>") for number in ids))}
        path = model(Path(folder), {**weights(), "tokenizer.json": bpe(size), "tokenizer_config.json": tokens})
        told = rules(found(path))
    beyond = {number for number in (*ids, *range(size)) if number >= 16}
    assert bool(told) == bool(beyond)
    assert len(told) <= 1


def test_a_tokenizer_too_large_is_said(tmp_path: Path) -> None:
    path = model(tmp_path, weights())
    with (path / "tokenizer.json").open("wb") as stream:
        stream.truncate(10 * 2**30)
    read = read_snapshot(path)
    assert [one for check in embeddings.CHECKS for one in check(read, Facts())] == HEALTHY
    assert [skip.what for skip in read.directory.skips] == [str(path / "tokenizer.json")]


# --- the output layer


def headless() -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: told for name, told in llama().items() if name != "lm_head.weight"}


def test_an_output_layer_that_is_nowhere(tmp_path: Path) -> None:
    path = model(tmp_path, sharded(headless()))
    defect = only(path)
    assert defect.rule == "snapshot-output-layer-missing"
    assert defect.detail == "tie_word_embeddings is false and no file holds lm_head.weight"
    assert defect.line is not None


def test_a_tied_model_needs_none(tmp_path: Path) -> None:
    assert found(model(tmp_path, {"model.safetensors": packed(headless())}, tie_word_embeddings=True)) == HEALTHY


@pytest.mark.parametrize(("kind", "sound"), [("llama", False), ("qwen2", False), ("mistral", False), ("gemma", True), ("gemma2", True)])
def test_the_default_of_the_class_counts(tmp_path: Path, kind: str, sound: bool) -> None:
    path = model(tmp_path, {"model.safetensors": packed(headless())}, tie_word_embeddings=None, model_type=kind)
    assert rules(found(path)) == ([] if sound else ["snapshot-output-layer-missing"])


@pytest.mark.parametrize("architecture", ["LlamaModel", "LlamaForSequenceClassification", "LlamaForRewardModel", None, 3])
def test_a_model_of_another_task_needs_none(tmp_path: Path, architecture: object) -> None:
    path = model(tmp_path, {"model.safetensors": packed(headless())}, architectures=[architecture])
    assert found(path) == HEALTHY


def test_sentence_embeddings_need_none(tmp_path: Path) -> None:
    """Qwen3-Embedding-8B: untied, a class for causal language models, and no output layer."""
    assert found(model(tmp_path, {"model.safetensors": packed(headless()), "modules.json": []})) == HEALTHY


def test_a_packed_output_layer_is_one(tmp_path: Path) -> None:
    shapes = {**headless(), "lm_head.qweight": ("I32", (1, 16))}
    assert found(model(tmp_path, {"model.safetensors": packed(shapes)})) == HEALTHY


def test_nothing_is_missed_while_a_shard_is_missing(tmp_path: Path) -> None:
    files = sharded(llama())
    files.pop("model-00002-of-00002.safetensors")
    assert found(model(tmp_path, files)) == HEALTHY


@pytest.mark.parametrize(
    ("transformers", "outcome"),
    [("4.57.1", True), ("4.30.2", True), ("5.0.0", False), ("5.23.0", False), (">=4.40", None), ("<5", True), (None, None)],
)
def test_an_output_layer_that_is_thrown_away(tmp_path: Path, transformers: str | None, outcome: bool | None) -> None:
    path = model(tmp_path, tie_word_embeddings=True)
    facts = situation() if transformers is None else situation(transformers=transformers)
    hit = only(path, facts)
    assert isinstance(hit, Hit)
    assert (hit.rule, hit.outcome) == ("snapshot-output-layer-discarded", outcome)
    assert hit.missing == (("packages.transformers",) if outcome is None else ())
    assert hit.file == str(path / "config.json")
    assert hit.line is not None
    assert (
        hit.detail == "tie_word_embeddings is true and the weights hold lm_head.weight, which is not the same as model.embed_tokens.weight"
    )


@pytest.mark.parametrize("count", [1, 3])
def test_two_copies_of_one_tensor_lose_nothing(tmp_path: Path, count: int) -> None:
    """Tuned models that are tied often store both."""
    same = {"lm_head.weight": "model.embed_tokens.weight"}
    files: dict[str, object] = {"model.safetensors": packed(llama(), same=same)}
    if count > 1:
        files = sharded(llama(), count)
        files["model-00003-of-00003.safetensors"] = packed(dict(list(llama().items())[2 * len(llama()) // 3 :]), same=same)
    assert found(model(tmp_path, files, tie_word_embeddings=True)) == HEALTHY


def test_a_difference_in_a_large_tensor_is_seen(tmp_path: Path) -> None:
    shapes = {**llama(rows=60_000)}
    data = bytearray(packed(shapes, same={"lm_head.weight": "model.embed_tokens.weight"}))
    data[-400_000:] = bytes(400_000)
    path = model(tmp_path, {"model.safetensors": bytes(data)}, tie_word_embeddings=True, vocab_size=60_000)
    assert only(path).rule == "snapshot-output-layer-discarded"


def test_what_two_configurations_say_differently_is_not_judged(tmp_path: Path) -> None:
    """Releases differ in which of them they ask."""
    shapes = {f"language_model.{name}": told for name, told in llama().items()}
    inner = json.loads((model(tmp_path / "inner") / "config.json").read_text())
    outer = {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "text_config": inner, "tie_word_embeddings": True}
    path = model(tmp_path / "model", {"model.safetensors": packed(shapes)})
    (path / "config.json").write_text(json.dumps(outer))
    assert found(path) == HEALTHY
    headless_shapes = {name: told for name, told in shapes.items() if "lm_head" not in name}
    path = model(tmp_path / "untied", {"model.safetensors": packed(headless_shapes)})
    (path / "config.json").write_text(json.dumps({**outer, "tie_word_embeddings": False}))
    assert only(path).detail == "tie_word_embeddings is false and no file holds language_model.lm_head.weight"
