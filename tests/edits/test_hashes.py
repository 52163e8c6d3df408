"""Hashes of a release's files, as an index tells them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.uv.hashes import release_hashes

ONE, TWO = "a" * 64, "b" * 64


class Uv:
    """Answers as uv does, and remembers what it was asked."""

    def __init__(self, stdout: str = "", stderr: str = "", status: int = 0) -> None:
        self.answer = subprocess.CompletedProcess[str]([], status, stdout, stderr)
        self.asked: list[tuple[list[str], str]] = []

    def __call__(self, words: Sequence[str], text: str) -> subprocess.CompletedProcess[str]:
        self.asked.append((list(words), text))
        return self.answer


def test_the_hashes_of_all_files_in_order() -> None:
    uv = Uv(f"peft==0.12.0 \\\n    --hash=sha256:{ONE} \\\n    --hash=sha256:{TWO}\n")
    assert release_hashes("peft", "0.12.0", python="3.10", indexes=("https://example.org/simple",), run=uv) == (
        f"sha256:{ONE}",
        f"sha256:{TWO}",
    )
    ((words, text),) = uv.asked
    assert text == "peft==0.12.0\n"
    assert words[:2] == ["pip", "compile"]
    assert {"--generate-hashes", "--no-deps", "--no-build"} <= set(words)
    assert words[words.index("--python-version") + 1] == "3.10"
    assert words[words.index("--index") + 1] == "https://example.org/simple"


def test_a_release_that_is_not_there_is_told_in_the_words_of_uv() -> None:
    with pytest.raises(EnvdoctorError, match="there is no version of peft==99"):
        release_hashes("peft", "99", run=Uv(stderr="  x No solution:\n  there is no version of peft==99", status=1))


@pytest.mark.parametrize("stdout", ["", "peft==0.12.0\n", f"other==0.12.0 --hash=sha256:{ONE}\n", "peft==0.12.0 --hash=md5:00\n"])
def test_an_answer_without_hashes_of_the_package_is_an_error(stdout: str) -> None:
    with pytest.raises(EnvdoctorError, match="no hashes"):
        release_hashes("peft", "0.12.0", run=Uv(stdout))


@pytest.mark.parametrize(("package", "version"), [("-r /etc/passwd", "1"), ("peft", "1\n-r x"), ("", "1"), ("peft", ""), ("peft @ x", "1")])
def test_what_is_no_release_is_never_asked_for(package: str, version: str) -> None:
    uv = Uv()
    with pytest.raises(EnvdoctorError):
        release_hashes(package, version, run=uv)
    assert not uv.asked


@pytest.mark.network
def test_the_index_is_asked() -> None:
    found = release_hashes("peft", "0.12.0")
    assert len(found) == 2
    assert all(value.startswith("sha256:") for value in found)
