"""Whether the transformers release knows the snapshot's model_type and the class of its tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.uses import CODE_USES, LOADS_WITH_VLLM, list_meant
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.records import replace
from envdoctor.world.architectures import ANY_CLASS, Spans, lacks, lacks_tokenizer, oldest, span_of, tokenizer_spans
from envdoctor.world.releases import release_texts
from envdoctor.world.vllm_types import READ_BY_VLLM

_TRANSFORMERS = "packages.transformers"

# Types and classes with a page of their own, transformers-lacks-*: those rules tell the fault.
TYPES_WITH_A_RULE = frozenset(
    (
        "cohere", "cohere2", "dbrx", "deepseek_v2", "deepseek_v3", "ernie4_5", "falcon", "gemma", "gemma2", "gemma3", "gemma3_text",
        "gemma3n", "gemma4", "glm", "glm4", "glm4_moe", "glm4v", "gpt_oss", "granite", "internvl", "llama4", "minicpm3", "mistral",
        "mistral3", "mixtral", "mllama", "olmo", "olmo2", "phi", "phi3", "phimoe", "qwen2", "qwen2_5_omni", "qwen2_5_vl", "qwen2_moe",
        "qwen2_vl", "qwen3", "qwen3_5", "qwen3_5_moe", "qwen3_moe", "qwen3_next", "qwen3_vl", "seed_oss", "smollm3", "stablelm",
        "starcoder2",
    )
)  # fmt: skip
CLASSES_WITH_A_RULE = frozenset(("TokenizersBackend",))

# Packages that gave AutoConfig the type before transformers had it: with LLaVA's own package its first models load.
_REGISTERED_BY = {"llava": "llava"}
_REGISTERS = "transformers.AutoConfig.register"


def model_type_unknown_to_transformers(facts: Facts) -> tuple[Hit, ...]:
    """Some release of transformers knows the model_type, this one does not, and the snapshot brings no code of its own.

    AutoConfig then raises KeyError up to 4.36.2, from 4.37.0 on the sentence on an architecture that is not recognised (read
    in the released wheels). A type that no release knows is left alone: it may be newer than the table.
    """
    model_type, release = facts.text("model.type"), _release(facts)
    spans = None if model_type is None or model_type in TYPES_WITH_A_RULE else span_of(model_type)
    if model_type is None or spans is None or release is None or facts.text("model.weights_format") == "gguf":
        return ()
    own_code = _config_is_own(facts)
    lacking = lacks(spans, release, release_texts("transformers"))
    package = _REGISTERED_BY.get(model_type)
    served = _read_by_vllm(facts, model_type)
    unused = facts.value(NOT_LOADED)
    spared = (isinstance(unused, tuple) and "config" in unused) or _registers(facts)
    if spared or lacking is False or own_code is True or served is True or (package is not None and _is_there(facts, package)):
        return ()
    missing = [] if lacking else [_TRANSFORMERS]
    missing += [] if served is False else ["plan.method"]
    missing += [] if own_code is False else ["model.remote_code"]
    missing += [] if package is None or facts.lacks(package) else [f"packages.{package}"]
    known = f"known to transformers {_in_words(spans)}"
    detail = f"transformers {release} {_verdict(lacking)} model_type {model_type}, which is {known}"
    return (_hit("model-type-unknown-to-transformers", ("model.type", known), spans, release, missing, detail),)


def tokenizer_class_unknown_to_transformers(facts: Facts) -> tuple[Hit, ...]:
    """AutoTokenizer of this transformers 4 finds neither the tokenizer's class nor its Fast twin, and the snapshot has no code for it.

    transformers 5 takes TokenizersBackend instead and does not fail (read in tokenization_auto.py of the released wheels).
    """
    name, release = facts.text("model.tokenizer_class"), _release(facts)
    if name is None or release is None or name in CLASSES_WITH_A_RULE or _is_llama_misspelled(name):
        return ()
    spans, own_code = tokenizer_spans(name), _tokenizer_has_own_code(facts)
    lacking = lacks_tokenizer(name, release, release_texts("transformers"))
    if lacking is False or own_code is True or facts.value("plan.tokenize") is False or _model_is_lacking(facts, release):
        return ()
    if spans is None and _before_the_table(release):
        return ()
    missing = [] if lacking else [_TRANSFORMERS]
    missing += [] if own_code is False else ["model.remote_code"]
    known = "a class of no release" if spans is None else f"a class of transformers {_in_words(spans)}"
    detail = f"AutoTokenizer of transformers {release} {_verdict(lacking)} tokenizer_class {name}, {known}"
    hit = _hit("tokenizer-class-unknown-to-transformers", ("model.tokenizer_class", known), spans or ANY_CLASS, release, missing, detail)
    # A release that takes another class in its place is no cure where the tokenizer's own code is what is missing.
    return (hit if spans is not None else replace(hit, pins=()),)


def _hit(rule: str, known: tuple[str, str], spans: Spans, release: Exact | Ranged, missing: Sequence[str], detail: str) -> Hit:
    because = [known, (_TRANSFORMERS, _not_in_words(spans, release))]
    if "model.remote_code" not in missing:
        because.append(("model.remote_code", "none for it"))
    return Hit(
        rule,
        None if missing else True,
        because=tuple(because),
        missing=tuple(missing),
        detail=detail,
        packages=("transformers",),
        pins=_pins(spans, release),
    )


def _release(facts: Facts) -> Exact | Ranged | None:
    """The release, or the range that a requirement admits; a requirement that any release meets says nothing."""
    value = facts.value(_TRANSFORMERS)
    return value if isinstance(value, Exact) or (isinstance(value, Ranged) and value.text) else None


def _read_by_vllm(facts: Facts, model_type: str) -> bool | None:
    """Whether vLLM loads the model, in a release that has a configuration of its own for the type; None where nobody says who loads."""
    release, brought = facts.value("packages.vllm"), READ_BY_VLLM.get(model_type)
    if (
        brought is None
        or not isinstance(release, Exact | Ranged)
        or version_condition(brought).relation(release, release_texts("vllm")) is False
    ):
        return False
    uses = facts.value(CODE_USES)
    if isinstance(uses, tuple) and uses:
        return bool(list_meant(LOADS_WITH_VLLM, uses))
    method = facts.text("plan.method")
    return None if method is None and facts.value("plan.trainer") is None else method == "inference"


def _registers(facts: Facts) -> bool:
    """Whether a script gives AutoConfig a class itself; of which type, a name may say."""
    uses = facts.value(CODE_USES)
    return isinstance(uses, tuple) and bool(list_meant((_REGISTERS,), uses))


def _is_there(facts: Facts, package: str) -> bool:
    return f"packages.{package}" in facts and not facts.lacks(package)


def _config_is_own(facts: Facts) -> bool | None:
    """Whether auto_map names a class for AutoConfig; where only the model is known to have code, it may be the configuration's too."""
    stated = facts.value("model.own_config")
    code = stated if isinstance(stated, bool) else facts.value("model.remote_code")
    return code if isinstance(code, bool) else None


def _tokenizer_has_own_code(facts: Facts) -> bool | None:
    """Whether auto_map names a class for AutoTokenizer; where only the model is known to have code, it may be the tokenizer's too."""
    stated = facts.value("model.tokenizer_remote_code")
    code = stated if isinstance(stated, bool) else facts.value("model.remote_code")
    return code if isinstance(code, bool) else None


def _model_is_lacking(facts: Facts, release: Exact | Ranged) -> bool:
    """Whether the release lacks the model's type too: that is told, and what cures it brings the tokenizer."""
    spans = span_of(facts.text("model.type") or "")
    return spans is not None and _config_is_own(facts) is not True and lacks(spans, release, release_texts("transformers")) is True


def _is_llama_misspelled(name: str) -> bool:
    """LLaMATokenizer and its like, which the rule llama-tokenizer-class-misspelled tells."""
    return name.lower() in ("llamatokenizer", "llamatokenizerfast") and not name.startswith("LlamaTokenizer")


def _before_the_table(release: Exact | Ranged) -> bool:
    return version_condition(f"<{oldest()}").relation(release, release_texts("transformers")) is True


def _verdict(lacking: bool | None) -> str:
    return "does not know" if lacking else "admits releases that do not know"


def _in_words(spans: Spans) -> str:
    return ", and ".join(
        f"from {span.first} on"
        if span.gone is None
        else f"before {span.gone}"
        if span.first == oldest()
        else f"from {span.first} to before {span.gone}"
        for span in spans
    )


def _not_in_words(spans: Spans, release: Exact | Ranged) -> str:
    """The bound of the spans on whose wrong side the release lies; of a range: that it has releases on both."""
    if isinstance(release, Ranged):
        return f"not only {_in_words(spans)}"
    following = next((span for span in spans if version_condition(f"<{span.first}").admits(release)), None)
    return f"before {following.first}" if following is not None else f"{spans[-1].gone} or later"


def _pins(spans: Spans, release: Exact | Ranged) -> tuple[tuple[str, str], ...]:
    """The nearest releases that know the name: those that follow and those that went before; of a range the newest first."""
    ordered = list(reversed(spans))
    if isinstance(release, Exact):
        later = [span for span in spans if version_condition(f"<{span.first}").admits(release)]
        ordered = later[:1] + [span for span in ordered if span not in later][:1]
    return tuple(("transformers", span.specifier()) for span in ordered)


CHECKS: tuple[Callable[[Facts], tuple[Hit, ...]], ...] = (model_type_unknown_to_transformers, tokenizer_class_unknown_to_transformers)
