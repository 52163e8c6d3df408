"""An import that a script provides for is no certain import, for whatever rule or computed finding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.cli.test_who_reaches import told

PACKAGES = {
    "trl": {
        "0.7.4": {
            "trl/__init__.py": "from .core import top\nclass SFTTrainer: pass\n",
            "trl/core.py": "from transformers import top_k_top_p_filtering as top\n",
        }
    },
    "transformers": {
        "4.38.2": {"transformers/__init__.py": "class AutoModelForCausalLM: pass\nclass Trainer: pass\nclass TrainingArguments: pass\n"
                   "def top_k_top_p_filtering(logits): pass\n"},
        "4.39.3": {"transformers/__init__.py": "class AutoModelForCausalLM: pass\nclass Trainer: pass\nclass TrainingArguments: pass\n"},
    },
    "torch": {"2.2.2": {"torch/__init__.py": ""}},
    "torchaudio": {"2.9.0": {"torchaudio/__init__.py": ""}},
    "pyannote-audio": {"3.3.0": {"pyannote/audio/__init__.py": "class Pipeline: pass\n"}},
    "packaging": {"24.0": {"packaging/__init__.py": "", "packaging/version.py": "def parse(text): pass\n"}},
    "peft": {
        "0.9.0": {"peft/__init__.py": "def prepare_model_for_int8_training(model): pass\n"},
        "0.10.0": {"peft/__init__.py": ""},
    },
}  # fmt: skip

TRAINS = """
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
Trainer(AutoModelForCausalLM.from_pretrained("gpt2"), TrainingArguments("o")).train()
"""
# What is imported, what it is called by, its use, and a stack on which the import fails, with what is told of it.
FAILS = {
    "trl-top-k-top-p-filtering-import": (
        "from trl import SFTTrainer", "SFTTrainer", "SFTTrainer(model=None).train()",
        '[packages]\ntrl = "0.7.4"\ntransformers = "4.39.3"\ntorch = "2.2.2"\n',
    ),
    "requests-toolbelt-before-1-urllib3-2": (
        "import requests_toolbelt", "requests_toolbelt", "requests_toolbelt.MultipartEncoder({})",
        '[packages]\nrequests-toolbelt = "0.9.1"\nurllib3 = "2.2.0"\n',
    ),
    "pyannote-3-torchaudio-2-9": (
        "from pyannote.audio import Pipeline", "Pipeline", 'Pipeline.from_pretrained("x")',
        '[packages]\n"pyannote.audio" = "3.3.0"\ntorchaudio = "2.9.0"\n',
    ),
    "code-breaks": (
        "from peft import prepare_model_for_int8_training", "prepare_model_for_int8_training", "prepare_model_for_int8_training(1)",
        '[packages]\npeft = "0.10.0"\ntransformers = "4.38.2"\ntorch = "2.2.2"\n',
    ),
}  # fmt: skip
PROVIDED = {
    "none": "try:\n    {import_}\nexcept ImportError:\n    {name} = None\n",
    "a test of the name": "try:\n    {import_}\nexcept ImportError:\n    {name} = None\nif {name} is not None:\n    {use}\n",
    "a flag": "try:\n    {import_}\n    HAS = True\nexcept ImportError:\n    HAS = False\nif HAS:\n    {use}\n",
    "no flag": "HAS = True\ntry:\n    {import_}\nexcept ImportError:\n    HAS = False\nif not HAS:\n    print(1)\nelse:\n    {use}\n",
    "a function": (
        "def has():\n    try:\n        {import_}\n        return True\n    except ImportError:\n        return False\n"
        "if has():\n    {import_}\n    {use}\n"
    ),
    "suppress": "import contextlib\nwith contextlib.suppress(ImportError):\n    {import_}\n",
    "a release": (
        "import torch\nfrom packaging import version\n"
        "if version.parse(torch.__version__) < version.parse('1.9'):\n    {import_}\n    {use}\n"
    ),
    "types": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {import_}\n",
    "never called": "def rest():\n    {import_}\n    {use}\ndef main():\n    pass\nif __name__ == '__main__':\n    main()\n",
}
CERTAIN = {
    "plain": "{import_}\n{use}\n",
    "raised again": "try:\n    {import_}\nexcept ImportError as error:\n    raise RuntimeError('pip install it') from error\n{use}\n",
    "another error": "try:\n    {import_}\nexcept OSError:\n    {name} = None\n",
}


@pytest.fixture(scope="module", autouse=True)
def _atlas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), PACKAGES) as atlas:
        yield atlas


def _script(form: str, rule: str, rest: str) -> str:
    import_, name, use, _ = FAILS[rule]
    return form.format(import_=import_, name=name, use=use) + rest


@pytest.mark.parametrize("rest", ["", TRAINS], ids=["alone", "trains"])
@pytest.mark.parametrize("rule", FAILS)
@pytest.mark.large
def test_an_import_that_is_provided_for(capsys: pytest.CaptureFixture[str], tmp_path: Path, rule: str, rest: str) -> None:
    found = {way: told(capsys, tmp_path, "train.py", _script(form, rule, rest), FAILS[rule][3]) for way, form in PROVIDED.items()}
    assert [way for way, rules in found.items() if rules.get(rule) == "matched"] == []


@pytest.mark.parametrize("rule", FAILS)
@pytest.mark.large
def test_an_import_that_is_not(capsys: pytest.CaptureFixture[str], tmp_path: Path, rule: str) -> None:
    found = {way: told(capsys, tmp_path, "train.py", _script(form, rule, ""), FAILS[rule][3]) for way, form in CERTAIN.items()}
    assert [way for way, rules in found.items() if rules.get(rule) != "matched"] == []


def test_a_handler_that_ends_the_run_provides_for_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = "import sys\ntry:\n    import requests_toolbelt\nexcept ImportError:\n    sys.exit('pip install requests-toolbelt')\n"
    rule = "requests-toolbelt-before-1-urllib3-2"
    assert told(capsys, tmp_path, "train.py", text, FAILS[rule][3]).get(rule) == "matched"
