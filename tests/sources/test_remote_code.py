"""What is told of a snapshot's own Python code, which is never executed."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.facts.fact import Collected, FactValue
from envdoctor.sources.model.snapshot_facts import collect_snapshot
from tests.examples import examples

CONFIG = {
    "model_type": "chatglm",
    "auto_map": {"AutoConfig": "configuration_x.XConfig", "AutoModelForCausalLM": "modeling_x.XForCausalLM"},
}
TOKENIZER = {"auto_map": {"AutoTokenizer": ["tokenization_x.XTokenizer", None]}}


def snapshot(path: Path, **files: str) -> Collected:
    """A snapshot with the modules given; a module that is not given is not there."""
    (path / "config.json").write_text(json.dumps(CONFIG))
    (path / "tokenizer_config.json").write_text(json.dumps(TOKENIZER))
    for name, text in files.items():
        (path / f"{name}.py").write_text(textwrap.dedent(text))
    return collect_snapshot(path)


def value(found: Collected, name: str) -> FactValue | None:
    return next((fact.value for fact in found.facts if fact.name == f"model.{name}"), None)


def line(found: Collected, name: str) -> int | None:
    return next(fact.origin.line for fact in found.facts if fact.name == f"model.{name}")


# --- tokenizers


BEFORE = """
    from transformers import PreTrainedTokenizer

    class XTokenizer(PreTrainedTokenizer):
        def __init__(self, vocab_file, **kwargs):
            self.tokenizer = open(vocab_file)
            super().__init__(**kwargs)
            self.cache = {}

        @property
        def vocab_size(self):
            return self.tokenizer.n_words
"""
AFTER = """
    from transformers import PreTrainedTokenizer

    class XTokenizer(PreTrainedTokenizer):
        def __init__(self, vocab_file, **kwargs):
            super().__init__(**kwargs)
            self.do_lower_case = False
            self.sp_tokenizer = open(vocab_file)

        def get_vocab(self):
            return {self._convert_id_to_token(i): i for i in range(3)}

        def _convert_id_to_token(self, index):
            return self.lookup(index)

        def lookup(self, index):
            return self.sp_tokenizer[index]
"""


QWEN = """
class XTokenizer(object):
    def __init__(self, **kwargs):
        super().__init__(**kwargs); self.st = ()
        self.ranks = {}
    def get_vocab(self):
        return self.ranks
    def _add_tokens(self, new, special_tokens=False):
        for token in new:
            if token.content not in SPECIAL:
                raise ValueError
        return 0
"""


@pytest.mark.parametrize(
    ("source", "expected", "at"),
    [
        (BEFORE, "before-super", 5),
        (AFTER, "after-super", 8),
        # A base class of the snapshot sets it: the one that is called first counts.
        (
            """
            from transformers import PreTrainedTokenizer

            class Base(PreTrainedTokenizer):
                def __init__(self, **kwargs):
                    PreTrainedTokenizer.__init__(self, **kwargs)
                    self.sp_model = 1

                @property
                def vocab_size(self):
                    return self.sp_model

            class XTokenizer(Base):
                pass
            """,
            "after-super",
            7,
        ),
        (
            """
            class XTokenizer(object):
                sp_model = None

                def __init__(self):
                    super().__init__()
                    self.sp_model = 1

                def get_vocab(self):
                    return self.sp_model
            """,
            "before-super",
            5,
        ),
        (
            """
            class XTokenizer(object):
                def __init__(self):
                    super().__init__()
                    self.only_read_when_tokenizing = 1

                def _tokenize(self, text):
                    return self.only_read_when_tokenizing
            """,
            "before-super",
            3,
        ),
        ("class XTokenizer(object): pass\n", "before-super", 1),
        (QWEN, "late-vocabulary", 5),
        (QWEN.replace("n SPECIAL", "n SPECIAL + self.st"), "late-vocabulary", 5),
        (QWEN.replace("n SPECIAL", "n SPECIAL + self.st").replace("(**kwargs)", '(pad_token="x", **kwargs)'), "after-super", 4),
        (QWEN.replace("return 0", "return super()._add_tokens(new)"), "after-super", 5),
    ],
)
def test_attributes_set_after_the_base_class_asked_for_them(tmp_path: Path, source: str, expected: str, at: int) -> None:
    found = snapshot(tmp_path, tokenization_x=source)
    assert (value(found, "tokenizer_init"), line(found, "tokenizer_init")) == (expected, at)


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("def _pad(self, inputs, max_length=None): ...", "without-padding-side"),
        ("def _pad(self, inputs, padding_side=None): ...", "with-padding-side"),
        ("def _pad(self, inputs, *, padding_side=None): ...", "with-padding-side"),
        ("def _pad(self, *args, **kwargs): ...", "with-padding-side"),
        ("def pad(self, inputs): ...", "inherited"),
    ],
)
def test_signature_of_pad(tmp_path: Path, definition: str, expected: str) -> None:
    found = snapshot(tmp_path, tokenization_x=f"class XTokenizer(object):\n    {definition}\n")
    assert value(found, "tokenizer_pad_signature") == expected


# --- models


def model(body: str, head: str = "import transformers\n") -> str:
    opening = "class XForCausalLM(transformers.PreTrainedModel):\n    supports_gradient_checkpointing = True\n"
    return f"{head}\n{opening}{textwrap.indent(body, '    ')}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def _set_gradient_checkpointing(self, module, value=False):\n    module.gradient_checkpointing = value\n", "set-hook"),
        ("def _set_gradient_checkpointing(self, enable=True, gradient_checkpointing_func=None): ...\n", "inherited"),
        (
            "def gradient_checkpointing_enable(self, kwargs=None):\n"
            "    if not self.supports_gradient_checkpointing:\n"
            "        raise ValueError(f'{self.__class__.__name__} does not')\n",
            "no-op",
        ),
        ("def gradient_checkpointing_enable(self, kwargs=None):\n    kwargs = kwargs or {}\n    logger.warning('ignored')\n", "no-op"),
        (
            "def gradient_checkpointing_enable(self): ...\n"
            "def _set_gradient_checkpointing(self, module, value=False):\n    module.gradient_checkpointing = value\n",
            "no-op",
        ),
        ("def gradient_checkpointing_enable(self):\n    super().gradient_checkpointing_enable()\n", "inherited"),
        ("def gradient_checkpointing_enable(self):\n    self.transformer.encoder.gradient_checkpointing = True\n", "inherited"),
        ("def gradient_checkpointing_enable(self):\n    self.transformer.gradient_checkpointing_enable()\n", "inherited"),
        ("def gradient_checkpointing_enable(self):\n    setattr(self.encoder, 'gradient_checkpointing', True)\n", "inherited"),
        ("pass\n", "inherited"),
    ],
)
def test_how_gradient_checkpointing_is_switched_on(tmp_path: Path, body: str, expected: str) -> None:
    assert value(snapshot(tmp_path, modeling_x=model(body)), "gc_support") == expected


def test_a_model_that_cannot_recompute_refuses_and_does_not_ignore(tmp_path: Path) -> None:
    source = "class XForCausalLM(object):\n    def gradient_checkpointing_enable(self):\n        raise ValueError\n"
    assert value(snapshot(tmp_path, modeling_x=source), "gc_support") == "inherited"


UPDATE = "def _update_model_kwargs_for_generation(self, outputs, kwargs, standardize_cache_format=False):\n"
OLD_CALL = "    kwargs['past'] = self._extract_past_from_model_output(outputs, standardize_cache_format=standardize_cache_format)\n"


@pytest.mark.parametrize(
    ("body", "uses", "gated", "form"),
    [
        (UPDATE + OLD_CALL, True, False, "format-value"),
        (UPDATE + "    name, cache = self._extract_past_from_model_output(outputs)\n", True, False, "pair"),
        (UPDATE + "    kwargs['past'] = self._extract_past_from_model_output(outputs)[1]\n", True, False, "pair"),
        (UPDATE + "    kwargs['past'] = self._extract_past_from_model_output(outputs)\n", True, False, "value"),
        (
            UPDATE + "    name, cache = self._extract_past_from_model_output(outputs, standardize_cache_format=standardize_cache_format)\n",
            True,
            False,
            "format-pair",
        ),
        (UPDATE + "    if is_4_44_or_higher:\n    " + OLD_CALL + "    else:\n    " + OLD_CALL, True, True, None),
        (UPDATE + "    if is_4_44_or_higher:\n    " + OLD_CALL + OLD_CALL, True, False, "format-value"),
        (UPDATE + "    if hasattr(self, '_extract_past_from_model_output'):\n    " + OLD_CALL, True, True, None),
        (UPDATE + "    if self.training:\n    " + OLD_CALL, True, False, "format-value"),
        (UPDATE + "    new = transformers.__version__ >= '4.44'\n    if new:\n    " + OLD_CALL, True, True, None),
        (UPDATE + "    try:\n    " + OLD_CALL + "    except TypeError:\n        pass\n", True, True, None),
        ("def _extract_past_from_model_output(self, outputs):\n    return outputs\n" + UPDATE + OLD_CALL, False, None, None),
        ("def forward(self): ...\n", False, None, None),
    ],
)
def test_calls_of_the_cache_hook(tmp_path: Path, body: str, uses: bool, gated: bool | None, form: str | None) -> None:
    head = "import transformers\nis_4_44_or_higher = int(transformers.__version__.split('.')[1]) >= 44\n"
    found = snapshot(tmp_path, modeling_x=model(body, head))
    assert value(found, "uses_cache_format_hook") is uses
    assert value(found, "cache_hook_gated") is gated
    assert value(found, "cache_hook_call") == form


@pytest.mark.parametrize(
    ("signature", "expected"),
    [("self, input_ids, labels=None", False), ("self, input_ids, **kwargs", True), ("self, input_ids, num_items_in_batch=None", True)],
)
def test_whether_forward_takes_the_arguments_of_the_loss(tmp_path: Path, signature: str, expected: bool) -> None:
    assert value(snapshot(tmp_path, modeling_x=model(f"def forward({signature}): ...\n")), "loss_kwargs") is expected


def test_definitions_of_a_base_class_in_another_module_count(tmp_path: Path) -> None:
    found = snapshot(
        tmp_path,
        modeling_x="from .base_x import Base\nclass XForCausalLM(Base):\n    pass\n",
        base_x="class Base(object):\n    def _set_gradient_checkpointing(self, module, value=False):\n        module.flag = value\n",
    )
    fact = next(fact for fact in found.facts if fact.name == "model.gc_support")
    assert (fact.value, fact.origin.file, fact.origin.line) == ("set-hook", str(tmp_path / "base_x.py"), 2)


# --- configurations


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def __init__(self, num_layers=2):\n        self.num_layers = num_layers", False),
        ("def __init__(self, num_layers=2):\n        self.num_hidden_layers = num_layers", True),
        ("attribute_map = {'num_hidden_layers': 'num_layers'}", True),
        ("@property\n    def num_hidden_layers(self): return 2", True),
        ("num_hidden_layers = 2", True),
    ],
)
def test_whether_the_configuration_knows_num_hidden_layers(tmp_path: Path, body: str, expected: bool) -> None:
    source = f"class XConfig(object):\n    {body}\n"
    assert value(snapshot(tmp_path, configuration_x=source), "has_num_hidden_layers") is expected


# --- what cannot be read


def test_code_that_is_absent_says_nothing_and_is_said(tmp_path: Path) -> None:
    found = snapshot(tmp_path)
    assert value(found, "gc_support") is None
    assert {skip.what.rpartition("/")[2] for skip in found.skips} == {"configuration_x.py", "modeling_x.py", "tokenization_x.py"}
    assert {skip.why for skip in found.skips} == {"named by the snapshot's configuration or code, and not there"}


def test_a_class_that_is_not_defined(tmp_path: Path) -> None:
    found = snapshot(tmp_path, modeling_x="class Other: pass\n")
    assert "it defines no class XForCausalLM, which auto_map names" in [skip.why for skip in found.skips]


def test_code_of_another_repository_is_not_looked_for(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"auto_map": {"AutoModel": "someone/repo--modeling_x.X"}}))
    found = collect_snapshot(tmp_path)
    assert value(found, "remote_code") is True
    assert [skip.why for skip in found.skips] == ["auto_map names code of another repository, someone/repo"]


def test_a_module_path_does_not_leave_the_directory(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "outside.py").write_text("class X: pass\n")
    (tmp_path / "inner" / "config.json").write_text(json.dumps({"auto_map": {"AutoModel": "../outside.X"}}))
    found = collect_snapshot(tmp_path / "inner")
    assert value(found, "gc_support") is None
    assert found.skips


@pytest.mark.parametrize(
    "source",
    [
        b"class XForCausalLM(",
        b"class XForCausalLM:\n\tdef f():\n        pass",
        b"\xff\xfe\x00",
        b"x = 1\0",
        b"# coding: zip\nclass XForCausalLM: pass" + b"\xff",
        b"-" * 150_000 + b"1",
        b"a" + b".b" * 90_000,
        b"1" + b"+1" * 90_000,
        b"f" + b"()" * 90_000,
        b"(" * 5_000 + b")" * 5_000,
        b"x = 1\n" * 400_000,
    ],
    ids=["open", "tabs", "utf-16", "null", "cookie", "minus", "attributes", "sums", "calls", "parentheses", "large"],
)
def test_hostile_source_is_a_skip(tmp_path: Path, source: bytes) -> None:
    (tmp_path / "modeling_x.py").write_bytes(source)
    found = snapshot(tmp_path)
    assert value(found, "gc_support") is None
    assert [skip for skip in found.skips if skip.what.endswith("modeling_x.py")]


def test_a_circle_of_base_classes_ends(tmp_path: Path) -> None:
    found = snapshot(
        tmp_path,
        modeling_x="from .other_x import B\nclass XForCausalLM(B): pass\nclass A(XForCausalLM): pass\n",
        other_x="from .modeling_x import A\nclass B(A): pass\n",
    )
    assert value(found, "gc_support") == "inherited"


def test_thousands_of_base_classes_end(tmp_path: Path) -> None:
    classes = "".join(f"class C{number}(C{number + 1}): pass\n" for number in range(3000))
    found = snapshot(tmp_path, modeling_x=f"class XForCausalLM(C0): pass\n{classes}")
    assert value(found, "gc_support") == "inherited"
    assert "C99 and what follows: more than 100 base classes are not read" in [skip.why for skip in found.skips]


def test_no_code_is_executed(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    code = f"open({str(marker)!r}, 'w')\nclass XForCausalLM: pass\nclass XTokenizer: pass\nclass XConfig: pass\n"
    snapshot(tmp_path, modeling_x=code, tokenization_x=code, configuration_x=code)
    assert not marker.exists()


def test_warnings_of_the_compiler_are_not_shown(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    snapshot(tmp_path, modeling_x="class XForCausalLM:\n    pattern = '\\d'\n    same = 1 is 1\n")
    assert not recwarn.list


fragments = st.sampled_from(
    [
        "class XForCausalLM(Base):\n", "class Base:\n", "    def forward(self, **k):\n", "        self.x = super().__init__()\n",
        "    def gradient_checkpointing_enable(self):\n", "        pass\n", "    if a:\n", "from .modeling_x import *\n",
        "        self._extract_past_from_model_output(1)\n", "try:\n", "except:\n", "@", "\\", "\n", "    x: int = 1\n",
        "    attribute_map = {1: 2}\n", "async ",
    ]
)  # fmt: skip


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(fragments | st.text(max_size=8), max_size=12))
def test_any_text_in_the_place_of_code_is_read_or_skipped(tmp_path: Path, parts: list[str]) -> None:
    text = "".join(parts).encode("utf-8", "replace")
    for name in ("modeling_x", "tokenization_x", "configuration_x"):
        (tmp_path / f"{name}.py").write_bytes(text)
    found = snapshot(tmp_path)
    told = value(found, "gc_support") is not None
    assert told or any(skip.what.endswith("modeling_x.py") for skip in found.skips)


# --- whole snapshots


def test_chatglm3_as_first_released(fixtures: Path) -> None:
    found = collect_snapshot(fixtures / "chatglm3-6b")
    names = (
        "tokenizer_init", "tokenizer_pad_signature", "gc_support", "uses_cache_format_hook", "cache_hook_gated", "cache_hook_call",
        "loss_kwargs", "has_num_hidden_layers", "remote_code",
    )  # fmt: skip
    assert {name: value(found, name) for name in names} == {
        "tokenizer_init": "before-super",
        "tokenizer_pad_signature": "without-padding-side",
        "gc_support": "set-hook",
        "uses_cache_format_hook": True,
        "cache_hook_gated": False,
        "cache_hook_call": "format-value",
        "loss_kwargs": False,
        "has_num_hidden_layers": False,
        "remote_code": True,
    }


def test_chatglm3_of_february_2024_ignores_the_request_to_recompute(fixtures: Path) -> None:
    found = collect_snapshot(fixtures / "chatglm3-6b-2024-02")
    fact = next(fact for fact in found.facts if fact.name == "model.gc_support")
    source = (fixtures / "chatglm3-6b-2024-02" / "modeling_chatglm.py").read_text().splitlines()
    assert fact.value == "no-op"
    assert fact.origin.line is not None
    assert source[fact.origin.line - 1].strip().startswith("def gradient_checkpointing_enable")


def test_a_native_model_inherits_everything(fixtures: Path) -> None:
    found = collect_snapshot(fixtures / "llama-2-7b-hf")
    assert value(found, "remote_code") is False
    assert value(found, "tokenizer_pad_signature") == "inherited"
    assert value(found, "gc_support") == "inherited"
    assert value(found, "uses_cache_format_hook") is False
    assert value(found, "loss_kwargs") is None


# --- what the code cannot do without

USES = """
import transformers
from transformers.utils import is_flash_attn_available, logging
from .configuration_own import OwnConfig
try:
    from transformers.utils import LossKwargs
except ImportError:
    LossKwargs = dict
if is_flash_attn_available():
    from transformers.modeling_flash_attention_utils import _upad_input
{version}

class OwnForCausalLM(transformers.PreTrainedModel):
    def forward(self, past_key_values=None):
        if hasattr(past_key_values, "seen_tokens"):
            past_key_values.seen_tokens
        return past_key_values.get_max_length()

    def from_legacy_cache(self):
        return self.from_legacy_cache()
"""


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("", ("get_max_length", "is_flash_attn_available", "logging")),
        ("from transformers.cache_utils import HybridCache", ("HybridCache", "get_max_length", "is_flash_attn_available", "logging")),
        (
            "if transformers.__version__ < '5':\n    from transformers import HybridCache",
            ("get_max_length", "is_flash_attn_available", "logging"),
        ),
    ],
)
def test_code_uses_what_it_needs_on_every_release(tmp_path: Path, version: str, expected: tuple[str, ...]) -> None:
    from envdoctor.sources.model.snapshot_facts import collect_snapshot

    (tmp_path / "config.json").write_text('{"model_type": "own", "auto_map": {"AutoModelForCausalLM": "modeling_own.OwnForCausalLM"}}')
    (tmp_path / "modeling_own.py").write_text(USES.format(version=version))
    (tmp_path / "configuration_own.py").write_text("class OwnConfig: pass\n")
    found = {fact.name: fact for fact in collect_snapshot(tmp_path).facts}
    assert found["model.code_uses"].value == expected
    assert found["model.code_uses"].origin.file == str(tmp_path / "modeling_own.py")
