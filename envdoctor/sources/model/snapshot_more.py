"""Facts of a snapshot that single rules wait for: its image processor, its adapter, its generation flags."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.fact import Fact
from envdoctor.sources.model.adapter import CONFIG, adapter_of, own_facts
from envdoctor.sources.model.generation_flags import flags_unused
from envdoctor.sources.model.merges import tokenizer_merges
from envdoctor.sources.model.snapshot import Snapshot, table_of
from envdoctor.sources.stated.stated_value import stated_value

_TOKENIZER = "tokenizer.json"
_PROCESSOR = "processor_config.json"
_PREPROCESSOR = "preprocessor_config.json"


def more_facts(snapshot: Snapshot) -> Iterator[Fact]:
    """All of them, in the order of the files."""
    yield from _generation(snapshot)
    yield from _tokenizer_class(snapshot)
    yield from tokenizer_merges(snapshot.directory)
    yield from _processor(snapshot)
    yield from _adapter(snapshot)


def _generation(snapshot: Snapshot) -> Iterator[Fact]:
    document = snapshot.generation
    if document is not None:
        unused = flags_unused(document)
        line = document.line_of(unused[0]) if unused else None
        yield snapshot.directory.fact("model.generation_flags_unused", bool(unused), "generation_config.json", line)


def _tokenizer_class(snapshot: Snapshot) -> Iterator[Fact]:
    document = snapshot.tokenizer
    raw = table_of(document).get("tokenizer_class")
    if document is not None and isinstance(raw, str):
        misspelled = raw.lower() == "llamatokenizer" and raw != "LlamaTokenizer"
        line = document.line_of("tokenizer_class")
        yield snapshot.directory.fact("model.tokenizer_class_misspelled", misspelled, "tokenizer_config.json", line)
        there = _TOKENIZER in snapshot.directory.names
        yield snapshot.directory.fact("model.has_tokenizer_json", there, _TOKENIZER if there else "tokenizer_config.json", None)


def _processor(snapshot: Snapshot) -> Iterator[Fact]:
    preprocessor, processor = snapshot.document(_PREPROCESSOR), snapshot.document(_PROCESSOR)
    named = table_of(preprocessor).get("image_processor_type")
    if preprocessor is not None and isinstance(named, str):
        value = stated_value("model.image_processor_type", named)
        yield snapshot.directory.fact("model.image_processor_type", value, _PREPROCESSOR, preprocessor.line_of("image_processor_type"))
    if preprocessor is None and processor is None:
        return
    holder = next((name for name in (_PROCESSOR, _PREPROCESSOR) if snapshot.table(name).get("patch_size") is not None), None)
    document = None if holder is None else snapshot.document(holder)
    line = None if document is None else document.line_of("patch_size")
    file = holder or (_PREPROCESSOR if processor is None else _PROCESSOR)
    yield snapshot.directory.fact("model.processor_patch_size", holder is not None, file, line)


def _adapter(snapshot: Snapshot) -> Iterator[Fact]:
    """An adapter that lies in the model's directory, which from_pretrained loads with it."""
    document = snapshot.document(CONFIG)
    if document is not None:
        yield from own_facts(adapter_of(snapshot.directory, document))
