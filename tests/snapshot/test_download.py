"""What a download has written down: expected digests without a network, and proof that something is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Defect
from envdoctor.snapshot.claims import Claims, expected_of, read_claims, read_tree
from envdoctor.snapshot.download import download_defects
from envdoctor.snapshot.integrity import integrity
from envdoctor.snapshot.inventory import inventory
from envdoctor.snapshot.lock_file import write_lock
from envdoctor.snapshot.record import Record
from envdoctor.snapshot.verification import Verified, expect_claims, verify
from tests.snapshot.places import COMMIT, MODEL, WEIGHTS, download, git_blob, hub_cache, lock_of, sha256, shard, told, write


def claims_of(directory: Path) -> Claims:
    claims = read_claims(inventory(directory))
    assert claims is not None
    return claims


def verified(directory: Path) -> Verified:
    return verify(inventory(directory), expect_claims(claims_of(directory)))


def level_0(directory: Path) -> dict[str, str]:
    files = inventory(directory)
    return {defect.rule: defect.detail for defect in download_defects(files, read_claims(files))}


@pytest.mark.parametrize("listed", [False, True])
def test_an_intact_snapshot_of_a_hub_cache_verifies_by_itself(tmp_path: Path, listed: bool) -> None:
    snapshot = hub_cache(tmp_path, MODEL, listed=listed)
    claims = claims_of(snapshot)
    assert (claims.repository, claims.commit, set(claims.files)) == ("org/model", COMMIT, set(MODEL))
    assert verified(snapshot).defects == ()
    assert level_0(snapshot) == {}
    assert integrity(snapshot, full=False).collected.defects == ()


def test_a_blob_overwritten_through_its_link_is_caught(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path, MODEL)
    other = shard({name: (dtype, shape, b"\1" * len(data)) for name, (dtype, shape, data) in WEIGHTS.items()})
    (snapshot / "model.safetensors").write_bytes(other)
    detail = f"model.safetensors: promised as {sha256(MODEL['model.safetensors'])}, and its content is {sha256(other)} ({len(other)} bytes)"
    assert told(verified(snapshot)) == {"snapshot-blob-corrupt": detail}
    (snapshot / "model.safetensors").write_bytes(MODEL["model.safetensors"])
    (snapshot / "config.json").write_bytes(b"{}")
    found = told(verified(snapshot))["snapshot-blob-corrupt"]
    assert found == f"config.json: promised as {git_blob(MODEL['config.json'])}, and its content is {git_blob(b'{}')} (2 bytes)"


def test_every_snapshot_that_links_a_blob_sees_it_change(tmp_path: Path) -> None:
    first, second = hub_cache(tmp_path, MODEL), hub_cache(tmp_path, MODEL, commit="b" * 40)
    assert verified(first).defects == verified(second).defects == ()
    (second / "config.json").write_bytes(b"{}")
    assert set(told(verified(first))) == {"snapshot-blob-corrupt"}


def test_the_listing_of_the_commit_tells_a_wrong_size_without_reading(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path, MODEL, listed=True)
    size = len(MODEL["model.safetensors"])
    (snapshot / "model.safetensors").write_bytes(b"short")
    assert level_0(snapshot) == {
        "snapshot-blob-corrupt": f"model.safetensors has 5 bytes, and the listing of commit {COMMIT[:12]} says {size}"
    }


def test_a_link_that_was_turned_to_another_blob(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path, {**MODEL, "modeling_y.py": b"other code\n"}, listed=True)
    (snapshot / "modeling_x.py").unlink()
    (snapshot / "modeling_x.py").symlink_to(os.readlink(snapshot / "modeling_y.py"))
    assert told(verified(snapshot))["snapshot-blob-corrupt"].startswith("modeling_x.py: promised as")


def test_a_cache_without_links_is_judged_by_the_listing(tmp_path: Path) -> None:
    """As huggingface_hub leaves it where links cannot be made."""
    snapshot = write(tmp_path / "models--org--model" / "snapshots" / COMMIT, MODEL)
    assert claims_of(snapshot).files == {}
    listed = hub_cache(tmp_path / "other", MODEL, listed=True).parent.parent / "trees"
    listed.rename(snapshot.parent.parent / "trees")
    assert set(claims_of(snapshot).files) == set(MODEL)
    (snapshot / "config.json").write_bytes(b"{}")
    assert set(told(verified(snapshot))) == {"snapshot-blob-corrupt"}


def test_a_directory_inside_a_snapshot(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path, MODEL, listed=True)
    assert set(claims_of(snapshot / "extra").files) == {"notes.dat"}
    assert verified(snapshot / "extra").defects == ()


def test_links_to_nothing_are_an_incomplete_download(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path, {**MODEL, "README.md": b"# A model"})
    (snapshot / "README.md").resolve().unlink()
    assert level_0(snapshot) == {}  # no library opens it
    (snapshot / "model.safetensors").resolve().unlink()
    detail = "model.safetensors is a link to nothing: what was downloaded is gone"
    assert level_0(snapshot) == {"snapshot-download-incomplete": detail}
    # `check` follows the index and names the missing weights itself.
    assert [defect.rule for defect in integrity(snapshot, full=False).collected.defects] == []
    (snapshot / "config.json").resolve().unlink()
    assert [defect.rule for defect in integrity(snapshot, full=False).collected.defects] == ["snapshot-download-incomplete"]


@pytest.mark.parametrize("suffix", [".incomplete", ".1a2b3c4d.incomplete"])
def test_a_download_that_did_not_end(tmp_path: Path, suffix: str) -> None:
    snapshot = hub_cache(tmp_path, MODEL, listed=True)
    blob = (snapshot / "model.safetensors").resolve()
    blob.with_name(blob.name + suffix).write_bytes(b"part")
    assert level_0(snapshot) == {}  # a leftover of a download that another one completed
    blob.unlink()
    (snapshot / "model.safetensors").unlink()
    assert level_0(snapshot) == {"snapshot-download-incomplete": "the download of model.safetensors was begun and not finished"}
    (snapshot.parent.parent / "trees" / f"{COMMIT}.json").unlink()
    assert level_0(snapshot) == {"snapshot-download-interrupted": f"part of a file that is not known here: {blob.name}"}


def test_what_was_not_downloaded_on_purpose_is_no_defect(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path, MODEL, listed=True)
    (snapshot / "README.md").unlink()
    assert level_0(snapshot) == {}
    assert verified(snapshot).defects == ()


# --- a plain directory ---------------------------------------------------------------------------


def test_an_intact_download_to_a_directory_verifies_by_itself(tmp_path: Path) -> None:
    directory = download(tmp_path, MODEL)
    claims = claims_of(directory)
    assert (claims.repository, claims.commit, set(claims.files), claims.edited) == (None, COMMIT, set(MODEL), frozenset())
    assert verified(directory).defects == ()
    assert integrity(directory, full=False).collected.defects == ()


def test_an_edited_file_is_told_by_what_it_is_for(tmp_path: Path) -> None:
    directory = download(tmp_path, MODEL, at=1.0)
    write(directory, {"config.json": b"{}", "README.md": b"mine"})
    (directory / "generation_config.json").unlink()
    found = told(verified(directory))
    assert set(found) == {"snapshot-config-changed", "snapshot-file-missing", "snapshot-documentation-changed"}
    assert found["snapshot-config-changed"].endswith(f"not as in what was downloaded of commit {COMMIT[:12]}")
    (defect,) = integrity(directory, full=False).collected.defects
    assert (defect.rule, defect.detail.split(":")[0]) == ("snapshot-edited-since-download", "config.json")


def test_a_file_of_other_content_that_nobody_edited_is_corrupt(tmp_path: Path) -> None:
    directory = download(tmp_path, MODEL)
    write(directory, {"config.json": MODEL["config.json"].replace(b"linear", b"LINEAR")})
    assert [defect.rule for defect in integrity(directory, full=False).collected.defects] == ["snapshot-blob-corrupt"]


def test_what_was_begun_in_a_directory_is_left_to_the_look_at_the_directory(tmp_path: Path) -> None:
    directory = download(tmp_path / "model", MODEL)
    listed = hub_cache(tmp_path / "cache", {**MODEL, "pytorch_model.bin": b"big"}, listed=True).parent.parent / "trees"
    listed.rename(directory / ".cache" / "huggingface" / "trees")
    part = directory / ".cache" / "huggingface" / "download" / f"Zm9v.{sha256(b'big')}.incomplete"
    part.write_bytes(b"b")
    assert level_0(directory) == {}


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"\xff\xff\xff",
        b"a\nb\nc\n",
        COMMIT.encode(),
        f"{COMMIT}\nnothex\n1.0\n".encode(),
        f"{COMMIT}\n{'0' * 64}\nnan\n".encode(),
        b"x" * 9999,
    ],
)
def test_notes_of_a_download_that_say_nothing(tmp_path: Path, note: bytes) -> None:
    directory = write(tmp_path, MODEL)
    write(directory, {".cache/huggingface/download/config.json.metadata": note})
    assert read_claims(inventory(directory)) is None


def test_notes_that_lie_elsewhere_are_not_followed(tmp_path: Path) -> None:
    source, model = download(tmp_path / "one", MODEL), write(tmp_path / "two", MODEL)
    (model / ".cache").symlink_to(source / ".cache")
    assert read_claims(inventory(model)) is None


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner) | st.lists(inner)))
def test_a_listing_of_any_form_is_read_or_passed_over(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    import json

    place = tmp_path_factory.mktemp("tree") / "x.json"
    for body in (value, {"format_version": 1, "files": value}, {"format_version": 1, "files": {"a": value}}):
        place.write_text(json.dumps(body), encoding="utf-8")
        assert read_tree(str(place)) == {}


def test_what_an_etag_promises() -> None:
    assert expected_of("a" * 64, 3) == Record(3, sha256="a" * 64)
    assert expected_of("a" * 40, 3) == Record(3, git_blob="a" * 40)
    assert expected_of("A" * 40, 3) is expected_of('W/"x"', 3) is expected_of("", 3) is None


# --- what check says -----------------------------------------------------------------------------


def rules(found: tuple[Defect, ...]) -> list[str]:
    return [defect.rule for defect in found]


def test_check_compares_with_a_lock_that_lies_in_the_model(tmp_path: Path) -> None:
    directory = write(tmp_path, MODEL)
    write_lock(lock_of(directory), directory / "envdoctor.lock")
    assert integrity(directory, full=False).collected.defects == ()
    write(directory, {"generation_config.json": b'{"eos_token_id": 2}', "further.dat": b"1", "extra/notes.dat": b"2"})
    found = integrity(directory, full=False).collected
    assert rules(found.defects) == ["snapshot-generation-defaults-changed", "snapshot-file-changed"]


def test_check_judges_large_files_by_size_and_header_unless_all_is_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envdoctor.snapshot.integrity.SMALL", 100)
    directory = write(tmp_path, MODEL)
    write_lock(lock_of(directory), directory / "envdoctor.lock")
    other_values = shard({name: (dtype, shape, b"\1" * len(data)) for name, (dtype, shape, data) in WEIGHTS.items()})
    write(directory, {"model.safetensors": other_values})
    glance = integrity(directory, full=False)
    assert (rules(glance.collected.defects), glance.hashed, "model.safetensors" in glance.records) == ([], False, False)
    whole = integrity(directory, full=True)
    assert (rules(whole.collected.defects), whole.hashed) == (["snapshot-weights-changed"], True)
    other_name = shard({("x" + name[1:]): value for name, value in WEIGHTS.items()})
    assert len(other_name) == len(other_values)
    write(directory, {"model.safetensors": other_name})
    (defect,) = integrity(directory, full=False).collected.defects
    assert defect.detail.startswith("model.safetensors: tensors of other names, dtypes or shapes")
    write(directory, {"model.safetensors": b"x"})
    assert rules(integrity(directory, full=False).collected.defects) == ["snapshot-weights-changed"]


def test_the_names_of_a_cache_vouch_for_weights_that_are_not_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envdoctor.snapshot.integrity.SMALL", 100)
    snapshot = hub_cache(tmp_path, MODEL)
    lock = lock_of(snapshot)
    other = shard({name: (dtype, shape, b"\1" * len(data)) for name, (dtype, shape, data) in WEIGHTS.items()})
    snapshot = hub_cache(tmp_path, {**MODEL, "model.safetensors": other}, commit="c" * 40)
    (snapshot / "envdoctor.lock").write_bytes(b"")  # nobody writes it there: a test may
    from envdoctor.snapshot.lock import dump_lock

    (snapshot / "envdoctor.lock").write_text(dump_lock(lock), encoding="utf-8")
    (defect,) = integrity(snapshot, full=False).collected.defects
    assert defect.rule == "snapshot-weights-changed"


def test_a_damaged_lock_is_a_finding_of_check(tmp_path: Path) -> None:
    directory = write(tmp_path, {**MODEL, "envdoctor.lock": b"format = 7"})
    (defect,) = integrity(directory, full=False).collected.defects
    assert (defect.rule, defect.detail) == ("snapshot-lock-invalid", "found format = 7; expected a lock with format = 1")
    (directory / "envdoctor.lock").unlink()
    (directory / "envdoctor.lock").symlink_to("nothing")
    assert rules(integrity(directory, full=False).collected.defects) == ["snapshot-lock-invalid", "snapshot-download-incomplete"][:1]
