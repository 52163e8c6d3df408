"""Whole tracebacks: whose the call is, whether a release is behind it at all, and what ended the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

LIBROSA = {
    "librosa": {
        "0.9.2": {
            "librosa/__init__.py": "",
            "librosa/d.py": "def deprecate(): pass\n",
            "librosa/filters.py": "from librosa.d import deprecate\n@deprecate()\ndef mel(sr, n_fft, *, n_mels=128): pass\n",
        },
        "0.10.2": {"librosa/__init__.py": "", "librosa/filters.py": "def mel(*, sr, n_fft, n_mels=128): pass\n"},
    }
}
TORCH = {
    "torch": {
        version: {
            "torch/__init__.py": "from torch import nn\n",
            "torch/utils/__init__.py": "",
            "torch/utils/checkpoint.py": "def checkpoint(): pass\n",
            "torch/nn/__init__.py": "from torch.nn.modules.batchnorm import BatchNorm2d\n",
            "torch/nn/modules/__init__.py": "",
            "torch/nn/modules/module.py": "class Module:\n    def __init__(self):\n        self._non_persistent_buffers_set = set()\n",
            "torch/nn/modules/batchnorm.py": "from torch.nn.modules.module import Module\nclass BatchNorm2d(Module): pass\n",
            "torch/_C/__init__.pyi": f"class NoneType:\n    {field}: int\n",
        }
        for version, field in (("1.13.1", "device"), ("2.0.0", "dtype"))
    }
}
ACCELERATE = {
    "accelerate": {
        version: {
            "accelerate/__init__.py": "",
            "accelerate/accelerator.py": "class Accelerator:\n    def __init__(self):\n        self.state = 1\n"
            f"    def _prepare_deepspeed(self):\n        self.{field} = 1\n",
        }
        for version, field in (("0.9.0", "engine"), ("0.10.0", "deepspeed_engine_wrapped"))
    }
}
GRADIO = {
    "gradio": {
        version: {"gradio/__init__.py": "", "gradio/blocks.py": f"class Blocks:\n    def launch(self, {given}share=None): pass\n"}
        for version, given in (("3.50.2", "enable_queue=None, "), ("4.0.2", ""))
    }
}


def test_a_function_that_takes_names_alone_is_its_packages_also_in_a_projects_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/w/src/extract_f0_func.py", line 97, in extract_f0_func_audiofile\n'
        "    mel_basis = mel(16000, 1024, fmin=90, fmax=7600, n_mels=80).T\n"
        "TypeError: mel() takes 0 positional arguments but 2 positional arguments (and 3 keyword-only arguments) were given"
    )
    with atlas_of(tmp_path, LIBROSA):
        first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["status"], first["packages"]) == ("error-argument-refused", "matched", ["librosa"])
    assert "takes sr, n_fft by name alone, and the call passes 2 by position" in first["detail"]
    assert first["fixes"][0]["note"] == "pass by name what is passed by position: mel(sr=..., n_fft=...)"
    assert first["fixes"][1]["pins"] == {"librosa": "==0.9.2"}


def test_a_method_that_a_projects_line_calls_by_a_keyword_of_one_package(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "webui.py", line 84, in <module>\n'
        "    block.queue(max_size=64).launch(show_api=False, enable_queue=True, debug=True)\n"
        "TypeError: launch() got an unexpected keyword argument 'enable_queue'"
    )
    with atlas_of(tmp_path, GRADIO):
        first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["packages"]) == ("error-argument-refused", ["gradio"])
    assert {"gradio": "==3.50.2"} in [fix.get("pins") for fix in first["fixes"]]


def test_nothing_is_no_class_of_a_package(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        '  File "/e/site-packages/torch/nn/modules/module.py", line 1784, in _call_impl\n    return forward_call(*args, **kwargs)\n'
        '  File "/e/site-packages/diffusers/models/transformers/transformer_z_image.py", line 65, in forward\n'
        "    weight_dtype = self.mlp[0].weight.dtype\nAttributeError: 'NoneType' object has no attribute 'dtype'"
    )
    with atlas_of(tmp_path, TORCH):
        told = findings(capsys, tmp_path, log)
    assert not [one for one in told if one["rule"] == "error-attribute-missing"]


def test_what_only_a_module_of_an_older_torch_lacks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        '  File "/e/site-packages/torch/nn/modules/module.py", line 772, in __getattr__\n    type(self).__name__, name))\n'
        "torch.nn.modules.module.ModuleAttributeError: 'BatchNorm2d' object has no attribute '_non_persistent_buffers_set'"
    )
    with atlas_of(tmp_path, TORCH):
        first, *_ = findings(capsys, tmp_path, log)
    assert "A module of torch was pickled under an older torch than the one that runs" in first["detail"]
    assert not any(fix.get("pins") for fix in first["fixes"])


def test_a_submodule_that_nobody_imported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        '  File "/e/site-packages/transformers/models/prophetnet/modeling_prophetnet.py", line 1841, in forward\n'
        "    return_dict=return_dict,\n"
        "AttributeError: module 'torch.utils' has no attribute 'checkpoint'"
    )
    with atlas_of(tmp_path, TORCH):
        first, *_ = findings(capsys, tmp_path, log)
    assert "Nobody imported torch.utils.checkpoint before it was used" in first["detail"]
    assert first["fixes"][0]["note"].startswith("import torch.utils.checkpoint at the top")


def test_what_a_class_sets_in_a_step_of_its_own_is_no_pickled_object(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        '  File "/e/site-packages/accelerate/accelerator.py", line 2151, in backward\n'
        "    self.deepspeed_engine_wrapped.backward(loss, **kwargs)\n"
        "AttributeError: 'Accelerator' object has no attribute 'deepspeed_engine_wrapped'"
    )
    with atlas_of(tmp_path, ACCELERATE):
        first, *_ = findings(capsys, tmp_path, log)
    assert "Accelerator of accelerate was used before deepspeed_engine_wrapped was set" in first["detail"]
    assert not any(fix.get("pins") for fix in first["fixes"])


def test_a_warning_that_is_raised_ends_the_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    raised = (
        'Traceback (most recent call last):\n  File "/w/webui.py", line 837, in <module>\n'
        '    app.queue(concurrency_count=511, max_size=1022).launch(\n  File "/e/site-packages/gradio/blocks.py", line 1789, in queue\n'
        "    raise DeprecationWarning(\n"
        "DeprecationWarning: concurrency_count has been deprecated. Set the concurrency_limit directly on event listeners"
    )
    first, *_ = findings(capsys, tmp_path, raised)
    assert (first["status"], first["packages"]) == ("matched", ["gradio"])
    assert {"gradio": "==3.50.2"} in [fix.get("pins") for fix in first["fixes"]]
    warned = "DeprecationWarning: this_name has been deprecated. Use that_name.\nepoch 1: loss 0.4"
    assert findings(capsys, tmp_path, warned) == []


def test_unsloth_beside_a_trl_that_it_does_not_know(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    patched = (
        "/e/dist-packages/unsloth/models/rl.py in patch_functions(RLTrainer, trainer_file)\n"
        '    853             last_line = sampling_params.split("\\n")[-1]\n'
        '--> 854             last_prev_line = sampling_params.split("\\n")[-2]\n\nIndexError: list index out of range'
    )
    for log in ("RuntimeError: Unsloth: Please file a bug report! Error patching SFTTrainer", patched):
        first, *_ = findings(capsys, tmp_path, log)
        assert (first["status"], first["packages"]) == ("matched", ["unsloth", "trl"])
        assert "does not know the source of this trl" in first["detail"]


HYDRA = {
    "hydra-core": {
        version: {
            "hydra/__init__.py": "",
            "hydra/_internal/__init__.py": "",
            "hydra/_internal/utils.py": f"def _run_hydra({first}args_parser, task_function): pass\n",
        }
        for version, first in (("1.1.2", ""), ("1.2.0", "args, "))
    }
}


def test_a_private_function_of_one_package_that_another_one_calls(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "tacotron2.py", line 44, in <module>\n    main()\n'
        '  File "/usr/lib/python3.7/dist-packages/nemo/core/config/hydra_runner.py", line 108, in wrapper\n'
        "    config_name='tacotron2.yaml',\nTypeError: _run_hydra() missing 1 required positional argument: 'args'"
    )
    with atlas_of(tmp_path, HYDRA):
        first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["status"], first["packages"]) == ("error-argument-refused", "matched", ["hydra-core", "nemo"])
    assert first["fixes"][0]["pins"] == {"hydra-core": "==1.1.2"}


STEP = '  File "/w/ray_workers.py", line 362, in simulate\n    new_obs, r, d, _ = env.step(a)\nValueError: {}'


@pytest.mark.parametrize(
    ("log", "headline", "pins"),
    [
        (STEP.format("too many values to unpack (expected 4)"), "step() of this environment gives five", {"gym": "==0.25.2"}),
        (
            STEP.format("not enough values to unpack (expected 5, got 4)"),
            "step() of this environment gives four",
            {"gym": "==0.26.2"},
        ),
        (
            '  File "/e/site-packages/gym/core.py", line 379, in reset\n    obs, info = self.env.reset(**kwargs)\n'
            "ValueError: too many values to unpack (expected 2)",
            "reset() of the wrapped environment gives the observation alone",
            {"gym": "==0.25.2"},
        ),
    ],
)
def test_an_environment_that_gives_another_number_of_values(
    log: str, headline: str, pins: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *_ = findings(capsys, tmp_path, log)
    assert first["status"] == "matched"
    assert headline in first["detail"]
    assert [fix["pins"] for fix in first["fixes"] if fix.get("pins")] == [pins]


def test_a_method_that_no_line_gives_a_class_is_not_called_the_projects_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/w/explorer.py", line 36, in run_k_episodes\n    out = self.policy.act_on(state, 3)\n'
        "TypeError: act_on() takes 2 positional arguments but 3 were given"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["status"]) == ("error-of-own-code", "possible")
    wrapped = log.replace("out = self.policy.act_on(state, 3)", "ob = self.env.reset(phase)").replace(
        "act_on() takes 2 positional arguments but 3", "reset() takes 1 positional argument but 2"
    )
    first, *_ = findings(capsys, tmp_path, wrapped)
    assert (first["status"], first["packages"]) == ("matched", ["gym"])


def test_what_timm_passes_to_a_model_that_a_project_registers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        '  File "/e/site-packages/timm/models/factory.py", line 71, in create_model\n'
        "    model = create_fn(pretrained=pretrained, pretrained_cfg=pretrained_cfg, **kwargs)\n"
        '  File "/w/modeling.py", line 566, in icolorit_base\n    model = IColoriT(\n'
        "TypeError: __init__() got an unexpected keyword argument 'pretrained_cfg'"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert (first["status"], first["packages"]) == ("matched", ["timm"])
    assert {"timm": "==0.5.4"} in [fix.get("pins") for fix in first["fixes"]]


def test_a_compiled_part_that_was_not_built_is_no_mixture_of_releases(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/e/site-packages/gsplat/cuda/_backend.py", line 56, in <module>\n'
        "    from gsplat import csrc as _C\nImportError: cannot import name 'csrc' from 'gsplat' (/e/site-packages/gsplat/__init__.py)"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert "The compiled part of gsplat (csrc) is not there" in first["detail"]


def test_what_a_packages_own_line_passes_is_not_what_refused_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trainer = {
        "transformers": {
            version: {
                "transformers/__init__.py": "from transformers.trainer import Trainer\n",
                "transformers/trainer.py": f"class Trainer:\n    def compute_loss(self, model{more}): pass\n",
                "transformers/w.py": "class WhisperForConditionalGeneration:\n    def forward(self, input_features=None): pass\n",
            }
            for version, more in (("4.45.2", ""), ("4.46.1", ", num_items_in_batch=None"))
        }
    }
    log = (
        '  File "/e/site-packages/transformers/trainer.py", line 3718, in training_step\n'
        "    loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)\n"
        '  File "/e/site-packages/peft/peft_model.py", line 818, in forward\n    return self.get_base_model()(*args, **kwargs)\n'
        "TypeError: WhisperForConditionalGeneration.forward() got an unexpected keyword argument 'num_items_in_batch'"
    )
    with atlas_of(tmp_path, trainer):
        told = findings(capsys, tmp_path, log)
    assert not [one for one in told if "compute_loss() of transformers does not take" in one["detail"]]


LIGHTNING = {
    "pytorch-lightning": {
        version: {
            "pytorch_lightning/__init__.py": "from pytorch_lightning.core import LightningModule\n",
            "pytorch_lightning/core.py": "class Hooks:\n    def setup(self, stage=None): pass\n"
            "    def on_train_batch_start(self, batch, batch_idx): pass\nclass LightningModule(Hooks): pass\n",
            "pytorch_lightning/fetching.py": "class Fetcher:\n    def setup(self, loader): pass\n"
            "    def on_train_batch_start(self, batch, dataloader_idx): pass\n",
        }
        for version in ("1.5.8", "2.0.0")
    }
}


def test_a_hook_that_a_package_calls_otherwise_in_every_release(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    by_name = (
        '  File "/e/site-packages/pytorch_lightning/trainer/trainer.py", line 1147, in call_setup_hook\n    model.setup(stage=fn)\n'
        '  File "/e/site-packages/pytorch_lightning/core/datamodule.py", line 90, in wrapped_fn\n    return fn(*args, **kwargs)\n'
        "TypeError: setup() got an unexpected keyword argument 'stage'"
    )
    needs = (
        '  File "/e/site-packages/pytorch_lightning/trainer/call.py", line 157, in _call_lightning_module_hook\n'
        '    output = fn(*args, **kwargs)\n  File "/e/site-packages/torch/utils/_contextlib.py", line 115, in decorate_context\n'
        "    return func(*args, **kwargs)\nTypeError: on_train_batch_start() missing 1 required positional argument: 'dataloader_idx'"
    )
    with atlas_of(tmp_path, LIGHTNING):
        first, *_ = findings(capsys, tmp_path, by_name)
        second, *_ = findings(capsys, tmp_path, needs)
    assert (first["status"], first["packages"]) == ("matched", ["pytorch-lightning"])
    assert first["fixes"][0]["note"].startswith("def setup(self, stage=None) there")
    assert (second["status"], second["packages"]) == ("matched", ["pytorch-lightning"])
    assert "The project's on_train_batch_start() was written for an earlier pytorch-lightning" in second["detail"]


def test_a_class_without_what_its_base_demands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/w/franka.py", line 38, in <module>\n    env = FrankaVecEnv(cfg)\n'
        "TypeError: Can't instantiate abstract class FrankaVecEnv with abstract methods env_is_wrapped"
    )
    later = "TypeError: Can't instantiate abstract class FrankaVecEnv without an implementation for abstract method 'env_is_wrapped'"
    for text in (log, later):
        first, *_ = findings(capsys, tmp_path, text)
        assert first["status"] == "matched"
        assert "FrankaVecEnv has no env_is_wrapped(), which its base class demands" in first["detail"]


def test_an_adapter_of_another_rank_is_of_the_same_base(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "RuntimeError: Error(s) in loading state_dict for PeftModelForCausalLM:\n        size mismatch for "
        "base_model.model.transformer.h.0.attn.c_attn.lora_A.default.weight: copying a param with shape torch.Size([32, 1024]) from "
        "checkpoint, the shape in current model is torch.Size([16, 1024])."
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["status"]) == ("error-tensors-disagree", "matched")
    assert "the adapter has rank 32, and the model was given one of rank 16" in first["detail"]


def test_a_block_is_no_attention_of_another_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    llama = "transformers/models/llama/modeling_llama.py"
    attention = {
        "transformers": {
            version: {
                "transformers/__init__.py": "",
                "transformers/models/__init__.py": "",
                "transformers/models/llama/__init__.py": "",
                llama: f"class LlamaAttention:\n    def forward(self, hidden_states{more}): pass\n",
            }
            for version, more in (("4.55.4", ", past_key_value=None"), ("4.56.0", ""))
        }
    }
    with atlas_of(tmp_path, attention):
        told = findings(capsys, tmp_path, "TypeError: Block.forward() got an unexpected keyword argument 'past_key_value'")
        same = findings(capsys, tmp_path, "TypeError: MyAttention.forward() got an unexpected keyword argument 'past_key_value'")
    assert [one["status"] for one in told] == ["possible"]
    assert [one["status"] for one in same] == ["matched"]


def test_a_module_that_no_package_here_gives_is_not_found_by_this_python(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/w/ai-toolkit/toolkit/config.py", line 5, in <module>\n    import kyaml as yaml\n'
        "ModuleNotFoundError: No module named 'kyaml'"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["status"]) == ("error-of-own-code", "matched")
    assert first["fixes"][0]["note"].startswith("what the project's requirements or its page name for kyaml")


@pytest.mark.parametrize(
    ("error", "packages", "fix"),
    [
        ("AttributeError: 'Linear' object has no attribute 'set_lora_layer'", ["diffusers", "peft"], None),
        ("ModuleNotFoundError: No module named 'gymnasium.wrappers.monitoring'", ["gymnasium"], {"gymnasium": "==0.29.1"}),
    ],
)
def test_what_packages_gave_up_that_others_ask_for(
    error: str, packages: list[str], fix: dict[str, str] | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *_ = findings(capsys, tmp_path, error)
    assert (first["status"], first["packages"]) == ("matched", packages)
    assert next((one["pins"] for one in first["fixes"] if one.get("pins")), None) == fix


def test_what_a_call_gives_and_its_line_takes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/w/IsaacLab/scripts/train.py", line 389, in main\n'
        "    log_dir, ckpt_dir, video_dir = TrainUtils.get_exp_dir(config)\nValueError: too many values to unpack (expected 3)"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert first["status"] == "matched"
    assert "TrainUtils.get_exp_dir() gives more than the 3 values that its caller takes" in first["detail"]
    rows = log.replace("TrainUtils.get_exp_dir(config)", 'line.strip().split("|")')
    assert not [one for one in findings(capsys, tmp_path, rows) if "values that its caller takes" in one["detail"]]


def test_what_a_registry_of_openmmlab_lacks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        '  File "/path/mmdetection/mmdet/models/builder.py", line 58, in build_detector\n    cfg, default_args=dict(train_cfg=train_cfg))\n'
        '  File "/usr/lib/python3.6/dist-packages/mmcv/utils/registry.py", line 44, in build_from_cfg\n'
        "    f'{obj_type} is not in the {registry.name} registry')\nKeyError: 'ReDet is not in the models registry'"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert first["status"] == "matched"
    assert "ReDet is not in the models registry: the module that registers it was not imported" in first["detail"]
    assert "the mmdet that was imported is that of mmdetection" in first["detail"]


def test_a_build_that_lacks_rust_says_nothing_of_the_python(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "      error: can't find Rust compiler\n      [end of output]\n  ERROR: Failed building wheel for tokenizers\n"
        "ERROR: Could not build wheels for tokenizers, which is required to install pyproject.toml-based projects"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["packages"]) == ("error-build-failed", ["tokenizers"])


def test_the_class_that_a_line_makes_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/w/pysot/core/config.py", line 86, in <module>\n'
        "    __C.TRAIN.LR.KWARGS = CN(new_allowed=True)\nTypeError: __init__() got an unexpected keyword argument 'new_allowed'"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["status"]) == ("error-of-own-code", "matched")
    assert "CN(), as the project makes it there, does not take new_allowed" in first["detail"]


def test_an_old_torch_that_brings_no_two_types_to_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        '  File "../pPose_nms.py", line 226, in p_merge_fast\n    mask = (dist <= ref_dist)\n'
        "RuntimeError: Expected object of scalar type Float but got scalar type Long for argument #2 'other'"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["status"], first["packages"]) == ("error-tensors-disagree", "matched", ["torch"])
