"""What a script does itself about what the files of a model leave open: it is not told of it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.coherence import chat_template, embeddings, quantization, special_tokens
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.sources.model.snapshot import Snapshot
from tests.coherence.models import llama, model, packed
from tests.coherence.situations import added, rules, run, situation
from tests.coherence.situations import snapshot as small

CHECKS = (*chat_template.CHECKS, *embeddings.CHECKS, *special_tokens.CHECKS, *quantization.CHECKS)
TOKENS = added((1, "<s>"), (2, "</s>"), (3, "<|im_start|>"), (4, "<|im_end|>"))


def told(read: Snapshot, *uses: str, unused: tuple[str, ...] = (), **stated: object) -> list[str]:
    facts: Facts = situation(read, plan_method="lora", **stated)
    facts = facts.with_facts([Fact("plan.code_uses", uses, Origin("script")), Fact("plan.script", True, Origin("script"))])
    if unused:
        facts = facts.with_facts([Fact("not_loaded", unused, Origin("script"))])
    return rules(run(CHECKS, read, facts))


def base(path: Path, **tokenizer: object) -> Snapshot:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 16, "eos_token_id": 2}
    files = {"bos_token": "<s>", "eos_token": "</s>", "added_tokens_decoder": TOKENS, **tokenizer}
    return small(path, {"config.json": config, "tokenizer_config.json": files})


@pytest.mark.parametrize(
    ("uses", "rule"),
    [
        ((), ["snapshot-no-pad-token"]),
        (("?.pad_token = ?",), []),
        (("transformers.AutoTokenizer.add_special_tokens(0={})",), []),
        (("?.pad_token = eos_token", "transformers.DataCollatorForLanguageModeling"), ["snapshot-pad-is-eos"]),
        (("?.pad_token = eos_token", "transformers.DataCollatorForSeq2Seq"), []),
    ],
)
def test_padding(tmp_path: Path, uses: tuple[str, ...], rule: list[str]) -> None:
    assert told(base(tmp_path), *uses, plan_padding=True) == rule


@pytest.mark.parametrize(
    ("use", "trl", "rule"),
    [
        ("trl.SFTTrainer(model=...)", "0.16.0", ["snapshot-pad-is-eos"]),
        ("trl.SFTTrainer(model=...)", "0.16.1", []),
        ("trl.SFTTrainer(model=..., data_collator=...)", "0.9.6", []),
    ],
)
def test_trl_masks_padding_by_its_place_from_0_16_1_on(tmp_path: Path, use: str, trl: str, rule: list[str]) -> None:
    assert told(base(tmp_path, pad_token="</s>"), use, trl=trl) == rule


@pytest.mark.parametrize(("use", "rule"), [("trl.SFTTrainer", True), ("?.resize_token_embeddings(0)", False)])
def test_an_embedding_that_is_enlarged(tmp_path: Path, use: str, rule: bool) -> None:
    files = {"model.safetensors": packed(llama()), "tokenizer_config.json": {"added_tokens_decoder": added((16, "[PAD]"))}}
    read = small(model(tmp_path, files), {})
    assert told(read, use) == (["snapshot-added-token-beyond-embedding"] if rule else [])


@pytest.mark.parametrize(("use", "rule"), [("?.generate(max_new_tokens=9)", True), ("?.generate(eos_token_id=4)", False)])
def test_stops_of_the_script_s_own(tmp_path: Path, use: str, rule: bool) -> None:
    read = base(tmp_path / "a-7b-instruct", chat_template="<|im_start|>{{ m }}<|im_end|>", pad_token="<|im_start|>")
    assert told(read, use) == (["snapshot-turn-end-not-a-stop"] if rule else [])


@pytest.mark.parametrize(
    ("uses", "rule"),
    [
        (("?.apply_chat_template(0)",), False),
        (("?.apply_chat_template(0, tokenize=False)",), True),
        (("?.apply_chat_template(0, tokenize=False)", "?.__call__(0, add_special_tokens=False)"), False),
    ],
)
def test_a_first_token_that_the_script_leaves_out(tmp_path: Path, uses: tuple[str, ...], rule: bool) -> None:
    template = "{{ bos_token }}{{ messages }}{{ eos_token }}"
    single = [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]
    processor = {"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing", "single": single}]}
    read = base(tmp_path, chat_template=template, pad_token="<|im_start|>")
    (tmp_path / "tokenizer.json").write_text('{"post_processor": ' + str(processor).replace("'", '"') + ', "model": {}}')
    read = small(tmp_path, {"config.json": read.config.value})
    assert told(read, *uses, plan_apply_chat_template=True) == (["snapshot-double-bos"] if rule else [])


@pytest.mark.parametrize(("unused", "rule"), [(("peft",), True), (("model",), False)])
def test_a_script_that_only_tokenizes_needs_no_library_of_the_weights(tmp_path: Path, unused: tuple[str, ...], rule: bool) -> None:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "quantization_config": {"quant_method": "hqq"}}
    read = small(tmp_path, {"config.json": config})
    found = told(read, "transformers.AutoTokenizer", unused=unused, transformers="4.57.6", hqq=False)
    assert found == (["snapshot-quantization-library-missing"] if rule else [])
