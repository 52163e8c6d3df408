"""Which loads reach a fault in the code that a snapshot brings: those that take its model's class, and not transformers' own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import run

AUTO_MAP = {"AutoConfig": "configuration_foo.FooConfig", "AutoModelForCausalLM": "modeling_foo.FooForCausalLM"}
LOADS = "from transformers import AutoModelForCausalLM\nAutoModelForCausalLM.from_pretrained('m', trust_remote_code=True)\n"
IMPORTS = "from transformers.utils import LossKwargs\n"


def told(
    capsys: pytest.CaptureFixture[str], folder: Path, script: str, model: str, kind: str = "foo", release: str = "4.55.0", stated: str = ""
) -> set[str]:
    """The errors that ``check`` tells of a script, a snapshot with such a model file, and a release of transformers."""
    (folder / "m").mkdir()
    (folder / "m" / "config.json").write_text(json.dumps({"model_type": kind, "architectures": ["FooForCausalLM"], "auto_map": AUTO_MAP}))
    (folder / "m" / "configuration_foo.py").write_text("class FooConfig: pass\n")
    (folder / "m" / "modeling_foo.py").write_text(f"{model}class FooForCausalLM: pass\n")
    (folder / "train.py").write_text(script)
    (folder / "stack.toml").write_text(f'{stated}[packages]\ntransformers = "{release}"\n')
    done = run(
        capsys, "check", str(folder / "m"), str(folder / "train.py"), "--facts", str(folder / "stack.toml"), "-f", "json", every_rule=True
    )
    found = json.loads(done.out)["findings"]
    return {
        one["rule"] for one in found if one["severity"] == "error" and one["status"] != "possible" and one["rule"].startswith("remote-code")
    }


def test_a_model_is_loaded_with_its_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert told(capsys, tmp_path, LOADS, IMPORTS) == {"remote-code-loss-kwargs"}


@pytest.mark.parametrize("test", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_what_type_checkers_alone_import(capsys: pytest.CaptureFixture[str], tmp_path: Path, test: str) -> None:
    model = f"import typing\nfrom typing import TYPE_CHECKING\nif {test}:\n    {IMPORTS}"
    assert told(capsys, tmp_path, LOADS, model) == set()


def test_who_loads_a_tokenizer_loads_no_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = "from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained('m', trust_remote_code=True)\n"
    model = "from transformers.utils.import_utils import is_torch_fx_available\n"
    assert told(capsys, tmp_path, script, model, release="5.0.0", stated='not_loaded = ["model"]\n') == set()


@pytest.mark.parametrize(("argument", "reached"), [("", False), (", trust_remote_code=True", True)])
def test_a_type_that_transformers_knows_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path, argument: str, reached: bool) -> None:
    script = f"from transformers import AutoModelForCausalLM\nAutoModelForCausalLM.from_pretrained('m'{argument})\n"
    model = "from transformers.utils.import_utils import is_torch_fx_available\n"
    assert bool(told(capsys, tmp_path, script, model, "deepseek_v3", "5.0.0")) is reached


@pytest.mark.parametrize(
    ("line", "reached"), [("past_key_values.seen_tokens", True), ("self.seen_tokens\n        self.seen_tokens = 0", False)]
)
def test_an_attribute_that_the_file_sets_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str, reached: bool) -> None:
    model = f"class Part:\n    def forward(self, past_key_values):\n        return {line}\n\n"
    script = f"{LOADS.replace('AutoModelForCausalLM.from', 'm = AutoModelForCausalLM.from')}m.generate(input_ids=x)\n"
    assert ("remote-code-cache-seen-tokens" in told(capsys, tmp_path, script, model)) is reached
