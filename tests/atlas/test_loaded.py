"""What a script does not load does not break in it: rules, and what is computed from the releases, ask its imports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.app import loads
from envdoctor.atlas.loaded import not_loaded
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.rules.conditions import evaluate, parse_condition
from envdoctor.rules.rule import spare_what_is_not_loaded
from tests.atlas.wheels import atlas_of
from tests.cli.run import run

LAZY = (
    '_import_structure = {"tok": ["AutoTokenizer"], "modeling": ["AutoModelForCausalLM"], "trainer": ["Trainer"], "cache": ["HybridCache"]}'
    "\n"
)
MODEL_FILES = {
    "transformers/tok.py": "import tokenizers\nclass AutoTokenizer: pass\n",
    "transformers/modeling.py": "import torch\nclass AutoModelForCausalLM: pass\n",
    "transformers/trainer.py": "from .modeling import AutoModelForCausalLM\nfrom peft import PeftModel\nclass Trainer: pass\n",
}
PACKAGES = {
    "transformers": {
        "4.57.6": {**MODEL_FILES, "transformers/__init__.py": LAZY, "transformers/cache.py": "class HybridCache: pass\n"},
        "5.0.0": {**MODEL_FILES, "transformers/__init__.py": LAZY.replace(', "cache": ["HybridCache"]', "")},
    },
    "peft": {"0.17.1": {"peft/__init__.py": "import torch\nfrom transformers import HybridCache\nclass PeftModel: pass\n"}},
    "trl": {
        "0.9.6": {"trl/__init__.py": "from transformers import HybridCache\nfrom transformers import Trainer\nclass SFTTrainer: pass\n"}
    },
    "llm-blender": {"0.0.2": {"llm_blender/__init__.py": "class Blender: pass\n"}},
    "langchain": {"0.0.300": {"langchain/__init__.py": "class OpenAI: pass\n"}},
    "llama-index-core": {"0.10.0": {"llama_index/__init__.py": "class Index: pass\n"}},
    "openai": {"1.0.0": {"openai/__init__.py": "class OpenAI: pass\n"}},
    "liger-kernel": {"0.5.6": {"liger_kernel/__init__.py": "class LigerRMSNorm: pass\n"}},
    "tokenizers": {"0.22.0": {"tokenizers/__init__.py": "class Tokenizer: pass\n"}},
    "torch": {"2.1.0": {"torch/__init__.py": "class Tensor: pass\n"}},
    "pandas": {"2.2.0": {"pandas/__init__.py": "def read_parquet(path):\n    import pyarrow\n"}},
    "pyarrow": {"17.0.0": {"pyarrow/__init__.py": "class Table: pass\n"}},
    "vllm": {"0.9.0": {"vllm/__init__.py": "import transformers\nclass LLM: pass\n", "vllm/engine.py": "class Engine: pass\n"}},
    "torchtune": {"0.6.0": {"torchtune/__init__.py": "import torch\n"}},
    "wandb": {"0.16.6": {"wandb/__init__.py": "def init(): pass\n"}},
    "numpy": {"2.0.2": {"numpy/__init__.py": "class ndarray: pass\n"}},
    "tensorboard": {"2.8.0": {"tensorboard/__init__.py": "def notebook(): pass\n"}},
    "protobuf": {"4.21.0": {"google/protobuf/__init__.py": "class Message: pass\n"}},
    "evaluate": {"0.4.0": {"evaluate/__init__.py": "def load(name): pass\n"}},
    "huggingface-hub": {
        "0.20.3": {
            "huggingface_hub/__init__.py": "from .hub_mixin import PyTorchModelHubMixin\ndef snapshot_download(name): pass\n",
            "huggingface_hub/hub_mixin.py": "import torch\nclass PyTorchModelHubMixin: pass\n",
        }
    },
}
RULE, NO_TORCH, COMPUTED = "peft-hybrid-cache-import", "transformers-needs-torch-2-2", "import-breaks"
TOKENIZE = "from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained('some/model')\n"
LOAD = "from transformers import AutoModelForCausalLM\nAutoModelForCausalLM.from_pretrained('some/model')\n"


@pytest.fixture(autouse=True, scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), PACKAGES):
        yield


def told(capsys: pytest.CaptureFixture[str], folder: Path, stack: str, *scripts: str) -> set[str]:
    """The errors that a stack and the scripts that run on it are told."""
    (folder / "requirements.txt").write_text(stack)
    paths = [folder / f"script_{number}.py" for number in range(len(scripts))]
    for path, text in zip(paths, scripts, strict=True):
        path.write_text(text)
    done = run(capsys, "check", str(folder / "requirements.txt"), *map(str, paths), "-f", "json")
    return {one["rule"] for one in json.loads(done.out)["findings"] if one["severity"] == "error" and one["status"] != "possible"}


STACK = "transformers==5.0.0\npeft==0.17.1\ntorch==2.1.0\n"


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        pytest.param(TOKENIZE, set(), id="a tokenizer loads neither peft nor a model"),
        pytest.param(LOAD, {NO_TORCH}, id="a model needs torch, and no peft"),
        pytest.param("from transformers import Trainer\nTrainer()\n", {RULE, NO_TORCH}, id="the Trainer imports peft"),
        pytest.param("from transformers import AutoModelForCausalLM\n", set(), id="what only imports a class of models loads none"),
        pytest.param("from transformers import Trainer\n", {RULE}, id="what only imports the Trainer loads no model"),
        pytest.param("import peft\nprint(peft)\n", {RULE, NO_TORCH}, id="peft itself"),
        pytest.param("import torch\n", set(), id="torch alone"),
        pytest.param(TOKENIZE + "import helpers\n", {RULE, NO_TORCH}, id="a module of the project may load anything"),
        pytest.param(TOKENIZE + "import evaluate\n", {RULE, NO_TORCH}, id="what is named at run time may be anything"),
    ],
)
def test_an_import_that_nothing_leads_to_is_no_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, script: str, wanted: set[str]
) -> None:
    assert told(capsys, tmp_path, STACK, script) == wanted


def test_one_script_of_several_that_loads_it_is_enough(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert RULE in told(capsys, tmp_path, STACK, TOKENIZE, "import peft\n")
    assert RULE in told(capsys, tmp_path, STACK, TOKENIZE, "import helpers\n")


def test_without_a_script_anything_may_be_loaded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert told(capsys, tmp_path, STACK) == {RULE, NO_TORCH}


def test_what_is_computed_from_the_releases_asks_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stack = "transformers==5.0.0\ntrl==0.9.6\n"
    assert COMPUTED in told(capsys, tmp_path, stack)
    assert COMPUTED in told(capsys, tmp_path, stack, "import trl\n")
    assert COMPUTED not in told(capsys, tmp_path, stack, TOKENIZE)


@pytest.mark.parametrize(
    ("names", "spared", "loaded"),
    [
        (
            ("transformers.AutoTokenizer", "torch.Tensor"),
            {"peft", "trl", "config", "model", "trainer"},
            {"transformers", "tokenizers", "torch"},
        ),
        (("transformers.AutoModelForCausalLM",), {"peft", "trl", "trainer"}, {"model", "torch"}),
        (("transformers.Trainer",), {"trl", "tokenizers"}, {"model", "trainer", "peft"}),
        (("trl.SFTTrainer",), {"tokenizers"}, {"model", "trainer", "peft"}),
        (("transformers.AutoConfig.from_pretrained",), {"model", "trainer"}, {"config"}),
        (("vllm.LLM",), {"model", "trainer", "peft"}, {"config", "transformers"}),
        (("peft.PeftModel",), {"trl", "trainer"}, {"model", "transformers"}),
        (("transformers.models.qwen2.Qwen2Tokenizer",), {"model", "peft"}, {"transformers"}),
        (("pandas", "dotenv.load_dotenv"), {"transformers", "torch", "model"}, {"pyarrow"}),
    ],
)
def test_imports_are_followed_from_package_to_package(names: tuple[str, ...], spared: set[str], loaded: set[str]) -> None:
    found = not_loaded(names)
    assert found is not None
    assert spared <= set(found)
    assert loaded.isdisjoint(found)


@pytest.mark.parametrize(
    ("name", "spared"), [("TFAutoModel", True), ("models.bert.FlaxBertModel.from_pretrained", True), ("AutoModel", False)]
)
def test_a_model_that_tensorflow_or_jax_computes_is_none_of_torch(name: str, spared: bool) -> None:
    assert ("model" in (not_loaded((f"transformers.{name}",)) or ())) is spared


@pytest.mark.parametrize(
    ("name", "spared"), [("snapshot_download", True), ("PyTorchModelHubMixin", False), ("hub_mixin.ModelHubMixin", False)]
)
def test_a_download_loads_no_torch_and_what_saves_a_model_does(name: str, spared: bool) -> None:
    assert ("torch" in (not_loaded((f"huggingface_hub.{name}",)) or ())) is spared


def test_of_a_package_that_nobody_read_nothing_is_told() -> None:
    assert not_loaded(("transformers.AutoTokenizer", "tensorflow")) is None


def test_every_rule_about_a_run_asks_whether_what_it_accuses_is_loaded() -> None:
    stated = {"packages.torchaudio": "2.0.0", "packages.torch": "2.5.0"}
    condition = spare_what_is_not_loaded(parse_condition({"packages": ["torchaudio <2.1", "torch >=2.5"]}), "crash")
    facts = Facts().with_facts(Fact(name, parse_value(name, raw), Origin("test")) for name, raw in stated.items())
    unused = facts.with_facts([Fact("not_loaded", ("torchaudio",), Origin("test"))])
    assert evaluate(condition, facts, lambda _: ()) is True
    assert evaluate(condition, unused, lambda _: ()) is False
    # What an installer refuses is refused whatever is imported.
    blocked = spare_what_is_not_loaded(parse_condition({"packages": ["torchaudio <2.1"]}), "blocked")
    assert evaluate(blocked, unused, lambda _: ()) is True
    # Of alternatives each asks for itself.
    either = spare_what_is_not_loaded(parse_condition({"any": [{"packages": ["torchaudio <2.1"]}, {"packages": ["torch >=2.5"]}]}), "crash")
    assert evaluate(either, unused, lambda _: ()) is True


@pytest.mark.parametrize(("trainer", "spared"), [("torchtune", True), ("axolotl", False)])
def test_a_plan_of_torchtune_loads_no_transformers(capsys: pytest.CaptureFixture[str], tmp_path: Path, trainer: str, spared: bool) -> None:
    (tmp_path / "requirements.txt").write_text(STACK)
    done = run(capsys, "check", str(tmp_path / "requirements.txt"), "--set", f"plan.trainer={trainer}", "-f", "json")
    found = {one["rule"] for one in json.loads(done.out)["findings"] if one["severity"] == "error" and one["status"] != "possible"}
    assert (RULE not in found) is spared


def test_what_a_module_that_nobody_followed_loads_may_be_all_that_its_package_requires(monkeypatch: pytest.MonkeyPatch) -> None:
    from envdoctor.atlas import loaded
    from envdoctor.world.dependencies import Dependency

    monkeypatch.setattr(loaded, "dependencies", lambda package, release, unbound: (Dependency("peft", ""),) if package == "vllm" else ())
    loaded.not_loaded.cache_clear()
    loaded._crossings.cache_clear()
    below, whole = (not_loaded((name,)) for name in ("vllm.engine.Engine", "vllm.LLM"))
    assert below is not None
    assert whole is not None
    assert ("peft" in below, "peft" in whole) == (False, True)


def test_what_is_imported_by_its_name_when_something_is_called(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "wandb-before-0-17-2-numpy-2" in told(capsys, tmp_path, "wandb==0.16.6\nnumpy==2.0.2\n", "import wandb\nwandb.init()\n")


def test_messages_of_protobuf_are_loaded_with_what_is_made_of_them() -> None:
    assert "protobuf" not in (not_loaded(("tensorboard.notebook",)) or ("protobuf",))


@pytest.mark.parametrize(
    ("name", "package", "is_spared"),
    [
        ("trl.DPOTrainer", "llm-blender", False),
        ("trl.trainer.callbacks.LogCompletionsCallback", "llm-blender", False),
        ("trl.SFTTrainer", "llm-blender", True),
        ("langchain.chat_models.ChatOpenAI", "openai", False),
        ("llama_index.llms.openai.OpenAI", "openai", False),
        ("liger_kernel.transformers.LigerRMSNorm", "transformers", False),
    ],
)
def test_what_is_imported_where_it_is_installed(name: str, package: str, is_spared: bool) -> None:
    told = not_loaded((name,))
    assert told is not None
    assert (package in told) is is_spared


def test_what_a_script_does_not_load_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = loads._not_loaded(("transformers.AutoTokenizer",))
    assert first is not None
    assert "peft" in first
    monkeypatch.setattr("envdoctor.atlas.loaded.not_loaded", pytest.fail)
    assert loads._not_loaded(("transformers.AutoTokenizer",)) == first
