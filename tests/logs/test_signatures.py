"""From error text to rules: what is found, whatever the log looks like, and that no text can hang it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.logs.signatures import signatures
from envdoctor.logs.skimming import Skim
from envdoctor.logs.unwrapping import plain_line
from envdoctor.rules.rule import Rule
from envdoctor.rules.rulebook import load_rulebook


def rule(name: str, *symptoms: str) -> Rule:
    return Rule(name, name, "error", "crash", "cited", "details", None, check=name, symptoms=symptoms)


IMPORT = rule("import", "cannot import name 'EncoderDecoderCache' from 'transformers'")
LOSS = rule("loss", "loss falls to 0.0")
NAN = rule("nan", "grad_norm is nan")
KERNEL = rule("kernel", "\"triu_tril_cuda_template\" not implemented for 'BFloat16'")


def found(text: str, *rules: Rule) -> dict[str, int]:
    looking = signatures(rules or (IMPORT, LOSS, NAN, KERNEL))
    Skim(looking).read([text.encode("utf-8", "replace")])
    return {name: shown.line for name, shown in looking.found.items()}


@pytest.mark.parametrize(
    "line",
    [
        "ImportError: cannot import name 'EncoderDecoderCache' from 'transformers' (/usr/lib/transformers/__init__.py)",
        "\x1b[31mImportError\x1b[0m: cannot import name \x1b[1m'EncoderDecoderCache'\x1b[0m from 'transformers'",
        "[rank3]: ImportError: cannot import name `EncoderDecoderCache` from `transformers`",
        "  0%|          | 0/100\r 50%|#####\rImportError: cannot import name 'EncoderDecoderCache' from 'transformers'",
        "> IMPORTERROR:   cannot  import\tname \u2018EncoderDecoderCache\u2019 from \u201ctransformers\u201d",
        "x" * 5000 + "cannot import name 'EncoderDecoderCache' from 'transformers'",
    ],
)
def test_a_symptom_is_found_however_the_line_was_printed(line: str) -> None:
    assert found(f"first\n{line}\nlast") == {"import": 2}


def test_quotes_of_either_kind_are_the_same() -> None:
    assert found("RuntimeError: 'triu_tril_cuda_template' not implemented for \"BFloat16\"") == {"kernel": 1}


def test_another_name_is_not_the_symptom() -> None:
    assert found("ImportError: cannot import name 'HybridCache' from 'transformers'") == {}


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("{'loss': 3.91, 'grad_norm': 1.2}\n{'loss': 0.0, 'grad_norm': nan}\n{'loss': 0.0, 'grad_norm': nan}", {"loss": 2, "nan": 2}),
        ("{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 4e-05}", {"loss": 1, "nan": 1}),
        ("step 1 loss: 0.0000\nstep 2 loss: 0.0000", {"loss": 2}),
        ("grad_norm nan loss 0", {"nan": 1, "loss": 1}),
        ("{'loss': 3.91}\n{'loss': 0.52}\n{'loss': 0.0}", {"loss": 3}),
        ("{'loss': 3.91}\n{'loss': 0.0007}\n{'train_loss': 0.0}", {}),
        ("aux_loss: 0.0\naux_loss: 0.0", {}),
        ("the loss function of 2023", {}),
    ],
)
def test_a_loss_curve_is_a_symptom(log: str, expected: dict[str, int]) -> None:
    assert found(log) == expected


def test_every_symptom_of_the_shipped_rules_is_found_in_its_own_text() -> None:
    """By itself, and inside a longer line."""
    for shipped in load_rulebook().rules:
        for symptom in shipped.symptoms:
            for text in (symptom, f"ValueError: {symptom}", f"noise {symptom} and more"):
                assert shipped.id in found(text, shipped), symptom


@given(st.text(max_size=300), st.text(max_size=300))
def test_text_around_a_symptom_does_not_hide_it(before: str, after: str) -> None:
    line = f"{before} cannot import name 'EncoderDecoderCache' from 'transformers' {after}".replace("\n", " ").replace("\r", " ")
    if "\x1b" not in line:
        assert found(line, IMPORT) == {"import": 1}


PIECES = st.one_of(
    st.text(),
    st.sampled_from(["\x1b[", "\x1b]0;", "loss", "'loss':", "nan", "0", "\r", "'", "grad_norm "]).map(lambda text: text * 50),
    st.sampled_from([*IMPORT.symptoms, *KERNEL.symptoms]),
)


@given(st.lists(st.lists(PIECES, max_size=4).map("".join), max_size=6), st.data())
def test_in_any_text_a_symptom_is_found_where_it_first_stands_and_nowhere_else(lines: list[str], data: st.DataObject) -> None:
    lines = ["".join(line.split("\n")).encode("utf-8", "replace").decode() for line in lines]
    lines.insert(data.draw(st.integers(0, len(lines))), IMPORT.symptoms[0])
    looking = signatures((IMPORT, LOSS, NAN, KERNEL))
    Skim(looking).read(["\n".join(lines).encode("utf-8", "replace")])
    told = {name: shown.line for name, shown in looking.found.items()}
    for symptom in (IMPORT, KERNEL):
        standing = [number for number, line in enumerate(lines, 1) if plain_line(symptom.symptoms[0]) in plain_line(line)]
        assert told.get(symptom.id) == (standing[0] if standing else None)
    for curve in told.keys() - {"import", "kernel"}:
        assert re.search("loss|grad_norm", plain_line(lines[told[curve] - 1]))


@given(st.text())
def test_a_plain_line_has_one_form(text: str) -> None:
    once = plain_line(text)
    assert plain_line(once) == once
    assert "\n" not in once


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("init() got an unexpected keyword argument 'dtpye' of the call", {"dtype": 1}),
        ("init() got an unexpected keyword argument 'debug' of the call", {}),
    ],
)
def test_a_short_name_in_quotes_is_that_name_or_one_that_was_mistyped(line: str, expected: dict[str, int]) -> None:
    shown = signatures([rule("dtype", "init() got an unexpected keyword argument 'dtype' of the call")])
    shown.match_misspelt(plain_line(line), 1, line)
    assert {name: one.line for name, one in shown.found.items()} == expected
