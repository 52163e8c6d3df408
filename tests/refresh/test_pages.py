"""Pages of an index, and the releases that their files make."""

from __future__ import annotations

import json

import pytest

from envdoctor.refresh.pages import by_version, package, parse_page, wheels
from envdoctor.refresh.tables import Listed, Package

HTML_PAGE = b"""<!DOCTYPE html><html><body>
<a href="https://files.example/my_pkg-1.10.0-py3-none-any.whl#sha256=00" data-requires-python="&gt;=3.9"
   data-upload-time="2024-05-02T23:59:59Z" data-core-metadata="sha256=11">my_pkg-1.10.0-py3-none-any.whl</a><br/>
<a href="my-pkg-1.10.0.tar.gz" data-requires-python="&gt;=3.9" data-upload-time="2024-05-01T10:00:00Z">my-pkg-1.10.0.tar.gz</a>
<a href="my.pkg-1.9.zip" data-yanked="broken">my.pkg-1.9.zip</a>
<a href="../../my_pkg-2.0-py3-none-any.whl" data-yanked="">my_pkg-2.0-py3-none-any.whl</a>
<a href="my_pkg-2.0.tar.gz" data-requires-python="what ever">my_pkg-2.0.tar.gz</a>
<a href="my_pkg-2.1rc1.tar.gz">my_pkg-2.1rc1.tar.gz</a>
<a href="my_pkg-2.1.dev3.tar.gz">my_pkg-2.1.dev3.tar.gz</a>
<a href="my-pkg-1.9.post1.tar.gz">my-pkg-1.9.post1.tar.gz</a>
<a href="my_pkg-0.1.win32-py2.5.exe">my_pkg-0.1.win32-py2.5.exe</a>
<a href="my_pkg_extras-7.0-py3-none-any.whl">my_pkg_extras-7.0-py3-none-any.whl</a>
<a href="my_pkg-nonsense.tar.gz">my_pkg-nonsense.tar.gz</a>
</body></html>"""

JSON_PAGE = json.dumps(
    {
        "meta": {"api-version": "1.1"},
        "files": [
            {
                "filename": "my_pkg-1.10.0-py3-none-any.whl",
                "url": "https://files.example/my_pkg-1.10.0-py3-none-any.whl#sha256=00",
                "requires-python": ">=3.9",
                "upload-time": "2024-05-02T23:59:59.5Z",
                "yanked": False,
                "core-metadata": {"sha256": "11"},
            },
            {"filename": "my-pkg-1.10.0.tar.gz", "requires-python": ">=3.9", "upload-time": "2024-05-01T10:00:00Z"},
            {"filename": "my.pkg-1.9.zip", "requires-python": None, "yanked": "broken"},
            {"filename": "my_pkg-2.0-py3-none-any.whl", "yanked": True, "url": "../../my_pkg-2.0-py3-none-any.whl"},
            {"filename": "my_pkg-2.0.tar.gz", "yanked": False, "requires-python": "what ever"},
            {"filename": "my-pkg-1.9.post1.tar.gz"},
            {"filename": "my_pkg-2.1rc1.tar.gz"},
            {"filename": "my_pkg-2.1.dev3.tar.gz", "upload-time": 7},
            {"filename": 3},
            "no file",
        ],
    }
).encode()

EXPECTED = Package(
    (
        Listed("1.9", None, None, ("yanked", "no-wheel"), "broken"),
        Listed("1.9.post1", None, None, ("no-wheel",)),
        Listed("1.10.0", "2024-05-01", ">=3.9"),
        Listed("2.0", None, None),
    ),
    ("2.1.dev3", "2.1rc1"),
)


@pytest.mark.parametrize("page", [HTML_PAGE, JSON_PAGE], ids=["html", "json"])
def test_both_forms_of_a_page_give_the_same_releases(page: bytes) -> None:
    releases = by_version(parse_page(page, "https://index.example/simple/my-pkg/"), "my-pkg")
    assert package(releases) == EXPECTED
    chosen = {str(version): wheels(files) for version, files in releases.items()}
    assert {version: [file.address for file in files] for version, files in chosen.items() if files} == {
        "1.10.0": ["https://files.example/my_pkg-1.10.0-py3-none-any.whl#sha256=00"],
        "2.0": ["https://index.example/my_pkg-2.0-py3-none-any.whl"],
    }
    assert [file.metadata for files in chosen.values() for file in files] == [True, False]


@pytest.mark.parametrize("page", [b"", b"{}", b'{"files": 3}', b"Bad gateway", b"\xff\xfe", b'{"files": ' + b"[" * 100_000])
def test_what_is_no_page_of_a_project(page: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_page(page)


def test_the_wheels_that_speak_for_a_release() -> None:
    names = [
        "t-1.0-cp311-cp311-win_amd64.whl",
        "t-1.0-cp39-cp39-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "t-1.0-cp310-cp310-manylinux1_x86_64.whl",
        "t-1.0-cp313-cp313-macosx_11_0_arm64.whl",
        "t-1.0-cp310-cp310-manylinux2014_aarch64.whl",
    ]

    def best(*some: str) -> list[str]:
        page = json.dumps({"files": [{"filename": name, "url": f"https://files.example/{name}"} for name in some]}).encode()
        return [chosen.name for chosen in wheels(parse_page(page))]

    assert best(*names) == [names[2], names[1]]
    assert best(*names, "t-1.0-cp310-cp310-musllinux_1_1_x86_64.whl", "t-1.0-cp27-cp27mu-manylinux1_x86_64.whl") == [names[2], names[1]]
    assert best(*names, "t-1.0-py3-none-any.whl") == ["t-1.0-py3-none-any.whl"]
    assert best(names[0]) == [names[0]]
    assert best("t-1.0-cp27-cp27mu-manylinux1_x86_64.whl") == ["t-1.0-cp27-cp27mu-manylinux1_x86_64.whl"]
    assert best("t-1.0.tar.gz") == []
