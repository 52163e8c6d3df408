"""What a release that came as a source archive only requires."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

import pytest

from envdoctor.refresh.index import Answer
from envdoctor.refresh.pages import File
from envdoctor.refresh.sources import required_by_source, source_archives
from envdoctor.refresh.wheels import UnreadableError

FILE = File("acme-1.0.tar.gz", "2024-05-01", address="https://index.example/acme-1.0.tar.gz")
LISTED = """numpy
pydantic<2.0.0

[:python_version < "3.8"]
importlib-metadata

[dev]
pytest

[triton:platform_system == "Linux"]
triton>=2.1
"""


def archive(**members: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, text in members.items():
            data = text.encode()
            entry = tarfile.TarInfo(f"acme-1.0/{name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def required(data: bytes) -> list[str]:
    def get(address: str, headers: Mapping[str, str], most: int) -> Answer:
        assert (address, dict(headers)) == (FILE.address, {})
        return Answer(data)

    return required_by_source(FILE, get)


def test_what_setup_wrote_into_the_archive() -> None:
    data = archive(**{"PKG-INFO": "Metadata-Version: 2.1\nName: acme\n", "acme.egg-info/requires.txt": LISTED, "setup.py": ""})
    assert required(data) == [
        "numpy",
        "pydantic<2.0.0",
        'importlib-metadata ; python_version < "3.8"',
        '[triton] triton>=2.1 ; platform_system == "Linux"',
    ]


def test_an_archive_of_another_builder_says_it_in_its_headers() -> None:
    headers = "Metadata-Version: 2.3\nName: acme\nRequires-Dist: torch>=2.0\nRequires-Dist: pytest; extra == 'test'\n"
    assert required(archive(**{"PKG-INFO": headers})) == ["torch>=2.0"]


@pytest.mark.parametrize("data", [archive(**{"PKG-INFO": "Metadata-Version: 2.1\nName: acme\n", "setup.py": ""}), b"", b"\x1f\x8bnothing"])
def test_what_does_not_say_it_is_not_taken_for_one_that_requires_nothing(data: bytes) -> None:
    with pytest.raises(UnreadableError):
        required(data)


def test_old_archives_are_not_asked_for() -> None:
    assert source_archives([FILE, File("acme-1.0.zip", "2024-05-01", address="https://index.example/acme-1.0.zip")]) == (FILE,)
    assert source_archives([File("acme-0.1.tar.gz", "2019-05-01", address="https://index.example/acme-0.1.tar.gz")]) == ()


def test_what_depends_on_the_machine_of_its_maintainer_is_not_read() -> None:
    assert source_archives([File("axolotl-0.16.1.tar.gz", "2026-01-01", address="https://index.example/axolotl-0.16.1.tar.gz")]) == ()
