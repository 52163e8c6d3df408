"""What a script's own template and sentence-transformers' trainer say nothing of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.scripts.situations import read, values


def test_a_template_of_the_scripts_own(tmp_path: Path) -> None:
    text = """
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained("org/model")
    {}
    tokenizer.apply_chat_template(rows)
    """
    assert values(read(tmp_path, text.format("pass")))["plan.apply_chat_template"] is True
    assert "plan.apply_chat_template" not in values(read(tmp_path, text.format('tokenizer.chat_template = "{{ messages }}"')))
    given = text.format("from trl import setup_chat_format; model, tokenizer = setup_chat_format(model, tokenizer)")
    assert "plan.apply_chat_template" not in values(read(tmp_path, given))


def test_the_tokenizer_of_a_sentence_transformers_trainer_is_its_own(tmp_path: Path) -> None:
    text = """
    from sentence_transformers import SentenceTransformerTrainer
    SentenceTransformerTrainer(model=model, tokenizer=tokenizer, train_dataset=rows).train()
    """
    found = values(read(tmp_path, text))
    assert found["plan.trainer"] == "transformers"
    assert "plan.framework_tokenizer_argument" not in found


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ("trainer.evaluate()", "inference"),
        ("print(trainer.predict(rows).metrics)", "inference"),
        ("trainer.train()\ntrainer.evaluate()", "full"),
        ("launch(trainer.train)\ntrainer.evaluate()", "full"),
        ("", "full"),
    ],
)
def test_a_trainer_that_only_measures_trains_nothing(tmp_path: Path, ends: str, told: str) -> None:
    made = (
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained('a/b')\n"
    )
    text = f"{made}trainer = Trainer(model=model, args=TrainingArguments('o'))\n{ends}\n"
    assert values(read(tmp_path, text)).get("plan.method") == told


@pytest.mark.parametrize(
    ("places", "told"),
    [
        ("{'model.layers': 'disk', 'lm_head': 'cpu'}", ("device_map", "parameters")),
        ("{'model.layers': 0, 'lm_head': 'cpu'}", ("device_map", "parameters")),
        ("{'': 'cpu'}", (None, None)),
        ("{'': 0}", (None, None)),
        ("{'model.layers': where, 'lm_head': 'cpu'}", (None, None)),
    ],
)
def test_a_device_map_that_is_written_out(tmp_path: Path, places: str, told: tuple[str | None, str | None]) -> None:
    text = f"from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained('a/b', device_map={places})\n"
    found = values(read(tmp_path, text))
    assert (found.get("plan.distributed"), found.get("plan.offload")) == told


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ('L.Fabric(accelerator="cuda", precision="bf16-true")', (True, False)),
        ('L.Trainer(precision="bf16-mixed")', (True, False)),
        ('L.Trainer(precision="16-mixed")', (None, None)),
        ("L.Trainer(precision=chosen)", (None, None)),
    ],
)
def test_the_precision_of_lightning(tmp_path: Path, call: str, told: tuple[bool | None, bool | None]) -> None:
    found = values(read(tmp_path, f"import lightning as L\nengine = {call}\n"))
    assert (found.get("plan.bf16"), found.get("plan.fp16")) == told
