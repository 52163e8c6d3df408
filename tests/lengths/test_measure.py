"""``measure_lengths`` whole, where nothing that tokenizes is installed: rows that are ids already, and every reason to refuse."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.lengths.children import count
from envdoctor.lengths.measure import measure_lengths
from envdoctor.lengths.values import Lengths, LongRow, Refusal, Refused, TokenizerUsed


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8")
    return path


def measure(data: Path, model: Path) -> Lengths | Refused:
    return measure_lengths(data, model, None, trust=False, told=None)


def ids(length: int, answered: int | None = None) -> dict[str, object]:
    row: dict[str, object] = {"input_ids": [1] * length}
    if answered is not None:
        row["labels"] = [-100] * (length - answered) + [1] * answered
    return row


def test_rows_of_ids_are_counted_without_any_tokenizer(tmp_path: Path, fixtures: Path) -> None:
    data = write(tmp_path / "rows.jsonl", ids(3, 1), ids(7, 4), "", "no JSON", ids(3, 3), {"text": "a"}, [1], "{}", ids(7, 4))
    lengths = measure(data, fixtures / "llama-2-7b-hf")
    assert isinstance(lengths, Lengths)
    assert replace(lengths, seconds=0.0) == Lengths(
        data=str(data),
        rows=4,
        histogram=((3, 2), (7, 2)),
        tokens=20,
        longest=7,
        longest_rows=(LongRow(7, 2), LongRow(7, 9), LongRow(3, 1), LongRow(3, 5)),
        form="input_ids",
        joined="ids that are counted as they are",
        template="",
        tokenizer=TokenizerUsed("", "", sys.executable, False),
        refused=4,
        refusals=(
            Refusal(4, "no JSON"),
            Refusal(6, "another format (text) than line 1"),
            Refusal(7, "not an object but a list"),
            Refusal(8, "an empty object"),
        ),
        reasons=(
            ("no JSON", 1),
            ("another format (text) than line 1", 1),
            ("not an object but a list", 1),
            ("an empty object", 1),
        ),
        answer_share=12 / 20,
        answer_rows=4,
    )
    assert (lengths.mean, lengths.p50, lengths.p90) == (5.0, 3, 7)


@pytest.mark.parametrize(
    ("name", "data", "found", "next_step"),
    [
        ("rows.jsonl", b"", "an empty file", "give the file that holds the rows"),
        ("rows.jsonl", b"\n\n", "a file without a row", "give the file that holds the rows"),
        ("rows.jsonl", b"PAR1" + b"\0" * 100, "a Parquet file, and no pyarrow to read it", "pip install pyarrow beside"),
        ("rows.csv", b"a,b\n1,2\n", "comma-separated values", "write it as JSON lines: python -c"),
        ("rows.jsonl.zst", b"\x28\xb5\x2f\xfd\0\0", "a file packed by zstd", "unpack it first: zstd -d rows.jsonl.zst"),
        ("rows.jsonl", b"version https://git-lfs.github.com/spec/v1\n", "a git-lfs pointer, not the file", "git lfs pull"),
        ("rows.jsonl", b'{"body": "a"}\n', "none of 1 rows that can be counted; line 1: no known format", "bring the rows into"),
        ("rows.json", b"[1, 2]", "none of 2 rows that can be counted; element 1: not an object but a number", "bring the rows into one"),
        ("rows.json", b'[{"input_ids": [1]}, {"input', "element 2 is no JSON: ", "write one JSON object on each line"),
        ("rows.jsonl", "{}".encode("utf-16"), "text in UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8"),
        ("rows.jsonl", b"\x1f\x8b\x08 cut short", "a gzip file that is cut short or damaged", "unpack or download it again"),
    ],
)
def test_a_file_without_rows_is_refused_with_the_next_step(
    tmp_path: Path, fixtures: Path, name: str, data: bytes, found: str, next_step: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    refused = measure(path, fixtures / "llama-2-7b-hf")
    assert isinstance(refused, Refused)
    assert refused.place == str(path)
    assert refused.found.startswith(found)
    assert refused.next_step.startswith(next_step)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, fixtures: Path) -> None:
    model = fixtures / "llama-2-7b-hf"
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    found = [measure(path, model) for path in (tmp_path / "none.jsonl", tmp_path, pipe, Path("a\0b"))]
    assert [one.found for one in found if isinstance(one, Refused)] == [
        "No such file or directory",
        "a directory",
        "not a regular file",
        "a name that no file can have",
    ]


def test_where_nothing_tokenizes_the_reason_and_the_next_step_are_told(tmp_path: Path, fixtures: Path, bare: Path) -> None:
    data = write(tmp_path / "rows.jsonl", {"text": "a line"})

    def refused(model: Path) -> tuple[str, str]:
        found = measure_lengths(data, model, bare, trust=False, told=None)
        assert isinstance(found, Refused)
        return found.found, found.next_step

    found, next_step = refused(fixtures / "llama-2-7b-hf")
    assert found.startswith("a tokenizer that nothing here can read (in the examined environment tokenizers is not installed; ")
    assert next_step == "pip install tokenizers"
    model = tmp_path / "model"
    model.mkdir()
    write(model / "config.json", {"model_type": "llama"})
    assert refused(model) == (
        "no tokenizer (it has no tokenizer.json, tokenizer.model or other vocabulary)",
        "download the tokenizer's files too",
    )
    write(model / "tokenizer.json", "version https://git-lfs.github.com/spec/v1")
    assert refused(model) == ("no tokenizer that was downloaded (tokenizer.json is a git-lfs pointer (git lfs pull))", "git lfs pull")
    (model / "tokenizer.json").unlink()
    write(model / "tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["tokenization_own.OwnTokenizer", None]}})
    assert refused(model) == ("a tokenizer that is code of the snapshot's own", "consent with --trust-remote-code, where you have read it")
    (tmp_path / "empty").mkdir()
    assert refused(tmp_path / "empty")[0] == "a directory that is no model: it has no config.json"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An interpreter in which nothing that tokenizes can be imported, and the doctor's own one likewise."""
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    for name in ("tokenizers", "sentencepiece", "tiktoken", "transformers"):
        (blocked / f"{name}.py").write_text(f"raise ModuleNotFoundError('No module named {name}', name={name!r})\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(blocked))
    return Path(sys.executable)


@pytest.mark.large
def test_the_time_that_is_given_is_kept(tmp_path: Path, fixtures: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text((json.dumps(ids(200)) + "\n") * 100_000, encoding="utf-8")
    lengths = measure_lengths(data, fixtures / "llama-2-7b-hf", None, trust=False, told=None, seconds=0.0)
    assert isinstance(lengths, Lengths)
    assert not lengths.whole
    assert 0 < lengths.rows < 100_000
    assert lengths.notes == ("the time was up before the end of the file: these are its first rows",)


def test_very_many_lengths_are_rounded_up_and_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count, "MOST_LENGTHS", 10)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    data = write(tmp_path / "rows.jsonl", *(ids(length) for length in range(1, 41)))
    params = {"data": str(data), "routes": [], "template": "", "variables": {}, "glm": False, "seconds": 60.0}
    measured = count.run(params, lambda _stage: None)
    assert measured["step"] == 4
    assert measured["histogram"] == [[length, 4] for length in range(4, 41, 4)]
    assert (measured["tokens"], measured["rows"]) == (820, 40)


def test_progress_is_a_bar_with_what_is_left() -> None:
    assert count.progress(0.0, 0, 0.6) == "counting tokens [--------------------] 0 %, 0 rows"
    assert count.progress(0.25, 250_000, 40.0) == "counting tokens [#####---------------] 25 %, 250000 rows, 2:00 left"
    assert count.progress(1.0, 1_000_000, 160.0) == "counting tokens [####################] 100 %, 1000000 rows, 0:00 left"
