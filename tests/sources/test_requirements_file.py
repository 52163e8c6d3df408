"""Requirements files: what each line states, with file and line, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.sources.requirements import collect_requirements, is_requirements


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def stated(path: Path, python: str | None = None) -> dict[str, tuple[str, str | None, int | None]]:
    found = collect_requirements(path, python)
    return {
        fact.name.removeprefix("packages."): (str(fact.value), Path(str(fact.origin.file)).name, fact.origin.line) for fact in found.facts
    }


FILE = """\
# the stack
torch==2.5.1+cu121  # a CUDA build
transformers[torch] >= 4.46, \\
    < 4.50
--extra-index-url https://download.pytorch.org/whl/cu121
Flash_Attn
peft==0.13.2 ; python_version >= "3.9"
numpy<2 ; python_version < "3.9"
accelerate==1.0.1 \\
    --hash=sha256:aaaa
git+https://github.com/huggingface/trl.git
bitsandbytes @ https://example.org/bitsandbytes.whl
./local
-r more.txt
-c constraints.txt
"""


def test_every_form_of_line(tmp_path: Path) -> None:
    path = write(tmp_path / "requirements.txt", FILE)
    write(tmp_path / "more.txt", "datasets>=2.14\n-r requirements.txt\n-r missing.txt\n")
    write(tmp_path / "constraints.txt", "datasets<3\n")
    found = collect_requirements(path, "3.11.7")
    assert stated(path, "3.11.7") == {
        "torch": ("2.5.1+cu121", "requirements.txt", 2),
        "transformers": ("<4.50,>=4.46", "requirements.txt", 3),
        "flash-attn": ("", "requirements.txt", 6),
        "peft": ("0.13.2", "requirements.txt", 7),
        "accelerate": ("1.0.1", "requirements.txt", 9),
        "datasets": ("<3,>=2.14", "constraints.txt", 1),
    }
    assert found.defects == ()
    skipped = {skip.what.rpartition("/")[2]: skip.why for skip in found.skips}
    assert set(skipped) == {"requirements.txt:11", "requirements.txt:12", "requirements.txt:13", "requirements.txt", "missing.txt"}


def test_markers_are_evaluated_for_the_python_at_hand(tmp_path: Path) -> None:
    path = write(tmp_path / "requirements.txt", FILE)
    assert "numpy" in stated(path, "3.8.18")
    assert "peft" not in stated(path, "3.8.18")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encodings_and_line_ends(tmp_path: Path, encoding: str, newline: str) -> None:
    path = write(tmp_path / "requirements.txt", newline.join(["torch==2.5.1", "", "peft==0.13.2"]), encoding)
    assert stated(path) == {"torch": ("2.5.1", "requirements.txt", 1), "peft": ("0.13.2", "requirements.txt", 3)}


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("torch==2.5.1\npeft=0.13\n", "requirement-malformed", 2),
        ("peft==0.13\uff0ctorch\n", "requirement-malformed", 1),
        ("peft>=0.13,<0.12\n", "requirement-unsatisfiable", 1),
        ("torch<2.4\npeft\ntorch>=2.5\n", "requirement-unsatisfiable", 3),
        ("torch==2.4.1\ntorch==2.5.1\n", "requirement-unsatisfiable", 2),
    ],
)
def test_a_wrong_line_is_a_defect_and_the_rest_is_read(tmp_path: Path, text: str, rule: str, line: int) -> None:
    path = write(tmp_path / "requirements.txt", text + "accelerate==1.0.1\n")
    found = collect_requirements(path)
    (defect,) = found.defects
    assert (defect.rule, defect.line, defect.file) == (rule, line, str(path))
    assert stated(path)["accelerate"] == ("1.0.1", "requirements.txt", text.count("\n") + 1)


def test_names_of_requirements_files() -> None:
    for name in ("requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "constraints.txt", "requirements.in", "my_reqs.txt"):
        assert is_requirements(Path(name)), name
    for name in ("train.log", "notes.txt", "plan.yaml", "requirements.md"):
        assert not is_requirements(Path(name)), name


def test_other_names_are_told_by_folder_or_content(tmp_path: Path) -> None:
    folder = tmp_path / "requirements"
    folder.mkdir()
    assert is_requirements(write(folder / "cuda.txt", "torch == 2.5.1 !"))
    assert is_requirements(write(tmp_path / "studio.txt", "-r base.txt\ntorch==2.5.1 --hash=sha256:aa\ngit+https://x.org/y.git\n"))
    assert not is_requirements(write(tmp_path / "notes.txt", "torch is a library\n"))
    assert not is_requirements(write(tmp_path / "empty.txt", "# nothing\n"))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError, match=r"requirements\.txt"):
        collect_requirements(tmp_path / "requirements.txt")


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=12))
def test_any_text_is_read_or_said(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = write(tmp_path_factory.mktemp("any") / "requirements.txt", "\n".join(lines))
    found = collect_requirements(path)
    for fact in found.facts:
        assert fact.origin.line is not None
