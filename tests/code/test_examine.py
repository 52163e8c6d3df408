"""What is found in a snapshot's code, and what is let be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.code.worlds import brief, found

MODEL = ("modeling.Model",)
TOKENIZER = ("tokenization.Tokenizer",)
HEAD = """\
import transformers
from transformers import PretrainedConfig, PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache

class Config(PretrainedConfig):
    def __init__(self, layers=2, **kwargs):
        self.layers = layers
        super().__init__(pad_token_id=0, **kwargs)

"""
BODY = 10  # the line on which the body of a model begins


def model(body: str, base: str = "PreTrainedModel") -> dict[str, str]:
    lines = "\n".join("    " + line for line in body.splitlines())
    return {"modeling.py": f"{HEAD}class Model({base}):\n{lines}\n"}


def tokenizer(body: str) -> dict[str, str]:
    lines = "\n".join("    " + line for line in body.splitlines())
    return {"tokenization.py": f"from transformers import PreTrainedTokenizer\nclass Tokenizer(PreTrainedTokenizer):\n{lines}\n"}


@pytest.mark.parametrize(
    ("statement", "symbol"),
    [
        ("from transformers.utils import is_torch_fx_available", "is_torch_fx_available"),
        ("from transformers import NoSuchModel", "NoSuchModel"),
        ("import transformers.deepspeed_gone", "transformers.deepspeed_gone"),
        ("from transformers.models.gone import Thing", "transformers.models.gone"),
        ("if True:\n    pass\nfrom transformers.cache_utils import HybridCache", "HybridCache"),
    ],
)
def test_an_import_that_will_fail_is_found(tmp_path: Path, statement: str, symbol: str) -> None:
    hits = found(tmp_path, {"modeling.py": f"{HEAD}{statement}\nclass Model(PreTrainedModel): ...\n"}, MODEL)
    assert [(rule, name) for rule, name, _ in brief(hits)] == [("import-missing", symbol)]


@pytest.mark.parametrize(
    "statement",
    [
        "try:\n    from transformers import NoSuchModel\nexcept ImportError:\n    NoSuchModel = None",
        "from transformers.utils import is_torch_available\nif is_torch_available():\n    from transformers import NoSuchModel",
        "if int(transformers.__version__.split('.')[0]) < 5:\n    from transformers import NoSuchModel",
        "if hasattr(transformers, 'NoSuchModel'):\n    from transformers import NoSuchModel",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from transformers import NoSuchModel",
        "def make():\n    from transformers import NoSuchModel",
        "from transformers.utils import is_torch_available",
        "from transformers import modeling_utils",
        "import transformers.generation.utils as utils",
        "from package_that_is_not_here import anything",
    ],
)
def test_an_import_that_is_reckoned_with_is_let_be(tmp_path: Path, statement: str) -> None:
    assert found(tmp_path, {"modeling.py": f"{HEAD}{statement}\nclass Model(PreTrainedModel): ...\n"}, MODEL) == []


def test_a_finding_says_where_and_since_when(tmp_path: Path) -> None:
    (hit,) = found(tmp_path, {"modeling.py": "from transformers.utils import is_torch_fx_available\nclass Model: ...\n"}, MODEL)
    assert hit.detail == (
        "is_torch_fx_available: the file imports it from transformers.utils, which does not have it in transformers 5.0.0; "
        "transformers 4.40.0 has it"
    )
    assert (hit.file, hit.line) == (str(tmp_path / "snapshot" / "modeling.py"), 1)
    assert hit.pins == (("transformers", "<=4.40.0"),)


@pytest.mark.parametrize("use", ["self._gone(1)", "x = self._gone", "super()._gone()"])
def test_a_member_that_the_base_class_lost_is_found(tmp_path: Path, use: str) -> None:
    hits = found(tmp_path, model(f"def forward(self, x):\n    {use}"), MODEL)
    assert brief(hits) == [("member-missing", "_gone", BODY + 2)]


def test_a_member_that_is_lost_while_the_model_is_made_stops_loading(tmp_path: Path) -> None:
    hits = found(
        tmp_path, model("def __init__(self, config):\n    super().__init__(config)\n    self._gone()\n    self.post_init()"), MODEL
    )
    assert brief(hits) == [("load-member-missing", "_gone", BODY + 3)]


@pytest.mark.parametrize(
    "body",
    [
        "def forward(self, x):\n    if hasattr(self, '_gone'):\n        self._gone()",
        "def forward(self, x):\n    if not hasattr(self, '_gone'):\n        return x\n    self._gone()",
        "def forward(self, x):\n    return self._gone() if hasattr(self, '_gone') else x",
        "def forward(self, x):\n    try:\n        self._gone()\n    except AttributeError:\n        pass",
        "def forward(self, x):\n    if transformers.__version__ < '5':\n        self._gone()",
        "def forward(self, x):\n    if x.version >= 3:\n        self._gone()\ndef _gone(self): ...",
        "def make(self):\n    self._gone = 1\ndef forward(self, x):\n    self._gone",
        "def make(self):\n    setattr(self, '_gone', 1)\ndef forward(self, x):\n    self._gone",
        "def make(self, name):\n    setattr(self, name, 1)\ndef forward(self, x):\n    self._gone",
        "def __getattr__(self, name): ...\ndef forward(self, x):\n    self._gone",
        "def forward(self, x):\n    self.never_a_member_of_any_release()",
        "def forward(self, x):\n    class Inner:\n        def run(self):\n            self._gone()\n    return Inner()",
        "def forward(self, x):\n    self.generate(x)\n    self.config.layers\n    self.train()",
        "def forward(self, x):\n    self.register_buffer('_gone', x)\n    self._gone",
    ],
)
def test_a_member_that_is_reckoned_with_or_there_is_let_be(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, model(body), MODEL) == []


def test_a_base_class_that_cannot_be_read_leaves_members_open(tmp_path: Path) -> None:
    code = {"modeling.py": "from somewhere import Base\nclass Model(Base):\n    def forward(self):\n        self._gone()\n"}
    assert found(tmp_path, code, MODEL) == []


def test_the_branch_that_a_release_takes_is_the_one_that_is_read(tmp_path: Path) -> None:
    body = "def forward(self, x):\n    if new:\n        self._gone()\n    else:\n        self.config"
    gate = "from packaging import version\nnew = version.parse(transformers.__version__) >= version.parse('4.45')\n"
    code = {"modeling.py": HEAD + gate + model(body)["modeling.py"].removeprefix(HEAD)}
    assert brief(found(tmp_path, code, MODEL, release="4.50.0")) == [("member-missing", "_gone", BODY + 5)]
    assert found(tmp_path, code, MODEL, release="4.44.0") == []


CONFIGURED = ("modeling.Config", "modeling.Model")


def test_an_attribute_that_configurations_lost_is_found(tmp_path: Path) -> None:
    body = "def __init__(self, config: Config):\n    super().__init__(config)\n    self.length = config.max_length\n    self.post_init()"
    assert brief(found(tmp_path, model(body), CONFIGURED)) == [("load-member-missing", "config.max_length", BODY + 3)]
    assert found(tmp_path, model(body), CONFIGURED, settings={"max_length": 20}) == []
    assert found(tmp_path, model(body.replace("config.max_length", "config.pad_token_id")), CONFIGURED) == []
    assert found(tmp_path, model(body.replace("config.max_length", "getattr(config, 'max_length', 1)")), CONFIGURED) == []
    assert found(tmp_path, model(body.replace("config: Config", "config: Other")), CONFIGURED) == []


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("def forward(self, past_key_values: Cache = None):\n    past_key_values.get_max_length()", 1),
        ("def forward(self, past_key_values):\n    past_key_values.seen_tokens", 1),
        ("def forward(self, x):\n    DynamicCache.get_max_length(x)", 1),
        ("def forward(self, past_key_values):\n    past_key_values.get_seq_length()", 0),
        ("def forward(self, past_key_values):\n    if hasattr(past_key_values, 'seen_tokens'):\n        past_key_values.seen_tokens", 0),
        ("def forward(self, past_key_values: dict):\n    past_key_values.seen_tokens", 0),
        ("def forward(self, tokens):\n    tokens.seen_tokens", 0),
    ],
)
def test_members_that_caches_lost(tmp_path: Path, body: str, count: int) -> None:
    assert [rule for rule, _, _ in brief(found(tmp_path, model(body), MODEL))] == ["member-missing"] * count


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("self._extract(x, standardize_cache_format=True)", "does not accept standardize_cache_format"),
        ("self._extract(x, 1)", "takes 1 arguments by position and is given 2"),
        ("self._extract()", "needs outputs, which is not given"),
        ("DynamicCache(config=x)", "does not accept config"),
        ("super().tie_weights(recompute=True)", "does not accept recompute"),
    ],
)
def test_arguments_that_the_library_does_not_take(tmp_path: Path, call: str, words: str) -> None:
    (hit,) = found(tmp_path, model(f"def forward(self, x):\n    {call}"), MODEL)
    assert (hit.rule, hit.line) == ("remote-code-argument-refused", BODY + 2)
    assert words in hit.detail


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("masking_utils.create_causal_mask(x, input_embeds=x)", 1),
        ("given = {'config': x, 'input_embeds': x}\n    create_causal_mask(**given)", 2),
        ("if x:\n        given = {'config': x, 'input_embeds': x}\n        mask = {'full': create_causal_mask(**given)}", 3),
        ("given = {'config': x, 'inputs_embeds': x}\n    create_causal_mask(**given)", 0),
        # what is taken out, or made another dict on another branch, is not passed for certain
        ("given = {'config': x, 'input_embeds': x}\n    given.pop('input_embeds')\n    create_causal_mask(**given)", 0),
        ("given = {'config': x, 'input_embeds': x}\n    del given['input_embeds']\n    create_causal_mask(**given)", 0),
        ("if x:\n        given = {'input_embeds': x}\n    else:\n        given = {'inputs_embeds': x}\n    create_causal_mask(**given)", 0),
    ],
)
def test_arguments_of_a_dict_and_functions_of_a_module(tmp_path: Path, body: str, line: int) -> None:
    code = model(f"def forward(self, x):\n    {body}")
    imports = "from transformers import masking_utils\nfrom transformers.masking_utils import create_causal_mask\n"
    hits = found(tmp_path, {name: imports + text for name, text in code.items()}, MODEL)
    told = [(hit.rule, (hit.line or 0) - BODY - 3) for hit in hits]
    assert told == ([("remote-code-argument-refused", line)] if line else [])


@pytest.mark.parametrize(
    "call", ["self._extract(x)", "self._extract(*x)", "self._extract(**x)", "DynamicCache()", "self.generate(x, any=1)"]
)
def test_arguments_that_may_be_taken(tmp_path: Path, call: str) -> None:
    assert found(tmp_path, model(f"def forward(self, x):\n    {call}"), MODEL) == []


def test_a_pair_that_is_kept_as_one_value(tmp_path: Path) -> None:
    hits = found(tmp_path, model("def forward(self, x, kwargs):\n    kwargs['past'] = self._extract(x)"), MODEL)
    assert brief(hits) == [("result-changed", "_extract", BODY + 2)]
    for fine in ("kwargs['past'] = self._extract(x)[1]", "name, kwargs['past'] = self._extract(x)", "pair = self._extract(x)"):
        assert found(tmp_path, model(f"def forward(self, x, kwargs):\n    {fine}"), MODEL) == []


def test_an_override_that_refuses_what_it_is_passed(tmp_path: Path) -> None:
    (hit,) = found(tmp_path, tokenizer("def _pad(self, inputs, max_length=None): ..."), TOKENIZER)
    assert hit.detail == (
        "_pad: PreTrainedTokenizerBase.pad of transformers 5.0.0 calls it, and the override of Tokenizer does not accept padding_side"
    )
    assert (hit.line, hit.outcome, hit.missing) == (3, None, ("plan.tokenize",))
    (needy,) = found(tmp_path, tokenizer("def _pad(self, inputs, side, padding_side=None): ..."), TOKENIZER)
    assert "needs side, which is not given" in needy.detail
    for fine in ("padding_side=None", "**kwargs"):
        assert found(tmp_path, tokenizer(f"def _pad(self, inputs, {fine}): ..."), TOKENIZER) == []


def test_an_override_that_nobody_calls_any_more_is_let_be(tmp_path: Path) -> None:
    body = "def _pad(self, inputs): ...\ndef pad(self, inputs):\n    return self._pad(inputs)"
    assert found(tmp_path, tokenizer(body), TOKENIZER) == []


def test_a_call_that_looks_at_the_signature_first_refuses_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, model("def _set_gradient_checkpointing(self, module, value=False): ..."), MODEL) == []
    changes = {
        "transformers/modeling_utils.py": """
        from torch import nn
        class PreTrainedModel(nn.Module):
            def gradient_checkpointing_enable(self):
                self._set_gradient_checkpointing(enable=True)
        """
    }
    hits = found(tmp_path, model("def _set_gradient_checkpointing(self, module, value=False): ..."), MODEL, changes=changes)
    assert brief(hits) == [("override-refuses", "_set_gradient_checkpointing", BODY + 1)]


def test_what_only_post_init_sets(tmp_path: Path) -> None:
    init = "def __init__(self, config):\n    super().__init__(config)"
    assert brief(found(tmp_path, model(init), MODEL)) == [("base-needs", "plan", BODY + 1)]
    assert found(tmp_path, model(f"{init}\n    self.post_init()"), MODEL) == []
    assert found(tmp_path, model(f"{init}\n    self.plan = []"), MODEL) == []


NO_OP = "supports_gradient_checkpointing = True\ndef gradient_checkpointing_enable(self, gradient_checkpointing_kwargs=None):\n"


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("    if not self.supports_gradient_checkpointing:\n        raise ValueError('no')", 1),
        ("    return", 1),
        ("    print('on')", 1),
        ("    raise NotImplementedError", 0),
        ("    super().gradient_checkpointing_enable()", 0),
        ("    PreTrainedModel.gradient_checkpointing_enable(self)", 0),
        ("    self.flag = True", 0),
        ("    for module in self.modules():\n        module.gradient_checkpointing = True", 0),
        ("    self.apply(print)", 0),
    ],
)
def test_gradient_checkpointing_that_stays_off(tmp_path: Path, body: str, count: int) -> None:
    hits = found(tmp_path, model(NO_OP + body), MODEL, plan={"plan.gradient_checkpointing": True})
    assert brief(hits) == [("checkpointing-no-op", "gradient_checkpointing_enable", BODY + 2)] * count
    assert all(hit.outcome for hit in hits)
    assert found(tmp_path, model(NO_OP + body), MODEL, plan={"plan.gradient_checkpointing": False}) == []
    called = ("transformers.PreTrainedModel.gradient_checkpointing_enable",)
    plan: dict[str, bool | tuple[str, ...]] = {"plan.gradient_checkpointing": True, "plan.code_uses": called}
    assert found(tmp_path, model(NO_OP + body), MODEL, plan=plan) == []


LATE = "def __init__(self, **kwargs):\n    super().__init__(**kwargs)\n    self.words = {}\ndef get_vocab(self):\n    return self.words"


def test_an_attribute_that_is_asked_for_before_it_is_set(tmp_path: Path) -> None:
    assert brief(found(tmp_path, tokenizer(LATE), TOKENIZER)) == [("read-before-set", "words", 7)]
    early = LATE.replace("    super().__init__(**kwargs)\n    self.words = {}", "    self.words = {}\n    super().__init__(**kwargs)")
    assert found(tmp_path, tokenizer(early), TOKENIZER) == []
    assert found(tmp_path, tokenizer("words = {}\n" + LATE), TOKENIZER) == []
    assert found(tmp_path, tokenizer(LATE.replace("self.words\n", "{}\n").replace("return self.words", "return {}")), TOKENIZER) == []
    older = {
        "transformers/tokenization_utils.py": "class PreTrainedTokenizerBase: ...\nclass PreTrainedTokenizer(PreTrainedTokenizerBase): ..."
    }
    assert found(tmp_path, tokenizer(LATE), TOKENIZER, changes=older) == []


def test_what_only_generation_runs_depends_on_the_plan(tmp_path: Path) -> None:
    code = model("def stream_generate(self, x):\n    self._gone()")
    assert [(hit.outcome, hit.missing) for hit in found(tmp_path, code, MODEL)] == [(None, ("plan.generate",))]
    assert [hit.outcome for hit in found(tmp_path, code, MODEL, plan={"plan.generate": True})] == [True]
    assert found(tmp_path, code, MODEL, plan={"plan.generate": False}) == []


def test_a_gate_that_reads_the_second_number_only(tmp_path: Path) -> None:
    gate = "new = int(transformers.__version__.split('.')[1]) >= 42\n"
    code = {"modeling.py": HEAD + gate + "class Model(PreTrainedModel): ...\n"}
    assert brief(found(tmp_path, code, MODEL)) == [("gate-minor-only", "transformers.__version__", BODY)]
    assert found(tmp_path, code, MODEL, release="4.40.0") == []
    assert found(tmp_path, code, MODEL, release="5.42.0") == []


def test_code_that_the_entries_do_not_come_to_is_let_be(tmp_path: Path) -> None:
    unused = "\nclass Unused(PreTrainedModel):\n    def forward(self):\n        self._gone()\n"
    assert found(tmp_path, {"modeling.py": model("pass")["modeling.py"] + unused}, MODEL) == []
    used = model("def make(self):\n    return Part")["modeling.py"] + unused.replace("Unused", "Part")
    assert [symbol for _, symbol, _ in brief(found(tmp_path, {"modeling.py": used}, MODEL))] == ["_gone"]


def test_files_that_the_entries_import_are_read(tmp_path: Path) -> None:
    code = {
        "modeling.py": "from .base import Base\nclass Model(Base): ...\n",
        "base.py": "from transformers import PreTrainedModel\nfrom transformers import Gone\n"
        "class Base(PreTrainedModel):\n    def f(self):\n        self._gone()\n",
        "other.py": "from transformers import NotRead\n",
    }
    assert brief(found(tmp_path, code, MODEL)) == [("import-missing", "Gone", 2), ("member-missing", "_gone", 5)]
