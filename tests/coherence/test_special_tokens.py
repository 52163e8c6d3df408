"""Special tokens: ids that exist, and stops where texts and turns end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.checks.hit import Hit
from envdoctor.coherence.special_tokens import CHECKS
from envdoctor.facts.fact import Defect
from envdoctor.sources.model.snapshot import read_snapshot
from tests.coherence.situations import added, rules, run, safetensors, situation, snapshot
from tests.examples import examples

CHATML = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
QWEN = added((151643, "<|endoftext|>"), (151644, "<|im_start|>"), (151645, "<|im_end|>"))


def qwen(**changes: object) -> dict[str, object]:
    """Qwen2.5-0.5B-Instruct's files, with changes: ``config_``, ``generation_`` and ``tokenizer_`` before a key."""
    files: dict[str, dict[str, object]] = {
        "config.json": {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "vocab_size": 151936, "eos_token_id": 151645},
        "generation_config.json": {"eos_token_id": [151645, 151643], "pad_token_id": 151643, "bos_token_id": 151643},
        "tokenizer_config.json": {
            "added_tokens_decoder": QWEN,
            "bos_token": None,
            "eos_token": "<|im_end|>",
            "pad_token": "<|endoftext|>",
            "chat_template": CHATML,
        },
    }
    for key, value in changes.items():
        file, _, name = key.partition("_")
        target = files["tokenizer_config.json" if file == "tokenizer" else f"{file}_config.json" if file == "generation" else "config.json"]
        target[name] = value
    return {name: {key: value for key, value in table.items() if value is not ...} for name, table in files.items()}


def found(path: Path, files: Mapping[str, object], **stated: object) -> list[Defect | Hit]:
    read = snapshot(path, files)
    return run(CHECKS, read, situation(read, **stated))


# --- ids


@pytest.mark.parametrize("pad", [32000, 32001, 10**30])
def test_a_padding_id_beyond_the_embedding(tmp_path: Path, pad: int) -> None:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32000, "pad_token_id": pad}
    (one,) = found(tmp_path, {"config.json": config})
    assert one.rule == "snapshot-pad-id-out-of-range"
    assert one.file == str(tmp_path / "config.json")
    assert one.line == 7
    assert "the ids end at 31999" in one.detail


@pytest.mark.parametrize("pad", [None, 0, 31999])
def test_a_padding_id_that_is_a_row(tmp_path: Path, pad: int | None) -> None:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32000, "pad_token_id": pad}
    assert found(tmp_path, {"config.json": config}) == []


def test_a_padding_id_of_a_model_whose_embedding_ignores_it_is_only_a_warning(tmp_path: Path) -> None:
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 50257, "pad_token_id": 50257}
    assert rules(found(tmp_path, {"config.json": config})) == ["snapshot-token-id-out-of-range"]


@pytest.mark.parametrize(
    ("key", "value", "detail"),
    [
        ("eos_token_id", [151645, 151936], "eos_token_id is 151936; the vocabulary has 151936 ids"),
        ("eos_token_id", 151936, "eos_token_id is 151936"),
        ("eos_token_id", [151645, 10**40], "eos_token_id is a number too large"),
        ("bos_token_id", 200000, "bos_token_id is 200000"),
        ("pad_token_id", -1, "pad_token_id is -1; an id is not negative"),
    ],
)
def test_an_id_of_no_token(tmp_path: Path, key: str, value: object, detail: str) -> None:
    (one,) = found(tmp_path, qwen(**{f"generation_{key}": value}))
    assert one.rule == "snapshot-token-id-out-of-range"
    assert detail in one.detail
    assert one.file == str(tmp_path / "generation_config.json")


def test_rows_beyond_vocab_size_are_ids_too(tmp_path: Path) -> None:
    # An embedding that was enlarged for new tokens, beside a vocab_size that was not: another check's affair.
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 16, "eos_token_id": 17}
    weights = safetensors({"transformer.wte.weight": ("F16", [18, 2])})
    assert found(tmp_path, {"config.json": config, "model.safetensors": weights}) == []
    assert rules(found(tmp_path / "other", {"config.json": config})) == ["snapshot-token-id-out-of-range"]


@pytest.mark.parametrize(
    "config",
    [
        # CSM: the codebook's vocabulary is not the text's.
        {"model_type": "csm", "vocab_size": 2051, "text_vocab_size": 128256, "bos_token_id": 128000, "pad_token_id": 128002},
        # MusicGen's decoder counts one row more than its vocabulary.
        {"model_type": "musicgen", "decoder": {"vocab_size": 2048, "pad_token_id": 2048}, "text_encoder": {"vocab_size": 32128}},
        # A text model inside another leaves its class's default unsaid.
        {"model_type": "llava", "vocab_size": None, "text_config": {"model_type": "llama"}, "pad_token_id": 32001},
        {"model_type": "llama", "bos_token_id": -1},
    ],
)
def test_ids_that_cannot_be_judged_are_not(tmp_path: Path, config: dict[str, object]) -> None:
    assert found(tmp_path, {"config.json": {"architectures": ["XForConditionalGeneration"], **config}}) == []


# --- end of sequence


def test_qwen3_base_ends_texts_where_generation_does_not_stop(tmp_path: Path) -> None:
    # https://github.com/QwenLM/Qwen3/issues/1422
    (one,) = found(tmp_path, qwen(config_eos_token_id=151643, generation_eos_token_id=151643))
    assert one == Defect(
        "snapshot-eos-not-a-stop",
        "the tokenizer ends a text with <|im_end|> (151645); generation stops at 151643",
        str(tmp_path / "generation_config.json"),
        2,
    )


def test_config_counts_only_where_there_is_no_generation_config(tmp_path: Path) -> None:
    """Read in _prepare_generation_config of transformers 4.45.2 and 4.51.3: a file that names no end stops nowhere."""
    (one,) = found(tmp_path / "a", qwen(generation_eos_token_id=...))
    assert (one.rule, one.file) == ("snapshot-eos-not-a-stop", str(tmp_path / "a" / "generation_config.json"))
    for name, number, rules_ in (("b", 151643, ["snapshot-eos-not-a-stop"]), ("c", 151645, [])):
        files = {file: text for file, text in qwen(config_eos_token_id=number).items() if file != "generation_config.json"}
        assert rules(found(tmp_path / name, files)) == rules_


def test_an_id_that_only_config_names_stops_nothing(tmp_path: Path) -> None:
    files = qwen(generation_eos_token_id=151643)
    assert rules(found(tmp_path / "a", files)) == ["snapshot-eos-not-a-stop"]
    assert found(tmp_path / "b", qwen(generation_eos_token_id=151643, tokenizer_chat_template="{{ m }}")) == []


def test_an_id_is_found_in_the_head_of_tokenizer_json(tmp_path: Path) -> None:
    head: dict[str, object] = {
        "version": "1.0",
        "truncation": None,
        "added_tokens": [{"id": 2, "content": "<eos>", "special": True}],
        "model": {"vocab": {}},
    }
    files: dict[str, object] = {
        "config.json": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "eos_token_id": 1},
        "tokenizer_config.json": {"eos_token": "<eos>"},
        "tokenizer.json": head,
    }
    assert rules(found(tmp_path, files)) == ["snapshot-eos-not-a-stop"]


@pytest.mark.parametrize(
    "changes",
    [
        {"tokenizer_added_tokens_decoder": {}},
        {"tokenizer_added_tokens_decoder": {**QWEN, "7": {"content": "<|im_end|>"}}},
        {"tokenizer_eos_token": None},
        {"tokenizer_eos_token": 3},
        {"config_architectures": ["Qwen2ForSequenceClassification"]},
        {"config_architectures": None},
    ],
)
def test_what_cannot_be_told_is_not_said(tmp_path: Path, changes: dict[str, object]) -> None:
    broken = {"config_eos_token_id": 151643, "generation_eos_token_id": 151643, "tokenizer_chat_template": None}
    assert found(tmp_path, qwen(**{**broken, **changes})) == []


def test_two_files_that_name_two_tokens_tell_nothing(tmp_path: Path) -> None:
    files = qwen(config_eos_token_id=151643, generation_eos_token_id=151643, tokenizer_chat_template=None)
    assert found(tmp_path, {**files, "special_tokens_map.json": {"eos_token": "<|endoftext|>"}}) == []


def test_a_rule_that_speaks_already_is_not_repeated(tmp_path: Path) -> None:
    files: dict[str, object] = {
        "config.json": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 128256, "eos_token_id": 128001},
        "tokenizer_config.json": {
            "added_tokens_decoder": added((128001, "<|end_of_text|>"), (128009, "<|eot_id|>")),
            "eos_token": "<|eot_id|>",
            "chat_template": "{{ '<|eot_id|>' }}",
        },
    }
    # llama-3-instruct-eot-not-a-stop-id holds where the plan generates.
    assert found(tmp_path, files, plan_generate=True) == []
    assert rules(found(tmp_path, files, plan_method="lora")) == ["snapshot-eos-not-a-stop"]


# --- end of a turn


def test_a_chat_model_whose_turns_do_not_stop(tmp_path: Path) -> None:
    # https://github.com/vllm-project/vllm/issues/4180: the first revision of Llama 3 Instruct.
    template = "{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>' + m['content'] + '<|eot_id|>' }}"
    tokens = added((128001, "<|end_of_text|>"), (128006, "<|start_header_id|>"), (128007, "<|end_header_id|>"), (128009, "<|eot_id|>"))
    files: dict[str, object] = {
        "config.json": {
            "_name_or_path": "meta-llama/Meta-Llama-3-8B-Instruct",
            "model_type": "llama",
            "architectures": ["LlamaForCausalLM"],
            "vocab_size": 128256,
            "eos_token_id": 128001,
        },
        "tokenizer_config.json": {"added_tokens_decoder": tokens, "eos_token": "<|end_of_text|>", "chat_template": template},
    }
    (one,) = found(tmp_path, files)
    assert isinstance(one, Defect)
    assert one.rule == "snapshot-turn-end-not-a-stop"
    assert one.detail == "the chat template ends a turn with <|eot_id|> (128009); generation stops at 128001"


BASE = {"config_eos_token_id": 151643, "generation_eos_token_id": 151643, "tokenizer_eos_token": "<|endoftext|>"}


def test_a_base_model_with_the_template_of_its_sibling_is_sound_until_it_is_used(tmp_path: Path) -> None:
    assert found(tmp_path, qwen(**BASE)) == []
    assert found(tmp_path, qwen(**BASE), plan_method="lora") == []
    assert found(tmp_path, qwen(**BASE), plan_method="lora", plan_apply_chat_template=False) == []
    (one,) = found(tmp_path, qwen(**BASE), plan_method="lora", plan_apply_chat_template=True)
    assert isinstance(one, Hit)
    assert (one.rule, one.outcome) == ("snapshot-turn-end-not-a-stop", True)


def test_gemma_1_says_both_tokens(tmp_path: Path) -> None:
    # https://github.com/huggingface/transformers/issues/32110
    def gemma(kind: str) -> dict[str, object]:
        config = {"_name_or_path": "google/gemma-7b-it", "model_type": kind, "architectures": ["GemmaForCausalLM"], "vocab_size": 256000}
        tokens = added((1, "<eos>"), (106, "<start_of_turn>"), (107, "<end_of_turn>"))
        template = "{{ bos_token }}{{ '<start_of_turn>' + m['role'] + '<end_of_turn>' }}"
        tokenizer = {"added_tokens_decoder": tokens, "eos_token": "<eos>", "chat_template": template}
        return {"config.json": {**config, "eos_token_id": 1}, "tokenizer_config.json": tokenizer}

    assert found(tmp_path / "one", gemma("gemma")) == []
    assert rules(found(tmp_path / "two", gemma("gemma2"))) == ["snapshot-turn-end-not-a-stop"]


@pytest.mark.parametrize("template", ["{{ m + eos_token }}<|im_end|>", "{# <|im_end|> #}{{ m }}", "{{ m }}"])
def test_turns_that_end_otherwise(tmp_path: Path, template: str) -> None:
    files = qwen(**BASE, tokenizer_chat_template=template, config__name_or_path="x/y-chat")
    assert found(tmp_path, files) == []


# --- padding


def test_padding_that_is_the_end(tmp_path: Path) -> None:
    files = qwen(tokenizer_pad_token="<|im_end|>", generation_eos_token_id=151645)
    assert found(tmp_path, files) == []
    (one,) = found(tmp_path, files, plan_method="lora")
    assert isinstance(one, Hit)
    assert (one.rule, one.detail) == ("snapshot-pad-is-eos", "<|im_end|> is both pad_token and eos_token")
    assert found(tmp_path, files, plan_method="inference") == []


def test_padding_that_ends_no_turn(fixtures: Path) -> None:
    # GLM-4 pads with <|endoftext|>, which its template does not write: turns end with <|user|>.
    read = read_snapshot(fixtures / "glm-4-9b-chat-hf")
    assert run(CHECKS, read, situation(read, plan_method="full")) == []


def test_no_padding_token(fixtures: Path) -> None:
    read = read_snapshot(fixtures / "llama-2-7b-hf")
    padded = situation(read, plan_method="lora", plan_padding=True)
    assert rules(run(CHECKS, read, padded)) == ["snapshot-no-pad-token"]
    assert run(CHECKS, read, situation(read, plan_method="lora", plan_padding=False)) == []
    assert run(CHECKS, read, situation(read, plan_method="lora", plan_padding=True, plan_trainer="trl")) == []


# --- nobody sound is accused

# Model: eos_token_id of config.json and of generation_config.json, eos_token with its id, and how the template ends turns, with its id.
SOUND: tuple[tuple[str, object, object, tuple[str, int], dict[str, int]], ...] = (
    # Read in the files that https://github.com/sophgo/LLM-TPU keeps under models/.
    ("Llama-3.1-8B-Instruct", [128001, 128008, 128009], [128001, 128008, 128009], ("<|eot_id|>", 128009), {"<|eot_id|>": 128009}),
    ("Llama-3.2-11B-Vision-Instruct", None, [128001, 128008, 128009], ("<|eot_id|>", 128009), {"<|eot_id|>": 128009}),
    ("Mistral-7B-Instruct-v0.2", 2, None, ("</s>", 2), {}),
    ("Qwen1.5-1.8B-Chat", 151645, None, ("<|im_end|>", 151645), {"<|im_start|>": 151644, "<|im_end|>": 151645}),
    ("Qwen2-7B-Instruct", 151645, None, ("<|im_end|>", 151645), {"<|im_start|>": 151644, "<|im_end|>": 151645}),
    ("Qwen2.5-3B-Instruct", 151645, [151645, 151643], ("<|im_end|>", 151645), {"<|im_start|>": 151644, "<|im_end|>": 151645}),
    ("Qwen2.5-VL-7B-Instruct", 151645, [151645, 151643], ("<|im_end|>", 151645), {"<|im_start|>": 151644, "<|im_end|>": 151645}),
    ("Qwen3-8B", 151645, [151645, 151643], ("<|im_end|>", 151645), {"<|im_start|>": 151644, "<|im_end|>": 151645}),
    ("QwQ-32B", 151645, None, ("<|im_end|>", 151645), {"<|im_start|>": 151644, "<|im_end|>": 151645}),
    ("gemma-3-4b-it", [1, 106], [1, 106], ("<eos>", 1), {"<end_of_turn>": 106}),
    ("MiniCPM3-4B", [2, 73440], None, ("<|im_end|>", 73440), {"<|im_start|>": 73441, "<|im_end|>": 73440}),
    ("MiniCPM4-8B", [2, 73440], [2, 73440], ("<|im_end|>", 73440), {"<|im_start|>": 73441, "<|im_end|>": 73440}),
    ("chatglm3-6b", 2, None, ("</s>", 2), {"<|user|>": 64795, "<|assistant|>": 64796}),
    ("glm-4-9b-chat", [151329, 151336, 151338], None, ("<|endoftext|>", 151329), {"<|user|>": 151336, "<|assistant|>": 151337}),
    ("Llama-2-7b-chat-hf", 2, 2, ("</s>", 2), {}),
    # Generation as xFasterTransformer's demo of Yi sets it: the tokenizer's own end token is no stop.
    ("Yi-6B-Chat", 2, 7, ("<|endoftext|>", 2), {"<|im_start|>": 6, "<|im_end|>": 7}),
    # Generation as OpenCompass sets it for the model.
    ("internlm2-chat-7b", 2, [2, 92542], ("</s>", 2), {"<|im_start|>": 92543, "<|im_end|>": 92542}),
    # Told in the threads and repositories named.
    ("gemma-2-2b-it", None, [1, 107], ("<eos>", 1), {"<end_of_turn>": 107}),  # https://github.com/mlc-ai/mlc-llm/pull/3191
    ("internlm3-8b-instruct", 2, [2, 128131], ("</s>", 2), {"<|im_end|>": 128131}),  # https://github.com/InfiniTensor/InfiniLM/pull/387
    (
        "Phi-3-mini-4k-instruct",
        32000,
        [32000, 32001, 32007],
        ("<|endoftext|>", 32000),
        {"<|end|>": 32007},
    ),  # ChuDinhKlopp/phi-3-mini-keyformer
    ("dolphin-2.5-mixtral-8x7b", None, 32000, ("<|im_end|>", 32000), {"<|im_end|>": 32000}),  # JakobJohannesson/mixtral_dolphin_v2.5
    ("DeepSeek-V3", 1, 1, ("<\uff5cend\u2581of\u2581sentence\uff5c>", 1), {"<\uff5cend\u2581of\u2581sentence\uff5c>": 1}),  # zhangbo2008
    ("Qwen2.5-Coder-7B", 151643, 151643, ("<|endoftext|>", 151643), {"<|im_end|>": 151645}),  # https://github.com/QwenLM/Qwen3/issues/1106
    # <|end|> closes what gpt-oss thinks, <|return|> its answer.
    ("gpt-oss-20b", 200002, [200002, 199999, 200012], ("<|return|>", 200002), {"<|end|>": 200007, "<|return|>": 200002}),
)


@pytest.mark.parametrize(("name", "config", "generation", "eos", "markers"), SOUND, ids=[row[0] for row in SOUND])
@pytest.mark.parametrize("method", [None, "lora"])
def test_published_models_are_sound(
    tmp_path: Path, name: str, config: object, generation: object, eos: tuple[str, int], markers: dict[str, int], method: str | None
) -> None:
    table = {
        "_name_or_path": f"x/{name}",
        "model_type": "x",
        "architectures": ["XForCausalLM"],
        "vocab_size": 256000,
        "eos_token_id": config,
    }
    files: dict[str, object] = {
        "config.json": table,
        "tokenizer_config.json": {
            "added_tokens_decoder": added((eos[1], eos[0]), *((number, text) for text, number in markers.items())),
            "eos_token": eos[0],
            "chat_template": "".join(f"{{{{ '{text}' }}}}" for text in markers),
        },
    }
    if generation is not None:
        files["generation_config.json"] = {"eos_token_id": generation}
    stated = {} if method is None else {"plan_method": method}
    assert found(tmp_path, files, **stated) == []


@pytest.mark.parametrize("name", ["chatglm3-6b", "chatglm3-6b-2024-02", "glm-4-9b-chat-hf", "llama-2-7b-hf", "qwen2.5-0.5b-instruct"])
def test_the_fixtures_are_sound(fixtures: Path, name: str) -> None:
    assert run(CHECKS, read_snapshot(fixtures / name)) == []


# --- hostile files

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["<|im_end|>", "</s>"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["content", "1", "text_config", "vocab_size"]), inner, max_size=3)
    ),
    max_leaves=5,
)
keys = st.sampled_from(
    [
        "eos_token", "pad_token", "eos_token_id", "pad_token_id", "bos_token_id", "vocab_size", "text_config", "added_tokens_decoder",
        "chat_template", "auto_map", "architectures", "model_type", "additional_special_tokens",
    ]
)  # fmt: skip
tables = st.dictionaries(keys, values, max_size=6)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables, tables, tables, tables)
def test_any_files_are_read(
    tmp_path: Path, config: dict[str, object], generation: dict[str, object], tokenizer: dict[str, object], special: dict[str, object]
) -> None:
    files = {
        "config.json": config,
        "generation_config.json": generation,
        "tokenizer_config.json": tokenizer,
        "special_tokens_map.json": special,
        "tokenizer.json": tokenizer,
    }
    for one in found(tmp_path, dict(files), plan_method="lora", plan_padding=True, plan_apply_chat_template=True):
        assert one.detail.isprintable()
