"""Whatever a user's files and words state, a check ends in a report or in a refusal, and never in an error of our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.cli import main
from envdoctor.world.releases import release_texts

PACKAGES = (
    "torch", "torchvision", "torchaudio", "transformers", "peft", "trl", "accelerate", "bitsandbytes", "numpy", "protobuf", "gradio",
    "xformers", "flash-attn", "vllm", "deepspeed", "datasets", "tokenizers", "huggingface-hub", "pack", "pydantic", "triton", "jax",
)  # fmt: skip
FACTS = {
    "python": ("3.8", "3.11.4", "3.13", "3.14"),
    "os": ("linux", "windows", "macos"),
    "gpu.name": ("RTX 5090", "NVIDIA A100", "Tesla V100", "T4", "a card"),
    "gpu.count": (1, 2),
    "driver": ("470.57", "550.40.07"),
    "cuda": ("11.8", "12.6"),
    "plan.method": ("full", "lora", "qlora", "dpo"),
    "plan.quant": ("none", "4bit", "8bit"),
    "plan.trainer": ("transformers", "trl", "vllm", "own"),
    "model.type": ("llama", "chatglm", "qwen2_vl"),
}


@st.composite
def specifiers(draw: st.DrawFn, package: str) -> str:
    """None, one or several clauses, of releases that there are and of others, with the label of a build or without."""
    releases = st.sampled_from(release_texts(package)[-40:] or ("1.1", "1.3")) | st.sampled_from(("1.0", "2", "0.0.1", "99.1", "1.*"))
    clauses = [
        draw(st.sampled_from(("==", "==", "==", ">=", "<", "<=", "!=", "~=", "===", ">"))) + draw(releases)
        for _ in range(draw(st.sampled_from((0, 1, 1, 1, 2, 3))))
    ]
    label = draw(st.sampled_from(("", "", "", "+cu118", "+cu126", "+cpu"))) if len(clauses) == 1 and clauses[0].startswith("==") else ""
    return draw(st.sampled_from((",", ", "))).join(clauses) + label


@st.composite
def lines(draw: st.DrawFn, most: int = 6) -> list[str]:
    names = draw(st.lists(st.sampled_from(PACKAGES), min_size=1, max_size=most, unique=True))
    markers = ("", "", "", ' ; python_version < "3.10"', ' ; sys_platform == "win32"')
    return [name + draw(specifiers(name)) + draw(st.sampled_from(markers)) for name in names]


@given(lines(), lines(most=3), st.fixed_dictionaries({}, optional={name: st.sampled_from(some) for name, some in FACTS.items()}), st.data())
def test_a_check_of_any_stack_ends_in_a_report(
    tmp_path_factory: pytest.TempPathFactory, listed: list[str], installed: list[str], facts: dict[str, object], data: st.DataObject
) -> None:
    folder: Path = tmp_path_factory.mktemp("stack")
    (folder / "requirements.txt").write_text("\n".join(listed) + "\n")
    words = " ".join(f'"{line.partition(" ;")[0]}"' for line in installed)
    index = data.draw(st.sampled_from(("", " --index-url https://download.pytorch.org/whl/cu126", " --no-deps")))
    (folder / "install.sh").write_text(f"pip install {words}{index}\npip install -r requirements.txt\n")
    report = folder / "report.json"
    stated = [word for name, value in facts.items() for word in ("--set", f"{name}={value}")]
    files = data.draw(st.sampled_from((("requirements.txt",), ("install.sh",), ("requirements.txt", "install.sh"))))
    asked = ["check", *(str(folder / name) for name in files), *stated, "--format", "json", "--output", str(report)]
    assert main(asked) in (0, 1, 2)
    if report.exists():
        assert json.loads(report.read_text())["findings"] is not None
