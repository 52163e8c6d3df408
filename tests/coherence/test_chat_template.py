"""Chat templates: blocks, releases, markers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.checks.hit import Hit
from envdoctor.coherence.chat_template import CHECKS, control_tokens, template_of
from envdoctor.coherence.jinja_blocks import first_output, read_blocks, without_comments
from envdoctor.facts.fact import Defect
from envdoctor.sources.model.snapshot import read_snapshot
from tests.coherence.situations import added, rules, run, situation, snapshot

CHATML = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
CHATML_TOKENS = added((151644, "<|im_start|>"), (151645, "<|im_end|>"))


def found(path: Path, files: Mapping[str, object], **stated: object) -> list[Defect | Hit]:
    read = snapshot(path, files)
    return run(CHECKS, read, situation(read, **stated))


def tokenizer(template: object, **more: object) -> dict[str, object]:
    return {"tokenizer_config.json": {"chat_template": template, **more}}


# --- blocks


@pytest.mark.parametrize(
    ("template", "problem", "line"),
    [
        # Unclosed, wrongly closed, and cut off in the middle.
        ("{% for m in messages %}\n{% if m %}\n{{ m }}\n{% endfor %}", "{% endfor %} stands inside {% if %}", 4),
        ("{% if a %}\n{{ m }}", "{% if %} has no {% endif %}", 1),
        ("{{ m }}{% endif %}", "{% endif %} stands where no block is open", 1),
        ("{% else %}", "{% else %} stands where no block is open", 1),
        ("{% for a in b %}{% elif c %}{% endfor %}", "{% elif %} stands inside {% for %}", 1),
        ("a\nb {{ m['role'", "an expression is opened with {{ and never closed", 2),
        ("{{ 'text }}", "an expression is opened with {{ and never closed", 1),
        ("{% if a ", "a tag is opened with {% and never closed", 1),
        ("{# note", "a comment is opened with {# and never closed", 1),
        ("{% generation %}{{ m }}", "{% generation %} has no {% endgeneration %}", 1),
        ("{% macro f(x) %}{{ x }}{% endfor %}", "{% endfor %} stands inside {% macro %}", 1),
        ("{% set x %}y", "{% set %} has no {% endset %}", 1),
    ],
)
def test_a_template_that_no_engine_parses(tmp_path: Path, template: str, problem: str, line: int) -> None:
    (one,) = found(tmp_path, tokenizer(template))
    assert (one.rule, one.file, one.line) == ("snapshot-chat-template-broken", str(tmp_path / "tokenizer_config.json"), 2)
    assert one.detail == f"line {line} of the template: {problem}"
    (one,) = found(tmp_path / "file", {"chat_template.jinja": template.encode()})
    assert (one.detail, one.file, one.line) == (problem, str(tmp_path / "file" / "chat_template.jinja"), line)


@pytest.mark.parametrize(
    "template",
    [
        "",
        CHATML,
        "{%- for m in messages -%}{% if m %}{% elif n %}{% else %}{% endif %}{% else %}{% endfor %}",
        "{% set x = 1 %}{% set ns.a = {'b': {'c': 1}} %}{% set a, b = 1, 2 %}{% set x %}text{% endset %}",
        "{{ '}}' }}{{ \"%} {{\" }}{{ {'a': {'b': 1}} }}{{ 'it\\'s' }}",
        "{# {% if a %} #}{% raw %}{{ {% endraw %}{{ x % 2 }}",
        "{% macro f(a, b={}) %}{{ a }}{% endmacro %}{% call f() %}{% endcall %}{% filter upper %}x{% endfilter %}",
        "{% for m in messages %}{% break %}{% continue %}{% endfor %}{% generation %}{{ m }}{% endgeneration %}",
        "{%- if tools %}\n{%- endif %}{{- raise_exception('no } or % here') }}",
        "a } b %} c #} { d",
        "{% unheard of %}{% if a %}",
    ],
)
def test_a_template_that_is_sound_or_not_understood(tmp_path: Path, template: str) -> None:
    assert found(tmp_path, tokenizer(template)) == []


@given(st.text("{}%#'\"\\ abinrawfosetel=-\n", max_size=40))
def test_any_text_is_followed_to_its_end(text: str) -> None:
    blocks = read_blocks(text)
    assert 1 <= blocks.line <= text.count("\n") + 1
    assert first_output(text) in text
    assert len(without_comments(text)) <= len(text)


@given(st.lists(st.sampled_from(["{% if a %}x{% endif %}", "{% for a in b %}", "{% endfor %}", "{{ a }}", "t"]), max_size=8))
def test_a_problem_is_a_block_that_does_not_match(parts: list[str]) -> None:
    depth = 0
    matched = True
    for part in parts:
        depth += (part == "{% for a in b %}") - (part == "{% endfor %}")
        matched = matched and depth >= 0
    assert (read_blocks("".join(parts)).problem is None) is (matched and depth == 0)


def test_a_template_of_megabytes_is_left_alone(tmp_path: Path) -> None:
    assert found(tmp_path / "a", tokenizer("{% if a %}" * 100_000)) == []
    read = snapshot(tmp_path / "b", {"chat_template.jinja": b"{{" * 200_000})
    assert run(CHECKS, read) == []
    assert [skip.what for skip in read.directory.skips] == [str(tmp_path / "b" / "chat_template.jinja")]


@pytest.mark.parametrize("use", ["?.chat_template = ?", "?.apply_chat_template(0, chat_template=...)", "trl.setup_chat_format"])
def test_a_template_that_the_script_puts_another_in_the_place_of(tmp_path: Path, use: str) -> None:
    assert found(tmp_path, tokenizer("{% if a %}"), plan_code_uses=[use]) == []
    assert found(tmp_path, tokenizer("{% if a %}"), plan_code_uses=["transformers.AutoTokenizer"]) != []


# --- which template, and which release reads it


def test_the_default_of_several_templates(tmp_path: Path) -> None:
    templates = [{"name": "tool_use", "template": "{% if %}"}, {"name": "default", "template": "{{ m }}"}, 3, {"name": None}]
    read = snapshot(tmp_path, tokenizer(templates))
    template = template_of(read)
    assert template is not None
    assert template.text == "{{ m }}"
    assert run(CHECKS, read) == []


FILE = {"chat_template.jinja": b"{{ m }}", "tokenizer_config.json": {}}


def test_a_file_that_an_older_release_does_not_read(tmp_path: Path) -> None:
    (one,) = found(tmp_path, FILE, transformers="4.46.3", plan_apply_chat_template=True)
    assert isinstance(one, Hit)
    assert (one.rule, one.outcome, one.pins) == ("snapshot-chat-template-unread", True, (("transformers", ">=4.47.0"),))


@pytest.mark.parametrize(
    "stated",
    [
        {"transformers": "4.47.0", "plan_apply_chat_template": True},
        {"transformers": "4.46.3", "plan_apply_chat_template": False},
        {"transformers": "4.46.3"},
        {"transformers": ">=4.40", "plan_apply_chat_template": True},
        {"plan_apply_chat_template": True},
    ],
)
def test_a_file_that_is_read_or_not_wanted(tmp_path: Path, stated: dict[str, object]) -> None:
    assert found(tmp_path, FILE, **stated) == []


@pytest.mark.parametrize(("tag", "older", "newer"), [("generation", "4.42.4", "4.43.0"), ("break", "4.44.2", "4.45.0")])
def test_a_tag_that_an_older_release_does_not_know(tmp_path: Path, tag: str, older: str, newer: str) -> None:
    body = "{% generation %}{{ m }}{% endgeneration %}" if tag == "generation" else "{% for m in ms %}{% break %}{% endfor %}"
    (one,) = found(tmp_path / "old", tokenizer(body), transformers=older, plan_apply_chat_template=True)
    assert isinstance(one, Hit)
    assert (one.rule, one.pins) == ("snapshot-chat-template-tag-unknown", (("transformers", f">={newer}"),))
    assert found(tmp_path / "new", tokenizer(body), transformers=newer, plan_apply_chat_template=True) == []
    assert found(tmp_path / "none", tokenizer(body), transformers=older) == []


def test_a_tag_in_a_file_that_is_not_read_harms_nobody(tmp_path: Path) -> None:
    files = {"chat_template.jinja": b"{% generation %}{% endgeneration %}", **tokenizer("{{ m }}")}
    assert rules(found(tmp_path, files, transformers="4.40.0", plan_apply_chat_template=True)) == ["snapshot-chat-templates-differ"]


def test_two_templates(tmp_path: Path) -> None:
    (one,) = found(tmp_path / "a", {"chat_template.jinja": b"{{ a }}", **tokenizer("{{ b }}")})
    assert (one.rule, one.line) == ("snapshot-chat-templates-differ", 2)
    assert found(tmp_path / "b", {"chat_template.jinja": b"{{ a }}\n", **tokenizer("{{ a }}")}) == []


# --- markers


def test_markers_of_a_template() -> None:
    text = "{# <|note|> #}<|im_start|>{{ '<|' + message.role + '|>' }}{{ '<\uff5cUser\uff5c>' }}<start_of_turn><|not this one|><think>"
    assert control_tokens(text) == {"<|im_start|>", "<|user|>", "<|assistant|>", "<\uff5cUser\uff5c>", "<start_of_turn>"}


def vocabulary(*texts: str) -> bytes:
    return json.dumps(
        {"added_tokens": [], "model": {"vocab": {text: number for number, text in enumerate(texts)}}}, ensure_ascii=False
    ).encode()


def test_markers_that_the_tokenizer_takes_to_pieces(tmp_path: Path) -> None:
    files = {**tokenizer(CHATML, added_tokens_decoder=added((0, "<s>"))), "tokenizer.json": vocabulary("im", "_start")}
    (one,) = found(tmp_path, files)
    assert isinstance(one, Defect)
    assert (one.rule, one.line) == ("snapshot-chat-marker-not-a-token", 2)
    assert "<|im_start|>, <|im_end|>; no vocabulary of the tokenizer has them" in one.detail


@pytest.mark.parametrize(
    "files",
    [
        # Added tokens of any of the files, and entries of any vocabulary.
        {**tokenizer(CHATML, added_tokens_decoder=CHATML_TOKENS), "tokenizer.json": vocabulary("im")},
        {**tokenizer(CHATML), "tokenizer.json": vocabulary("<|im_start|>", "<|im_end|>")},
        {**tokenizer(CHATML), "added_tokens.json": {"<|im_start|>": 1, "<|im_end|>": 2}, "tokenizer.json": vocabulary("im")},
        {**tokenizer(CHATML, additional_special_tokens=["<|im_start|>", "<|im_end|>"]), "tokenizer.json": vocabulary("im")},
        {**tokenizer(CHATML), "special_tokens_map.json": {"additional_special_tokens": ["<|im_start|>", {"content": "<|im_end|>"}]}},
        {**tokenizer(CHATML), "tokenizer.model": b"\x0a\x0c<|im_start|>\x0a\x0a<|im_end|>"},
        {
            **tokenizer(CHATML),
            "tokenizer.json": json.dumps({"vocab": {"<|im_start|>": 1, "<|im_end|>": 2}}).replace("<", "\\u003c").encode(),
        },
        # No vocabulary, one that cannot be searched, one that was not fetched, and code that may add tokens.
        tokenizer(CHATML),
        {**tokenizer(CHATML), "qwen.tiktoken": b"PHxpbV9zdGFydHw+ 1"},
        {**tokenizer(CHATML), "tokenizer.json": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"},
        {**tokenizer(CHATML, auto_map={"AutoTokenizer": ["tokenization_x.X", None]}), "tokenizer.json": vocabulary("im")},
        # Roles in plain text, by design.
        {**tokenizer("{{ '<|user|>\\n' + m + eos_token + '<|assistant|>' }}"), "tokenizer.json": vocabulary("user")},
        {**tokenizer("{{ '[INST] ' + m + ' [/INST]' }}"), "tokenizer.json": vocabulary("INST")},
    ],
)
def test_markers_that_are_tokens_or_cannot_be_judged(tmp_path: Path, files: dict[str, object]) -> None:
    assert found(tmp_path, files) == []


def test_chatglm3_encodes_its_roles_as_text(fixtures: Path) -> None:
    read = read_snapshot(fixtures / "chatglm3-6b-2024-02")
    (one,) = run(CHECKS, read, situation(read, plan_apply_chat_template=True))
    assert isinstance(one, Hit)
    assert (one.rule, one.outcome) == ("snapshot-chat-marker-not-a-token", True)
    assert run(CHECKS, read, situation(read)) == []


def test_chatglm3_with_its_tokens_listed_is_sound(tmp_path: Path) -> None:
    template = "{{ '[gMASK]sop' }}{{ '<|' + m['role'] + '|> \\n ' + m['content'] }}"
    config = {"model_type": "chatglm", "architectures": ["ChatGLMModel"], "padded_vocab_size": 65024}
    auto_map = {"AutoTokenizer": ["tokenization_chatglm.ChatGLMTokenizer", None]}

    def files(*tokens: tuple[int, str]) -> dict[str, object]:
        return {"config.json": config, **tokenizer(template, auto_map=auto_map, added_tokens_decoder=added(*tokens))}

    listed = files((64795, "<|user|>"), (64796, "<|assistant|>"))
    assert found(tmp_path / "new", listed, plan_apply_chat_template=True) == []
    old = found(tmp_path / "old", files(), plan_apply_chat_template=True, model_family="chatglm3")
    assert rules(old) == ["snapshot-chat-marker-not-a-token"]


@pytest.mark.parametrize("template", ["{{ bos_token }}{{ m }}", "{% set x = 1 %}\n{{- bos_token + m }}", "{{ '<s>' + m }}", "<s>{{ m }}"])
def test_the_first_token_twice(tmp_path: Path, template: str) -> None:
    files = tokenizer(template, add_bos_token=True, bos_token="<s>")
    (one,) = found(tmp_path, files, plan_method="lora", plan_apply_chat_template=True)
    assert (one.rule, one.line) == ("snapshot-double-bos", 3)
    assert found(tmp_path, files, plan_method="lora") == []
    assert (
        found(
            tmp_path / "off", tokenizer(template, add_bos_token=False, bos_token="<s>"), plan_method="lora", plan_apply_chat_template=True
        )
        == []
    )


def test_a_template_that_leaves_the_first_token_to_the_tokenizer(tmp_path: Path) -> None:
    files = tokenizer("{{ m + bos_token }}", add_bos_token=True, bos_token="<s>")
    assert found(tmp_path, files, plan_method="lora", plan_apply_chat_template=True) == []


@pytest.mark.parametrize("name", ["chatglm3-6b", "chatglm3-6b-2024-02", "glm-4-9b-chat-hf", "llama-2-7b-hf", "qwen2.5-0.5b-instruct"])
def test_the_fixtures_are_sound(fixtures: Path, name: str) -> None:
    assert run(CHECKS, read_snapshot(fixtures / name)) == []
