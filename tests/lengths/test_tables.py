"""Parquet and Arrow files, and directories that datasets saved: which they are, and their rows, by whatever pyarrow stands there."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import envdoctor
from envdoctor.lengths.data_file import why_not

TABLES = runpy.run_path(str(Path(envdoctor.__file__).parent / "lengths" / "children" / "tables.py"))
STREAM, PARQUET = b"\xff\xff\xff\xff\0\0\0\0", b"PAR1\0\0\0\0"


class Batch:
    """A batch as pyarrow has it, so far as it is asked."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows, self.num_rows = rows, len(rows)

    def slice(self, first: int, count: int) -> Batch:
        return Batch(self.rows[first : first + count])

    def to_pylist(self) -> list[dict[str, Any]]:
        return self.rows


@pytest.fixture
def pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files whose rows are JSON behind eight bytes."""

    def rows(path: str) -> list[dict[str, Any]]:
        return [{"text": text} for text in json.loads(Path(path).read_bytes()[8:])]

    class ParquetFile:
        def __init__(self, path: str) -> None:
            self.path = path

        def iter_batches(self, batch_size: int) -> Iterator[Batch]:
            yield Batch(rows(self.path))

    names = ("pyarrow", "pyarrow.ipc", "pyarrow.parquet")
    made: dict[str, Any] = {name: ModuleType(name) for name in names}
    made["pyarrow"].OSFile = str
    made["pyarrow.ipc"].open_stream = lambda source: [Batch(rows(source))]
    made["pyarrow.parquet"].ParquetFile = ParquetFile
    for name in names:
        monkeypatch.setitem(sys.modules, name, made[name])


def texts(path: Path) -> list[tuple[int, str]]:
    return [(number, row["text"]) for number, row, _ in TABLES["Table"](str(path))]


def test_rows_of_a_parquet_file_are_numbered_from_one(tmp_path: Path, pyarrow: None) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(PARQUET + b'["a", "b"]')
    assert texts(path) == [(1, "a"), (2, "b")]
    assert why_not(path) is None


def test_a_saved_data_set_gives_its_files_in_their_order_and_of_its_splits_the_one_to_train_on(tmp_path: Path, pyarrow: None) -> None:
    for split, rows in (("test", ["t"]), ("train", ["a", "b"])):
        folder = tmp_path / split
        folder.mkdir()
        for place, row in enumerate(rows):
            (folder / f"data-{place}.arrow").write_bytes(STREAM + json.dumps([row]).encode())
        listed = [{"filename": f"data-{place}.arrow"} for place in range(len(rows))]
        (folder / "state.json").write_text(json.dumps({"_data_files": listed}))
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["test", "train"]}')
    assert texts(tmp_path) == [(1, "a"), (2, "b")]
    assert texts(tmp_path / "test") == [(1, "t")]
    assert why_not(tmp_path) is None
    (tmp_path / "train" / "data-1.arrow").unlink()
    with pytest.raises(TABLES["NoTableError"], match=r"without data-1\.arrow"):
        texts(tmp_path)


def test_a_damaged_table_and_a_missing_library_are_told(tmp_path: Path, pyarrow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(PARQUET + b"no rows")
    with pytest.raises(TABLES["NoTableError"], match="a Parquet file that pyarrow cannot read"):
        texts(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TABLES["NoTableError"], match="no pyarrow"):
        texts(path)


def test_lines_of_json_are_no_table(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n')
    assert TABLES["kind_of"](str(path)) == ""
    assert TABLES["kind_of"](str(tmp_path)) == ""
