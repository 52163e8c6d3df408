"""Which rules hold of ordinary scripts, each rule beside the releases of its own match cases: what a script does not load it is not told.

``python scripts/accuse_scripts.py`` prints for every script how many rules are an error there, ``-v`` which.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from envdoctor.app.situations import gather
from envdoctor.atlas.shelf import package_names
from envdoctor.cli.parser import parse
from envdoctor.cli.requests import read_request
from envdoctor.engine.defaults import derive
from envdoctor.engine.outcomes import Outcomes
from envdoctor.facts.fact import Facts
from envdoctor.files.toml import read_toml
from envdoctor.rules.conditions import evaluate
from envdoctor.rules.lint import match_cases
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.world.releases import release_texts

RULES = Path(__file__).parent.parent / "rules"
_LOAD = "from transformers import AutoModelForCausalLM, AutoTokenizer\nmodel = AutoModelForCausalLM.from_pretrained('./m')\n"
SCRIPTS = {
    "tokenizes": "from transformers import AutoTokenizer\nprint(AutoTokenizer.from_pretrained('./m')('hello'))\n",
    "reads a configuration": "from transformers import AutoConfig\nprint(AutoConfig.from_pretrained('./m').hidden_size)\n",
    "prepares data": "from datasets import load_dataset\nload_dataset('json', data_files='a.json').map(len)\n",
    "pandas": "import pandas as pd\npd.read_json('a.json').to_csv('b.csv')\n",
    "torch alone": "import torch\nloss = torch.nn.Linear(4, 4)(torch.randn(2, 4)).mean()\nloss.backward()\n",
    "downloads": "from huggingface_hub import snapshot_download\nsnapshot_download('Qwen/Qwen3-8B')\n",
    "converts weights": "from safetensors.torch import load_file, save_file\nsave_file(load_file('a.safetensors'), 'b.safetensors')\n",
    "a page": "import gradio as gr\ngr.ChatInterface(lambda m, h: m).launch()\n",
    "serves": "from vllm import LLM\nprint(LLM('./m').generate(['hi']))\n",
    "evaluates": _LOAD + "model.eval()\nprint(model(input_ids=None).logits)\n",
    "generates": _LOAD + "model.generate(**AutoTokenizer.from_pretrained('./m')('hi', return_tensors='pt'))\n",
    "merges": _LOAD + "from peft import PeftModel\nPeftModel.from_pretrained(model, 'a').merge_and_unload().save_pretrained('b')\n",
    "trains": _LOAD
    + "from transformers import Trainer, TrainingArguments\nTrainer(model, TrainingArguments('out'), train_dataset=[]).train()\n",
}


def facts_of(text: str) -> Facts:
    """What is read of a script, beside packages of which any may be there."""
    with tempfile.TemporaryDirectory() as directory:
        script, stated = Path(directory) / "script.py", Path(directory) / "facts.toml"
        script.write_text(text, encoding="utf-8")
        stated.write_text("".join(f'packages.{name} = "==1.0"\n' for name in package_names()), encoding="utf-8")
        found = gather(read_request(parse(["check", str(script), "--facts", str(stated)]))).facts
    return Facts().with_facts(found[name] for name in found if not name.startswith("packages."))


def accusing(read: Mapping[str, Facts]) -> dict[str, list[str]]:
    """The rules that are an error of each script, beside the releases and models of one of their match cases."""
    outcomes = Outcomes(release_texts)
    found: dict[str, list[str]] = {name: [] for name in read}
    pages = {path.stem: path for path in RULES.rglob("*.toml")}
    for rule in load_rulebook().rules:
        if rule.condition is None or rule.withdrawn is not None:
            continue
        cases = [facts for _, facts in match_cases(read_toml(pages[rule.id]), pages[rule.id])]
        for name, script in read.items():
            for case in cases:
                beside = [case[fact] for fact in case if not fact.startswith("plan.") and fact not in script]
                facts = derive(script.with_facts(beside))
                severe = rule.severity == "error" or (
                    rule.error_when is not None and evaluate(rule.error_when, facts, release_texts) is True
                )
                if severe and outcomes.of(facts).held(rule.condition)[0]:
                    found[name].append(rule.id)
                    break
    return found


def main() -> int:
    """Print the counts, and with ``-v`` the rules."""
    for name, rules in accusing({name: facts_of(text) for name, text in SCRIPTS.items()}).items():
        sys.stdout.write(f"{len(rules):4} {name}\n")
        sys.stdout.write("".join(f"       {rule}\n" for rule in rules) if "-v" in sys.argv[1:] else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
