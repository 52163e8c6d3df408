"""What can be told of a change without the old file: fields of JSON, definitions of Python, tensors."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.snapshot.definitions import TOP, WHOLE, compare_definitions, definitions_of
from envdoctor.snapshot.fields import MOST_FIELDS, FieldChange, compare_fields, fields_of
from envdoctor.snapshot.roles import loaded_by_name, role_of
from envdoctor.snapshot.tensors import header_digest, kinds_of, tensors_digest
from envdoctor.sources.model.safetensors_header import Tensor, header_of
from tests.snapshot.places import CODE, WEIGHTS, shard

SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
KEY = st.text(max_size=6)
JSON = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEY, inner, max_size=4), max_leaves=20)
OBJECT = st.dictionaries(KEY, JSON, max_size=6)


def fields(value: object, **layout: object) -> dict[str, str]:
    found = fields_of(json.dumps(value, **layout).encode())  # type: ignore[arg-type]
    assert found is not None
    return found


@given(OBJECT, OBJECT)
def test_fields_are_equal_where_the_values_are(one: dict[str, object], other: dict[str, object]) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (fields(one) == fields(other)) is same
    assert fields(one) == fields(one, indent=3)


@given(OBJECT)
def test_every_change_of_one_entry_is_told(value: dict[str, object]) -> None:
    changed = {**value, "new key": 1}
    assert [change.after for change in compare_fields(fields(value), fields(changed)) if change.before is None][-1:] == ["1"]


def test_fields_have_dotted_names_and_values_as_json() -> None:
    found = fields({"eos_token_id": [1, 2], "rope_scaling": {"type": "linear"}, "x": None, "auto_map": {}, "a.b": {"c": "é"}})
    del found["*"]
    assert found == {"eos_token_id": "[1, 2]", "rope_scaling.type": '"linear"', "x": "null", "auto_map": "{}", "a\\.b.c": '"é"'}


def test_a_number_is_the_same_however_it_is_written() -> None:
    before, after = (
        fields({"rope_theta": 1000000.0, "eps": 1e-5, "tied": True}),
        fields({"rope_theta": 1000000, "eps": 0.00001, "tied": True}),
    )
    assert compare_fields(before, after) == ()
    assert len(compare_fields(before, fields({"rope_theta": 1000001, "tied": 1}))) == 3


def test_the_change_of_a_field_in_words() -> None:
    before, after = fields({"eos_token_id": [151329], "old": 1}), fields({"eos_token_id": [151329, 151336], "temperature": 0.8})
    assert compare_fields(before, after) == (
        FieldChange("eos_token_id", "[151329]", "[151329, 151336]"),
        FieldChange("old", "1", None),
        FieldChange("temperature", None, "0.8"),
    )


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"a":', "}")])
def test_json_as_deep_as_python_follows_has_fields_or_none(start: str, end: str) -> None:
    """Some releases read a few levels more than they write."""
    for depth in range(940, 1010):
        found = fields_of(f'{{"x":{start * depth}1{end * depth}}}'.encode())
        assert found is None or WHOLE in found


def test_added_tokens_are_told_apart_by_their_ids() -> None:
    one = fields({"added_tokens": [{"id": 5, "content": "<s>"}, {"id": 9, "content": "</s>"}]})
    other = fields({"added_tokens": [{"id": 5, "content": "<s>"}, {"id": 9, "content": "<|user|>"}]})
    assert compare_fields(one, other) == (FieldChange("added_tokens[9].content", '"</s>"', '"<|user|>"'),)


def test_a_vocabulary_is_one_value_and_a_long_text_a_digest() -> None:
    vocabulary = {f"token{number}": number for number in range(5000)}
    found = fields({"model": {"type": "BPE", "vocab": vocabulary}, "chat_template": "x" * 5000})
    assert found["model.type"] == '"BPE"'
    assert found["model.vocab"].endswith("(5000 entries)")
    assert found["chat_template"].endswith("(5002 characters)")
    other = fields({"model": {"type": "BPE", "vocab": {**vocabulary, "token7": 8}}, "chat_template": "x" * 5000})
    assert [change.name for change in compare_fields(found, other)] == ["model.vocab"]


def test_many_fields_are_told_apart_less_deeply() -> None:
    found = fields({"added_tokens_decoder": {str(n): {"content": f"<{n}>", "lstrip": False, "rstrip": False} for n in range(256)}, "a": 1})
    assert len(found) == 258
    assert found["added_tokens_decoder.7"] == '{"content": "<7>", "lstrip": false, "rstrip": false}'
    wide = fields({f"key{number}": number for number in range(MOST_FIELDS + 5)})
    assert list(wide) == ["*"]


@pytest.mark.parametrize("data", [b"", b"[1]", b"{", b"\xff", b"3", b"[" * 10_000, b'{"a":' * 100_000, b"[" + b"[]," * 3_000_000 + b"[]]"])
def test_what_is_no_json_object_has_no_fields(data: bytes) -> None:
    assert fields_of(data) is None


def test_half_a_surrogate_pair_can_be_told() -> None:
    found = fields_of(b'{"\\ud800": "\\udfff"}')
    assert found is not None
    assert "".join(found.values()).encode("utf-8")
    assert "".join(found).encode("utf-8")


# --- code ----------------------------------------------------------------------------------------


def definitions(code: bytes) -> dict[str, str]:
    found = definitions_of(code)
    assert found is not None
    return found


def test_a_definition_is_named_when_it_changes() -> None:
    other = CODE.replace(b"x + 1", b"x + 2").replace(b"def helper", b"def helped")
    assert compare_definitions(definitions(CODE), definitions(other)) == (["Model.forward"], ["helped"], ["helper"])
    assert compare_definitions(definitions(CODE), definitions(CODE.replace(b"size = 3", b"size = 4"))) == (["Model"], [], [])
    assert compare_definitions(definitions(CODE), definitions(b"import os\n" + CODE))[0] == [TOP]


@pytest.mark.parametrize(
    "other",
    [
        CODE.replace(b"\n", b"\r\n"),
        b"# a comment\n" + CODE,
        CODE.replace(b"x + 1", b"(x  +  1)  # one more"),
        b"\xef\xbb\xbf" + CODE,
    ],
    ids=("line ends", "comment", "parentheses", "mark"),
)
def test_comments_and_layout_do_not_count(other: bytes) -> None:
    assert definitions(other) == definitions(CODE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"x = 1", b"x = 1.0"),
        (b"x = 1", b"x = True"),
        (b"x = 'a'", b"x = b'a'"),
        (b"x = None", b"x = ..."),
        (b"f(a, b)", b"f((a, b))"),
        (b"f(a=b)", b"f(**{'a': b})"),
        (b"def f(a, /, b): pass", b"def f(a, b, /): pass"),
        (b"def f(a, *, b): pass", b"def f(a, b): pass"),
        (b"[a for a in b if c]", b"[a for a in b]"),
        (b"{None: 1}", b"{**None}"),
        (b"x: int", b"x: int = 1"),
        (b"try: a\nexcept: b", b"try: a\nfinally: b"),
        (b"if a: b\nelse: c", b"if a: b; c"),
        (b"def f(): a\ndef f(): b", b"def f(): b\ndef f(): a"),
        (b"class A(B): pass", b"class A(x=B): pass"),
        (b"a = f'{b}'", b"a = f'{b!r}'"),
    ],
)
def test_programs_that_differ_have_digests_that_differ(one: bytes, other: bytes) -> None:
    assert ast.dump(ast.parse(one)) != ast.dump(ast.parse(other))
    assert definitions(one)[WHOLE] != definitions(other)[WHOLE]


@pytest.mark.parametrize("data", [b"def f(:", b"\xff", b"\0", b"x" * (2**20 + 1), b"(" * 5000, b"x = " + b"9" * 10_000])
def test_what_cannot_be_parsed_has_no_definitions(data: bytes) -> None:
    assert definitions_of(data) is None


def test_deep_code_and_long_numbers_are_no_trouble() -> None:
    assert definitions(b"x = " + b"+".join([b"1"] * 800)) != definitions(b"x = " + b"+".join([b"1"] * 801))
    assert definitions(b"x = 0x" + b"f" * 10_000) != definitions(b"x = 0x" + b"f" * 9_999)


# --- tensors -------------------------------------------------------------------------------------


def test_the_digest_of_tensors_knows_names_dtypes_and_shapes_and_not_their_order(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(shard(WEIGHTS))
    other.write_bytes(shard(dict(reversed(WEIGHTS.items())), {"format": "pt"}))
    assert header_digest(str(one)) != header_digest(str(other))
    assert tensors_digest(header_of(one).tensors) == tensors_digest(header_of(other).tensors)
    other.write_bytes(shard({**WEIGHTS, "head": ("BF16", [2], bytes(4))}))
    assert tensors_digest(header_of(one).tensors) != tensors_digest(header_of(other).tensors)


def test_a_header_is_digested_without_the_data(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(shard(WEIGHTS))
    other.write_bytes(shard({name: (dtype, shape, b"\1" * len(data)) for name, (dtype, shape, data) in WEIGHTS.items()}))
    assert header_digest(str(one)) == header_digest(str(other)) is not None


@pytest.mark.parametrize("data", [b"", b"version ", b"\x10" + bytes(7), b"\xff" * 8, bytes(8)])
def test_what_has_no_header_has_no_digest(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    assert header_digest(str(tmp_path / "x")) is None


def test_the_layers_of_a_model_are_one_line() -> None:
    tensors = [(f"layers.{n}.experts.{e}.w", Tensor("BF16", (4, n // 3))) for n in range(4) for e in range(2)]
    assert kinds_of([*tensors, ("head", Tensor("F32", ()))]) == {"head": "F32 []", "layers.*.experts.*.w": "BF16 [4, 0] x6, BF16 [4, 1] x2"}
    many = kinds_of([(f"t{chr(97 + n // 26)}{chr(97 + n % 26)}", Tensor("F16", (1,))) for n in range(300)])
    assert many["…"] == "44 more"


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("model-00001-of-00002.safetensors", "weights"),
        ("pytorch_model.bin.index.json", "weights"),
        ("training_args.bin", "other"),
        ("optimizer.pt", "other"),
        ("rng_state_3.pth", "other"),
        ("modeling_chatglm.py", "code"),
        ("sub/tokenizer.json", "tokenizer"),
        ("ice_text.model", "tokenizer"),
        ("chat_template.jinja", "tokenizer"),
        ("generation_config.json", "generation"),
        ("config.json", "config"),
        ("adapter_config.json", "config"),
        ("README.md", "documentation"),
        ("LICENSE", "documentation"),
        (".gitattributes", "documentation"),
        ("MODEL_LICENSE", "other"),
        ("data.arrow", "other"),
    ],
)
def test_roles(name: str, role: str) -> None:
    assert role_of(name) == role


def test_names_that_libraries_look_for() -> None:
    looked_for = ["model.safetensors", "adapter_config.json", "added_tokens.json", "tokenizer.model"]
    assert all(map(loaded_by_name, [*looked_for, "additional_chat_templates/tool.jinja", "custom_generate/generate.py"]))
    assert not any(map(loaded_by_name, ["model-00001-of-00002.safetensors", "README.md", "new.py", "sub/model.safetensors", "other.json"]))
