"""Whether the ids of special tokens exist, and whether generation stops where the tokenizer says that a text ends."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from envdoctor.checks.hit import Hit
from envdoctor.coherence.chat_template import TURN_ENDS, control_tokens, template_of
from envdoctor.coherence.token_table import read_tokens, text_of
from envdoctor.facts.fact import Defect, Facts
from envdoctor.facts.uses import CODE_USES, MASKS_PADDING, OWN_COLLATOR, PADS, PADS_WITH_EOS, STOPS, WITHOUT_COLLATOR, does
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.facts.vocabulary import TRAINING
from envdoctor.files.json_file import Document
from envdoctor.files.text import plain
from envdoctor.sources.model.model_family import ROLE_STOP_IDS
from envdoctor.sources.model.snapshot import Snapshot, table_of, text_config

_IDS = ("bos_token_id", "eos_token_id", "pad_token_id")
_ROWS = (
    "embed_tokens.weight",
    "word_embeddings.weight",
    "wte.weight",
    "tok_embeddings.weight",
    "embed_in.weight",
    "shared.weight",
    "lm_head.weight",
)
_DEEPEST = 8
_MOST_IDS = 1024
_GENERATES = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_LLAMA3_EOT = 128009
_LLAMA3_END = "128001"
# Gemma 1 says <end_of_turn> and then <eos>: https://github.com/huggingface/transformers/issues/32110
_SAYS_BOTH = frozenset(("gemma",))
# Their embedding is made with padding_idx (modeling files of transformers 4.57.6), which torch asserts to be a row.
_PADDING_INDEX = frozenset(
    (
        "cohere", "deepseek_v2", "deepseek_v3", "ernie4_5", "glm", "glm4", "glm4_moe", "gpt_oss", "granite", "llama", "mistral", "mixtral",
        "olmo", "olmo2", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "smollm3", "stablelm", "starcoder2",
    )
)  # fmt: skip


def pad_id_outside_the_embedding(snapshot: Snapshot, facts: Facts) -> Iterator[Defect]:
    """config.json names a padding id that its own vocab_size has no row for: the model cannot be constructed."""
    for table in _tables(snapshot.config):
        rows, pad = table.get("vocab_size"), table.get("pad_token_id")
        if str(table.get("model_type")) in _PADDING_INDEX and type(rows) is int and type(pad) is int and pad >= rows:
            detail = f"pad_token_id is {_number(pad)} and vocab_size {_number(rows)}: the ids end at {_number(rows - 1)}"
            yield _defect(snapshot, "snapshot-pad-id-out-of-range", detail, "config.json", snapshot.config, "pad_token_id")


def id_of_no_token(snapshot: Snapshot, facts: Facts) -> Iterator[Defect]:
    """An id that no vocabulary of the snapshot reaches, or a negative one."""
    bound = _vocabulary(snapshot)
    told = {(defect.file, defect.rule) for defect in pad_id_outside_the_embedding(snapshot, facts)}
    for name in ("config.json", "generation_config.json"):
        document = snapshot.document(name)
        for key in _IDS:
            if key == "pad_token_id" and (snapshot.directory.place(name), "snapshot-pad-id-out-of-range") in told:
                continue
            wrong = [
                number
                for number in _ids(document, key)
                if (bound is not None and number >= bound) or (number < 0 and key != "bos_token_id")
            ]
            if wrong and document is not None:
                beyond = f"the vocabulary has {_number(bound or 0)} ids" if wrong[0] >= 0 else "an id is not negative"
                detail = f"{key} is {', '.join(map(_number, wrong[:5]))}; {beyond}"
                yield _defect(snapshot, "snapshot-token-id-out-of-range", detail, name, document, key)


def eos_is_no_stop(snapshot: Snapshot, facts: Facts) -> Iterator[Defect]:
    """Training ends texts with a token at which generation does not stop.

    An id that only config.json names is as good as none, but Yi's chat models are made so on purpose: their turns end
    with another token. It is said where the chat template writes this one.
    """
    tokens = read_tokens(snapshot)
    eos, number = tokens.roles.get("eos_token"), tokens.role_id("eos_token")
    name, document = _stop_file(snapshot)
    stops = _real_stops(snapshot)
    silent = snapshot.generation is not None and table_of(snapshot.generation).get("eos_token_id") is None
    if eos is None or number is None or document is None or not (stops or silent) or number in stops or not _generates(snapshot):
        return
    if does(STOPS, facts.value(CODE_USES)):
        return
    if silent:
        detail = f"the tokenizer ends a text with {plain(eos, 60)} ({number}); {name} names no eos_token_id, and generation stops nowhere"
        yield _defect(snapshot, "snapshot-eos-not-a-stop", detail, name, document, "eos_token_id")
        return
    template = template_of(snapshot)
    written = template is not None and (eos in template.text or "eos_token" in template.text)
    if (number in _ids(snapshot.config, "eos_token_id") and not written) or _told_by_a_rule(facts, number):
        return
    detail = f"the tokenizer ends a text with {plain(eos, 60)} ({number}); generation stops at {_listed(stops)}"
    yield _defect(snapshot, "snapshot-eos-not-a-stop", detail, name, document, "eos_token_id")


def turn_end_is_no_stop(snapshot: Snapshot, facts: Facts) -> Iterator[Defect | Hit]:
    """The chat template ends a turn with a token at which generation does not stop.

    Base models carry the template of their chat siblings and mean no harm: only a model that calls itself a chat
    model is wrong by itself, any other where the plan uses the template.
    """
    template = template_of(snapshot)
    name, document = _stop_file(snapshot)
    stops = _real_stops(snapshot)
    if template is None or document is None or not stops or facts.text("model.type") in _SAYS_BOTH or not _generates(snapshot):
        return
    if does(STOPS, facts.value(CODE_USES)):
        return
    tokens = read_tokens(snapshot)
    found = control_tokens(template.text)
    ends = [(text, number) for text in TURN_ENDS if text in found and (number := tokens.id_of(text)) is not None]
    if not ends or "eos_token" in template.text or any(tokens.id_of(text) in stops for text in found):
        return
    text, number = ends[0]
    if number == tokens.role_id("eos_token") or _told_by_a_rule(facts, number):
        return
    rule = "snapshot-turn-end-not-a-stop"
    detail = f"the chat template ends a turn with {text} ({number}); generation stops at {_listed(stops)}"
    place, line = snapshot.directory.place(name), document.line_of("eos_token_id")
    if _calls_itself_chat(snapshot):
        yield Defect(rule, detail, place, line)
    elif facts.value("plan.apply_chat_template") is True and (
        facts.value("plan.generate") is True or facts.text("plan.method") in TRAINING
    ):
        because = (("plan.apply_chat_template", "prompts end turns as the template does"),)
        yield Hit(rule, True, because=because, detail=detail, file=place, line=line)


def pad_is_eos(snapshot: Snapshot, facts: Facts) -> Iterator[Hit]:
    """A collator that masks padding masks the end of each text as well."""
    tokens = read_tokens(snapshot)
    eos, pad = tokens.roles.get("eos_token"), tokens.roles.get("pad_token")
    uses = facts.value(CODE_USES)
    by_script = does(PADS_WITH_EOS, uses)
    if by_script and pad is None:
        pad = eos
    elif does(PADS, uses) and not by_script:
        return
    if eos is None or pad != eos or facts.text("plan.method") not in TRAINING or not _generates(snapshot) or not _masks_padding(facts):
        return
    if len(_real_stops(snapshot)) > 1:
        # Turns end with the others.
        return
    template = template_of(snapshot)
    if template is not None:
        found = control_tokens(template.text)
        if any(text in found for text in TURN_ENDS if text != eos) or ("eos_token" not in template.text and eos not in template.text):
            return
    document = snapshot.tokenizer
    yield Hit(
        "snapshot-pad-is-eos",
        True,
        because=(("plan.method", "labels are made of padded texts"),),
        detail=f"{plain(eos, 60)} is both pad_token and eos_token",
        file=snapshot.directory.place("tokenizer_config.json"),
        line=None if document is None else document.line_of("pad_token"),
    )


def no_pad_token(snapshot: Snapshot, facts: Facts) -> Iterator[Hit]:
    """Rows of a batch are padded, and nothing says with what."""
    trained = facts.text("plan.method") in TRAINING and facts.text("plan.trainer") in (None, "transformers")
    if facts.value("plan.padding") is not True or not trained or snapshot.tokenizer is None:
        return
    tokens = read_tokens(snapshot)
    if tokens.uncertain or "eos_token" not in tokens.roles or _names_pad(snapshot) or does(PADS, facts.value(CODE_USES)):
        return
    yield Hit(
        "snapshot-no-pad-token",
        True,
        because=(("plan.padding", "rows are padded"),),
        detail="the tokenizer's files name no pad_token",
        file=snapshot.directory.place("tokenizer_config.json"),
        line=snapshot.tokenizer.line_of("pad_token"),
    )


CHECKS = (pad_id_outside_the_embedding, id_of_no_token, eos_is_no_stop, turn_end_is_no_stop, pad_is_eos, no_pad_token)


def _masks_padding(facts: Facts) -> bool:
    """Whether labels are made of padded ids: trl from 0.16.1 on, LLaMA-Factory, axolotl and ms-swift mask padding by its place.

    DataCollatorForLanguageModeling in trl/trainer/sft_trainer.py of 0.15.2, 0.16.0 and 0.16.1.
    """
    uses, trainer = facts.value(CODE_USES), facts.text("plan.trainer")
    if does(MASKS_PADDING, uses):
        return True
    old = not version_condition(">=0.16.1").relation(trl) if isinstance(trl := facts.value("packages.trl"), (Exact, Ranged)) else True
    if does(WITHOUT_COLLATOR, uses) or does(OWN_COLLATOR, uses):
        return old and does(WITHOUT_COLLATOR, uses)
    if isinstance(uses, tuple) and facts.value("plan.script") is True:
        return False
    return trainer in (None, "transformers", "own") or (trainer == "trl" and old)


def _names_pad(snapshot: Snapshot) -> bool:
    files = ("tokenizer_config.json", "special_tokens_map.json")
    return any(text_of(snapshot.table(name).get("pad_token")) is not None for name in files)


def _tables(document: Document | None) -> tuple[Mapping[str, object], ...]:
    table = table_of(document)
    inner = text_config(table)
    return (table, inner) if inner else (table,)


def _ids(document: Document | None, key: str) -> tuple[int, ...]:
    """The ids that a file gives a special token, of its own or of its text model."""
    raw = next((table[key] for table in _tables(document) if table.get(key) is not None), None)
    items = raw[:_MOST_IDS] if isinstance(raw, list) else [raw]
    return tuple(item for item in items if type(item) is int)


def _stop_file(snapshot: Snapshot) -> tuple[str, Document | None]:
    """The file that decides where generate() stops: config.json only where there is no generation_config.json.

    What is loaded of that file is not filled from the model's configuration: _prepare_generation_config of
    src/transformers/generation/utils.py, 4.45.2 and 4.51.3.
    """
    if snapshot.generation is not None:
        return "generation_config.json", snapshot.generation
    return "config.json", snapshot.config


def _real_stops(snapshot: Snapshot) -> tuple[int, ...]:
    """The ids at which generate() stops; those that no token has are another finding."""
    bound = _vocabulary(snapshot)
    ids = _ids(_stop_file(snapshot)[1], "eos_token_id")
    return tuple(number for number in ids if number >= 0 and (bound is None or number < bound))


def _vocabulary(snapshot: Snapshot) -> int | None:
    """The largest number of ids that anything in the snapshot has, None where the text model's is not said."""
    rows = [
        tensor.shape[0]
        for header in snapshot.weights.headers.values()
        for name, tensor in header.tensors.items()
        if name.endswith(_ROWS) and len(tensor.shape) == 2
    ]
    said = any(type(table.get(key)) is int for table in _tables(snapshot.config) for key in ("vocab_size", "padded_vocab_size"))
    if not said and not rows:
        return None
    return max([*_vocabulary_sizes(table_of(snapshot.config), _DEEPEST), *rows], default=None)


def _vocabulary_sizes(table: Mapping[str, object], depth: int) -> Iterable[int]:
    for key, value in table.items():
        if key.endswith("vocab_size") and type(value) is int:
            yield value
        elif isinstance(value, dict) and depth:
            yield from _vocabulary_sizes(value, depth - 1)


def _generates(snapshot: Snapshot) -> bool:
    table = table_of(snapshot.config)
    if table.get("model_type") == "chatglm":
        return True
    architectures = table.get("architectures")
    return isinstance(architectures, list) and any(isinstance(name, str) and name.endswith(_GENERATES) for name in architectures[:8])


def _told_by_a_rule(facts: Facts, number: int) -> bool:
    """Whether a rule about this family's stop ids speaks already: it does where the plan generates."""
    if facts.value("plan.generate") is not True:
        return False
    family = facts.text("model.family") or ""
    if family == "llama-3" and number == _LLAMA3_EOT and facts.value("model.has_chat_template") is True:
        stops = facts.value("model.eos_ids")
        return isinstance(stops, tuple) and _LLAMA3_END in stops
    return str(number) in ROLE_STOP_IDS.get(family, frozenset()) and facts.text("model.role_stop_ids") == "missing"


def _calls_itself_chat(snapshot: Snapshot) -> bool:
    hub = snapshot.directory.hub_identity()
    names = [table_of(snapshot.config).get("_name_or_path"), os.path.basename(snapshot.directory.path) if hub is None else hub[0]]
    words = {word for name in names if isinstance(name, str) for word in name.lower().rpartition("/")[2].replace("_", "-").split("-")}
    return bool(words & {"chat", "instruct", "it"})


def _listed(ids: tuple[int, ...]) -> str:
    shown = ", ".join(map(_number, ids[:5]))
    return shown if len(ids) <= 5 else f"{shown} and {len(ids) - 5} more"


def _number(value: int) -> str:
    return str(value) if abs(value) < 2**63 else "a number too large"


def _defect(snapshot: Snapshot, rule: str, detail: str, name: str, document: Document, key: str) -> Defect:
    return Defect(rule, detail, snapshot.directory.place(name), document.line_of(key))
