"""Which line a report shows of a file, and which part of it is underlined."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.report.excerpt import Excerpt, Sources


def underlined(file: Path, line: int, fact: str, value: str = "") -> str | None:
    found = Sources().excerpt(str(file), line, fact, value)
    return None if found is None else found.text[found.start : found.end]


@pytest.mark.parametrize(
    ("text", "fact", "value", "part"),
    [
        ("numpy==2.1.0", "packages.numpy", "2.1.0", "numpy==2.1.0"),
        ("  numpy == 2.1.0  # newest", "packages.numpy", "2.1.0", "numpy == 2.1.0"),
        ("huggingface_hub>=0.20,<1.0 ; python_version < '3.12'", "packages.huggingface-hub", "", "huggingface_hub>=0.20,<1.0"),
        ("transformers[torch]~=4.41.0", "packages.transformers", "4.41.0", "transformers[torch]~=4.41.0"),
        ('peft = "0.11.1"', "packages.peft", "0.11.1", 'peft = "0.11.1"'),
        ('  "peft>=0.5",', "packages.peft", ">=0.5", "peft>=0.5"),
        ("RUN pip install torch==2.0.1 peft==0.14.0 && true", "packages.peft", "0.14.0", "peft==0.14.0"),
        ("torchvision==0.15.2 torch==2.0.1", "packages.torch", "2.0.1", "torch==2.0.1"),
        ("peft", "packages.peft", "", "peft"),
        ("version = 0.14.0", "packages.peft", "0.14.0", "0.14.0"),
        ("  - pytorch=2.0.1=py3.10_cuda", "packages.torch", "2.0.1", "2.0.1"),
        ("load_dtype: float16  # as the model", "plan.load_dtype", "float16", "load_dtype: float16"),
        ("名前: numpy==2.1.0", "packages.numpy", "2.1.0", "numpy==2.1.0"),
    ],
)
def test_what_is_at_fault_is_underlined(tmp_path: Path, text: str, fact: str, value: str, part: str) -> None:
    file = tmp_path / "file"
    file.write_text(f"first\n{text}\n", encoding="utf-8")
    assert underlined(file, 2, fact, value) == part


def test_a_line_that_is_not_there_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("one\n\n")
    assert [underlined(file, line, "packages.one") for line in (0, 1, 2, 9)] == [None, "one", None, None]
    assert underlined(tmp_path / "none", 1, "packages.one") is None
    assert underlined(tmp_path, 1, "packages.one") is None


def test_no_password_of_an_address_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("peft @ https://me:secret@example.org/peft-0.11.1-py3-none-any.whl\n")
    found = Sources().excerpt(str(file), 1, "packages.peft", "0.11.1")
    assert found is not None
    assert "secret" not in found.text
    assert found.text.startswith("peft @ https://***@example.org/")


def test_a_terminal_is_told_nothing_by_a_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("peft==0.11.1 \x1b[31m\n")
    found = Sources().excerpt(str(file), 1, "packages.peft", "0.11.1")
    assert found == Excerpt("peft==0.11.1 \\x1b[31m", 0, 12)


def test_a_long_line_is_cut_around_what_is_at_fault() -> None:
    text = f"RUN pip install {'a' * 100} peft==0.14.0 {'b' * 100}"
    start = text.index("peft")
    for width in (40, 60, 80):
        cut = Excerpt(text, start, start + 12).within(width)
        assert len(cut.text) == width
        assert cut.text[cut.start : cut.end] == "peft==0.14.0"
        assert (cut.text[:3], cut.text[-3:]) == ("...", "...")
    assert Excerpt("peft==0.14.0", 0, 12).within(40) == Excerpt("peft==0.14.0", 0, 12)


def test_carets_stand_below_wide_characters() -> None:
    assert Excerpt("名前: x", 4, 5).underline() == "      ^"
    assert Excerpt("名前", 0, 2).underline() == "^^^^"
