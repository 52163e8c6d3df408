"""Which release knows which model type: the bundled table, what is asked of it, and the script that makes it."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
import zipfile
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from envdoctor.facts.versions import ABSENT, exact, parse_package, version_condition
from envdoctor.world.architectures import (
    ANY_CLASS,
    Span,
    bounds,
    is_never_native,
    known_types,
    lacks,
    lacks_tokenizer,
    newest,
    oldest,
    span_of,
    tokenizer_spans,
)
from envdoctor.world.releases import release_texts
from tests.each import each

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "refresh_model_types.py"
TABLE = json.loads((Path(__file__).parent.parent.parent / "envdoctor" / "data" / "model_types.json").read_text(encoding="utf-8"))
TRANSFORMERS = release_texts("transformers")
READ = [release for release in TRANSFORMERS if Version(release) >= Version(TABLE["oldest"])]
TYPES = sorted(TABLE["model_types"])


@pytest.mark.parametrize(
    ("model_type", "first", "before"),
    [
        ("llama", "4.28.0", "4.27.4"),
        ("falcon", "4.31.0", "4.30.2"),
        ("mistral", "4.34.0", "4.33.3"),
        ("mixtral", "4.36.0", "4.35.2"),
        ("qwen2", "4.37.0", "4.36.2"),
        ("gemma", "4.38.0", "4.37.2"),
        ("phi3", "4.41.0", "4.40.2"),
        ("glm", "4.46.0", "4.45.2"),
        ("modernbert", "4.48.0", "4.47.1"),
        ("deepseek_v3", "4.51.0", "4.50.3"),
        ("glm4", "4.51.3", "4.51.2"),
        ("glm4_moe", "4.54.0", "4.53.3"),
        ("qwen3_5", "5.2.0", "5.1.0"),
        ("mellum", "5.10.1", "5.10.0"),
    ],
)
def test_the_release_that_brought_a_type(model_type: str, first: str, before: str) -> None:
    assert span_of(model_type) == (Span(first),)
    assert model_type in known_types(exact(first))
    assert model_type not in known_types(exact(before))


def test_types_that_left() -> None:
    assert span_of("nezha") == (Span("4.21.0", "5.0.0"),)
    assert span_of("transfo-xl") == (Span(oldest(), "5.0.0"),)
    assert [name in known_types(exact("4.57.6")) for name in ("nezha", "transfo-xl")] == [True, True]
    assert [name in known_types(exact("5.0.0")) for name in ("nezha", "transfo-xl")] == [False, False]


def test_a_part_of_a_model_does_not_come_with_its_mapping() -> None:
    """CLIPTextModel.from_pretrained loads a text encoder in every release, though only 5.6.0 gave the type to AutoConfig."""
    assert span_of("clip_text_model") == (Span(oldest()),)
    assert span_of("hifigan") is None


@pytest.mark.parametrize("model_type", TABLE["remote_only"])
def test_types_of_remote_code_alone(model_type: str) -> None:
    assert is_never_native(model_type)
    assert span_of(model_type) is None


def test_a_type_that_nobody_knows_is_not_said_to_be_remote_code() -> None:
    assert [is_never_native(name) for name in ("qwen2", "qwen9", "")] == [False, False, False]
    assert {"chatglm", "baichuan", "qwen", "internlm2", "minicpmv", "xverse", "Yi"} <= set(TABLE["remote_only"])


@pytest.mark.parametrize(
    ("name", "spans"),
    [
        ("LlamaTokenizer", (Span("4.28.0"),)),
        ("Qwen2Tokenizer", (Span("4.37.0"),)),
        ("Qwen2TokenizerFast", (Span("4.37.0"),)),
        ("GemmaTokenizerFast", (Span("4.38.0"),)),
        ("GPTNeoXTokenizer", (Span(oldest()),)),  # has no such class, but its Fast twin
        ("PreTrainedTokenizerFast", (Span(oldest()),)),
        ("BloomTokenizerFast", (Span(oldest()),)),
        ("TokenizersBackend", (Span("5.0.0"),)),
        ("QWenTokenizer", None),
        ("LLaMATokenizer", None),
    ],
)
def test_tokenizer_classes(name: str, spans: tuple[Span, ...] | None) -> None:
    assert tokenizer_spans(name) == spans


def test_transformers_5_loads_a_tokenizer_of_any_name() -> None:
    for name in ("TokenizersBackend", "Siglip2Tokenizer", "QWenTokenizer"):
        assert [lacks_tokenizer(name, exact(text)) for text in ("4.57.6", "5.0.0", "5.23.0", "5.0.0rc1")] == [True, False, False, False]


@pytest.mark.parametrize("table", ["model_types", "tokenizers"])
def test_the_table_is_whole(table: str) -> None:
    rows: dict[str, list[str]] = TABLE[table]
    assert list(rows) == sorted(rows)
    for name, row in rows.items():
        assert row, name
        assert set(row) <= set(READ), name
        assert all(Version(first) < Version(second) for first, second in pairwise(row)), name


def test_the_table_was_read_from_every_bundled_release() -> None:
    assert (oldest(), newest()) == (READ[0], READ[-1])


@pytest.mark.large
@each("release", READ)
def test_every_release_knows_what_its_row_says(release: str) -> None:
    version = Version(release)
    expected = {name for name, row in TABLE["model_types"].items() if sum(version >= Version(text) for text in row) % 2}
    assert known_types(exact(release)) == expected


@lru_cache(maxsize=1024)
def _lacking(model_type: str) -> frozenset[str]:
    """The releases that certainly lack a type; those before the table only where it has the type come later."""
    row = TABLE["model_types"][model_type]
    odd = {release for release in TRANSFORMERS if sum(Version(release) >= Version(text) for text in row) % 2}
    return frozenset(release for release in TRANSFORMERS if release not in odd and (release in READ or row[0] != oldest()))


@given(st.sampled_from(TYPES), st.sampled_from(TRANSFORMERS), st.sampled_from(TRANSFORMERS))
def test_of_a_range_all_some_or_none_lack_a_type(model_type: str, first: str, last: str) -> None:
    spans = span_of(model_type)
    assert spans is not None
    text = f">={first},<={last}"
    admitted = [release for release in TRANSFORMERS if version_condition(text).admits(exact(release))]
    lacking = {release in _lacking(model_type) for release in admitted}
    outcome = lacks(spans, parse_package(text), TRANSFORMERS)
    if lacking:
        assert outcome is (lacking.pop() if len(lacking) == 1 else None)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("4.51.2", True),
        ("4.51.3", False),
        ("4.51.2+local", True),
        ("4.51.3+cu118", False),
        ("4.51.3.dev0", False),  # between the two: nothing certain
        ("4.51.3rc1", False),
        ("4.51.2.post1", True),
        ("4.51.0.dev0", True),
        ("4.52.0.dev0", False),
        ("6.0.0", False),
        (">=4.51", None),
        (">=4.51.3", False),
        ("<4.51", True),
        ("~=4.51.0", None),
        ("4.10.0", True),
    ],
)
def test_what_is_certain_of_a_version(text: str, outcome: bool | None) -> None:
    spans = span_of("glm4")
    assert spans is not None
    assert lacks(spans, parse_package(text), TRANSFORMERS) is outcome


def test_what_nothing_is_said_of() -> None:
    old, gone = span_of("bert"), span_of("transfo-xl")
    assert old is not None
    assert gone is not None
    assert lacks(old, exact("4.10.0"), TRANSFORMERS) is False
    assert lacks(gone, exact("4.10.0"), TRANSFORMERS) is False
    assert lacks(gone, exact("5.0.0rc1"), TRANSFORMERS) is False
    assert lacks(gone, exact("5.0.0"), TRANSFORMERS) is True
    assert lacks(ANY_CLASS, ABSENT, TRANSFORMERS) is False


def test_a_name_that_came_back() -> None:
    spans = (Span("4.30.0", "4.40.0"), Span("5.1.0"))
    assert [lacks(spans, exact(text)) for text in ("4.29.2", "4.30.0", "4.39.3", "4.40.0", "5.0.0", "5.1.0")] == [
        True, False, False, True, True, False,
    ]  # fmt: skip


def test_the_bounds_at_which_an_answer_turns() -> None:
    assert bounds("glm4", "PreTrainedTokenizerFast") == ("<4.51.3",)
    assert bounds("nezha", "Qwen2Tokenizer") == ("<4.21.0", "<5.0.0", "<4.37.0")
    assert bounds("chatglm", "ChatGLMTokenizer") == ("<5.0.0",)
    assert bounds(None, None) == bounds("bert", "BertTokenizer") == ()


# --- the script ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("refresh_model_types", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def wheel(**files: str) -> zipfile.ZipFile:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return zipfile.ZipFile(data)


@pytest.mark.parametrize(
    "source",
    [
        'CONFIG_MAPPING_NAMES = OrderedDict([("bert", "BertConfig"), ("glm", "GlmConfig")])',
        'CONFIG_MAPPING_NAMES = OrderedDict[str, str]([("bert", "BertConfig"), ("glm", "GlmConfig")])',
        'CONFIG_MAPPING_NAMES: dict[str, str] = {"bert": "BertConfig", "glm": "GlmConfig"}',
        'CONFIG_MAPPING_NAMES.update({"bert": "BertConfig"})\n'
        'CONFIG_MAPPING_NAMES = OrderedDict(**{"glm": "GlmConfig"}, **CONFIG_MAPPING_NAMES)',
        'OTHER = {"gone": 1}\nOTHER.update({"gone": 1})\nCONFIG_MAPPING_NAMES = {**{"bert": "B"}, "glm": "G"}',
    ],
)
def test_every_way_in_which_releases_write_the_mapping(script: ModuleType, source: str) -> None:
    assert script.mapped_types(source) == {"bert", "glm"}


@pytest.mark.parametrize("source", ["CONFIG_MAPPING_NAMES = OrderedDict([make()])", 'CONFIG_MAPPING_NAMES = {name: "BertConfig"}'])
def test_a_mapping_of_another_form_is_refused(script: ModuleType, source: str) -> None:
    with pytest.raises(SystemExit, match="CONFIG_MAPPING_NAMES"):
        script.mapped_types(source)


def test_types_of_a_wheel(script: ModuleType) -> None:
    archive = wheel(
        **{
            "transformers/models/auto/auto_mappings.py": 'CONFIG_MAPPING_NAMES = OrderedDict([("clip", "CLIPConfig")])',
            "transformers/models/auto/configuration_auto.py": 'CONFIG_MAPPING_NAMES.update({"gpt-sw3": "GPT2Config"})',
            "transformers/models/clip/configuration_clip.py": 'class A:\n    model_type = "clip"\n\n'
            'class B:\n    model_type: str = "clip_text"\n',
            "transformers/models/clip/modeling_clip.py": 'class A:\n    model_type = "no configuration"\n',
        }
    )
    assert script.model_types(archive) == ({"clip", "gpt-sw3"}, {"clip", "clip_text"})


def test_tokenizer_classes_of_a_wheel(script: ModuleType) -> None:
    listed = wheel(
        **{"transformers/__init__.py": '_import_structure = {"models.bert": ["BertTokenizer", "BertModel"], "x": ["GlmTokenizerFast"]}'}
    )
    assert script.tokenizer_classes(listed) == {"BertTokenizer", "GlmTokenizerFast", "GlmTokenizer"}
    found = wheel(
        **{
            "transformers/__init__.py": 'from .utils.import_utils import define_import_structure\nx = ["TokenizersBackend"]',
            "transformers/models/bert/tokenization_bert.py": '__all__ = [\n    "BertTokenizer", "helper",\n]',
        }
    )
    assert script.tokenizer_classes(found) == {"BertTokenizer", "TokenizersBackend"}


def test_rows_of_what_comes_goes_and_comes_back(script: ModuleType) -> None:
    names = [{"a", "b"}, {"a"}, {"a", "b", "c"}]
    assert script.rows(["1", "2", "3"], names) == {"a": ["1"], "b": ["1", "2", "3"], "c": ["3"]}
