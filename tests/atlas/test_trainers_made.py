"""A fault of making a Trainer, or of its training, is met by scripts that make one, or have it train."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.cli.run import run
from tests.cli.test_who_reaches import told

NAMES = ("AutoModelForCausalLM", "Trainer", "TrainingArguments")
TRANSFORMERS = {"transformers/__init__.py": "import torch, accelerate\n" + "".join(f"class {name}: pass\n" for name in NAMES)}
TRL = {"trl/__init__.py": "import transformers\nclass SFTTrainer: pass\nclass PPOTrainer: pass\nclass PPOConfig: pass\n"}
FITS = {"sentence_transformers/__init__.py": "import transformers\nclass CrossEncoder: pass\n"}
PACKAGES = {
    "sentence-transformers": {"3.4.1": FITS, "5.2.3": FITS},
    "transformers": dict.fromkeys(("4.38.2", "4.52.4", "5.2.0"), TRANSFORMERS),
    "trl": {"0.7.11": TRL, "0.18.0": TRL},
    "torch": {"2.2.2": {"torch/__init__.py": ""}, "2.5.1": {"torch/__init__.py": ""}},
    "accelerate": {release: {"accelerate/__init__.py": "import torch\n"} for release in ("0.25.0", "1.0.0", "1.2.0")},
}
LOADS = 'from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nm = AutoModelForCausalLM.from_pretrained("gpt2")\n'
MAKES = 'trainer = Trainer(m, TrainingArguments("o"))\n'
OWN = "class Own(Trainer):\n    def __init__(self, *a, **k):\n        super().__init__(*a, **k)\n"
PPO = "from trl import PPOTrainer, PPOConfig\nsteps = PPOTrainer(PPOConfig(), model=None)\nsteps.step(1, 2, 3)\n"
# Who makes a Trainer of transformers, and who has it train.
SCRIPTS = {
    "trains": (f"{LOADS}{MAKES}trainer.train()\n", True, True),
    "evaluates": (f"{LOADS}{MAKES}print(trainer.evaluate())\n", True, False),
    "imports it": (f"{LOADS}m.generate(input_ids=None)\n", False, False),
    "makes arguments": (f'{LOADS}a = TrainingArguments("o")\nm.generate(input_ids=None)\n', False, False),
    "a class of its own": (f'{LOADS}{OWN}Own(m, TrainingArguments("o")).train()\n', True, True),
    "trl": ('from trl import SFTTrainer\nSFTTrainer("gpt2").train()\n', True, True),
    "PPO": (PPO, False, False),
    "PPO after SFT": (f'from trl import SFTTrainer\nSFTTrainer("gpt2").train()\n{PPO}', True, True),
}


@pytest.fixture(scope="module", autouse=True)
def _atlas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), PACKAGES):
        yield


@pytest.mark.parametrize(
    ("rule", "releases", "runs"),
    [
        ("accelerate-before-0-26-seedable-sampler", ("0.25.0", "4.38.2", "0.7.11", "2.2.2"), False),
        ("accelerate-1-dispatch-batches", ("1.0.0", "4.38.2", "0.7.11", "2.2.2"), False),
        ("accelerate-before-1-3-keep-torch-compile", ("1.2.0", "4.52.4", "0.18.0", "2.5.1"), True),
    ],
)
@pytest.mark.large
def test_who_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path, rule: str, releases: tuple[str, ...], runs: bool) -> None:
    names = ("accelerate", "transformers", "trl", "torch")
    stack = "[packages]\n" + "".join(f'{name} = "{release}"\n' for name, release in zip(names, releases, strict=True))
    found = {way: told(capsys, tmp_path, "t.py", text, stack).get(rule) == "matched" for way, (text, _, _) in SCRIPTS.items()}
    wanted = {way: (trains if runs else makes) for way, (_, makes, trains) in SCRIPTS.items()}
    if runs:  # of trl 0.18 PPOTrainer is a Trainer, which this script does not have train
        wanted["PPO"] = False
        wanted["evaluates"] = True  # accelerate unwraps the model there as well
    assert found == wanted


@pytest.mark.large
@pytest.mark.parametrize(("call", "made"), [("fit(d)", True), ("predict([])", False)])
def test_a_release_whose_fit_makes_a_trainer_is_no_fix_beside_an_accelerate_too_old_for_that(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, call: str, made: bool
) -> None:
    (tmp_path / "fit.py").write_text(f'from sentence_transformers import CrossEncoder\nd = []\nCrossEncoder("a/b").{call}\n')
    releases = {
        "sentence-transformers": "3.4.1",
        "transformers": "5.2.0",
        "accelerate": "1.2.1",
        "torch": "2.5.1",
        "huggingface-hub": "1.4.0",
    }
    (tmp_path / "stack.toml").write_text("[packages]\n" + "".join(f'{name} = "{release}"\n' for name, release in releases.items()))
    done = run(capsys, "check", str(tmp_path / "fit.py"), "--facts", str(tmp_path / "stack.toml"), "-f", "json", every_rule=True)
    assert (list(json.loads(done.out)["remedy"]["pins"]) == ["sentence-transformers"]) is not made
