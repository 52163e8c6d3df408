"""A rule about an import that fails is told wherever a script, or what runs a plan, comes to that import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.rules.broken_imports import join_broken_imports, without_broken_imports
from envdoctor.rules.conditions import All, evaluate, parse_condition
from envdoctor.world.releases import release_texts
from tests.atlas.wheels import atlas_of
from tests.cli.run import run
from tests.cli.test_who_reaches import LLAMA_FACTORY, told

TRAINER = "trainer-4-39-torch-before-2-lrscheduler"
MODELSCOPE = "modelscope-before-1-28-datasets-3-4"
STACK = '[packages]\ntransformers = "4.39.1"\ntorch = "1.13.1"\naccelerate = "0.27.2"\n'
DATA = '[packages]\nmodelscope = "1.27.1"\ndatasets = "3.6.0"\n'
NAMES = {"tok": "AutoTokenizer", "modeling": "AutoModelForCausalLM", "args": "TrainingArguments", "pipelines": "pipeline"}
TRANSFORMERS = {
    "transformers/__init__.py": f"_import_structure = { {module: [name] for module, name in NAMES.items()} }\n",
    "transformers/tok.py": "class AutoTokenizer: pass\n",
    "transformers/modeling.py": "import torch\nclass AutoModelForCausalLM: pass\n",
    "transformers/trainer_pt_utils.py": "from torch.optim.lr_scheduler import LRScheduler\nclass AcceleratorConfig: pass\n",
    "transformers/args.py": "from .trainer_pt_utils import AcceleratorConfig\nclass TrainingArguments: pass\n",
    "transformers/pipelines.py": "from .args import TrainingArguments\ndef pipeline(task, model): pass\n",
}
MODELSCOPE_NAMES = '_import_structure = {"hub": ["snapshot_download"], "msdatasets": ["MsDataset"], "pipelines": ["pipeline"]}\n'
PACKAGES = {
    "transformers": {"4.39.1": TRANSFORMERS},
    "torch": {
        release: {"torch/__init__.py": "", "torch/optim/__init__.py": "", "torch/optim/lr_scheduler.py": f"class {name}: pass\n"}
        for release, name in (("1.13.1", "_LRScheduler"), ("2.0.0", "LRScheduler"))
    },
    "accelerate": {"0.27.2": {"accelerate/__init__.py": "import torch\n"}},
    "datasets": {
        "3.3.2": {"datasets/__init__.py": "", "datasets/data_files.py": "def get_metadata_patterns(): pass\n"},
        "3.6.0": {"datasets/__init__.py": "", "datasets/data_files.py": ""},
    },
    "modelscope": {
        "1.27.1": {
            "modelscope/__init__.py": MODELSCOPE_NAMES,
            "modelscope/hub.py": "def snapshot_download(name): pass\n",
            "modelscope/msdatasets.py": "from datasets.data_files import get_metadata_patterns\nclass MsDataset: pass\n",
            "modelscope/pipelines.py": "from .msdatasets import MsDataset\ndef pipeline(task): pass\n",
        }
    },
    "peft": {
        "0.14.0": {"peft/__init__.py": "class LoraModel: pass\nclass LoraConfig: pass\n"},
        "0.15.2": {"peft/__init__.py": "class LoraConfig: pass\n"},
    },
    "llamafactory": {
        "0.9.3": {
            "llamafactory/__init__.py": "",
            "llamafactory/train/__init__.py": "",
            "llamafactory/train/tuner.py": "from peft import LoraModel\ndef run_exp(): pass\n",
        }
    },
}


@pytest.fixture(autouse=True, scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), PACKAGES):
        yield


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("from transformers import TrainingArguments\n", "matched"),
        ("from transformers.trainer_pt_utils import AcceleratorConfig\n", "matched"),
        ("from transformers import pipeline\n", "matched"),
        ('import transformers\nprint(transformers.pipeline("text-generation", "gpt2"))\n', "matched"),
        ('from transformers import AutoModelForCausalLM\nAutoModelForCausalLM.from_pretrained("gpt2")\n', None),
        ("from transformers import AutoTokenizer\n", None),
    ],
)
@pytest.mark.large
def test_what_imports_of_transformers_lead_to(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, status: str | None) -> None:
    found = told(capsys, tmp_path, "s.py", text, STACK)
    assert found.get(TRAINER) == status
    assert "import-breaks" not in found


def test_the_report_says_which_import_leads_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("from transformers import pipeline\n")
    (tmp_path / "stack.toml").write_text(STACK)
    done = run(capsys, "check", str(tmp_path / "s.py"), "--facts", str(tmp_path / "stack.toml"), every_rule=True)
    said = " ".join(done.out.replace("|", " ").split())
    assert "from transformers import pipeline reaches transformers/trainer_pt_utils.py:1, which imports LRScheduler" in said
    assert "broken_imports" not in said
    assert done.status == 1


def test_what_runs_a_plan_is_imported_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stack = '[packages]\nllamafactory = "0.9.3"\npeft = "%s"\n'
    assert "import-breaks" in told(capsys, tmp_path, "plan.yaml", LLAMA_FACTORY, stack % "0.15.2")
    assert "import-breaks" not in told(capsys, tmp_path, "plan.yaml", LLAMA_FACTORY, stack % "0.14.0")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("from modelscope.msdatasets import MsDataset\n", "matched"),
        ("from modelscope import pipeline\n", "matched"),
        ('from modelscope import snapshot_download\nsnapshot_download("x")\n', None),
    ],
)
def test_what_names_of_modelscope_load_data_sets(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, status: str | None) -> None:
    assert told(capsys, tmp_path, "s.py", text, DATA).get(MODELSCOPE) == status


def test_a_broken_import_counts_only_among_the_releases_of_the_rule() -> None:
    written = parse_condition({"packages": ["a <2", "b >=1"], "not": {"calls": ["unsloth"]}, "plan.trainer": "trl"})
    condition = join_broken_imports(written, ["cannot import name 'X' from 'b.c'"], ("a", "b"))
    assert condition != written == without_broken_imports(condition)
    assert isinstance(condition, All)

    def judge(release: str, edge: str) -> bool | None:
        facts = [Fact("packages.a", exact(release), Origin("t")), Fact("packages.b", exact("1.5"), Origin("t"))]
        facts += [Fact("plan.trainer", "own", Origin("t")), Fact("plan.code_uses", (), Origin("t"))]
        return evaluate(condition, Facts().with_facts([*facts, Fact("broken_imports", (edge,), Origin("t"))]), release_texts)

    assert [judge("1.0", "a:b.c.X"), judge("2.0", "a:b.c.X"), judge("1.0", "a:b.c.Y")] == [True, False, False]
