"""Renames that are certain: what is written, byte by byte, and what is left to a hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.app.renaming import is_renamed
from envdoctor.atlas.known_renames import known_rename
from envdoctor.atlas.renames import Rename
from envdoctor.atlas.shelf import open_package
from envdoctor.edits.code import edit_code
from envdoctor.edits.edit import Edited
from envdoctor.edits.notebook import edit_notebook
from envdoctor.engine.diagnosis import Because, Finding
from envdoctor.rules.rulebook import load_rulebook
from tests.atlas.test_own_code import atlas as atlas
from tests.atlas.wheels import alone, atlas_of, forget, make_atlas
from tests.cli.run import run


def written(folder: Path, text: str, *renames: Rename) -> str:
    path = folder / "train.py"
    path.write_bytes(text.encode())
    told = edit_code(path, renames)
    assert told is not None
    return told[0].after.decode()


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        ("f(a=1)\n", 1, "f(b=1)\n"),
        ("x = 'é'; f(a = 1)  # a=\r\ny = 2\r\n", 1, "x = 'é'; f(b = 1)  # a=\r\ny = 2\r\n"),
        ("f(1,\n\ta=g(a))", 1, "f(1,\n\tb=g(a))"),
        ("f(a=1, b=2)\n", 1, None),
        ("f(a=g(a=1))\n", 1, None),
        ("f(**{'a': 1})\n", 1, None),
        ("f(a=1\n", 1, None),
    ],
)
def test_a_keyword_is_renamed_where_it_is_the_only_one(tmp_path: Path, text: str, line: int, after: str | None) -> None:
    assert written(tmp_path, text, Rename(line, "a", "b")) == (after or text)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("from acme import Old\n", "from acme.moved import Old\n"),
        ("from acme import (Old as O)  # x\n", "from acme.moved import (Old as O)  # x\n"),
        ("from acme import A, Old as O\r\nx = 1\r\n", "from acme import A\r\nfrom acme.moved import Old as O\r\nx = 1\r\n"),
        ("from acme import (\n    Old,\n    A,\n)", "from acme import (\n    A,\n)\nfrom acme.moved import Old"),
        ("\ufefffrom acme import Old\n", "\ufefffrom acme.moved import Old\n"),
        ("from acme import (\n    Old,  # why\n    A,\n)\n", None),
        ("from acme import A, Old; x = 1\n", None),
        ("from .acme import Old\n", None),
    ],
)
def test_an_import_is_moved_and_nothing_else(tmp_path: Path, text: str, after: str | None) -> None:
    assert written(tmp_path, text, Rename(1, "acme", "acme.moved", "Old")) == (after or text)


@pytest.mark.usefixtures("atlas")
def test_fix_shows_a_diff_writes_it_and_finds_nothing_more_to_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    before = "from acme import Kept, Old\n\nKept(1,\n     b=2)  # as before\n"
    script.write_text(before)
    words = ("fix", str(script), "--set", "packages.acme=2.0", "--offline")
    shown = run(capsys, *words)
    assert script.read_text() == before
    assert "-     b=2)  # as before\n+     c=2)  # as before\n" in shown.out
    assert run(capsys, *words, "--write").status == 0
    after = "from acme import Kept\nfrom acme.moved import Old\n\nKept(1,\n     c=2)  # as before\n"
    assert script.read_text() == after
    assert run(capsys, *words, "--write").status == 0
    assert script.read_text() == after


def test_what_is_certain_of_a_call_is_written_and_what_is_not_stays_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """trl renamed ``tokenizer`` of its trainers, and took ``packing`` out of them."""
    script = tmp_path / "train.py"
    head = "from trl import SFTTrainer\n\n"
    script.write_text(f"{head}SFTTrainer(model='m', args=None, tokenizer=tok, packing=True)\n")
    (tmp_path / "requirements.txt").write_text("transformers==4.44.0\ntrl==0.11.0\n")
    old = "class SFTTrainer:\n    def __init__(self, model=None, args=None, tokenizer=None, callbacks=None, packing=None): ...\n"
    new = "class SFTTrainer:\n    def __init__(self, model=None, args=None, processing_class=None, callbacks=None): ...\n"
    words = (str(script), str(tmp_path / "requirements.txt"), "--against", "trl==1.16.0", "--offline")
    with atlas_of(tmp_path, {"trl": {"0.11.0": {"trl/__init__.py": old}, "1.16.0": {"trl/__init__.py": new}}}):
        done = run(capsys, "fix", *words, "--write")
        told = run(capsys, "check", *words).out
    assert script.read_text() == f"{head}SFTTrainer(model='m', args=None, processing_class=tok, packing=True)\n"
    assert "left: trl-sft-arguments-moved-to-config: change the code" in done.out
    assert done.status == 1
    assert "trl-sft-arguments-moved-to-config" in told
    assert "trl-tokenizer-argument-removed" not in told


def test_what_no_rule_says_of_a_call_is_left_by_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import acme\nacme.f(1, old=2, gone=3)\n")
    releases = {"1.0": "def f(x, old, y=0, gone=0): ...\n", "2.0": "def f(x, new, y=0): ...\n"}
    with atlas_of(tmp_path, {"acme": {one: {"acme/__init__.py": text} for one, text in releases.items()}}):
        done = run(capsys, "fix", str(script), "--set", "packages.acme=2.0", "--offline", "--write")
        told = run(capsys, "check", str(script), "--set", "packages.acme=2.0", "--offline").out
    assert script.read_text() == "import acme\nacme.f(1, new=2, gone=3)\n"
    assert "left: code-breaks" in done.out
    assert "calls acme.f(gone): the call is refused" in " ".join(told.split()).replace("| ", "")


def test_what_a_package_itself_called_a_keyword_is_said_where_its_releases_took_both(tmp_path: Path) -> None:
    texts = {"2.13.0": "use_auth_token=None", "2.21.0": "use_auth_token='deprecated', token=None", "3.0.0": "token=None"}
    releases = {one: {"datasets/__init__.py": f"def load_dataset(path, {text}): ...\n"} for one, text in texts.items()}
    with atlas_of(tmp_path, {"datasets": releases}):
        bound = open_package("datasets")
        assert bound is not None
        asked = [("use_auth_token", 1), ("use_auth_token", 2), ("path", 2)]
        told = [known_rename(bound.volume, "datasets:load_dataset", old, place) for old, place in asked]
    assert told == [None, "token", None]


def test_a_name_is_taken_from_where_it_is_defined_or_handed_on_and_not_from_who_uses_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """vllm 0.33.0: ErrorInfo is defined in entrypoints.serve.engine.protocol, and entrypoints.cohere.serving imports it for itself."""
    old = {"acme/__init__.py": "", "acme/old.py": "class Error: pass\n", "acme/use.py": "from acme.old import Error\n"}
    new = {
        "acme/__init__.py": "",
        "acme/use.py": "from acme.parts.deep.protocol import Error\n",
        "acme/parts/__init__.py": "from acme.parts.deep.protocol import Error\n",
        "acme/parts/deep/__init__.py": "",
        "acme/parts/deep/protocol.py": "class Error: pass\n",
    }
    script = tmp_path / "train.py"
    script.write_text("from acme.old import Error\n")
    with atlas_of(tmp_path, {"acme": {"1.0": old, "2.0": new}}):
        told = run(capsys, "check", str(script), "--set", "packages.acme=2.0", "--offline", "-f", "json")
        run(capsys, "fix", str(script), "--set", "packages.acme=2.0", "--offline", "--write")
    (finding,) = json.loads(told.out)["findings"]
    assert finding["detail"].endswith("; from acme.parts import Error")
    assert script.read_text() == "from acme.parts import Error\n"


def test_a_rule_that_a_rename_clears_is_not_left() -> None:
    rule = load_rulebook(()).whole("transformers-evaluation-strategy-removed")
    reason = Because("plan.arguments", "evaluation_strategy", "evaluation_strategy", "train.py", "train.py", 4)
    finding = Finding(rule, "matched", "error", (reason,))
    asked = [("train.py", "evaluation_strategy"), ("other.py", "evaluation_strategy"), ("train.py", "tokenizer")]
    told = [is_renamed(finding, [(Edited(Path(path), b"", b""), (Rename(4, old, "x"),), frozenset())]) for path, old in asked]
    assert told == [True, False, False]
    # What names the rule as well, and stays, is still there to be told.
    edited = Edited(Path("train.py"), b"", b"")
    assert not is_renamed(finding, [(edited, (Rename(4, "tokenizer", "x"),), frozenset(("evaluation_strategy",)))])


def test_what_became_of_a_keyword(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from envdoctor.atlas.renames import renamed_keyword

    old = "from dataclasses import dataclass\n@dataclass\nclass Arguments:\n    evaluation_strategy: str = ''\n    mode: int = 1\n"
    later = old.replace("evaluation_", "eval_").replace("mode", "node")
    function = "def f(x, use_a=1, y=2): ...\ndef g(x, old, y): ...\n"
    changed = "def f(x, no_a=1, y=2): ...\ndef g(x, new, y): ...\n"
    make_atlas(tmp_path, {"acme": {"1.0": {"acme/__init__.py": old + function}, "2.0": {"acme/__init__.py": later + changed}}})
    alone(monkeypatch, tmp_path / "atlas")
    bound = open_package("acme")
    assert bound is not None
    asked = [("Arguments", "evaluation_strategy"), ("Arguments", "mode"), ("f", "use_a"), ("g", "old")]
    told = [renamed_keyword(bound.volume, f"acme:{name}", keyword, 1) for name, keyword in asked]
    forget()
    assert told == ["eval_strategy", None, None, "new"]


class TestNotebooks:
    CELLS = (
        "# é\nfrom acme import Kept",
        "text",
        'import acme\nx = "é"\nacme.Kept(1,\n  b=2)\nacme.Kept(1, b="é")  # b=\n',
        "from acme import Old",
    )

    def notebook(self, *, lines: bool, ascii_only: bool, indent: int | None) -> str:
        kinds = ["code", "markdown", "code", "code"]
        cells: list[dict[str, object]] = [
            {
                "cell_type": kind,
                "metadata": {},
                "source": text.splitlines(keepends=True) if lines else text,
                "outputs": ["b=2)", "from acme"],
            }
            for kind, text in zip(kinds, self.CELLS, strict=True)
        ]
        return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=ascii_only, indent=indent) + "\n"

    @pytest.mark.parametrize(("lines", "ascii_only", "indent"), [(True, False, 1), (True, True, 1), (False, True, 1), (False, False, None)])
    def test_a_rename_changes_the_line_of_its_cell_and_nothing_else(
        self, tmp_path: Path, lines: bool, ascii_only: bool, indent: int | None
    ) -> None:
        path = tmp_path / "train.ipynb"
        text = self.notebook(lines=lines, ascii_only=ascii_only, indent=indent)
        path.write_text(text)
        wished = (Rename(5, "b", "c"), Rename(7, "b", "c"), Rename(9, "acme", "acme.moved", "Old"), Rename(2, "b", "c"))
        told = edit_notebook(path, wished)
        assert told is not None
        quote = '\\"'
        told_e = "\\u00e9" if ascii_only else "é"
        expected = text.replace(f"b={quote}{told_e}", f"c={quote}{told_e}").replace("from acme import Old", "from acme.moved import Old")
        at = expected.index("  b=2)")
        expected = expected[:at] + "  c=2)" + expected[at + 6 :]
        assert told[0].after.decode() == expected
        assert told[1] == wished[:3]

    def test_fix_writes_it(self, capsys: pytest.CaptureFixture[str], tmp_path: Path, atlas: Path) -> None:
        path = tmp_path / "train.ipynb"
        path.write_text(self.notebook(lines=True, ascii_only=False, indent=1))
        (tmp_path / "requirements.txt").write_text("acme==2.0\n")
        done = run(capsys, "fix", str(path), str(tmp_path / "requirements.txt"), "--write")
        assert "c=2)" in done.out
        assert "from acme.moved import Old" in path.read_text()
        assert "acme.Kept(1, c=" in path.read_text()


def test_a_file_that_is_no_notebook_is_left(tmp_path: Path) -> None:
    path = tmp_path / "train.ipynb"
    for text in ("{", "[]", "{}", '{"cells": []}'):
        path.write_text(text)
        told = edit_notebook(path, [Rename(1, "a", "b")])
        assert told is None or (told[1] == () and told[0].after == text.encode())
