"""The fuzzer of the readers: what it measures is what a reader takes, and not what it holds itself."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path


def test_a_line_of_a_megabyte_is_not_doubled_until_the_fuzzer_is_the_largest() -> None:
    spec = importlib.util.spec_from_file_location("fuzz_inputs", Path(__file__).parent.parent.parent / "scripts" / "fuzz_inputs.py")
    assert spec is not None
    assert spec.loader is not None
    fuzzer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzzer)
    line = b"install_requires = " + b"torch==2.5.0, " * 70_000
    largest = max(len(fuzzer.mutated(random.Random(seed), line, [b"torch\n"])) for seed in range(60))
    assert 2**20 < largest < 24 * 2**20
