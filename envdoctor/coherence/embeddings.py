"""Whether the rows of the embedding are those that config.json and the tokenizer count, and whether there is an output layer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from envdoctor.checks.hit import Hit
from envdoctor.coherence.arithmetic import FLOATS
from envdoctor.coherence.families import Known, recognise
from envdoctor.coherence.token_table import read_tokens
from envdoctor.facts.fact import Defect, Facts
from envdoctor.facts.uses import CODE_USES, RESIZES, does
from envdoctor.facts.versions import Absent, Exact, Ranged, version_condition
from envdoctor.files.text import plain
from envdoctor.records import replace
from envdoctor.sources.model.model_directory import is_lfs_pointer
from envdoctor.sources.model.safetensors_header import HeaderError, Tensor, spans_of
from envdoctor.sources.model.snapshot import Snapshot, table_of, text_config
from envdoctor.world.releases import release_texts

_TOKENIZER_LIMIT = 64 * 2**20
# tokenizers writes the vocabulary of a BPE in the order of its ids, and its merges after it.
_VOCABULARY_END = re.compile(rb':\s*([0-9]{1,10})\s*\}\s*,\s*"merges"\s*:\s*\[')
_WINDOWS, _WINDOW = 16, 4096
_SENTENCES = ("modules.json", "config_sentence_transformers.json")


def rows(snapshot: Snapshot, _facts: Facts) -> Iterator[Defect]:
    """The embedding or the output layer has not as many rows as config.json counts tokens: loading fails."""
    known = recognise(snapshot)
    count = None if known is None else known.number(known.family.vocabulary)
    if known is None or count is None:
        return
    key = known.family.vocabulary
    for name in (known.embedding, known.head):
        tensor = _matrix(snapshot, name)
        if tensor is not None and tensor.shape[0] != count:
            detail = f"{plain(name)} has {tensor.shape[0]} rows and config.json counts {count} tokens"
            yield _defect(snapshot, "snapshot-embedding-rows-not-vocab-size", detail, key)
            return


def tokens(snapshot: Snapshot, facts: Facts) -> Iterator[Defect]:
    """The tokenizer makes ids for which the embedding has no row. More rows than tokens are normal: padding."""
    found = _height(snapshot)
    if found is None:
        return
    height, named = found
    table = read_tokens(snapshot)
    beyond = {text: number for text, number in table.all_added().items() if number >= height}
    last = _last_of_vocabulary(snapshot)
    if last is not None and last - height >= len(set(beyond.values())):
        detail = f"tokenizer.json has tokens up to {last} and {named} {height} rows: this is the tokenizer of another model"
        yield Defect("snapshot-vocabulary-beyond-embedding", detail, snapshot.directory.place("tokenizer.json"))
        return
    beyond = {text: number for text, number in beyond.items() if not _is_of_another_input(snapshot, text, number)}
    if beyond and not _resized(facts):
        yield _beyond(snapshot, beyond, height, named)


def adapter_tokens(tokenizer: Snapshot, base: Snapshot, held: Mapping[str, Tensor], place: str, facts: Facts) -> Iterator[Defect]:
    """The tokenizer beside an adapter has tokens for which neither the base nor the adapter has a row.

    peft saves the enlarged embedding with the adapter, where it was enlarged (save_embedding_layers of get_peft_model_state_dict).
    """
    found = _height(base)
    if found is None or any(name.endswith(_EMBEDDINGS) for name in held):
        return
    height, named = found
    beyond = {text: number for text, number in read_tokens(tokenizer).all_added().items() if number >= height}
    beyond = {text: number for text, number in beyond.items() if not _is_of_another_input(base, text, number)}
    if beyond and not _resized(facts):
        told = _beyond(tokenizer, beyond, height, f"the base's {named}")
        yield replace(told, detail=f"{told.detail}; {place} holds no embedding")


def output_layer(snapshot: Snapshot, facts: Facts) -> Iterable[Defect | Hit]:
    """The output layer and tie_word_embeddings: a layer that is needed and absent, or there and thrown away."""
    known = recognise(snapshot)
    tied = None if known is None else _tied(snapshot, known)
    tensors = snapshot.weights.tensors
    if known is None or tied is None or known.embedding not in tensors:
        return
    if not tied:
        stem = known.head.removesuffix("weight")
        if snapshot.weights.whole and _speaks(snapshot) and not any(name.startswith(stem) for name in tensors):
            detail = f"tie_word_embeddings is false and no file holds {plain(known.head)}"
            yield _defect(snapshot, "snapshot-output-layer-missing", detail, "tie_word_embeddings")
    elif known.head in tensors and not known.composite and _differ(snapshot, known.embedding, known.head):
        yield _thrown_away(snapshot, known, facts)


CHECKS = (rows, tokens, output_layer)

# Embeddings of any kind of model, as an adapter names them: base_model.model.model.embed_tokens.weight, or trained tokens alone.
_EMBEDDINGS = (
    "embed_tokens.weight", "wte.weight", "word_embeddings.weight", "embed_in.weight", "tok_embeddings.weight", "lm_head.weight",
    "trainable_tokens_delta",
)  # fmt: skip


def _height(snapshot: Snapshot) -> tuple[int, str] | None:
    """How many rows the embedding has, and what says so: the weights, or else config.json, by which the model is made."""
    known = recognise(snapshot)
    embedding = None if known is None else _matrix(snapshot, known.embedding)
    if known is not None and embedding is not None:
        return embedding.shape[0], f"{plain(known.embedding)} has"
    table = table_of(snapshot.config)
    config = text_config(table) or table
    count = config.get("vocab_size")
    if type(count) is not int or not 0 < count < 2**31 or table.get("auto_map"):
        return None
    return (count, "config.json counts") if _makes_text(table) else None


def _resized(facts: Facts) -> bool:
    """Whether the run enlarges the embedding itself; axolotl does where the tokenizer has more tokens (loaders/model.py)."""
    return does(RESIZES, facts.value(CODE_USES)) or facts.text("plan.trainer") == "axolotl"


def _makes_text(config: Mapping[str, object]) -> bool:
    """Whether a model is a language model that every token goes into: of speech a tokenizer's ids are only counted in the end."""
    named = config.get("architectures")
    first = named[0] if isinstance(named, list) and named else None
    return isinstance(first, str) and first.endswith(_TEXT if not text_config(config) else (*_TEXT, "ForConditionalGeneration"))


_TEXT = ("ForCausalLM", "LMHeadModel")


def _beyond(snapshot: Snapshot, beyond: Mapping[str, int], height: int, named: str) -> Defect:
    shown = ", ".join(f"{plain(text, 40)} is {number}" for text, number in sorted(beyond.items(), key=lambda item: item[1])[:4])
    more = f" and {len(beyond) - 4} more" if len(beyond) > 4 else ""
    detail = f"{shown}{more}; {named} {height} rows, the last id is {height - 1}"
    decoder = snapshot.table("tokenizer_config.json").get("added_tokens_decoder")
    file = "tokenizer_config.json" if decoder else "added_tokens.json" if snapshot.table("added_tokens.json") else "tokenizer.json"
    return Defect("snapshot-added-token-beyond-embedding", detail, snapshot.directory.place(file))


def _matrix(snapshot: Snapshot, name: str) -> Tensor | None:
    tensor = snapshot.weights.tensors.get(name)
    return tensor if tensor is not None and tensor.dtype in FLOATS and len(tensor.shape) == 2 and 0 not in tensor.shape else None


def _last_of_vocabulary(snapshot: Snapshot) -> int | None:
    """The highest id of the vocabulary proper in tokenizer.json, where it is a BPE; found without parsing it."""
    if "tokenizer.json" not in snapshot.directory.names:
        return None
    skips = snapshot.directory.skips
    data = snapshot.directory.read("tokenizer.json", _TOKENIZER_LIMIT)
    if data is None and skips and skips[-1] in skips[:-1]:
        skips.pop()
    if data is None or is_lfs_pointer(data):
        return None
    at = data.rfind(b'"merges"')
    found = None if at < 0 else _VOCABULARY_END.search(data, max(0, at - 64), at + 64)
    return None if found is None else int(found[1])


def _is_of_another_input(snapshot: Snapshot, text: str, number: int) -> bool:
    """Whether a token stands for an image or a sound: a text model shares it with its siblings and never meets it."""
    config = snapshot.table("tokenizer_config.json")
    tables = [config, *(config.get(key) for key in ("extra_special_tokens", "model_specific_special_tokens"))]
    said = [table.get(f"{kind}_token") for table in tables if isinstance(table, dict) for kind in ("image", "audio", "video")]
    if text in said:
        return True
    outer = table_of(snapshot.config)
    if not text_config(outer):
        return False
    # What a model of several inputs puts in the place of a token is named by its own configuration: image_token_index and the like.
    return any(value == number for key, value in outer.items() if key.endswith(("_token_id", "_token_index")) and key not in _OF_TEXT)


_OF_TEXT = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")


def _tied(snapshot: Snapshot, known: Known) -> bool | None:
    """Whether the output layer is the embedding; None where releases differ in what they make of config.json."""
    told = [table["tie_word_embeddings"] for table in (known.config, table_of(snapshot.config)) if "tie_word_embeddings" in table]
    if not known.composite:
        return told[0] is True if told else known.family.tied
    return told[0] is True if len(told) == 2 and told[0] == told[1] else None


def _speaks(snapshot: Snapshot) -> bool:
    """Whether the model is used with its output layer; models of sentence embeddings keep the name of the class and not the layer."""
    named = table_of(snapshot.config).get("architectures")
    first = named[0] if isinstance(named, list) and named else None
    generates = isinstance(first, str) and first.endswith(("ForCausalLM", "ForConditionalGeneration", "ChatGLMModel"))
    return generates and not snapshot.directory.names.intersection(_SENTENCES)


def _thrown_away(snapshot: Snapshot, known: Known, facts: Facts) -> Hit:
    transformers = facts.value("packages.transformers")
    outcome = None
    if isinstance(transformers, Exact | Ranged | Absent):
        outcome = version_condition("<5").relation(transformers, release_texts("transformers"))
    said = "tie_word_embeddings is true" if "tie_word_embeddings" in known.config else f"{known.kind} ties its embeddings by default"
    return Hit(
        "snapshot-output-layer-discarded",
        outcome,
        because=(("packages.transformers", "before 5: ties them whatever the weights are"),) if outcome is True else (),
        missing=("packages.transformers",) if outcome is None else (),
        detail=f"{said} and the weights hold {plain(known.head)}, which is not the same as {plain(known.embedding)}",
        packages=("transformers",),
        file=snapshot.directory.place("config.json"),
        line=snapshot.config.line_of("tie_word_embeddings"),
    )


def _differ(snapshot: Snapshot, first: str, second: str) -> bool:
    """Whether two tensors differ in any of a few places, 64 KiB of each in all; False where they cannot be read."""
    samples = []
    for name in (first, second):
        file = next(file for file, header in snapshot.weights.headers.items() if name in header.tensors)
        path = snapshot.directory.locate(snapshot.weights.weight_map.get(name, file))
        try:
            samples.append(None if path is None else _sample(path, name))
        except (HeaderError, OSError) as error:
            snapshot.directory.skip(file, f"{plain(name)} was not compared: {error}")
            return False
    return None not in samples and samples[0] != samples[1]


def _sample(path: str, name: str) -> tuple[int, bytes] | None:
    """Length of a tensor's data in bytes, and bytes from places spread over it."""
    span = spans_of(path, [name]).get(name)
    if span is None:
        return None
    begin, end = span
    step = max(1, (end - begin) // _WINDOWS)
    with open(path, "rb") as stream:
        found = b""
        for start in range(begin, end, step)[: _WINDOWS + 1]:
            stream.seek(start)
            found += stream.read(min(_WINDOW, end - start))
    return end - begin, found


def _defect(snapshot: Snapshot, rule: str, detail: str, key: str) -> Defect:
    return Defect(rule, detail, snapshot.directory.place("config.json"), snapshot.config.line_of(key))
