"""The bundled list of releases, and the script that makes it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from datetime import date
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from envdoctor.releases import Release, as_of, exists, newest, release_texts, releases, tracked

SCRIPT = Path(__file__).parent.parent / "scripts" / "refresh_releases.py"

HTML_PAGE = b"""<!DOCTYPE html><html><body>
<a href="https://files.example/my_pkg-1.10.0-py3-none-any.whl#sha256=00" data-requires-python="&gt;=3.9"
   data-upload-time="2024-05-02T23:59:59Z">my_pkg-1.10.0-py3-none-any.whl</a><br/>
<a href="my-pkg-1.10.0.tar.gz" data-requires-python="&gt;=3.9" data-upload-time="2024-05-01T10:00:00Z">my-pkg-1.10.0.tar.gz</a>
<a href="my.pkg-1.9.zip" data-yanked="broken">my.pkg-1.9.zip</a>
<a href="my_pkg-2.0-py3-none-any.whl" data-yanked="">my_pkg-2.0-py3-none-any.whl</a>
<a href="my_pkg-2.0.tar.gz">my_pkg-2.0.tar.gz</a>
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
                "requires-python": ">=3.9",
                "upload-time": "2024-05-02T23:59:59.5Z",
                "yanked": False,
            },
            {"filename": "my-pkg-1.10.0.tar.gz", "requires-python": ">=3.9", "upload-time": "2024-05-01T10:00:00Z"},
            {"filename": "my.pkg-1.9.zip", "requires-python": None, "yanked": "broken"},
            {"filename": "my_pkg-2.0-py3-none-any.whl", "yanked": True},
            {"filename": "my_pkg-2.0.tar.gz", "yanked": False},
            {"filename": "my-pkg-1.9.post1.tar.gz"},
            {"filename": "my_pkg-2.1rc1.tar.gz"},
        ],
    }
).encode()

ROWS = [
    ["1.9", None, None, "yanked", "no-wheel"],
    ["1.9.post1", None, None, "no-wheel"],
    ["1.10.0", "2024-05-01", ">=3.9"],
    ["2.0", None, None],
]


@pytest.fixture(scope="module")
def refresh() -> ModuleType:
    spec = importlib.util.spec_from_file_location("refresh_releases", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_known_releases() -> None:
    by_version = {release.version: release for release in releases("peft")}
    assert by_version["0.11.1"] == Release("0.11.1", "2024-05-17", yanked=False, requires_python=">=3.8.0", wheel=True)
    assert release_texts("torch")[0] == "1.0.0"
    assert [version for version in release_texts("torch") if version.startswith("2.5.")] == ["2.5.0", "2.5.1"]
    yanked = {release.version for release in releases("transformers") if release.yanked}
    assert {"4.25.0", "4.46.0", "4.52.0"} <= yanked
    assert "4.48.0" not in yanked
    assert not any(release.wheel for release in releases("flash-attn"))


def test_names_are_normalised() -> None:
    assert releases("huggingface_hub") == releases("HuggingFace.-_Hub") != ()


def test_untracked_package_has_no_releases() -> None:
    assert releases("no-such-package") == ()
    assert release_texts("no-such-package") == ()
    assert newest("no-such-package") is None
    assert exists("no-such-package", "1.0") is None
    assert "no-such-package" not in tracked()


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("torch", "2.5.0", True),
        ("torch", "2.5", True),
        ("torch", "2.5.0+cu118", True),
        ("torch", "v2.5.0", True),
        ("torch", " 2.5.0 ", True),
        ("torch", "0!2.5.0", True),
        ("torch", "2.5.2", False),
        ("torch", "2.5.2+cu118", False),
        ("torch", "99.0", False),
        ("torch", "2.4.0a0+07cecf4168.nv24.5", None),
        ("torch", "2.6.0.dev20241112+cu124", None),
        ("transformers", "4.46.0", True),
        ("transformers", "4.48.5", False),
        ("transformers", "5.0.0rc1", None),
        ("flash_attn", "2.5.9.post1", True),
        ("flash_attn", "2.5.9.post9", False),
    ],
)
def test_exists(name: str, version: str, expected: bool | None) -> None:
    assert exists(name, version) is expected


@pytest.mark.parametrize("text", ["", "latest", "2.5.*", ">=2", "2.5.0+"])
def test_exists_wants_a_version(text: str) -> None:
    with pytest.raises(InvalidVersion):
        exists("torch", text)


def test_newest_is_the_last_release_that_is_not_yanked() -> None:
    for name in tracked():
        kept = [release.version for release in releases(name) if not release.yanked]
        assert newest(name) == str(max(map(Version, kept)))


def test_the_bundle_is_in_order_and_complete() -> None:
    assert {"torch", "transformers", "peft", "accelerate", "bitsandbytes", "tokenizers", "safetensors", "huggingface-hub"} <= tracked()
    made = date.fromisoformat(as_of())
    for name in tracked():
        versions = [Version(text) for text in release_texts(name)]
        assert versions
        assert all(earlier < later for earlier, later in pairwise(versions)), name
        assert not any(version.is_prerelease or version.local for version in versions)
        for release in releases(name):
            assert release.date is None or date.fromisoformat(release.date) <= made
            SpecifierSet(release.requires_python or "")


def test_importing_reads_nothing() -> None:
    code = (
        "import envdoctor.releases as r; assert r._bundle.cache_info().currsize == 0\n"
        "r.as_of(); assert r._bundle.cache_info().currsize == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_both_page_forms_give_the_same_rows(refresh: ModuleType) -> None:
    assert refresh.rows(refresh.parse_page(HTML_PAGE), "my-pkg") == ROWS
    assert refresh.rows(refresh.parse_page(JSON_PAGE), "my-pkg") == ROWS


@pytest.mark.parametrize("page", [b"", b"{}", b'{"files": 3}', b"Bad gateway", b"\xff\xfe"])
def test_what_is_no_project_page(refresh: ModuleType, page: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        refresh.parse_page(page)


def test_refresh_of_saved_pages(refresh: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my-pkg.html").write_bytes(HTML_PAGE)
    bundle = tmp_path / "releases.json"
    assert refresh.main(["--pages", str(tmp_path), "--output", str(bundle), "--as-of", "2024-06-01", "My_Pkg"]) == 0
    assert capsys.readouterr().out == "my-pkg: 4 releases, newest 2.0\n"
    assert json.loads(bundle.read_text()) == {"as_of": "2024-06-01", "packages": {"my-pkg": ROWS}}
    assert '   ["1.10.0","2024-05-01",">=3.9"],\n' in bundle.read_text()


def test_a_page_that_cannot_be_had_keeps_what_was_known(refresh: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = tmp_path / "releases.json"
    bundle.write_text(refresh.render("2020-01-01", {"my-pkg": [["1.0", None, None]], "other": [["2.0", None, None]]}))
    (tmp_path / "other.json").write_bytes(JSON_PAGE.replace(b"my_pkg", b"other"))
    assert refresh.main(["--pages", str(tmp_path), "--output", str(bundle), "my-pkg", "other"]) == 1
    after = json.loads(bundle.read_text())
    assert after["packages"]["my-pkg"] == [["1.0", None, None]]
    assert [row[0] for row in after["packages"]["other"]] == ["1.10.0", "2.0"]
    assert after["as_of"] == "2020-01-01"
    assert "my-pkg: kept as it was" in capsys.readouterr().err


def test_the_bundle_is_written_as_the_script_writes_it(refresh: ModuleType) -> None:
    bundled_as_of, packages = refresh.read_bundle(refresh.BUNDLE)
    assert refresh.BUNDLE.read_text(encoding="utf-8") == refresh.render(bundled_as_of, packages)
    assert set(packages) <= set(refresh.TRACKED)
