"""Ways to write one call: what a rule waits for is seen however the script comes to it, and what only looks like it is not."""

from __future__ import annotations

from pathlib import Path

from envdoctor.facts.uses import CODE_USES, list_meant

from .situations import read, values

_ACCELERATE = "from accelerate import Accelerator\n"
_JOINED = "import os, sys\nfrom pathlib import Path\nfrom datasets import load_dataset\nhere, n = sys.argv[1:]\n"
_PARTIAL = "from functools import partial\nimport datasets\n"
_TORCH = "import torch\nfrom transformers import AutoModel\nmodel = AutoModel.from_pretrained('a/b')\n"
_LOADS = "accelerate.*.load_state"
_DISABLED = "torch.compile(disable=True)"


def _shows(folder: Path, pattern: str, text: str) -> bool:
    uses = next((fact.value for fact in read(folder, text).facts if fact.name == CODE_USES), ())
    return bool(list_meant([pattern], uses if isinstance(uses, tuple) else ()))


def test_what_a_parameter_or_an_attribute_is(tmp_path: Path) -> None:
    def check(text: str, shows: bool) -> None:
        assert _shows(tmp_path, _LOADS, _ACCELERATE + text) is shows, text

    kept = (
        "class Loop:\n    def __init__(self, given=None):\n        self.it = {}\n    def resume(self):\n        self.it.load_state('x')\n"
    )
    for case in (
        (kept.format("Accelerator()") + "Loop().resume()", True),
        (kept.format("given") + "a = Accelerator()\nLoop(a).resume()", True),
        (kept.format("given") + "a = Accelerator()\nLoop(given=a).resume()", True),
        (kept.format("given") + "Loop(State()).resume()", False),
        (kept.format("Accelerator()") + "loop = Loop()\nloop.it = State()\nloop.resume()", False),
        (kept.format("Accelerator()") + "loop = Loop()\nloop.it.load_state('x')", True),
        (
            "class Base:\n    def __init__(self):\n        self.it = Accelerator()\n" + kept.format("Own()").replace("Loop", "Loop(Base)"),
            False,
        ),
        ("class Loop:\n    def go(self, a):\n        a.load_state('x')\n    def run(self):\n        self.go(Accelerator())", True),
        ("class Loop:\n    def go(self, a):\n        a.load_state('x')\nLoop().go(Accelerator())", True),
        ("class Loop:\n    def go(self, a):\n        a.load_state('x')\nLoop().go(Accelerator())\nother.go(State())", False),
        ("def make():\n    return Accelerator()\na = make()\na.load_state('x')", True),
        ("def make():\n    if own:\n        return State()\n    return Accelerator()\na = make()\na.load_state('x')", False),
        ("def make():\n    if own:\n        return Accelerator()\na = make()\na.load_state('x')", False),
        ("def make():\n    yield 1\n    return Accelerator()\na = make()\na.load_state('x')", False),
        ("def go(a):\n    a.load_state('x')\ngo(Accelerator())", True),
        ("def go(a):\n    a.load_state('x')\ngo(Accelerator())\ngo(State())", False),
        ("def go(a):\n    a.load_state('x')\nstart(go)", False),
        ("def go(*a):\n    a.load_state('x')\ngo(Accelerator())", False),
        ("def go(a: Accelerator):\n    a.load_state('x')\nstart(go)", True),
        ("def go(a: 'Accelerator | None'):\n    a.load_state('x')\nstart(go)", False),
        ("def go(a: Accelerator | None):\n    a.load_state('x')\nstart(go)", True),
        ("def go(accelerator):\n    accelerator.load_state('x')\nstart(go)", True),
        ("def go(accelerator: State):\n    accelerator.load_state('x')\nstart(go)", False),
    ):
        check(*case)


def test_a_text_that_is_put_together(tmp_path: Path) -> None:
    def check(path: str, shows: bool) -> None:
        assert _shows(tmp_path, "datasets.load_dataset(0|path=*.py)", f"{_JOINED}load_dataset({path})") is shows, path

    for case in (
        ("os.path.join(here, 'squad.py')", True),
        ("f'{here}/squad.py'", True),
        ("str(Path(here) / 'squad.py')", True),
        ("Path(here).joinpath('a', 'squad.py').as_posix()", True),
        ("here + '/squad.py'", True),
        ("'{}/squad.py'.format(here)", True),
        ("'%s/squad.py' % here", True),
        ("os.path.join(here, 'squad')", False),
        ("os.path.join('squad.py', here)", False),
        ("here", False),
    ):
        check(*case)


def test_a_partial_is_a_call_of_what_it_is_a_part_of(tmp_path: Path) -> None:
    def check(text: str, shows: bool) -> None:
        assert _shows(tmp_path, "datasets.load_dataset(path=*.py)", _PARTIAL + text) is shows, text

    for case in (
        ("load = partial(datasets.load_dataset, path='a.py')\nload(split='train')", True),
        ("load = partial(datasets.load_dataset, split='train')\nload(path='a.py')", True),
        ("start(partial(datasets.load_dataset, path='a.py'))", True),
        ("partial(datasets.load_dataset, split='train')(path='a.py')", True),
        ("load = partial(datasets.load_dataset, path='a.py')\nload(path='b.json')", True),
        ("load = partial(own, path='a.py')\nload()", False),
    ):
        check(*case)


def test_a_module_that_is_compiled(tmp_path: Path) -> None:
    def check(text: str, compiles: object) -> None:
        assert values(read(tmp_path, text)).get("plan.compile") is compiles, text

    for case in (
        (f"{_TORCH}model.compile()", True),
        (f"{_TORCH}net = model.base\nnet.compile(mode='max-autotune')", True),
        (f"{_TORCH}model.compile(optimizer='adam')", None),
        (f"{_TORCH}import keras\nmodel.compile()", None),
        (f"{_TORCH}from langchain import Graph\ngraph = Graph()\ngraph.compile()", None),
        ("model = load()\nmodel.compile()", None),
    ):
        check(*case)


def test_what_leaves_torch_compile_nothing_to_do(tmp_path: Path) -> None:
    def check(text: str, shows: bool) -> None:
        assert _shows(tmp_path, _DISABLED, text) is shows, text

    for case in (
        ("import os\nos.environ['TORCHDYNAMO_DISABLE'] = '1'", True),
        ("import os\nos.environ['TORCHDYNAMO_DISABLE'] = '0'", False),
        ("import torch\ntorch._dynamo.config.suppress_errors = True", True),
        ("import torch\ntorch._dynamo.config.suppress_errors = False", False),
        (f"{_TORCH}model.compile(disable=True)", True),
        (f"{_TORCH}model.compile()", False),
    ):
        check(*case)


def test_what_is_put_in_the_place_of_a_function_of_a_package(tmp_path: Path) -> None:
    def check(text: str, shows: bool) -> None:
        assert _shows(tmp_path, "?.load = *", f"import torch\n{text}") is shows, text

    for case in (
        ("def load(path):\n    pass\ntorch.load = load", True),
        ("torch.load = lambda path: None", True),
        ("setattr(torch, 'load', own)", True),
        ("class Own:\n    pass\none = Own()\none.load = own", False),
        ("setattr(torch, name, own)", False),
    ):
        check(*case)


def test_the_same_under_another_name(tmp_path: Path) -> None:
    def check(pattern: str, text: str) -> None:
        assert _shows(tmp_path, pattern, text)

    for case in (
        ("transformers.AutoConfig.register", "from transformers import CONFIG_MAPPING\nCONFIG_MAPPING.register('a', Own)"),
        ("torch.serialization.add_safe_globals", "import torch\nwith torch.serialization.safe_globals([Own]):\n    pass"),
    ):
        check(*case)


def test_a_function_that_nothing_calls_uses_nothing(tmp_path: Path) -> None:
    old = "def old():\n    import datasets\n    datasets.load_metric('a')\ndef new():\n    pass\n"
    for end, shows in (("print(new())", False), ("new()\nold()", True), ("", True), ("start = new", True)):
        assert _shows(tmp_path, "datasets.load_metric", old + end) is shows, end


def test_what_swift_trains_by_preferences(tmp_path: Path) -> None:
    start = "from swift.llm import rlhf_main, RLHFArguments\n"
    for given, goal in (("model='a'", "dpo"), ("rlhf_type='kto'", "kto"), ("rlhf_type='rm'", None), ("**more", None)):
        assert values(read(tmp_path, f"{start}rlhf_main(RLHFArguments({given}))")).get("plan.objective") == goal, given


def test_arguments_that_are_parsed_where_they_are_handed_over(tmp_path: Path) -> None:
    text = """
import argparse
from transformers import Trainer, TrainingArguments
def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=8)
    return p.parse_args()
def main(args):
    Trainer(None, TrainingArguments("o", gradient_accumulation_steps=args.steps)).train()
main(parse())
"""
    found = next(fact for fact in read(tmp_path, text).facts if fact.name == "plan.gradient_accumulation")
    assert (found.value, found.origin.source.partition(" in ")[0]) == (8, "default of --steps")


def test_a_device_that_is_named_is_what_computes(tmp_path: Path) -> None:
    def check(text: str, device: str | None) -> None:
        assert values(read(tmp_path, _TORCH + text)).get("accelerator") == device, text

    check("model.to('mps')", "mps")
    check("model.to(torch.device('mps'))", "mps")
    check("from transformers import pipeline\npipeline('text-generation', device='mps')", "mps")
    check("torch.set_default_device('mps')", "mps")
    check("import lightning as L\nL.Trainer(accelerator='mps')", "mps")
    check("import lightning as L\nL.Trainer(accelerator='gpu')", None)
    check("from transformers import TrainingArguments\nTrainingArguments('out', use_mps_device=True)", "mps")
    check("model.to('mps')\nmodel.to('cuda')", None)
    check("model.to('mps' if torch.backends.mps.is_available() else 'cuda')", None)
    check("if torch.backends.mps.is_available():\n    model.to('mps')", None)


def test_a_model_that_a_trainer_loads_by_its_name_is_not_quantized_unless_something_says_so(tmp_path: Path) -> None:
    def check(settings: str, told: bool | None) -> None:
        text = f"from trl import SFTConfig, SFTTrainer\nSFTTrainer('Qwen/Qwen3-8B', args=SFTConfig({settings})).train()\n"
        assert values(read(tmp_path, text)).get("plan.quantization_config") is told, settings

    check("'out'", False)
    check("'out', model_init_kwargs={'quantization_config': made()}", None)
    check("**given", None)


def test_keywords_that_are_put_together_for_a_release_are_that_release_s(tmp_path: Path) -> None:
    text = """
        import transformers
        from packaging.version import parse
        from transformers import Trainer
        more = {}
        if parse(transformers.__version__) >= parse("4.46"):
            more["processing_class"] = None
        else:
            more["tokenizer"] = None
        Trainer(model=None, **more)
    """
    name = "plan.framework_tokenizer_argument"
    assert values(read(tmp_path, text))[name] is False
    assert values(read(tmp_path, text.replace(">= parse", "is not parse").replace("transformers.__version__", "input()")))[name] is True
