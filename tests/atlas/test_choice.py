"""Which releases of a package are read."""

from __future__ import annotations

import pytest

from envdoctor.refresh.pages import File
from envdoctor.survey.choice import choose

RELEASES = ("0.0.1", "0.0.9", "0.0.10", "0.0.31", "0.1.0", "0.1.4", "1.0.0", "1.0.1", "1.0.2rc1")


@pytest.mark.parametrize(
    ("how", "chosen"),
    [
        ({"every": True}, RELEASES[:-1]),
        ({"every": False}, ("0.0.31", "0.1.4", "1.0.1")),
        ({"every": False, "tens": True}, ("0.0.9", "0.0.10", "0.0.31", "0.1.4", "1.0.1")),
        ({"every": False, "named": ("0.0.1",)}, ("0.0.1", "0.0.31", "0.1.4", "1.0.1")),
        ({"every": True, "newest": 2}, ("1.0.0", "1.0.1")),
    ],
)
def test_the_final_releases_or_the_last_of_each_minor_or_of_each_ten_of_a_minor(how: dict[str, bool], chosen: tuple[str, ...]) -> None:
    files = [File(f"acme-{release}-py3-none-any.whl", "2024-01-01") for release in RELEASES]
    assert tuple(one.version for one in choose("acme", files, since="2022-01-01", **how)) == chosen  # type: ignore[arg-type]
