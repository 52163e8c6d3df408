"""Errors of which no cause is known: whose operator it was, and the releases beside those that are stated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import NOTHING, findings


@pytest.mark.parametrize(
    ("log", "stated", "packages", "says"),
    [
        (
            "RuntimeError: operator torchao::quantize_affine_float8 does not exist",
            {"torchao": "0.12.0"},
            ["torchao"],
            "torchao 0.11.0 or 0.13.0, beside the stated 0.12.0",
        ),
        (
            "AttributeError: '_OpNamespace' 'sgl_kernel' object has no attribute 'awq_dequantize'",
            {"sglang": "0.4.5.post3"},
            ["sgl-kernel", "sglang"],
            "sglang 0.4.5.post2 or 0.4.6, beside",
        ),
        (
            'Traceback (most recent call last):\n  File "/v/site-packages/huggingface_hub/commands/download.py", line 153, in run\n'
            "    print(self._download())\nRuntimeError: broken off",
            {"hf-xet": "1.1.0"},
            ["huggingface-hub", "hf-xet"],
            "hf-xet 1.0.5 or 1.1.1, beside",
        ),
        (
            "TypeError: '<' not supported between instances of 'NoneType' and 'int'",
            {"unsloth": "2025.5.8"},
            ["unsloth"],
            "unsloth 2025.5.7 or 2025.5.9, beside",
        ),
    ],
)
def test_what_nothing_explains_names_the_releases_beside_the_stated_one(
    log: str, stated: dict[str, str], packages: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    facts = NOTHING + "[packages]\n" + "".join(f'"{name}" = "{release}"\n' for name, release in stated.items())
    told = findings(capsys, tmp_path, log, facts)[0]
    assert (told["status"], told["packages"]) == ("possible", packages)
    assert says in told["fixes"][0]["note"]
    # Nothing is stated: no release is one of those beside it.
    assert "beside" not in str(findings(capsys, tmp_path, log)[:1])
