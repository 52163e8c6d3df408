"""A line of source in a traceback was not said, and a known text says the same without its class."""

# ruff: noqa: E501 - as they are printed

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

CELL = """TypeError                                 Traceback (most recent call last)
<ipython-input-2-774236b8f6b1> in <cell line: 1>()
----> 1 from mylibrary import Model

5 frames
/usr/local/lib/python3.10/dist-packages/packaging/version.py in __init__(self, version)
    198
    199         # Validate the version and parse it into pieces
--> 200         match = self._regex.search(version)
    201         if not match:
    202             raise InvalidVersion(f"Invalid version: {version!r}")

TypeError: expected string or bytes-like object
"""
PLAIN = """Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/build/__main__.py", line 9, in main
    current = Version(importlib.metadata.version("pydantic"))
  File "/venv/lib/python3.11/site-packages/packaging/version.py", line 200, in __init__
    match = self._regex.search(version)
TypeError: expected string or bytes-like object, got 'NoneType'
"""
RUNTIME = """RuntimeError                              Traceback (most recent call last)
<ipython-input-3-0000> in <cell line: 1>()
----> 1 go()
<ipython-input-1-0000> in go()
      3     if not os.path.exists(p):
      4         raise OSError("No space left on device")
----> 5     raise RuntimeError("went wrong in my own words")

RuntimeError: went wrong in my own words
"""
BESIDE = "loading\n{}\n> pip show protobuf\nName: protobuf\nVersion: 4.25.0\nSummary: x\nLocation: y\nhm\n"
PROTOBUF = "Descriptors cannot be created directly. If this call came from a _pb2.py file, your generated code is out of date and must be regenerated with protoc >= 3.19.0."


def _said(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    log = tmp_path / "log.txt"
    log.write_text(text, encoding="utf-8")
    return " ".join(run(capsys, "diagnose", str(log), "-v").out.replace("|", " ").split())


@pytest.mark.parametrize(
    ("text", "says", "never"),
    [
        (CELL, "The metadata of an installed package has no version", "Invalid version"),
        (PLAIN, "The metadata of pydantic has no version", "packaging refuses"),
        (RUNTIME, "went wrong in my own words", "The disk is full"),
    ],
)
def test_a_line_of_source_is_no_error(text: str, says: str, never: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = _said(text, tmp_path, capsys)
    assert says in said
    assert never not in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (PROTOBUF, "protobuf<3.21"),
        ("module 'numpy' has no attribute 'bool'", "1 error"),
        ("cannot import name 'cached_download' from 'huggingface_hub'", "1 error"),
    ],
)
def test_a_known_text_is_known_without_its_class_among_other_lines(
    words: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _said(BESIDE.format(words), tmp_path, capsys)
    assert says in said
    assert "no error was found" not in said


def test_what_pip_says_it_will_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "DEPRECATION: omegaconf 2.0.6 has a non-standard dependency specifier PyYAML>=5.1.*. pip 24.1 will enforce this behaviour change."
    )
    assert "pip before 24.1 takes omegaconf 2.0.6, whose metadata is not of the standard (PyYAML>=5.1.*)" in _said(text, tmp_path, capsys)


def test_the_stated_release_of_a_package_that_nobody_tracks_is_told_where_its_module_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.txt"
    log.write_text("from smalltuner.hooks import Best\nModuleNotFoundError: No module named 'smalltuner.hooks'\n", encoding="utf-8")
    said = " ".join(run(capsys, "diagnose", str(log), "--set", "packages.smalltuner=0.5.0").out.replace("|", " ").split())
    assert "smalltuner 0.5.0 has no module smalltuner.hooks" in said
    assert 'pip install "smalltuner<0.5.0" for code that is older' in said
