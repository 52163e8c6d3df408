"""What lies below a directory: every file once, and every other thing said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.snapshot import inventory as module
from envdoctor.snapshot.inventory import inventory
from tests.snapshot.places import MODEL, hub_cache, write


def test_names_are_relative_posix_and_sorted(tmp_path: Path) -> None:
    write(tmp_path, MODEL)
    found = inventory(tmp_path)
    assert [entry.name for entry in found.entries] == sorted(MODEL)
    assert {entry.name: entry.size for entry in found.entries} == {name: len(data) for name, data in MODEL.items()}
    assert found.skips == ()


def test_what_belongs_to_git_and_to_the_hub_client_is_no_file_of_the_model(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"", ".git/HEAD": b"", "sub/.git": b"", ".cache/huggingface/download/a.metadata": b"", "envdoctor.lock": b""})
    write(tmp_path, {".gitattributes": b"", ".cache/other": b"", "sub/envdoctor.lock": b"", "__pycache__/a.pyc": b""})
    names = {".cache/other", ".gitattributes", "__pycache__/a.pyc", "a", "sub/envdoctor.lock"}
    assert inventory(tmp_path).names == names
    assert inventory(tmp_path, without=tmp_path / "a").names == names - {"a"}


def test_links_are_followed_inside_the_directory_only(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret": b"x"})
    model = write(tmp_path / "model", {"real": b"data", "sub/file": b"1"})
    (model / "inside").symlink_to("real")
    (model / "out").symlink_to(outside / "secret")
    (model / "up").symlink_to("..")
    (model / "loop").symlink_to("loop")
    (model / "round").symlink_to(".")
    (model / "sub" / "back").symlink_to("../sub")
    (model / "nothing").symlink_to("not-there")
    found = inventory(model)
    assert found.names == {"inside", "real", "sub/file"}
    assert found.dangling == ("nothing",)
    assert set(found.left_out) == {"loop", "out", "round", "sub/back", "up"}
    assert "leaves the directory" in found.left_out["out"]
    assert "leaves the directory" in found.left_out["up"]
    assert "not followed" in found.left_out["sub/back"]
    assert "symbolic links" in found.left_out["loop"]


def test_a_hub_cache_is_followed_into_its_blobs_and_their_names_are_kept(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path, MODEL)
    other = hub_cache(tmp_path, {"config.json": b"{ }"}, repository="org/other")
    (snapshot / "foreign").symlink_to(os.readlink(other / "config.json").replace("../..", "../../../models--org--other"))
    found = inventory(snapshot)
    assert found.names == set(MODEL)
    assert all(entry.blob is not None and entry.real.endswith(entry.blob) for entry in found.entries)
    assert "leaves the directory" in found.left_out["foreign"]


def test_a_blob_may_be_a_link_into_the_store_that_repositories_share(tmp_path: Path) -> None:
    """huggingface_hub/utils/_shared_blobs.py: <cache>/blobs/<2 digits>/<xet hash>, linked to by the blobs of each repository."""
    snapshot = hub_cache(tmp_path, {"model.safetensors": b"weights"})
    blob = (snapshot / "model.safetensors").resolve()
    store = tmp_path / "blobs" / "ab" / ("ab" * 32)
    store.parent.mkdir(parents=True)
    blob.rename(store)
    blob.symlink_to(os.path.relpath(store, blob.parent))
    (entry,) = inventory(snapshot).entries
    assert entry.blob == blob.name
    assert entry.real == str(store)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_names_and_kinds_that_nobody_expects(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    write(tmp_path, {"two\nlines": b"", "esc\x1b[2J": b"", "back\\slash": b"", "a b": b"", "..hidden": b""})
    with open(os.fsencode(tmp_path) + b"/caf\xe9", "wb"):
        pass
    found = inventory(tmp_path)
    assert found.names == {"two\nlines", "esc\x1b[2J", "back\\slash", "a b", "..hidden"}
    assert found.left_out == {"pipe": "not a regular file", "caf\\udce9": "a name that is no UTF-8"}
    assert all(skip.what.isprintable() for skip in found.skips)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_directory_that_may_not_be_listed_is_said(tmp_path: Path) -> None:
    write(tmp_path, {"closed/file": b"", "open": b""})
    (tmp_path / "closed").chmod(0)
    found = inventory(tmp_path)
    (tmp_path / "closed").chmod(0o700)
    assert found.names == {"open"}
    assert found.left_out == {"closed": "Permission denied"}


def test_more_files_than_a_model_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 5)
    write(tmp_path, {f"file{number}": b"" for number in range(7)})
    found = inventory(tmp_path)
    assert not found.whole
    assert len(found.entries) == 5
    assert found.skips[0].why.endswith("the rest was not looked at")


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError, match="No such file"):
        inventory(tmp_path / "absent")
