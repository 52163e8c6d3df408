"""The rulebook: every file is found, the cache only saves time, and all that is wrong is told."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.files.user_cache import cache_directory
from envdoctor.rules import rulebook
from envdoctor.rules.rulebook import Rulebook, compile_rules, load_rulebook, rule_files, shipped_rules
from envdoctor.rules.stored import store

PAGE = """
id         = "{name}"
title      = "{title}"
severity   = "error"
effect     = "crash"
confidence = "cited"
details    = "Why."
aliases    = {aliases}
[affected]
packages = ["peft <0.12"]
[[fix]]
code = "x"
[[evidence]]
url  = "https://github.com/huggingface/peft/issues/1568"
kind = "issue"
says = "what it says"
[[case]]
expect = "match"
facts  = {{ packages.peft = "0.11.0" }}
"""


def write(directory: Path, name: str, *, title: str = "A title", stem: str | None = None, aliases: tuple[str, ...] = ()) -> Path:
    path = directory / "peft" / f"{stem or name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PAGE.format(name=name, title=title, aliases=list(aliases)), encoding="utf-8")
    return path


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three rules as if they were shipped, and a cache of their own."""
    directory = tmp_path / "shipped"
    for name in ("b-rule", "a-rule", "c-rule"):
        write(directory, name)
    monkeypatch.setattr(rulebook, "shipped_rules", lambda: directory)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return directory


def ids(book: Rulebook) -> list[str]:
    return [rule.id for rule in book.rules]


def cached(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "envdoctor").glob("*"))


def not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> dict[str, Any]:
        raise AssertionError(f"{path} was read again")

    monkeypatch.setattr(rulebook, "read_toml", refuse)


def test_the_shipped_rules_load() -> None:
    book = load_rulebook()
    assert ids(book) == sorted(path.stem for path in rule_files(shipped_rules()))
    assert book.digest.startswith("sha256:")


def test_rules_are_ordered_by_id_whatever_the_file_is_called(shipped: Path) -> None:
    write(shipped, "d-rule", stem="aaa")
    assert ids(load_rulebook()) == ["a-rule", "b-rule", "c-rule", "d-rule"]


def test_a_second_run_reads_the_cache_and_says_the_same(shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_rulebook()
    assert len(cached(tmp_path)) == 1
    not_read(monkeypatch)
    assert load_rulebook() == first


@pytest.mark.parametrize("change", ["changed", "added", "removed", "renamed"])
def test_the_cache_is_left_aside_when_a_file_is(shipped: Path, change: str) -> None:
    before = load_rulebook()
    path = shipped / "peft" / "b-rule.toml"
    if change == "changed":
        write(shipped, "b-rule", title="B title")  # as many bytes as before
        os.utime(path, ns=(1, 1))
    elif change == "added":
        write(shipped, "d-rule")
    elif change == "removed":
        path.unlink()
    else:
        path.rename(path.with_name("z.toml"))
    after = load_rulebook()
    assert after.digest != before.digest
    expected = {"changed": "a b c", "added": "a b c d", "removed": "a c", "renamed": "a b c"}[change]
    assert ids(after) == [f"{letter}-rule" for letter in expected.split()]
    assert [rule.title for rule in after.rules if rule.id == "b-rule"] == {"changed": ["B title"], "removed": []}.get(change, ["A title"])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"[" * 100_000, b"\xff\xfe"])
def test_a_cache_that_is_no_table_is_made_again(shipped: Path, tmp_path: Path, content: bytes) -> None:
    before = load_rulebook()
    (path,) = cached(tmp_path)
    good = path.read_bytes()
    path.write_bytes(content)
    assert load_rulebook() == before
    assert path.read_bytes() == good


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", 0),
        ("digest", None),
        ("digest", 3),
        ("index", None),
        ("index", {}),
        ("index", [1]),
        ("index", [["a"]]),
        ("index", [["a", 3]]),
        ("index", [["a", "a-rule", ["torch"]]]),
        ("awaited", [1]),
        ("size", 1),
    ],
)
def test_a_cache_of_another_form_is_made_again(shipped: Path, tmp_path: Path, key: str, value: object) -> None:
    before = load_rulebook()
    (path,) = cached(tmp_path)
    good = path.read_bytes()
    told, *lines = good.split(b"\n")
    first = json.dumps({**json.loads(told + b"]}"), key: value}).encode().removesuffix(b"]}")
    path.write_bytes(b"\n".join((first, *lines)))
    assert load_rulebook() == before
    assert path.read_bytes() == good


def test_a_cache_that_lost_a_rule_is_made_again(shipped: Path, tmp_path: Path) -> None:
    before = load_rulebook()
    (path,) = cached(tmp_path)
    good = path.read_bytes()
    *lines, last = good.split(b"\n")
    for damaged in ([*lines], [*lines[:-1], last], [lines[0], last]):
        path.write_bytes(b"\n".join(damaged))
        assert load_rulebook() == before
        assert path.read_bytes() == good


def test_what_is_kept_is_json_as_its_name_says(shipped: Path, tmp_path: Path) -> None:
    book = load_rulebook()
    (path,) = cached(tmp_path)
    kept = json.loads(path.read_bytes())
    assert [table["id"] for table in kept["rules"]] == [name for _, name, _ in kept["index"]] == ids(book)


def test_a_cache_that_cannot_be_written_does_no_harm(shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_rulebook()
    blocked = tmp_path / "file"
    blocked.write_text("no directory")
    for place in (str(blocked), os.devnull, str(tmp_path / "missing" / ("x" * 300))):
        monkeypatch.setenv("XDG_CACHE_HOME", place)
        assert load_rulebook() == before
    assert blocked.read_text() == "no directory"


def test_a_relative_cache_directory_is_ignored_and_no_home_is_no_error(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_directory() == tmp_path / "home" / ".cache" / "envdoctor"
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # what it does where the user has no home
    assert ids(load_rulebook()) == ["a-rule", "b-rule", "c-rule"]
    assert not (tmp_path / "here").exists()
    assert not (tmp_path / "~").exists()


def test_the_cache_keeps_a_handful_of_files(shipped: Path, tmp_path: Path) -> None:
    for number in range(20):
        write(shipped, "a-rule", title=f"Title {number}")
        load_rulebook()
    assert len(cached(tmp_path)) <= 8


def test_the_digest_is_of_names_and_contents_alone(shipped: Path, tmp_path: Path) -> None:
    here = load_rulebook().digest
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(shipped, elsewhere)
    for path in elsewhere.rglob("*.toml"):
        os.utime(path, ns=(1, 1))
    (elsewhere / "README.md").write_text("no rule")
    assert f"sha256:{compile_rules(elsewhere)['digest']}" == here
    write(elsewhere, "b-rule", title="B title")
    assert f"sha256:{compile_rules(elsewhere)['digest']}" != here


def test_a_compiled_form_says_the_same_as_the_files(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_rulebook()
    (shipped / "compiled.json").write_bytes(store(compile_rules(shipped)))
    not_read(monkeypatch)
    assert load_rulebook() == before


def test_other_directories_add_rules(shipped: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own, "own-rule", aliases=("older-name",))
    alone, book = load_rulebook(), load_rulebook([own])
    assert ids(book) == ["a-rule", "b-rule", "c-rule", "own-rule"]
    assert book.digest != alone.digest
    rule = book.find("own-rule")
    assert rule is not None
    assert book.find("older-name") == rule
    assert book.find("no-such-rule") is None


def test_an_id_goes_before_an_alias(shipped: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own, "a-own-rule", aliases=("c-rule",))
    found = load_rulebook([own]).find("c-rule")
    assert found is not None
    assert found.id == "c-rule"


def test_an_id_that_two_files_claim_is_refused(shipped: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own, "b-rule")
    with pytest.raises(SeveralErrors) as raised:
        load_rulebook([own])
    (error,) = raised.value.errors
    assert error.place == "own/peft/b-rule.toml: id"
    assert "'b-rule', which another rule has" in error.found


def test_everything_wrong_in_any_file_is_told_at_once(shipped: Path, tmp_path: Path) -> None:
    (shipped / "peft" / "broken.toml").write_text("id = = 1")
    (shipped / "peft" / "dangling.toml").symlink_to(tmp_path / "nowhere")
    own = tmp_path / "own"
    path = write(own, "own-rule")
    path.write_text(path.read_text().replace('"error"', '"fatal"').replace('"crash"', '"bang"'))
    with pytest.raises(SeveralErrors) as raised:
        load_rulebook([own])
    places = [error.place for error in raised.value.errors]
    assert places == [
        f"{shipped}/peft/broken.toml, line 1",
        f"{shipped}/peft/dangling.toml",
        "own/peft/own-rule.toml: severity",
        "own/peft/own-rule.toml: effect",
    ]


def test_a_directory_that_is_none_is_told(shipped: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", shipped / "peft" / "a-rule.toml"):
        with pytest.raises(EnvdoctorError) as raised:
            load_rulebook([path])
        assert raised.value.place == str(path)


def test_a_directory_with_a_rule_files_name_and_a_loop_of_links_do_no_harm(shipped: Path) -> None:
    (shipped / "peft" / "odd.toml").mkdir()
    (shipped / "peft" / "loop").symlink_to(shipped, target_is_directory=True)
    assert ids(load_rulebook()) == ["a-rule", "b-rule", "c-rule"]
