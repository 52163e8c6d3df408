"""A lock is read as it was written, and anything else is refused in one line."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.snapshot.lock import MOST_BYTES, Lock, Stated, dump_lock, parse_lock
from envdoctor.snapshot.lock_file import read_lock, refuse_place, write_lock
from envdoctor.snapshot.manifest import Tensors
from envdoctor.snapshot.record import Record
from envdoctor.snapshot.tensors import Shard
from tests.snapshot.places import MODEL, hub_cache, lock_of, write

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAME = TEXT.filter(lambda text: "\0" not in text and all(part not in ("", ".", "..") for part in text.split("/")))
COUNT = st.integers(0, 2**63)
HEX = "0123456789abcdef"
SHORT = st.text(HEX, min_size=32, max_size=32)
STATED: st.SearchStrategy[Stated] = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), TEXT, st.lists(TEXT).map(tuple)
)
SHARDS = st.builds(Shard, SHORT, st.just("") | SHORT, COUNT, st.dictionaries(TEXT, COUNT, max_size=3))
OUTLINES = st.none() | st.dictionaries(TEXT, TEXT, max_size=4)
RECORDS = st.builds(
    Record,
    COUNT,
    st.text(HEX, min_size=64, max_size=64),
    st.none() | st.text(HEX, min_size=40, max_size=40),
    st.none() | SHARDS,
    OUTLINES,
    OUTLINES,
)
KEPT = st.dictionaries(TEXT, STATED, max_size=3)
LOCKS = st.builds(
    Lock,
    TEXT,
    TEXT,
    st.dictionaries(NAME, RECORDS, max_size=4),
    st.just(Tensors()) | st.builds(Tensors, st.integers(1, 2**40), SHORT, st.dictionaries(TEXT, COUNT), st.dictionaries(TEXT, TEXT)),
    st.dictionaries(TEXT, TEXT, max_size=3),
    KEPT,
    KEPT,
    KEPT,
    st.dictionaries(TEXT, TEXT, max_size=3),
)


@given(LOCKS)
def test_what_is_written_is_what_is_read(lock: Lock) -> None:
    text = dump_lock(lock)
    assert parse_lock(text.encode("utf-8"), "envdoctor.lock") == lock
    assert all(line.isprintable() for line in text.split("\n"))


def test_the_text_of_a_lock_is_sorted_and_one_line_a_file(tmp_path: Path) -> None:
    before = dump_lock(lock_of(write(tmp_path, MODEL))).splitlines()
    files = before[before.index("[files]") + 1 : before.index("[files]") + 1 + len(MODEL)]
    assert [line.split(" = ")[0].strip('"') for line in files] == sorted(MODEL)
    assert before == dump_lock(lock_of(tmp_path)).splitlines()
    (tmp_path / "README.md").write_bytes(b"# Another\n")
    after = dump_lock(lock_of(tmp_path)).splitlines()
    assert [(old, new) for old, new in zip(before, after, strict=True) if old != new] == [
        (next(line for line in before if line.startswith('"README.md"')), next(line for line in after if line.startswith('"README.md"')))
    ]


GOOD = f'format = 1\n[files]\n"a" = {{ size = 1, sha256 = "{"0" * 64}" }}\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "no format"),
        ("format = 2\n[files]\n", "format = 2"),
        ("format = true\n[files]\n", "format = True"),
        ("format = 1\n", "nothing"),
        ("format = 1\nfiles = 3\n", "3"),
        ("format = 1\n[files]\na = 3\n", "3"),
        ("format = 1\n[files]\na = {}\n", "nothing"),
        ("format = 1\n[files]\na = { size = 1 }\n", "nothing"),
        (f'format = 1\n[files]\na = {{ size = 1, git = "{"0" * 40}" }}\n', "nothing"),
        ("format = 1\n[files]\na = { size = -1 }\n", "-1"),
        ("format = 1\n[files]\na = { size = true }\n", "True"),
        ("format = 1\n[files]\na = { size = 1.0 }\n", "1.0"),
        ('format = 1\n[files]\na = { size = 1, sha256 = "ABC" }\n', "'ABC'"),
        ("format = 1\n[files]\na = { size = 1, git = 3 }\n", "3"),
        ('format = 1\n[files]\n"../x" = { size = 1 }\n', "'../x'"),
        ('format = 1\n[files]\n"a/../../x" = { size = 1 }\n', "'a/../../x'"),
        ('format = 1\n[files]\n"/etc/passwd" = { size = 1 }\n', "'/etc/passwd'"),
        ('format = 1\n[files]\n"a\\u0000" = { size = 1 }\n', r"'a\x00'"),
        ("format = 1\nfacts = [1]\n[files]\n", "[1]"),
        ("format = 1\n[files]\n[facts]\na = 1979-05-27\n", "datetime.date(1979, 5, 27)"),
        ("format = 1\n[files]\n[facts]\na = [[]]\n", "[[]]"),
        ("format = 1\n[files]\n[left_out]\na = 1\n", "1"),
        ("not toml", "no TOML"),
        ("a = " + "[" * 100_000, "no TOML"),
    ],
)
def test_what_is_no_lock_is_refused_in_one_line(text: str, found: str) -> None:
    with pytest.raises(EnvdoctorError) as caught:
        parse_lock(text.encode(), "envdoctor.lock")
    assert caught.value.found.startswith(found)
    assert caught.value.place.startswith("envdoctor.lock")
    assert "\n" not in str(caught.value)
    assert parse_lock(GOOD.encode(), "x").files == {"a": Record(1, "0" * 64)}


def test_a_lock_of_more_than_eight_megabytes_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "envdoctor.lock").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(EnvdoctorError, match="more than the"):
        read_lock(tmp_path / "envdoctor.lock")


LONG_KEY = ".".join(["b"] * 200_000)


@pytest.mark.large
@pytest.mark.parametrize(
    ("text", "place", "found"),
    [
        (f"format = 1\n{LONG_KEY} = 1\n", "line 2", "a key of many parts"),
        (f'format = 1\na = {{ k = """\n""", {LONG_KEY} = 1, z = "" }}\n', "line 2", "a text of several lines"),
        (f"format = 1\na = {{ k = '''\n''', {LONG_KEY} = 1, z = '' }}\n", "line 2", "a text of several lines"),
        (f'format = 1\na = {{ k = """\n\'""", {LONG_KEY} = "\'\\"" }}\n', "line 2", "a text of several lines"),
        ('format = 1\na = "' + '\\"' * 500_000 + "." * 20 + "\n", "line 2", "no TOML"),
    ],
    ids=["plain", "behind a text", "behind a literal", "behind a quote", "open quote"],
)
def test_a_lock_that_would_take_hours_to_parse_is_refused_at_once(text: str, place: str, found: str) -> None:
    """Each of these took time with the square of its length."""
    with pytest.raises(EnvdoctorError) as caught:
        parse_lock(text.encode(), "envdoctor.lock")
    assert caught.value.place == f"envdoctor.lock, {place}"
    assert caught.value.found.startswith(found)


def test_quotes_and_dots_in_names_and_texts_are_read_as_written() -> None:
    name = "a.b.c.d.e.f.g.h.i.j'''k\"\"\".json"
    lock = Lock("x'''y.1.2.3.4.5.6.7.8.9", '"""1.2.3.4.5.6.7.8.9.0"""', {name: Record(1, "0" * 64, fields={name: "''" + name})})
    assert parse_lock(dump_lock(lock).encode(), "x") == lock


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: GOOD.encode() + text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_lock_or_an_error_of_ours(data: bytes) -> None:
    try:
        parse_lock(data, "x")
    except EnvdoctorError as error:
        assert str(error).isprintable()  # noqa: PT017 - either outcome is right


def test_a_lock_is_written_whole_and_readable_by_others(tmp_path: Path) -> None:
    lock = lock_of(write(tmp_path / "model", MODEL))
    place = tmp_path / "model" / "envdoctor.lock"
    write_lock(lock, place)
    write_lock(lock, place)
    assert read_lock(place) == lock
    assert sorted(os.listdir(tmp_path / "model")) == sorted({name.split("/")[0] for name in MODEL} | {"envdoctor.lock"})
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(place.stat().st_mode) == 0o666 & ~mask


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    model = write(tmp_path / "model", MODEL)
    (model / "envdoctor.lock").symlink_to(victim)
    write_lock(lock_of(model), model / "envdoctor.lock")
    assert victim.read_text(encoding="utf-8") == "mine"
    assert not (model / "envdoctor.lock").is_symlink()


def test_a_hub_cache_is_never_written_into(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path, MODEL)
    before = sorted(tmp_path.rglob("*"))
    (tmp_path / "link").symlink_to(snapshot)
    for place in (
        snapshot / "envdoctor.lock",
        snapshot.parent.parent / "blobs" / "x",
        snapshot.parent.parent / "x",
        tmp_path / "link" / "envdoctor.lock",
    ):
        with pytest.raises(EnvdoctorError, match="hub cache"):
            write_lock(lock_of(snapshot), place)
    (tmp_path / "link").unlink()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes everywhere")
def test_a_directory_that_cannot_be_written_to_is_refused_before_anything_is_hashed(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(EnvdoctorError, match="cannot be written to"):
        refuse_place(tmp_path / "envdoctor.lock")


@pytest.mark.large
def test_a_lock_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    lock = Lock("", "", {f"{'x' * 250}/{number:05}": Record(1, "0" * 64) for number in range(MOST_BYTES // 300)})
    with pytest.raises(EnvdoctorError, match=f"expected a lock of at most {MOST_BYTES}"):
        write_lock(lock, tmp_path / "envdoctor.lock")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("place", ["absent/envdoctor.lock", "", "config.json/x"])
def test_places_that_cannot_hold_a_lock(tmp_path: Path, place: str) -> None:
    with pytest.raises(EnvdoctorError) as caught:
        write_lock(lock_of(write(tmp_path, MODEL)), tmp_path / place)
    assert "--lock" in caught.value.next_step


@pytest.mark.large
@pytest.mark.parametrize(
    "line",
    [
        b"a." * 500_000 + b"b = 1",
        b"[" + b"a." * 500_000 + b"b]",
        b'"a".' * 500_000 + b"b = 1",
        b"x = { " + b"'a' . " * 300_000 + b"b = 1 }",
    ],
    ids=("key", "table", "quoted", "inline"),
)
def test_a_key_of_a_million_parts_is_refused_at_once(line: bytes) -> None:
    with pytest.raises(EnvdoctorError, match="a key of many parts"):
        parse_lock(b"format = 1\n[files]\n" + line + b"\n", "x")
