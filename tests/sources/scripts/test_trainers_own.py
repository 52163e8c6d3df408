"""What a script's own template and sentence-transformers' trainer say nothing of."""

from __future__ import annotations

from pathlib import Path

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
