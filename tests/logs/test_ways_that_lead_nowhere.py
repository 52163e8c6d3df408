"""Ways out that lead nowhere are not offered: a name that no index has, another environment, a message that the next one takes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings


@pytest.mark.parametrize(
    ("log", "packages"),
    [
        ("ModuleNotFoundError: No module named 'deform_conv_cuda'", []),
        (
            '  File "/w/lib/python3.9/site-packages/mydet/ops/nms.py", line 3, in <module>\n    from mydet_ext import nms\n'
            "ModuleNotFoundError: No module named 'mydet_ext'",
            ["mydet"],
        ),
        ("ModuleNotFoundError: No module named 'pcdet.ops.iou3d_nms.iou3d_nms_cuda'", []),
    ],
)
def test_a_compiled_module_is_built_by_who_imports_it(
    log: str, packages: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *_ = findings(capsys, tmp_path, log)
    told = " ".join(one["note"] for one in first["fixes"])
    assert (first["rule"], first["status"], first["packages"]) == ("error-module-missing", "matched", packages)
    assert "CUDA toolkit that torch was built for" in told
    assert "pip install mydet" not in told
    assert "pip install deform" not in told


def test_a_module_that_no_list_has_is_no_package_to_install(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        '  File "/w/lib/python3.9/site-packages/mydet/io.py", line 3, in <module>\n    import mydet_readers\n'
        "ModuleNotFoundError: No module named 'mydet_readers'"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert first["rule"] == "error-package-not-installed"
    assert not any("install mydet-readers" in one["note"] or one.get("pins") for one in first["fixes"])


def test_an_object_of_the_caller_s_own_class_is_no_other_environment(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    held = "from dataclasses import dataclass\n\n@dataclass\nclass DownloadConfig:\n    cache_dir: str = ''\n"
    new = f"{held}    storage_options: str = ''\n"
    packages = {
        "datasets": {
            "2.10.1": {"datasets/__init__.py": "", "datasets/dc.py": held},
            "2.11.0": {"datasets/__init__.py": "", "datasets/dc.py": new},
        },
        "evaluate": {
            "0.4.0": {"evaluate/__init__.py": "", "evaluate/utils.py": held},
            "0.4.1": {"evaluate/__init__.py": "", "evaluate/utils.py": "from datasets.dc import DownloadConfig\n"},
        },
    }
    with atlas_of(tmp_path, packages):
        log = "AttributeError: 'DownloadConfig' object has no attribute 'storage_options'"
        first, *_ = findings(capsys, tmp_path, log, '[packages]\ndatasets = "2.11.0"\n')
    assert set(first["packages"]) == {"evaluate", "datasets"}
    assert sorted(str(one["pins"]) for one in first["fixes"] if "pins" in one) == ["{'datasets': '==2.10.1'}", "{'evaluate': '==0.4.6'}"]


def test_what_a_method_sets_that_was_not_called_is_no_release(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        '  File "/w/site-packages/gradio/helpers.py", line 545, in create_tracker\n'
        "    progress = Progress(_callback=root_blocks._queue.set_progress)\n"
        "AttributeError: 'Interface' object has no attribute '_queue'"
    )
    first, *_ = findings(capsys, tmp_path, log, '[packages]\ngradio = "3.36.1"\n')
    assert first["fixes"][0]["note"].startswith("demo.queue() before demo.launch()")
    assert not any(one.get("pins") for one in first["fixes"])


RENDERING = """\
  File "/w/site-packages/starlette/templating.py", line 148, in TemplateResponse
    template = self.get_template(name)
  File "/w/site-packages/jinja2/utils.py", line 515, in __getitem__
    rv = self._mapping[key]
TypeError: unhashable type: 'dict'"""


@pytest.mark.parametrize(
    ("log", "facts"), [(RENDERING, 'os = "linux"\n'), ("TypeError: unhashable type: 'dict'", '[packages]\nstarlette = "1.0.0"\n')]
)
def test_the_dict_that_a_page_got_for_its_name_is_not_gradio_s(
    log: str, facts: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *_ = findings(capsys, tmp_path, log, facts)
    assert (first["packages"], first["status"]) == (["starlette"], "matched")
    assert first["fixes"][0]["note"].startswith('TemplateResponse(request, "page.html"')


def test_a_page_of_gradio_s_own_stays_gradio_s(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = f'  File "/w/site-packages/gradio/routes.py", line 432, in main\n    return templates.TemplateResponse(\n{RENDERING}'
    first, *_ = findings(capsys, tmp_path, log)
    assert first["rule"] == "gradio-before-5-3-starlette-1"


def test_two_messages_that_take_each_other_back_are_one_finding(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "AssertionError: MMCV==2.0.0 is used but incompatible. Please install mmcv>=1.3.17, <=1.8.0.\n"
        "AssertionError: MMCV==1.7.1 is used but incompatible. Please install mmcv>=2.0.0rc4, <2.1.0."
    )
    told = findings(capsys, tmp_path, log, '[packages]\nmmcv = "2.0.0"\n')
    certain = [one for one in told if one["status"] == "matched"]
    assert [one["edge"] for one in certain] == ["message:mmcv:excluding"]
    assert "1.7.2" not in str(certain[0]["fixes"])


def test_a_name_is_looked_for_in_releases_that_have_its_module(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    has, lacks = (
        {"pytorch_lightning/utilities/distributed.py": "def rank_zero_only(): ...\n"},
        {"pytorch_lightning/utilities/distributed.py": ""},
    )
    package = {"pytorch_lightning/__init__.py": "", "pytorch_lightning/utilities/__init__.py": ""}
    now = {"pytorch_lightning/utilities/rank_zero.py": "def rank_zero_only(): ...\n"}
    fabric = {"lightning_fabric/__init__.py": "", "lightning_fabric/ranks.py": "def rank_zero_only(): ...\n"}
    releases = {"1.7.7": {**package, **has}, "1.8.0": {**package, **lacks, **now}, "2.0.0": {**package, **now, **fabric}}
    with atlas_of(tmp_path, {"pytorch-lightning": releases}):
        log = "ImportError: cannot import name 'rank_zero_only' from 'pytorch_lightning.utilities.distributed'"
        first, *_ = findings(capsys, tmp_path, log)
    assert first["fixes"][0]["note"] == "from pytorch_lightning.utilities.rank_zero import rank_zero_only"


def test_what_an_object_gets_as_it_goes_is_no_other_environment_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old = {"accelerate/__init__.py": "", "accelerate/accelerator.py": "class Accelerator:\n    def prepare(self): ...\n"}
    sets = "class Accelerator:\n    def prepare(self):\n        self.deepspeed_engine_wrapped = 1\n"
    with atlas_of(tmp_path, {"accelerate": {"0.9.0": old, "0.27.0": {**old, "accelerate/accelerator.py": sets}}}):
        log = "AttributeError: 'Accelerator' object has no attribute 'deepspeed_engine_wrapped'"
        first, *_ = findings(capsys, tmp_path, log, '[packages]\naccelerate = "0.27.0"\n')
    assert first["fixes"][0]["note"].startswith("look in accelerate for the method that sets deepspeed_engine_wrapped")


def test_packages_that_are_wanted_together_are_installed_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ImportError: Loading a GPTQ model requires optimum (`pip install optimum`) and auto-gptq library (`pip install auto-gptq`)"
    first, *_ = findings(capsys, tmp_path, log)
    assert first["fixes"][0]["note"].startswith("python -m pip install -U optimum auto-gptq")


@pytest.mark.parametrize(("key", "advice"), [("v", "git lfs install"), ("<", "open it with a text editor")])
def test_the_first_letter_of_a_file_tells_what_it_is(key: str, advice: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, *_ = findings(capsys, tmp_path, f"_pickle.UnpicklingError: invalid load key, '{key}'.")
    assert first["fixes"][0]["note"].startswith(advice)
