"""``envdoctor rules new``: the file is in the right folder, accuses the right package, and is no rule before it is filled in."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.rules import skeleton
from tests.cli.run import Ran, run


def new(capsys: pytest.CaptureFixture[str], asked: str, directory: Path) -> Ran:
    return run(capsys, "rules", "new", asked, "--rules", str(directory))


@pytest.mark.parametrize(
    ("asked", "place", "package"),
    [
        ("einops-old-rearrange", "einops/einops-old-rearrange", "einops"),
        ("flash-attn-3-x", "flash-attn/flash-attn-3-x", "flash-attn"),
        (
            "transformers-stream-generator-x",
            "transformers-stream-generator/transformers-stream-generator-x",
            "transformers-stream-generator",
        ),
        # A folder may be finer than a package, or a subject of which the rules accuse one.
        ("transformers-trainer-x", "transformers-trainer/transformers-trainer-x", "transformers"),
        ("chatglm-x", "chatglm/chatglm-x", "transformers"),
        ("auto-gptq/gptq-x", "auto-gptq/gptq-x", "auto-gptq"),
        ("models/transformers-x", "models/transformers-x", "transformers"),
        ("nobody-knows/nobody-knows-x", "nobody-knows/nobody-knows-x", "nobody-knows"),
        ("snapshot-x", "snapshot/snapshot-x", "PACKAGE"),
    ],
)
def test_the_folder_and_the_package(capsys: pytest.CaptureFixture[str], tmp_path: Path, asked: str, place: str, package: str) -> None:
    ran = new(capsys, asked, tmp_path)
    path = tmp_path / f"{place}.toml"
    assert (ran.status, ran.out.splitlines()[0]) == (0, str(path))
    text = path.read_text(encoding="utf-8")
    assert f'id         = "{path.stem}"\n' in text
    assert f'packages = ["{package} >=' in text
    assert f'pin  = "{package} >=' in text
    assert text.count(f"{{ packages.{package} = ") == 3


def test_folders_of_ones_own_rules_count_as_well(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "our-library").mkdir()
    assert new(capsys, "our-library-2-x", tmp_path).status == 0
    assert (tmp_path / "our-library" / "our-library-2-x.toml").is_file()


def test_an_id_that_tells_no_package_asks_for_the_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = new(capsys, "nobody-knows-x", tmp_path)
    assert ran.status == 2
    assert ran.err.endswith("next: rules new nobody/nobody-knows-x\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [[], ["One-x"], ["peft"], ["peft-a", "peft-b"], ["../etc-passwd"], ["/peft-x"], ["a/b/peft-x"], ["peft-x/"]]
)
def test_what_is_no_id_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str]) -> None:
    assert run(capsys, "rules", "new", *words, "--rules", str(tmp_path)).status == 2
    assert list(tmp_path.iterdir()) == []


def test_an_id_that_a_rule_has_is_refused_in_every_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert new(capsys, "peft-x", tmp_path).status == 0
    written = (tmp_path / "peft" / "peft-x.toml").read_text(encoding="utf-8")
    for taken in ("peft-x", "torch/peft-x", "peft-fp16-adapter-nan"):
        ran = new(capsys, taken, tmp_path)
        assert ran.status == 2
        assert "expected an id that no rule has" in ran.err
    assert [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.toml")] == [written]


def test_an_installed_envdoctor_asks_for_a_directory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "site-packages" / "envdoctor" / "_rules"
    (inside / "flash-attn").mkdir(parents=True)
    monkeypatch.setattr(skeleton, "shipped_rules", lambda: inside)
    ran = run(capsys, "rules", "new", "flash-attn-3-x")
    assert ran.status == 2
    assert ran.err.startswith("envdoctor: rules new: found an installed envdoctor, whose rules in ")
    assert ran.err.endswith("next: rules new flash-attn-3-x --rules DIR\n")
    assert list(inside.rglob("*.toml")) == []
    assert new(capsys, "flash-attn-3-x", tmp_path / "own").status == 0


def test_a_source_checkout_takes_it_among_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(skeleton, "shipped_rules", lambda: tmp_path / "rules")
    assert run(capsys, "rules", "new", "flash-attn-3-x").status == 0
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*-x.toml")] == ["rules/flash-attn/flash-attn-3-x.toml"]


def test_lint_tells_all_that_is_still_to_be_filled_in_and_nothing_afterwards(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    new(capsys, "peft-x", tmp_path)
    path = tmp_path / "peft" / "peft-x.toml"
    linted = run(capsys, "rules", "lint", str(path))
    assert linted.status == 2
    keys = [line.split(": ")[2] for line in linted.err.splitlines()]
    assert keys == ["title", "details", "affected.packages", "fix.pin", "evidence.url", "evidence.says"]
    text = path.read_text(encoding="utf-8").replace("FIRST_BAD", "0.7.0").replace("FIRST_GOOD", "0.12.0")
    text = text.replace('""', '"https://github.com/huggingface/peft/issues/1568"')
    path.write_text(text, encoding="utf-8")
    filled = run(capsys, "rules", "lint", str(path))
    assert (filled.status, filled.err) == (0, "")
