"""What changed since the lock was written, and what that means."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.hashing import digest as digest_module
from envdoctor.hashing import pool
from envdoctor.hashing.cache import DigestCache
from envdoctor.hashing.digest import Digest
from envdoctor.snapshot.diffs import differences
from envdoctor.snapshot.digests import digest, known
from envdoctor.snapshot.inventory import inventory
from envdoctor.snapshot.lock import Lock
from envdoctor.snapshot.meaning import summary
from envdoctor.snapshot.record import Record
from envdoctor.snapshot.verification import expect_directory, expect_lock, verify
from tests.examples import examples
from tests.snapshot.places import CODE, CONFIG, MODEL, WEIGHTS, against, hub_cache, lock_of, shard, told, write

PART = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=8)
# A name may be no directory that another one lies in, nor one that is left out.
NAMES = PART.filter(lambda name: name not in (".", "..", ".git", ".cache", "envdoctor.lock") and len(name.encode()) < 200)
FILES = st.dictionaries(NAMES, st.binary(max_size=40), min_size=1, max_size=5)


@settings(max_examples=examples(50))
@given(FILES, st.data())
def test_one_changed_byte_is_always_found_and_nothing_else_is(files: dict[str, bytes], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:
        directory = write(Path(place), files)
        lock = lock_of(directory)
        assert against(lock, directory).changes == ()
        filled = sorted(name for name, content in files.items() if content)
        if not filled:
            return
        name = data.draw(st.sampled_from(filled))
        at = data.draw(st.integers(0, len(files[name]) - 1))
        other = bytearray(files[name])
        other[at] ^= data.draw(st.integers(1, 255))
        (directory / name).write_bytes(other)
        verified = against(lock, directory)
        assert [(change.kind, change.name) for change in verified.changes] == [("changed", name)]
        assert len(verified.defects) == 1


def changed(tmp_path: Path, changes: dict[str, bytes | None], files: dict[str, bytes] = MODEL) -> dict[str, str]:
    """The findings after some files were written anew, or removed."""
    directory = write(tmp_path / "model", files)
    lock = lock_of(directory)
    for name, content in changes.items():
        if content is None:
            (directory / name).unlink()
        else:
            write(directory, {name: content})
    return told(against(lock, directory))


def test_weights_with_other_values(tmp_path: Path) -> None:
    other = shard({name: (dtype, shape, b"\1" * len(data)) for name, (dtype, shape, data) in WEIGHTS.items()})
    assert changed(tmp_path, {"model.safetensors": other}) == {
        "snapshot-weights-changed": "model.safetensors: the same 3 tensors, other values"
    }


def test_weights_with_other_tensors_are_named_by_their_kind(tmp_path: Path) -> None:
    other = shard({"layers.0.weight": ("F32", [2, 2], bytes(16)), "layers.1.weight": ("F32", [2, 2], bytes(16))})
    found = changed(tmp_path, {"model.safetensors": other})
    assert found["snapshot-weights-changed"].splitlines() == [
        "model.safetensors: 3 tensors -> 2, F16 -> F32, 10 -> 8 parameters",
        "head: F16 [2] -> (absent)",
        "layers.*.weight: F16 [2, 2] x2 -> F32 [2, 2] x2",
    ]


def test_weights_that_are_no_weights_any_more(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    size = len(MODEL["model.safetensors"])
    assert changed(tmp_path, {"model.safetensors": pointer}) == {
        "snapshot-weights-changed": f"model.safetensors ({size} -> {len(pointer)} bytes): not as in the lock"
    }


def test_a_further_file_of_weights_that_would_be_loaded(tmp_path: Path) -> None:
    files = {**MODEL, "model.safetensors.index.json": b"{}"}
    del files["model.safetensors"]
    found = changed(tmp_path, {"model.safetensors": MODEL["model.safetensors"]}, files)
    assert found == {"snapshot-weights-changed": "model.safetensors is new, and is read because of its name"}


def test_code(tmp_path: Path) -> None:
    found = changed(tmp_path, {"modeling_x.py": CODE.replace(b"x + 1", b"x - 1") + b"\ndef more(): pass\n"})
    assert found == {"snapshot-code-changed": "modeling_x.py: changed Model.forward; new more"}


def test_the_line_of_a_change(tmp_path: Path) -> None:
    lock = lock_of(write(tmp_path, MODEL))
    config = json.dumps({**CONFIG, "vocab_size": 7}, indent=1).encode()
    write(tmp_path, {"modeling_x.py": CODE.replace(b"x + 1", b"x - 1"), "config.json": config})
    lines = {defect.rule: defect.line for defect in against(lock, tmp_path).defects}
    assert lines == {"snapshot-code-changed": 7, "snapshot-config-changed": 5}


def test_only_the_comments_of_code_and_the_layout_of_json(tmp_path: Path) -> None:
    found = changed(tmp_path, {"modeling_x.py": b"# hello\n" + CODE, "config.json": json.dumps(CONFIG, sort_keys=True).encode()})
    assert found == {"snapshot-file-reformatted": "config.json (formatting or order of keys), modeling_x.py (comments or formatting)"}


def test_fields_of_configuration_generation_defaults_and_tokenizer(tmp_path: Path) -> None:
    config = {**CONFIG, "rope_scaling": {"type": "dynamic", "factor": 2.0}, "new": None}
    del config["hidden_size"]
    found = changed(
        tmp_path,
        {
            "config.json": json.dumps(config).encode(),
            "generation_config.json": json.dumps({"eos_token_id": [151329, 151336, 151338], "do_sample": True}).encode(),
            "tokenizer_config.json": json.dumps({"tokenizer_class": "LlamaTokenizer", "chat_template": "{{ other }}"}).encode(),
        },
    )
    assert found == {
        "snapshot-config-changed": "config.json:\nhidden_size: 4 -> (absent)\nnew: (absent) -> null\n"
        'rope_scaling.type: "linear" -> "dynamic"',
        "snapshot-generation-defaults-changed": "generation_config.json: eos_token_id: [151329] -> [151329, 151336, 151338]",
        "snapshot-tokenizer-changed": 'tokenizer_config.json: chat_template: "{{ messages }}" -> "{{ other }}"',
    }


def test_missing_renamed_and_further_files(tmp_path: Path) -> None:
    found = changed(
        tmp_path,
        {
            "generation_config.json": None,
            "model.safetensors": None,
            "weights.safetensors": MODEL["model.safetensors"],
            "extra/new.py": b"x",
            "chat_template.jinja": b"{{ x }}",
            "README.md": None,
        },
    )
    assert found == {
        "snapshot-tokenizer-changed": "chat_template.jinja is new, and is read because of its name",
        "snapshot-file-missing": "generation_config.json (generation defaults)",
        "snapshot-file-renamed": "model.safetensors is now weights.safetensors",
        "snapshot-file-extra": "extra/new.py",
        "snapshot-documentation-changed": "README.md (gone)",
    }


def test_empty_files_are_not_taken_for_one_another(tmp_path: Path) -> None:
    assert changed(tmp_path, {"a.dat": None, "b.dat": b""}, {"a.dat": b""}) == {
        "snapshot-file-missing": "a.dat",
        "snapshot-file-extra": "b.dat",
    }


def test_what_is_now_a_link_out_of_the_directory_is_not_gone_but_not_comparable(tmp_path: Path) -> None:
    directory = write(tmp_path / "model", MODEL)
    lock = lock_of(directory)
    (directory / "config.json").rename(tmp_path / "elsewhere")
    (directory / "config.json").symlink_to(tmp_path / "elsewhere")
    verified = against(lock, directory)
    assert told(verified)["snapshot-file-unreadable"].startswith("config.json: a link that leaves the directory")
    assert verified.skips == ()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    directory = write(tmp_path, MODEL)
    lock = lock_of(directory)
    (directory / "config.json").chmod(0)
    assert told(against(lock, directory)) == {"snapshot-file-unreadable": "config.json: Permission denied"}


def test_many_changes_are_counted(tmp_path: Path) -> None:
    files = {f"code{number:03}.py": b"x = 1\n" for number in range(40)} | {f"w{number:03}.bin": b"1" for number in range(40)}
    lock = lock_of(write(tmp_path, files))
    write(tmp_path, dict.fromkeys(files, b"x = 2\n"))
    defects = against(lock, tmp_path).defects
    assert len(defects) == 22
    assert defects[0].detail.endswith("and 32 more files")
    assert defects[-1].detail.startswith("further files: code020.py")


def test_the_story_in_a_sentence(tmp_path: Path) -> None:
    directory = write(tmp_path, MODEL)
    lock = lock_of(directory)
    assert summary(against(lock, directory).changes, 8, "the lock") == "8 files are those of the lock"
    write(directory, {"modeling_x.py": b"# \n" + CODE})
    assert summary(against(lock, directory).changes, 8, "the lock") == (
        "8 files are those of the lock; 1 of them written anew with the same meaning"
    )
    write(directory, {"modeling_x.py": b"x = 1\n", "a further file": b""})
    assert summary(against(lock, directory).changes, 8, "the lock") == (
        "only code changed (1 of 8 files); weights, tokenizer, generation defaults and configuration are as they were"
    )


def test_new_code_that_takes_the_place_of_generate_is_a_change_of_code(tmp_path: Path) -> None:
    directory = write(tmp_path, MODEL)
    lock = lock_of(directory)
    write(directory, {"custom_generate/generate.py": b"def generate(model): ...\n", "helper.py": b"x = 1\n"})
    assert told(against(lock, directory)) == {
        "snapshot-code-changed": "custom_generate/generate.py is new, and is read because of its name",
        "snapshot-file-extra": "helper.py",
    }


def test_a_file_that_cannot_be_read_is_not_told_as_changed(tmp_path: Path) -> None:
    directory = write(tmp_path / "model", MODEL)
    lock = lock_of(directory)
    (directory / "config.json").unlink()
    (directory / "config.json").symlink_to(tmp_path)
    assert summary(against(lock, directory).changes, 8, "the lock") == "7 files are those of the lock; 1 file could not be read"
    write(directory, {"modeling_x.py": b"x = 1\n"})
    assert summary(against(lock, directory).changes, 8, "the lock") == (
        "code changed (1 of 8 files); weights, tokenizer and generation defaults are as they were; 1 file could not be read"
    )


def test_names_and_values_that_a_terminal_would_act_on(tmp_path: Path) -> None:
    files = {"evil\x1b[2J\n.py": b"x = 1\n", "config.json": b'{"a\\u001b[2J": "\\u001b[31m"}'}
    lock = lock_of(write(tmp_path, files))
    write(tmp_path, {"evil\x1b[2J\n.py": b"def \xce\xb1(): pass\n", "config.json": b'{"a\\u001b[2J": "\\u001b[32m"}'})
    verified = against(lock, tmp_path)
    for defect in verified.defects:
        assert all(line.isprintable() for line in defect.detail.split("\n"))
        assert defect.file is not None
        assert defect.file.isprintable()


def test_a_file_that_changes_while_it_is_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = write(tmp_path, MODEL)
    lock = lock_of(directory)
    real = digest_module.digest_file

    def meanwhile(path: str, **options: Any) -> Digest:
        if path.endswith("config.json"):
            with open(path, "ab") as file:
                file.write(b" ")
        return real(path, **options)

    monkeypatch.setattr(pool, "digest_file", meanwhile)
    found = told(against(lock, directory))
    assert set(found) == {"snapshot-file-unreadable"}
    assert found["snapshot-file-unreadable"].startswith("config.json: ")


def test_the_second_time_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = write(tmp_path / "model", MODEL)
    lock = lock_of(directory)
    real = time.time_ns
    # A file that was written just now is never trusted: the file system may not show that it is written once more.
    later = lambda: real() + 10**10  # noqa: E731
    monkeypatch.setattr(time, "time_ns", later)
    files = inventory(directory)

    def cache(*, full: bool = False) -> DigestCache:
        return DigestCache.open(tmp_path / "cache", clock=later, full=full)

    first = digest(files.entries, cache=cache())
    again = digest(files.entries, cache=cache())
    assert (first.cached, again.cached) == (0, len(MODEL))
    assert first.records == again.records
    assert set(known(files.entries, cache())) == set(MODEL)
    assert digest(files.entries, cache=cache(full=True)).cached == 0
    assert verify(files, expect_lock(lock, "the lock"), cache=cache()).changes == ()
    write(directory, {"config.json": b"{}"})
    assert [change.name for change in verify(inventory(directory), expect_lock(lock, "the lock"), cache=cache()).changes] == ["config.json"]


# --- against a directory, and diffs --------------------------------------------------------------


def test_two_directories(tmp_path: Path) -> None:
    old, new = write(tmp_path / "old", MODEL), write(tmp_path / "new", {**MODEL, "modeling_x.py": CODE.replace(b"x + 1", b"x + 3")})
    other = inventory(old)
    expectation = expect_directory(other, digest(other.entries))
    verified = verify(inventory(new), expectation)
    assert told(verified) == {"snapshot-code-changed": "modeling_x.py: changed Model.forward"}
    (difference,), skips = differences(verified.changes, inventory(new), expectation)
    assert skips == []
    assert difference.diff.splitlines()[-5:-2] == ["-        return x + 1", "+        return x + 3", " "]


def test_only_a_newline_ends_a_line_of_a_diff(tmp_path: Path) -> None:
    before = "a = 1\n\x0c\nb = '\u2028'\nc = '\x1c'\r\n"
    old, new = write(tmp_path / "old", {"x.py": before.encode()}), write(tmp_path / "new", {"x.py": f"{before}d = 1\n".encode()})
    other = inventory(old)
    expectation = expect_directory(other, digest(other.entries))
    (difference,), _ = differences(verify(inventory(new), expectation).changes, inventory(new), expectation)
    assert difference.diff.split("\n")[2:] == ["@@ -2,3 +2,4 @@", " \x0c", " b = '\u2028'", " c = '\x1c'\r", "+d = 1", ""]


def test_a_diff_that_would_take_minutes_is_not_made(tmp_path: Path) -> None:
    """What difflib takes longest for: in both files many lines are alike, and none follows upon the same one."""
    both = [(f"one {number}\nx {number % 90}\n", f"two {number}\nx {number % 90}\n") for number in range(5000)]
    files = [{"a.txt": "".join(pair[side] for pair in both).encode(), "b.txt": f"{side}\n".encode()} for side in (0, 1)]
    old, new = write(tmp_path / "old", files[0]), write(tmp_path / "new", files[1])
    other = inventory(old)
    expectation = expect_directory(other, digest(other.entries))
    (difference,), (skip,) = differences(verify(inventory(new), expectation).changes, inventory(new), expectation)
    assert difference.diff.endswith("-0\n+1\n")
    assert (skip.what, skip.why) == (f"the diff of {new / 'a.txt'}", "too many of its lines are alike to be compared line by line")


def test_a_lock_has_no_text_to_show_unless_the_cache_still_has_the_blob(tmp_path: Path) -> None:
    first = hub_cache(tmp_path, MODEL)
    expectation = expect_lock(lock_of(first), "the lock")
    second = hub_cache(tmp_path, {**MODEL, "modeling_x.py": CODE + b"x = 1"}, commit="b" * 40)
    files = inventory(second)
    changes = verify(files, expectation).changes
    ((difference,), skips) = differences(changes, files, expectation)
    assert difference.diff.endswith("+x = 1\n\\ No newline at end of file\n")
    assert skips == []
    next(path for path in (second.parent.parent / "blobs").iterdir() if path.read_bytes() == CODE).write_bytes(b"forged")
    found, skips = differences(changes, files, expectation)
    assert found == []
    assert "--against DIR" in skips[0].why


def test_records_of_which_nothing_can_be_compared_say_so() -> None:
    one, other = Record(1, sha256="0" * 64), Record(1, git_blob="0" * 40)
    assert one.same(other) is None
    assert one.same(Record(2)) is False
    assert Lock("", "", {"a": one, "b": Record(5)}).size == 6
