"""What a config.json may hold, from real ones that say less than they could to ones that nobody should believe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.config import ArchitectureError, read_architecture
from envdoctor.memory.families import FAMILIES, NO_TRANSFORMER, UNLIKE_LLAMA
from envdoctor.memory.parameters import parameters
from envdoctor.memory.targets import EVERY_LINEAR, adapter_parameters, tuned
from tests.each import each
from tests.memory.counted import Counted, counted, model

LLAMA: Mapping[str, object] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 32000,
}


def refusal(config: Mapping[str, object]) -> str:
    with pytest.raises(ArchitectureError) as caught:
        read_architecture(config)
    return str(caught.value)


def test_a_known_model_says_what_it_is() -> None:
    architecture = read_architecture(model("Mistral-7B-v0.1").config)
    assert (architecture.kind, architecture.kv_heads, architecture.head_dim, architecture.known) == ("mistral", 8, 128, True)
    assert (architecture.query_width, architecture.key_width, architecture.norms, architecture.assumed) == (4096, 1024, 2, ())


def test_an_unknown_kind_with_the_fields_of_llama_is_read_and_marked() -> None:
    known, unknown = read_architecture(LLAMA), read_architecture({**LLAMA, "model_type": "brand_new"})
    assert (known.known, unknown.known) == (True, False)
    assert replace(unknown, kind="llama", known=True) == known


def test_no_kind_at_all_is_an_unknown_kind() -> None:
    assert not read_architecture({name: value for name, value in LLAMA.items() if name != "model_type"}).known


@each("kind", sorted(NO_TRANSFORMER | UNLIKE_LLAMA))
def test_what_is_no_transformer_of_equal_layers_is_refused(kind: str) -> None:
    assert refusal({**LLAMA, "model_type": kind}).startswith(f"model_type: found '{kind}'; expected ")


def test_no_kind_is_both_read_and_refused() -> None:
    assert not FAMILIES.keys() & (NO_TRANSFORMER | UNLIKE_LLAMA)
    assert not NO_TRANSFORMER & UNLIKE_LLAMA


@pytest.mark.parametrize("name", ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_a_size_that_nobody_stated_is_asked_for_by_name(name: str) -> None:
    told = {key: value for key, value in LLAMA.items() if key != name}
    assert refusal(told) == f"{name}: found nothing; expected the number that the model was built with"
    assert refusal({**told, name: None}).startswith(f"{name}: found null; ")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("4096", "'4096'"),
        (-1, "-1"),
        (0, "0"),
        (True, "true"),
        (4096.0, "4096.0"),
        (float("nan"), "a number that is not finite"),
        (float("inf"), "a number that is not finite"),
        (10**30, "1" + "0" * 30),
        (10**5000, "a number of 16610 bits"),
        ([4096], "a list"),
        ({"a": 1}, "a table"),
        ("x" * 1000, "'" + "x" * 37 + "...'"),
        ("\x1b[31m", "'\\x1b[31m'"),
    ],
    ids=range(13),
)
def test_absurd_sizes_are_refused_in_few_words(value: object, found: str) -> None:
    assert refusal({**LLAMA, "hidden_size": value}) == f"hidden_size: found {found}; expected a whole number from 1 to 1048576"


@pytest.mark.parametrize(
    ("more", "begins"),
    [
        ({"num_key_value_heads": 64}, "num_key_value_heads: found 64; expected no more than the 32 heads"),
        ({"hidden_size": 16}, "num_attention_heads: found 32; expected a number of heads that the hidden size 16"),
        ({"attention_bias": "yes"}, "attention_bias: found 'yes'; expected true or false"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings: found 1; expected true or false"),
        ({"attention_dropout": 7}, "attention_dropout: found 7; expected a number from 0 to 1"),
        ({"model_type": 5}, "model_type: found 5; expected the name of a kind of model"),
        (
            {"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 8},
            "num_experts_per_tok: found 8; expected no more than",
        ),
        (
            {"model_type": "qwen2_moe", "mlp_only_layers": "all", "moe_intermediate_size": 8},
            "mlp_only_layers: found 'all'; expected a list",
        ),
    ],
)
def test_contradictions_are_named(more: Mapping[str, object], begins: str) -> None:
    assert refusal({**LLAMA, **more}).startswith(begins)


def test_only_a_kind_is_no_model() -> None:
    assert refusal({"model_type": "llama"}).startswith("hidden_size: found nothing")
    assert refusal({}).startswith("hidden_size: found nothing")


def test_inside_of_another_configuration_the_class_says_what_is_left_out() -> None:
    """LLaVA's text_config says neither width nor depth: they are as in the class."""
    architecture = read_architecture(model("llava-1.5-7b").config)
    assert (architecture.kind, architecture.hidden, architecture.layers, architecture.vocab) == ("llama", 4096, 32, 32064)
    assert {"hidden_size", "num_hidden_layers"} < set(architecture.assumed)
    assert parameters(architecture).beside == 324_487_168


def test_the_heads_of_old_configurations() -> None:
    """Llama 1 and 2 came before num_key_value_heads: every head has its own. Mistral's class says 8."""
    assert read_architecture(LLAMA).kv_heads == 32
    mistral = read_architecture({**LLAMA, "model_type": "mistral"})
    assert (mistral.kv_heads, mistral.assumed) == (8, ("num_key_value_heads",))
    assert read_architecture({**LLAMA, "model_type": "mistral", "num_key_value_heads": None}).kv_heads == 32


@pytest.mark.parametrize(
    ("name", "head", "labels"),
    [
        ("Qwen2.5-0.5B", "causal", 2),
        ("Qwen2.5 that classifies", "classification", 3),
        ("Qwen2.5 without a head", "none", 2),
        ("bert-large-uncased", "classification", 2),
        ("gpt2", "causal", 2),
        ("t5-small", "causal", 2),
    ],
)
def test_the_head_is_that_of_the_class_it_was_saved_from(name: str, head: str, labels: int) -> None:
    architecture = read_architecture(model(name).config)
    assert (architecture.head, architecture.labels) == (head, labels)


def test_an_encoder_that_was_saved_with_another_head_is_taken_to_classify() -> None:
    config = dict(model("bert-large-uncased").config)
    assert parameters(read_architecture({**config, "architectures": ["BertForMaskedLM"]})).total == 335_143_938


def test_code_of_its_own_names_the_inner_class() -> None:
    config = {**LLAMA, "model_type": "qwen2", "architectures": ["Qwen2Model"]}
    assert read_architecture(config).head == "none"
    own = read_architecture({**config, "auto_map": {"AutoModelForCausalLM": "modeling.Model"}})
    assert (own.head, own.remote) == ("causal", True)


def test_a_layer_of_gemma_2_has_four_norms_and_capped_scores() -> None:
    architecture = read_architecture(model("gemma-2-9b").config)
    assert (architecture.norms, architecture.softcap, architecture.activation) == (4, True, "gelu_pytorch_tanh")
    assert not read_architecture(model("gemma-3-1b").config).softcap


def test_both_halves_of_t5_are_layers() -> None:
    architecture = read_architecture(model("flan-t5-xl").config)
    assert (architecture.encoder_decoder, architecture.layers, architecture.dense_layers, architecture.gated) == (True, 48, 24, True)
    assert len(architecture.linears) == len(architecture.dense_linears) + 4


def test_experts_and_layers_without_any() -> None:
    architecture = read_architecture(model("DeepSeek-V3").config)
    assert (architecture.layers, architecture.dense_layers) == (61, 3)
    assert (architecture.experts, architecture.experts_per_token) == (256, 8)
    assert {linear.share for linear in architecture.linears if linear.count == 256} == {8 / 256}


NUMBERS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 70),
    st.sampled_from((2**16, 2**20, 2**31, 2**40, 10**30, -(10**30))),
    st.floats(),
    st.sampled_from(("", "4096", "\x00", "gated-gelu", "auto", "\ud800")),
)
JUNK = st.recursive(
    NUMBERS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=6
)
NAMES = st.sampled_from(
    sorted({name for one in counted() for name in one.config} | {"thinker_config", "llm_config", "id2label", "auto_map"})
)
KINDS = st.sampled_from([*sorted(FAMILIES), "brand_new", "mamba"])


@given(st.sampled_from(counted()), st.dictionaries(NAMES, JUNK, min_size=1, max_size=4))
def test_damaged_configurations_are_read_or_refused(one: Counted, junk: Mapping[str, object]) -> None:
    believable({**one.config, **junk})


@given(KINDS, st.dictionaries(NAMES, JUNK, max_size=12))
def test_made_up_configurations_are_read_or_refused(kind: str, junk: Mapping[str, object]) -> None:
    believable({**junk, "model_type": kind})
    believable({"model_type": "llava", "text_config": {**junk, "model_type": kind}, "vision_config": junk, "audio_config": junk})


def read(config: Mapping[str, object]) -> tuple[Architecture | None, str]:
    try:
        return read_architecture(config), ""
    except ArchitectureError as error:
        return None, str(error)


def believable(config: Mapping[str, object]) -> None:
    """It is refused in a few words, or every number of it is one that a model could have."""
    architecture, refused = read(config)
    if architecture is None:
        assert len(refused) < 300
        assert refused.isprintable()
        return
    numbers = [getattr(architecture, field.name) for field in fields(architecture)]
    assert all(0 <= number < 2**80 for number in numbers if type(number) is int)
    assert min(architecture.hidden, architecture.heads, architecture.layers, len(architecture.linears)) > 0
    assert 0 <= architecture.dense_layers <= architecture.layers
    assert all(0 < linear.share <= 1 and linear.inputs > 0 and linear.outputs > 0 for linear in architecture.linears)
    counts = parameters(architecture)
    assert min(counts.embedding, counts.head, counts.linear, counts.other, counts.beside) >= 0
    assert architecture.kind.isprintable()


SOUND = st.sampled_from([read_architecture(one.config) for one in counted()])


@given(SOUND)
def test_one_more_layer_is_one_layer_more(architecture: Architecture) -> None:
    layer = sum(linear.parameters for linear in architecture.linears) + architecture.norm_width
    more = replace(architecture, layers=architecture.layers + 1)
    assert parameters(more).total - parameters(architecture).total == layer


@given(SOUND, st.integers(1, 256), st.data())
def test_adapters_grow_with_their_rank_and_targets(architecture: Architecture, rank: int, data: st.DataObject) -> None:
    names = sorted({linear.name for linear in architecture.linears})
    targets = tuple(data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True)))
    one = adapter_parameters(architecture, targets, 1)
    assert adapter_parameters(architecture, targets, rank) == rank * one
    for word in EVERY_LINEAR:
        assert adapter_parameters(architecture, (word,), 1) >= one
        assert set(tuned(architecture, targets)) <= set(tuned(architecture, (word,)))
