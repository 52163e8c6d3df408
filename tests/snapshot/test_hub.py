"""The hub's own metadata, asked of a server on this machine that speaks its API."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.snapshot.hub import cached_snapshot, hub_listing
from envdoctor.snapshot.inventory import inventory
from envdoctor.snapshot.verification import expect_hub, verify
from tests.snapshot.hub_server import Answer, hub, listing
from tests.snapshot.places import COMMIT, MODEL, git_blob, hub_cache, sha256, told, write

JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def _without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_names_sizes_and_digests_of_a_revision() -> None:
    asked: list[str] = []

    def answer(path: str) -> Answer:
        asked.append(path)
        return 200, JSON, listing(MODEL)

    with hub(answer) as endpoint:
        found = hub_listing("org/model", "v1.0/x", endpoint=endpoint)
    assert urlsplit(asked[0]).path == "/api/models/org/model/revision/v1.0%2Fx"
    assert parse_qs(urlsplit(asked[0]).query)["blobs"][0].lower() == "true"
    assert len(asked) == 1
    assert (found.commit, set(found.files)) == (COMMIT, set(MODEL))
    assert found.files["model.safetensors"].sha256 == sha256(MODEL["model.safetensors"])
    assert found.files["model.safetensors"].git_blob is None
    assert found.files["config.json"].git_blob == git_blob(MODEL["config.json"])


def test_a_directory_against_the_hub(tmp_path: Path) -> None:
    directory = write(tmp_path, {**MODEL, "mine.txt": b"x", "config.json": b"{}"})
    (directory / "README.md").unlink()
    with hub(lambda path: (200, JSON, listing(MODEL))) as endpoint:
        expectation = expect_hub(hub_listing("org/model", None, endpoint=endpoint))
    assert told(verify(inventory(directory), expectation)) == {
        "snapshot-config-changed": f"config.json ({len(MODEL['config.json'])} -> 2 bytes): not as in org/model on the hub at {COMMIT[:12]}",
        "snapshot-file-extra": "mine.txt",
        "snapshot-file-not-downloaded": f"in org/model on the hub at {COMMIT[:12]}, and not here: README.md",
    }


def test_a_file_that_the_hub_knows_under_another_name(tmp_path: Path) -> None:
    directory = write(tmp_path, {"b.dat": b"content"})
    with hub(lambda path: (200, JSON, listing({"a.dat": b"content"}))) as endpoint:
        found = verify(inventory(directory), expect_hub(hub_listing("org/model", None, endpoint=endpoint)))
    assert told(found) == {"snapshot-file-renamed": "a.dat is now b.dat"}


SIBLING = {"rfilename": "a", "size": 1, "blobId": "0" * 40}


def body(*siblings: object) -> bytes:
    return json.dumps({"id": "org/model", "sha": COMMIT, "siblings": list(siblings)}).encode()


@pytest.mark.parametrize(
    ("status", "headers", "answer", "found", "step"),
    [
        (404, {"X-Error-Code": "RepoNotFound"}, b"{}", "no such repository", "hf auth login"),
        (401, {"X-Error-Code": "RepoNotFound"}, b"{}", "no such repository", "hf auth login"),
        (404, {"X-Error-Code": "RevisionNotFound"}, b"{}", "no such revision", "--revision"),
        (403, {"X-Error-Code": "GatedRepo"}, b"{}", "a gated repository", "terms"),
        (500, {}, b"oops", "HTTP status 500", "network"),
        (429, {}, b"", "HTTP status 429", "network"),
        (200, {"Content-Type": "text/html"}, b"<html>log in</html>", "an answer that is not the hub's", "HF_ENDPOINT"),
        (200, JSON, b"[]", "an answer that is not the hub's", "HF_ENDPOINT"),
        (200, JSON, b"3", "an answer that is not the hub's", "HF_ENDPOINT"),
        (200, JSON, b"{}", "an answer that is not the hub's", "HF_ENDPOINT"),
        (200, JSON, body(3), "an answer that is not the hub's", "HF_ENDPOINT"),
        (200, JSON, body({}), "an answer that is not the hub's", "HF_ENDPOINT"),
        (200, JSON, body({**SIBLING, "lfs": {"sha256": 3}}), "an answer that is not the hub's", "HF_ENDPOINT"),
        (200, JSON, body({**SIBLING, "size": -1}), "no size and digest of 'a'", "HF_ENDPOINT"),
        (200, JSON, body({**SIBLING, "blobId": "x"}), "no size and digest of 'a'", "HF_ENDPOINT"),
        (200, JSON, body({**SIBLING, "rfilename": ["a"]}), "no size and digest of", "HF_ENDPOINT"),
        (200, JSON, b'{"id": "org/model", "siblings": [' + b"[" * 100_000, "an answer that is not the hub's", "HF_ENDPOINT"),
    ],
)
def test_answers_that_are_no_use(status: int, headers: dict[str, str], answer: bytes, found: str, step: str) -> None:
    with hub(lambda path: (status, headers, answer)) as endpoint, pytest.raises(EnvdoctorError) as caught:
        hub_listing("org/model", None, endpoint=endpoint)
    assert caught.value.found.startswith(found)
    assert step in caught.value.next_step
    assert str(caught.value).isprintable()


def test_a_hub_that_is_not_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(EnvdoctorError, match="check the network"):
        hub_listing("org/model", None, endpoint=f"http://127.0.0.1:{port}")


def test_a_hub_that_never_answers() -> None:
    done = threading.Event()

    def answer(path: str) -> Answer:
        done.wait(30)
        return 200, JSON, b""

    with hub(answer) as endpoint:
        with pytest.raises(EnvdoctorError, match="check the network"):
            hub_listing("org/model", None, endpoint=endpoint, timeout=0.2)
        done.set()


@pytest.mark.parametrize("repository", ["", "../x", "a/b/c", "org/na me", "org/\n"])
def test_an_id_that_is_none(repository: str) -> None:
    with pytest.raises(EnvdoctorError, match="--repo"):
        hub_listing(repository, None, endpoint="http://127.0.0.1:1")


@pytest.mark.parametrize("endpoint", ["ftp://x", "huggingface.co", "http://", "http://x:99999999", "http://x:0"])
def test_an_endpoint_that_is_none(endpoint: str) -> None:
    with pytest.raises(EnvdoctorError, match="HF_ENDPOINT"):
        hub_listing("org/model", None, endpoint=endpoint)


def test_a_snapshot_is_found_in_the_local_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert cached_snapshot("org/model", None) is None
    one = hub_cache(tmp_path, MODEL)
    assert cached_snapshot("org/model", None) == cached_snapshot("org/model", "main") == cached_snapshot("org/model", COMMIT) == one
    assert cached_snapshot("org/model", "other") is cached_snapshot("org/model", "../../../etc") is cached_snapshot("../x", None) is None
    (one.parent.parent / "refs" / "main").unlink()
    assert cached_snapshot("org/model", None) == one
    other = hub_cache(tmp_path, MODEL, commit="b" * 40)
    (one.parent.parent / "refs" / "main").write_text("../../elsewhere", encoding="utf-8")
    assert cached_snapshot("org/model", None) is None
    (one.parent.parent / "refs" / "main").unlink()
    assert cached_snapshot("org/model", None) is None
    assert cached_snapshot("org/model", "b" * 40) == other
