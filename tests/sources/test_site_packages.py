"""Reading site-packages directories: whole records, every layout in use, and damage of every kind."""

from __future__ import annotations

import email
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Defect, Skip
from envdoctor.sources.machine.metadata import Metadata, parse_headers, parse_requires_txt
from envdoctor.sources.machine.site_packages import Distribution, SiteContents, SiteDir, read_site_dirs

posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes and names as POSIX has them")


def record(site: Path, directory: str, *headers: str, body: str = "") -> Path:
    """A distribution's record with the given metadata headers."""
    path = site / directory
    path.mkdir(parents=True)
    name = "METADATA" if directory.endswith(".dist-info") else "PKG-INFO"
    (path / name).write_text("\n".join(("Metadata-Version: 2.1", *headers)) + "\n\n" + body, encoding="utf-8")
    return path


def package(site: Path, name: str, version: str, *headers: str) -> Path:
    return record(site, f"{name}-{version}.dist-info", f"Name: {name}", f"Version: {version}", *headers)


def read(*dirs: Path | SiteDir) -> SiteContents:
    return read_site_dirs([directory if isinstance(directory, SiteDir) else SiteDir(directory) for directory in dirs])


def versions(contents: SiteContents) -> dict[str, str | None]:
    return {distribution.name: distribution.version for distribution in contents.distributions}


def test_a_distribution_is_read_whole_and_its_description_is_not_taken_for_headers(tmp_path: Path) -> None:
    path = record(
        tmp_path,
        "Flash_Attn-2.6.3.dist-info",
        "Name: Flash.Attn",
        "Version: 2.6.3",
        "License: first line",
        "        ",
        "        Version: 9, of a folded licence",
        "Requires-Python: >=3.8",
        "Requires-Dist: torch",
        'Requires-Dist: einops>=0.6; extra == "rotary"',
        body="Requires-Dist: not-a-header\nVersion: 0\n",
    )
    expected = Distribution("flash-attn", "2.6.3", ("torch", 'einops>=0.6; extra == "rotary"'), path, requires_python=">=3.8")
    assert read(tmp_path) == SiteContents((tmp_path,), (expected,))


def test_distributions_come_in_the_order_of_their_names_and_a_missing_directory_is_no_matter(tmp_path: Path) -> None:
    package(tmp_path, "torch", "2.5.0")
    package(tmp_path, "accelerate", "1.0.1")
    assert list(versions(read(tmp_path / "not-there", tmp_path))) == ["accelerate", "torch"]


header_values = st.text(st.characters(codec="ascii", exclude_categories=["C"]), min_size=1).map(str.strip).filter(bool)
header_names = st.sampled_from(
    ["Name", "Version", "Requires-Dist", "requires-dist", "VERSION", "Requires-Python", "Author", "Classifier", "License", "Provides-Extra"]
)
headers = st.lists(st.tuples(header_names, st.lists(header_values, min_size=1, max_size=3)), max_size=12)


@given(headers, st.sampled_from(["\n", "\r\n"]), st.binary())
def test_headers_read_as_the_standard_library_reads_them(lines: list[tuple[str, list[str]]], newline: str, body: bytes) -> None:
    text = "".join(f"{name}: {(newline + '    ').join(parts)}{newline}" for name, parts in lines)
    data = text.encode() + newline.encode() + body
    message = email.message_from_bytes(data)

    def flat(value: str | None) -> str | None:
        return None if value is None else " ".join(value.split())

    read_back = parse_headers(data)
    assert flat(read_back.name) == flat(message["Name"])
    assert flat(read_back.version) == flat(message["Version"])
    assert flat(read_back.requires_python) == flat(message["Requires-Python"])
    assert [flat(line) for line in read_back.requires] == [flat(line) for line in message.get_all("Requires-Dist", [])]


@given(st.binary())
def test_no_bytes_make_the_header_reader_fail(data: bytes) -> None:
    assert isinstance(parse_headers(data), Metadata)
    assert isinstance(parse_requires_txt(data), tuple)


def test_a_header_that_is_not_utf8_costs_only_itself(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    for name, author, requirement in (("fine", "Andr\u00e9", "torch"), ("lost", "A", "torch\u00e9"), ("unknown", "A", "torch")):
        path = package(site, name, "1.0")
        version = "1.0\u00e9" if name == "unknown" else "1.0"
        text = f"Name: {name}\nVersion: {version}\nAuthor: {author}\nRequires-Dist: {requirement}\nRequires-Dist: numpy\n"
        (path / "METADATA").write_bytes(text.encode("latin-1"))
    contents = read(site)
    assert versions(contents) == {"fine": "1.0", "lost": "1.0", "unknown": None}
    assert [d.requires for d in contents.distributions] == [("torch", "numpy"), ("numpy",), ("torch", "numpy")]
    lost = site / "lost-1.0.dist-info" / "METADATA"
    assert contents.skips == (Skip(str(lost), "a Requires-Dist line that is not UTF-8 was left out"),)
    assert [defect.detail for defect in contents.defects] == [
        "unknown: a Version that is not UTF-8; its directory says 1.0: the installed release is unknown"
    ]


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        (["Name: torch"], "metadata without a Version"),
        (["Name: torch", "Version:"], "metadata without a Version"),
        (["Name: torch", "Version: " + "9" * 9999], f"a Version that is none, '{'9' * 60}'"),
        (["Name: torch", "Version: abc"], "a Version that is none, 'abc'"),
    ],
)
def test_metadata_without_a_usable_version_leaves_the_release_unknown_and_not_absent(
    tmp_path: Path, headers: list[str], problem: str
) -> None:
    path = record(tmp_path, "torch-2.5.0.dist-info", *headers)
    contents = read(tmp_path)
    assert versions(contents) == {"torch": None}
    detail = f"torch: {problem}; its directory says 2.5.0: the installed release is unknown"
    assert contents.defects == (Defect("installed-metadata-broken", detail, str(path / "METADATA"), packages=("torch",)),)


def test_metadata_that_is_gone_leaves_the_release_unknown_and_not_absent(tmp_path: Path) -> None:
    path = tmp_path / "torch-1.12.1+cu116.dist-info"
    path.mkdir()
    (path / "REQUESTED").touch()
    contents = read(tmp_path)
    assert versions(contents) == {"torch": None}
    detail = "torch-1.12.1+cu116.dist-info has no readable METADATA (No such file or directory): the installed release is unknown"
    assert contents.defects == (Defect("installed-metadata-broken", detail, str(path), packages=("torch",)),)


def test_beside_an_empty_record_the_whole_one_counts(tmp_path: Path) -> None:
    (tmp_path / "torch-1.12.1.dist-info").mkdir()
    package(tmp_path, "torch", "1.13.1")
    contents = read(tmp_path)
    assert versions(contents) == {"torch": "1.13.1"}
    assert [defect.rule for defect in contents.defects] == ["installed-metadata-broken"]


def test_a_record_that_names_no_package_is_said(tmp_path: Path) -> None:
    (tmp_path / ".dist-info").mkdir()
    contents = read(tmp_path)
    assert contents.distributions == ()
    assert [skip.what for skip in contents.skips] == [str(tmp_path / ".dist-info")]


def test_two_records_in_one_directory_leave_the_release_unknown_and_both_are_named(tmp_path: Path) -> None:
    first = package(tmp_path, "numpy", "1.26.4", "Requires-Dist: torch")
    package(tmp_path, "numpy", "2.1.0")
    contents = read(tmp_path)
    assert contents.distributions == (Distribution("numpy", None, (), first),)
    detail = "numpy 1.26.4 and 2.1.0 are both recorded in one directory: which of them is installed cannot be told"
    assert contents.defects == (Defect("installed-duplicate-distribution", detail, str(first), packages=("numpy",)),)


def test_two_builds_of_one_release_are_two(tmp_path: Path) -> None:
    package(tmp_path, "torch", "2.5.0+cu118")
    package(tmp_path, "torch", "2.5.0+cu124")
    assert versions(read(tmp_path)) == {"torch": None}


@pytest.mark.parametrize("version", ["38.0.4", "38.0.4.0"])
def test_two_records_of_one_release_are_no_matter(tmp_path: Path, version: str) -> None:
    newer = package(tmp_path, "cryptography", "38.0.4", "Requires-Dist: cffi")
    record(tmp_path, "cryptography.egg-info", "Name: cryptography", f"Version: {version}")
    assert read(tmp_path) == SiteContents((tmp_path,), (Distribution("cryptography", "38.0.4", ("cffi",), newer),))


@pytest.mark.parametrize("via", ["PYTHONPATH", "user site"])
def test_what_comes_first_on_the_path_wins_and_what_it_hides_is_said(tmp_path: Path, via: str) -> None:
    first, later = tmp_path / "first", tmp_path / "later"
    winner = package(first, "peft", "0.17.1")
    package(later, "peft", "0.11.1")
    contents = read(SiteDir(first, via), later)
    assert contents.distributions == (Distribution("peft", "0.17.1", (), winner, via=via),)
    detail = f"peft 0.17.1 in {first} ({via}) comes first on the path and hides 0.11.1 in {later}"
    assert contents.defects == (Defect("installed-duplicate-distribution", detail, str(winner), packages=("peft",)),)


def test_a_hidden_copy_of_the_same_release_is_no_matter(tmp_path: Path) -> None:
    package(tmp_path / "first", "peft", "0.17.1")
    package(tmp_path / "later", "peft", "0.17.1")
    assert read(SiteDir(tmp_path / "first", "PYTHONPATH"), tmp_path / "later").defects == ()


@pytest.mark.parametrize("via", ["", "base Python", "user site"])
def test_a_virtual_environment_hides_its_base_by_design(tmp_path: Path, via: str) -> None:
    package(tmp_path / "venv", "peft", "0.17.1")
    package(tmp_path / "base", "peft", "0.11.1")
    contents = read(tmp_path / "venv", SiteDir(tmp_path / "base", via))
    assert (versions(contents), contents.defects) == ({"peft": "0.17.1"}, ())


def test_a_broken_record_is_not_mended_by_a_later_directory(tmp_path: Path) -> None:
    record(tmp_path / "first", "peft-0.17.1.dist-info", "Name: peft")
    package(tmp_path / "later", "peft", "0.11.1")
    assert versions(read(tmp_path / "first", tmp_path / "later")) == {"peft": None}


def test_what_pip_set_aside_is_said_once_and_counts_for_nothing(tmp_path: Path) -> None:
    record(tmp_path, "~orch-2.5.0.dist-info", "Name: torch", "Version: 2.5.0")
    for name in ("~orch", "~orchgen", "~~a", "~b", "~c", "~d"):
        (tmp_path / name).mkdir()
    contents = read(tmp_path)
    assert contents.distributions == ()
    shown = "~b, ~c, ~d, ~orch, ~orch-2.5.0.dist-info and 2 more"
    detail = f"{shown}: set aside by pip while it replaced or removed a package, and never cleared away"
    assert contents.defects == (Defect("installed-leftover-distribution", detail, str(tmp_path)),)


def test_path_lines_of_pth_files_are_followed_and_code_lines_are_not_run(tmp_path: Path) -> None:
    site, sources, marker = tmp_path / "site", tmp_path / "sources", tmp_path / "ran"
    site.mkdir()
    for name in ("absolute", "relative", "hidden", "code", "nested"):
        package(sources / name, name, "1.0")
    code = f"import os; open({str(marker)!r}, 'w')"
    (site / "b.pth").write_text(f"\ufeff# comment\n\n{sources / 'absolute'}\n../sources/relative\n/not/there\n{code}\n", "utf-8")
    (site / ".hidden.pth").write_text(f"{sources / 'hidden'}\n")
    (site / "code.pth").write_text(f"import sys; sys.path.append({str(sources / 'code')!r})\n")
    (sources / "absolute" / "more.pth").write_text(f"{sources / 'nested'}\n")
    contents = read(site)
    assert versions(contents) == {"absolute": "1.0", "relative": "1.0"}
    assert [d.via for d in contents.distributions] == [".pth", ".pth"]
    assert contents.site_dirs == (site, sources / "absolute", sources / "relative")
    assert not marker.exists()


def test_a_pth_file_without_an_end_is_read_as_far_as_64_kibibytes_and_that_is_said(tmp_path: Path) -> None:
    site, sources = tmp_path / "site", tmp_path / "sources"
    package(sources, "peft", "0.17.1")
    site.mkdir()
    (site / "long.pth").write_text(f"{sources}\n" + "# no path\n" * 10_000)
    contents = read(site)
    assert versions(contents) == {"peft": "0.17.1"}
    assert contents.skips == (Skip(str(site / "long.pth"), "longer than 64 KiB: only its first lines were read"),)


def test_pth_files_count_in_site_directories_only_even_where_pythonpath_names_one_too(tmp_path: Path) -> None:
    site, extra = tmp_path / "site", tmp_path / "extra"
    package(site, "torch", "2.5.0")
    package(extra, "peft", "0.17.1")
    (site / "extra.pth").write_text(f"{extra}\n")
    pythonpath = SiteDir(site, "PYTHONPATH", is_site=False)
    assert versions(read(pythonpath)) == {"torch": "2.5.0"}
    contents = read(pythonpath, SiteDir(site))
    assert (versions(contents), contents.defects) == ({"peft": "0.17.1", "torch": "2.5.0"}, ())


@posix
def test_a_directory_that_is_on_the_path_twice_is_read_once(tmp_path: Path) -> None:
    package(tmp_path / "lib", "torch", "2.5.0")
    (tmp_path / "lib64").symlink_to(tmp_path / "lib")
    assert read(tmp_path / "lib", tmp_path / "lib64").site_dirs == (tmp_path / "lib",)


def test_an_egg_info_directory_takes_its_requirements_from_requires_txt(tmp_path: Path) -> None:
    path = record(tmp_path, "deepspeed-0.9.5-py3.10.egg-info", "Name: deepspeed", "Version: 0.9.5")
    (path / "requires.txt").write_text(
        "hjson\ntorch>=1.8\n\n[:python_version < '3.8']\nimportlib-metadata\n\n[dev]\npytest\n"
        "\n[dev:sys_platform == 'win32']\ncolorama\nx @ https://e.org/x\n"
    )
    [distribution] = read(tmp_path).distributions
    assert distribution.requires == (
        "hjson",
        "torch>=1.8",
        "importlib-metadata; (python_version < '3.8')",
        'pytest; extra == "dev"',
        "colorama; (sys_platform == 'win32') and extra == \"dev\"",
        "x @ https://e.org/x ; (sys_platform == 'win32') and extra == \"dev\"",
    )
    assert (distribution.version, distribution.editable) == ("0.9.5", False)


def test_an_egg_info_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "PyYAML-5.1.egg-info").write_text("Name: PyYAML\nVersion: 5.1\n")
    assert versions(read(tmp_path)) == {"pyyaml": "5.1"}


def test_an_egg_on_the_path_is_read_and_a_zipped_one_is_said(tmp_path: Path) -> None:
    site = tmp_path / "site"
    record(site / "apex-0.1-py3.8.egg", "EGG-INFO", "Name: apex", "Version: 0.1")
    (site / "zipped-1.0-py3.8.egg").write_bytes(b"PK\x05\x06" + bytes(18))
    (site / "easy-install.pth").write_text("./apex-0.1-py3.8.egg\n./zipped-1.0-py3.8.egg\n")
    contents = read(site)
    assert versions(contents) == {"apex": "0.1"}
    why = "a zipped package on the path: what is inside archives is not read"
    assert contents.skips == (Skip(str(site / "zipped-1.0-py3.8.egg"), why),)


def test_development_installs_over_egg_links_are_editable_and_a_dead_link_is_said(tmp_path: Path) -> None:
    site, sources = tmp_path / "site", tmp_path / "LLaMA-Factory"
    site.mkdir()
    path = record(sources, "llamafactory.egg-info", "Name: llamafactory", "Version: 0.9.0")
    (site / "llamafactory.egg-link").write_text(f"{sources}\n.\n")
    (site / "gone.egg-link").write_text(f"{tmp_path / 'gone'}\n.\n")
    contents = read(site)
    assert contents.distributions == (Distribution("llamafactory", "0.9.0", (), path, editable=True, via=".pth"),)
    why = f"an editable install of a directory that is not there: {tmp_path / 'gone'}"
    assert contents.skips == (Skip(str(site / "gone.egg-link"), why),)


@pytest.mark.parametrize(
    ("text", "editable"),
    [
        (json.dumps({"url": "file:///src", "dir_info": {"editable": True}}), True),
        (json.dumps({"url": "file:///src", "dir_info": {}}), False),
        (json.dumps({"url": "file:///src", "dir_info": {"editable": "yes"}}), False),
        (json.dumps({"url": "https://e.org/x.whl", "archive_info": {}}), False),
    ],
)
def test_direct_url_tells_an_editable_install(tmp_path: Path, text: str, editable: bool) -> None:
    (package(tmp_path, "peft", "0.17.1") / "direct_url.json").write_text(text)
    contents = read(tmp_path)
    assert [d.editable for d in contents.distributions] == [editable]
    assert contents.skips == ()


@pytest.mark.parametrize("data", [b"", b"[1]", b"\xff\xfe", b"[" * 30000, b" " * 70000])
def test_a_direct_url_that_cannot_be_read_is_said(tmp_path: Path, data: bytes) -> None:
    (package(tmp_path, "peft", "0.17.1") / "direct_url.json").write_bytes(data)
    contents = read(tmp_path)
    assert versions(contents) == {"peft": "0.17.1"}
    assert [skip.why for skip in contents.skips] == ["no JSON object: whether the install is editable is unknown"]


def test_an_editable_install_hides_the_stale_record_in_its_sources_by_design(tmp_path: Path) -> None:
    site, sources = tmp_path / "site", tmp_path / "src"
    (package(site, "peft", "0.18.0.dev0") / "direct_url.json").write_text('{"dir_info": {"editable": true}}')
    record(sources, "peft.egg-info", "Name: peft", "Version: 0.9.0")
    (site / "__editable__.peft-0.18.0.dev0.pth").write_text(f"{sources}\n")
    contents = read(site)
    assert (versions(contents), contents.defects) == ({"peft": "0.18.0.dev0"}, ())


def test_metadata_without_an_end_is_read_as_far_as_a_mebibyte_and_that_is_said(tmp_path: Path) -> None:
    path = package(tmp_path, "torch", "2.5.0") / "METADATA"
    with path.open("a") as file:
        file.write("Classifier: x\n" * 100_000)
    path.write_text(path.read_text().replace("\n\n", "\n"))
    contents = read(tmp_path)
    assert versions(contents) == {"torch": "2.5.0"}
    assert contents.skips == (Skip(str(path), "headers of more than 1 MiB: the rest was not read"),)


@posix
def test_pipes_devices_and_loops_neither_hang_nor_fill_the_memory(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name in ("pipe", "device", "loop", "folder"):
        (site / f"{name}-1.0.dist-info").mkdir(parents=True)
    os.mkfifo(site / "pipe-1.0.dist-info" / "METADATA")
    (site / "device-1.0.dist-info" / "METADATA").symlink_to("/dev/zero")
    (site / "loop-1.0.dist-info" / "METADATA").symlink_to("METADATA")
    (site / "folder-1.0.dist-info" / "METADATA").mkdir()
    os.mkfifo(site / "pipe.pth")
    (tmp_path / "circle").symlink_to("circle")
    contents = read(site, tmp_path / "circle")
    assert versions(contents) == {"device": None, "folder": None, "loop": None, "pipe": None}
    assert [defect.rule for defect in contents.defects] == ["installed-metadata-broken"] * 4
    assert [skip.what for skip in contents.skips] == [str(site / "pipe.pth"), str(tmp_path / "circle")]


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
def test_names_of_any_bytes_are_read(tmp_path: Path) -> None:
    for name in (b"bad\xff-1.0.dist-info", b"new\nline-1.0.dist-info", b"esc\x1b[31m-1.0.dist-info"):
        os.mkdir(os.path.join(os.fsencode(tmp_path), name))
    contents = read(tmp_path)
    assert len(contents.distributions) == 3
    assert [defect.rule for defect in contents.defects] == ["installed-metadata-broken"] * 3
