"""Lengths by real libraries in a real environment, against what transformers itself makes of the same rows; no torch."""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from envdoctor.lengths.measure import measure_lengths
from envdoctor.lengths.values import Lengths, Refused
from tests.probes.test_lora_step_real import build

from .test_measure import write

pytestmark = pytest.mark.probe

PINS = ("transformers==4.57.1", "numpy<2", "jinja2==3.1.6", "sentencepiece==0.2.3", "tiktoken==0.14.0")
SNAPSHOTS = Path(__file__).parents[2] / "scripts" / "probe_pairs" / "snapshots"
CHATS = [
    [{"role": "user", "content": "abc"}, {"role": "assistant", "content": "xyz."}],
    [{"role": "user", "content": "a longer line, of more words"}, {"role": "assistant", "content": "yes"}] * 3,
    [{"role": "system", "content": ""}, {"role": "user", "content": "x"}, {"role": "assistant", "content": "y" * 500}],
]
# What the tokenizer's own class makes of the same rows.
BY_TRANSFORMERS = """
import json, sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
rows = json.load(sys.stdin)
print(json.dumps([len(tokenizer(row)["input_ids"] if isinstance(row, str) else tokenizer.apply_chat_template(row)) for row in rows]))
"""
TRAIN_PIECES = """
import sys, sentencepiece
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(open(sys.argv[1], encoding="utf-8")), model_prefix=sys.argv[2], vocab_size=400, byte_fallback=True, minloglevel=5
)
"""
PIECES = """
import json, sys, sentencepiece
pieces = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])
print(json.dumps([len(pieces.encode(text)) for text in json.load(sys.stdin)]))
"""


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("ENVDOCTOR_PROBE_CACHE")
    directory = Path(kept).expanduser().absolute() if kept else tmp_path_factory.mktemp("environments")
    return build(PINS, directory)


def said_by(patient: Path, script: str, *arguments: Path, given: object = None) -> object:
    command = [str(patient), "-c", script, *map(str, arguments)]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout.strip() else None


def counted(data: Path, model: Path, patient: Path, trust: bool = False) -> Lengths:
    lengths = measure_lengths(data, model, patient, trust=trust, told=None)
    assert isinstance(lengths, Lengths), lengths
    return lengths


def by_line(lengths: Lengths) -> list[int]:
    return [row.tokens for row in sorted(lengths.longest_rows, key=lambda row: row.line)]


@pytest.mark.parametrize("model", ["qwen2.5-0.5b-instruct", "glm-4-9b-chat-hf"])
def test_chats_are_as_long_as_transformers_makes_them(tmp_path: Path, fixtures: Path, patient: Path, model: str) -> None:
    data = write(tmp_path / "rows.jsonl", *({"messages": chat} for chat in CHATS))
    lengths = counted(data, fixtures / model, patient)
    assert by_line(lengths) == said_by(patient, BY_TRANSFORMERS, fixtures / model, given=CHATS)
    assert lengths.template == "the snapshot's chat template"
    assert lengths.tokenizer.library.startswith("tokenizers ")
    assert (lengths.tokenizer.file, lengths.tokenizer.patients, lengths.notes) == ("tokenizer.json", True, ())
    assert lengths.answer_share is not None
    assert 0.3 < lengths.answer_share < 1


def test_texts_are_as_long_as_transformers_makes_them(tmp_path: Path, fixtures: Path, patient: Path) -> None:
    texts = ["abc", "", "a longer line, of more words\n" * 40, "</s>abc"]
    data = write(tmp_path / "rows.jsonl", *({"text": text} for text in texts))
    lengths = counted(data, fixtures / "llama-2-7b-hf", patient)
    assert by_line(lengths) == said_by(patient, BY_TRANSFORMERS, fixtures / "llama-2-7b-hf", given=texts)
    assert lengths.notes == ("some trainers end each text with one more token, which is not counted",)


def test_a_chat_without_a_template_or_without_jinja2_is_said_to_be_near(
    tmp_path: Path, fixtures: Path, patient: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write(tmp_path / "rows.jsonl", {"messages": CHATS[0]})
    lengths = counted(data, fixtures / "llama-2-7b-hf", patient)
    assert lengths.joined == "the turns of a chat, their contents joined by line ends"
    unsaid = "what a trainer writes around each turn, some tokens, is not counted"
    assert lengths.notes == (f"the snapshot has no chat template: {unsaid}",)
    (tmp_path / "jinja2.py").write_text("raise ImportError('broken')\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    lengths = counted(data, fixtures / "qwen2.5-0.5b-instruct", patient)
    assert lengths.notes == (f"the snapshot's chat template was not used (jinja2 is not installed): {unsaid}",)
    assert (by_line(lengths), lengths.template) == ([8], "")


def test_a_template_that_refuses_a_row_refuses_it_alone(tmp_path: Path, fixtures: Path, patient: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(fixtures / "qwen2.5-0.5b-instruct", model, ignore=shutil.ignore_patterns("*.safetensors"))
    config = json.loads((model / "tokenizer_config.json").read_text(encoding="utf-8"))
    config["chat_template"] = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
    )
    (model / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    lengths = counted(write(tmp_path / "rows.jsonl", *({"messages": chat} for chat in CHATS)), model, patient)
    assert lengths.rows == 2
    assert [(refusal.line, refusal.why) for refusal in lengths.refusals] == [(3, "the chat template refuses it: no system")]
    config["chat_template"] = "{% for m in messages %}"
    (model / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    lengths = counted(tmp_path / "rows.jsonl", model, patient)
    assert lengths.notes[0].startswith("the snapshot's chat template was not used (jinja2 cannot parse it: Unexpected end of template.")


def test_what_a_template_would_add_to_a_question_is_told(tmp_path: Path, fixtures: Path, patient: Path) -> None:
    data = write(tmp_path / "rows.jsonl", {"instruction": "abc", "input": "", "output": "x"}, {"prompt": "a", "completion": "b"})
    lengths = counted(data, fixtures / "qwen2.5-0.5b-instruct", patient)
    assert by_line(lengths) == [5]
    assert lengths.notes == ("a trainer that puts rows into the snapshot's chat template adds about 21 tokens to each",)
    assert lengths.reasons == (("another format (prompt and completion) than line 1", 1),)


def test_of_a_preference_pair_the_longer_side_counts(tmp_path: Path, fixtures: Path, patient: Path) -> None:
    data = write(tmp_path / "rows.jsonl", {"prompt": "abc", "chosen": "x", "rejected": "x" * 9})
    lengths = counted(data, fixtures / "llama-2-7b-hf", patient)
    assert (by_line(lengths), lengths.sequences, lengths.answer_share) == ([13], 2, 1 / 5)


def test_chatglm_is_counted_from_its_vocabulary_as_its_own_scripts_join_turns(tmp_path: Path, fixtures: Path, patient: Path) -> None:
    """Two tokens before all, one for each role, one after all; a line end and the content by SentencePiece."""
    model = tmp_path / "model"
    shutil.copytree(fixtures / "chatglm3-6b", model, ignore=shutil.ignore_patterns("*.safetensors", "tokenizer.model"))
    words = tmp_path / "words.txt"
    words.write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    said_by(patient, TRAIN_PIECES, words, model / "tokenizer")
    (model / "tokenizer.vocab").unlink()
    lengths = counted(write(tmp_path / "rows.jsonl", *({"conversations": chat} for chat in CHATS)), model, patient)
    texts = [["\n", *(turn["content"] for turn in chat)] for chat in CHATS]
    pieces = [said_by(patient, PIECES, model / "tokenizer.model", given=chat) for chat in texts]
    expected = []
    for chat in pieces:
        assert isinstance(chat, list)
        end, *contents = chat
        expected.append(3 + len(contents) * (1 + end) + sum(contents))
    assert by_line(lengths) == expected
    assert (lengths.template, lengths.tokenizer.file) == ("ChatGLM's own prompt format", "tokenizer.model")
    assert lengths.tokenizer.library == "sentencepiece 0.2.3"


def test_ranks_are_counted_by_tiktoken_without_running_the_snapshots_code(tmp_path: Path, fixtures: Path, patient: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    tokens = [bytes([number]) for number in range(256)] + [b"ab", b"abc", b" the"]
    ranks = "".join(f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens))
    (model / "tokenizer.model").write_text(ranks, encoding="ascii")
    write(model / "config.json", {"model_type": "chatglm"})
    own = {"AutoTokenizer": ["tokenization_chatglm.ChatGLM4Tokenizer", None]}
    write(model / "tokenizer_config.json", {"tokenizer_class": "ChatGLM4Tokenizer", "auto_map": own})
    code = model / "tokenization_chatglm.py"
    code.write_text("class T:\n    def __init__(self):\n        pat_str = r'\\w+| ?\\W'\nraise SystemExit('run')\n", encoding="utf-8")
    data = write(tmp_path / "rows.jsonl", {"messages": CHATS[0]}, {"messages": [{"role": "user", "content": "abc ab"}]})
    lengths = counted(data, model, patient)
    # "abc" is one token and "xyz." four; a line end is one.
    assert by_line(lengths) == [3 + (1 + 1 + 1) + (1 + 1 + 4), 3 + (1 + 1 + 3)]
    assert lengths.tokenizer.library == "tiktoken 0.14.0"
    assert "near to the tokenizer's own count" in lengths.notes[-1]
    code.write_text("raise SystemExit('run')\n", encoding="utf-8")
    refused = measure_lengths(data, model, patient, trust=False, told=None)
    assert isinstance(refused, Refused)
    assert refused.found.startswith("a tokenizer that is code of the snapshot's own (tokenizer.model holds ranks for tiktoken, and no ")
    assert refused.next_step == "consent with --trust-remote-code, where you have read it"


def test_code_of_the_snapshots_own_counts_with_consent_only(tmp_path: Path, patient: Path) -> None:
    """A class whose _pad this release cannot call counts all the same: nothing is padded."""
    data = write(tmp_path / "rows.jsonl", {"text": "a line"}, {"text": "a longer line of text"})
    refused = measure_lengths(data, SNAPSHOTS / "pad-without-side", patient, trust=False, told=None)
    assert isinstance(refused, Refused)
    assert refused.next_step == "consent with --trust-remote-code, where you have read it"
    lengths = counted(data, SNAPSHOTS / "pad-without-side", patient, trust=True)
    assert by_line(lengths) == [6, 21]
    assert lengths.tokenizer.library == "LettersTokenizer of transformers 4.57.1"


def test_where_the_patient_lacks_the_library_the_doctor_looks_in_its_own(tmp_path: Path, fixtures: Path, patient: Path) -> None:
    """The doctor's interpreter has none in these tests either; both are named."""
    (tmp_path / "bare").mkdir()
    python = build(("packaging",), tmp_path / "bare")
    refused = measure_lengths(write(tmp_path / "rows.jsonl", {"text": "a"}), fixtures / "llama-2-7b-hf", python, trust=False, told=None)
    assert isinstance(refused, Refused)
    assert "in the examined environment tokenizers is not installed" in refused.found
    assert "in the doctor's own tokenizers is not installed" in refused.found
    assert refused.next_step == "pip install tokenizers"


def test_progress_is_told_and_ten_thousand_rows_are_whole(tmp_path: Path, fixtures: Path, patient: Path) -> None:
    data = tmp_path / "rows.jsonl.gz"
    with gzip.open(data, "wt", encoding="utf-8") as stream:
        for number in range(30_000):
            stream.write(json.dumps({"text": "word " * (number % 100)}) + "\n")
    told: list[str] = []
    lengths = measure_lengths(data, fixtures / "llama-2-7b-hf", patient, trust=False, told=told.append)
    assert isinstance(lengths, Lengths)
    assert (lengths.rows, lengths.whole, lengths.longest) == (30_000, True, 1 + 5 * 99)
    assert lengths.mean == 1 + 5 * 49.5
    assert "loading the tokenizer" in told
