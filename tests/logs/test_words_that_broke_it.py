"""Lines at which the reader itself had failed: each is answered, or passed over, and ends no run with an error of envdoctor's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import findings


def test_a_weight_without_rows_is_no_number_of_patches(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = "RuntimeError: The size of tensor a (0) must match the size of tensor b (4096) at non-singleton dimension 1"
    told = findings(capsys, tmp_path, said)
    assert [(one["status"], one["rule"]) for one in told] == [("matched", "error-of-the-run")]
    assert told[0]["detail"].startswith("A weight has no rows here: it is sharded and was not gathered, or never loaded")


def test_a_package_of_headers_is_no_release_of_python(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    findings(capsys, tmp_path, "E: Unable to locate package python3.11-dev")
