"""A fault of code itself is told by what the line did and whose it is: calls without end, classes that cannot be made, names that no branch
set or that another package has, files that were built for something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

PACKAGES = "/opt/lib/python3.10/site-packages/"
ROUND = "".join(
    f'  File "{PACKAGES}deepspeed/accelerator/real_accelerator.py", line {line}, in {function}\n    {code}\n'
    for line, function, code in 3
    * [(48, "is_supported", "return get_accelerator().name in NAMES"), (101, "get_accelerator", "elif is_supported():")]
)
ENDLESS = (
    f'{ROUND}  File "/usr/lib/python3.10/os.py", line 672, in __getitem__\n    value = self._data[key]\n'
    "RecursionError: maximum recursion depth exceeded"
)
FIELDS = (
    f'Traceback (most recent call last):\n  File "{PACKAGES}mlx_lm/models/mixtral.py", line 11, in <module>\n    @dataclass\n'
    '  File "/usr/lib/python3.11/dataclasses.py", line 545, in _init_fn\n    raise TypeError(f"non-default")\n'
    "TypeError: non-default argument 'model_type' follows default argument"
)
COMPARED = (
    f'Traceback (most recent call last):\n  File "{PACKAGES}bitsandbytes/backends/xpu/ops.py", line 17, in <module>\n'
    '    if version.parse(torch.__version__).release >= version.parse("2.9"):\n'
    "TypeError: '>=' not supported between instances of 'tuple' and 'Version'"
)


LINE = 'Traceback (most recent call last):\n  File "/home/u/proj/train.py", line 12, in main\n    {}\n{}'
OF_LOADING = (
    '  File "/home/u/proj/train.py", line 35, in run\n    model = transformers.QuailModel.from_pretrained(\n'
    f'  File "{PACKAGES}transformers/modeling_utils.py", line 1489, in from_pretrained\n    model = cls(config, *model_args, **kwargs)\n'
    "TypeError: __init__() got an unexpected keyword argument 'tuning_mode'"
)


def told(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, facts: str = 'os = "linux"\n') -> str:
    first, *_ = findings(capsys, tmp_path, log, facts)
    return " ".join(
        (",".join(first["packages"]), str(first["detail"]), *(f"{fix.get('pins')} {fix.get('note')}" for fix in first["fixes"]))
    )


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (ENDLESS, "is_supported calls get_accelerator"),
        (FIELDS, "A dataclass of mlx-lm cannot be made"),
        (COMPARED, "bitsandbytes compares releases in two forms (tuple and Version)"),
        ("TypeError: non-default argument 'vision_config' follows default argument", "before 5.4"),
        ("TypeError: Type parameter +_R_co without a default follows type parameter with a default", "rules of typing"),
        ("RuntimeError: Library cublas64_12.dll is not found or cannot be loaded", '"ctranslate2<4"'),
        ("RuntimeError: Library libcublas.so.11 is not found or cannot be loaded", "CTranslate2 4 is for CUDA 12"),
        ("RuntimeError: MPS does not support cumsum op with int64 input", "does not compute cumsum of int64"),
        (f"OSError: Could not load this library: {PACKAGES}mslk/mslk.so", "mslk.so of mslk is not loaded"),
        (
            "Procedure ?decref_pyobject@TensorImpl@c10@@UEBAXXZ not found in DLL: C:\\x\\Lib\\site-packages\\torchcodec\\"
            "libtorchcodec_core4.dll.",
            "torchcodec,torch",
        ),
        ("UnboundLocalError: local variable 'results' referenced before assignment", "results is used, and no line has given it a value"),
        ("ValueError: cannot access local variable 'loc' where it is not associated with a value", "loc is used"),
        (
            "RuntimeError: repeats must have the same size as input along dim, but got repeats.size(0) = 2 and input.size(0) = 1",
            "2 counts for 1 rows",
        ),
        ("TypeError: Wrong key type: '5' of type '<class 'numpy.int64'>'. Expected one of int, slice, range, str or Iterable.", "int(i)"),
    ],
)
def test_it_is_said_what_happened(log: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert words in told(capsys, tmp_path, log)


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        ("cfg.SOLVER.DIR = 'x'", "AttributeError: 'Config' object has no attribute 'SOLVER'", "cfg has no SOLVER"),
        ("data = [build(cfg.data.train)]", "AttributeError: 'ConfigDict' object has no attribute 'train'", "cfg.data has no train"),
        ("folder = sys.argv[1]", "IndexError: list index out of range", "without its argument 1 (folder)"),
        ("n = inputs[0].size(0)", "IndexError: list index out of range", "inputs is empty"),
        ("x = a[0] + b[1]", "IndexError: list index out of range", "An item is asked for"),
        ("model.load_lora('x')", "AttributeError: 'PeftModelForCausalLM' object has no attribute 'load_lora'", "fast_inference=True"),
        ("loss = model(lm_labels=y)", "TypeError: forward() got an unexpected keyword argument 'lm_labels'", "labels=... in place"),
    ],
)
def test_what_the_line_reads_is_not_there(code: str, error: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert words in told(capsys, tmp_path, LINE.format(code, error))


def test_a_keyword_that_loading_hands_on_is_asked_of_the_class_that_is_loaded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = "class QuailModel:\n    def __init__(self, config): pass\n"
    files = {"transformers/__init__.py": "", "transformers/models/quail/modeling_quail.py": code}
    with atlas_of(tmp_path, {"transformers": {"4.50.0": files}}):
        said = told(capsys, tmp_path, OF_LOADING)
    assert "QuailModel.__init__() of transformers takes no tuning_mode in any release" in said


def test_a_static_method_is_counted_without_self(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    agent = "class DSElasticAgent:\n    @staticmethod\n    def _set_address({}): pass\n"
    file = "deepspeed/elasticity/elastic_agent.py"
    old = {"deepspeed/__init__.py": "", file: agent.format("store, host, port")}
    new = {**old, file: agent.format("store, host, port, local=None")}
    log = "TypeError: DSElasticAgent._set_address() takes 3 positional arguments but 4 were given"
    with atlas_of(tmp_path, {"deepspeed": {"0.13.1": old, "0.13.2": new}}):
        assert "it fits in 0.13.2-" in told(capsys, tmp_path, log)


def test_a_setting_of_the_language_model_is_one_part_below(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = "class QuailAudioConfig:\n    def __init__(self, text_config=None):\n        self.text_config = text_config\n"
    files = {"transformers/__init__.py": "", "transformers/models/quail/configuration_quail.py": code}
    with atlas_of(tmp_path, {"transformers": {"4.50.0": files}}):
        said = told(capsys, tmp_path, "AttributeError: 'QuailAudioConfig' object has no attribute 'num_hidden_layers'")
    assert "config.text_config.num_hidden_layers" in said


def test_a_name_that_transformers_has_taken_since(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old = {"transformers/__init__.py": "", "transformers/models/quail/__init__.py": ""}
    new = {**old, "transformers/models/quail/configuration_quail.py": "class QuailConfig: pass\n"}
    log = "ValueError: '<class 'modular.QuailConfig'>' is already used by a Transformers model."
    with atlas_of(tmp_path, {"transformers": {"5.1.0": old, "5.2.0": new}}):
        assert "'transformers': '==5.1.0'" in told(capsys, tmp_path, log)


def test_a_name_that_another_package_has_in_some_releases(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old = {"torch/__init__.py": "", "torch/optim/optimizer.py": ""}
    new = {**old, "torch/optim/optimizer.py": "def _disable_dynamo_if_unsupported(f): pass\n"}
    log = (
        f'  File "/tmp/pip-install-qg/deepspeed_{"b3" * 16}/deepspeed/ops/adam/zenflow.py", line 685, in <module>\n'
        "    @_disable_dynamo_if_unsupported\n"
        "NameError: name '_disable_dynamo_if_unsupported' is not defined"
    )
    with atlas_of(tmp_path, {"torch": {"2.3.1": old, "2.4.0": new}}):
        said = told(capsys, tmp_path, log)
    assert "torch has in 2.4.0-" in said
    assert said.startswith("torch,deepspeed")


@pytest.mark.parametrize("argument", ["x", "mask"])
def test_any_forward_without_an_argument_of_any_name_is_no_model_of_transformers(
    argument: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "transformers" not in told(capsys, tmp_path, f"TypeError: forward() missing 1 required positional argument: '{argument}'")
