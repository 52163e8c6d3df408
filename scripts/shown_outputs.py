"""The runs that pages show: what was typed, and what was printed, between `<!-- output: NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_CHATGLM = "check fixtures/chatglm3-6b fixtures/plans/chatglm3-lora.yaml --facts fixtures/stacks/chatglm3"
_LOCKED = "--set packages.transformers=4.37.2 --set plan.trainer=transformers --set plan.method=lora --set plan.gradient_checkpointing=true"
# The last line of each is the one whose output is shown.
RUNS: Mapping[str, tuple[str, ...]] = {
    "main": (f"{_CHATGLM}-bad.toml",),
    "good": (f"{_CHATGLM}-good.toml",),
    "verbose": (f"{_CHATGLM}-bad.toml -v",),
    "eight": ("check requirements.txt",),
    "fix": ("fix fixtures/stacks/chatglm3-requirements.txt fixtures/chatglm3-6b fixtures/plans/chatglm3-lora.yaml --offline",),
    "fit": ('fit fixtures/memory/glm-4-9b --facts fixtures/memory/glm4-6001-tokens.toml --gpu "A100 40GB"',),
    "verify": (
        f"lock fixtures/chatglm3-6b --lock january.lock {_LOCKED}",
        "verify fixtures/chatglm3-6b-2024-02 --lock january.lock",
    ),
}
_BLOCK = re.compile(r"(<!-- output: (\w+) -->\n```text\n)(.*?)(```\n<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """The pages that are written by hand, and may show runs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def shown() -> dict[str, str]:
    """What pages show of each run."""
    return {match[2]: match[3].rstrip("\n") for page in pages() for match in _BLOCK.finditer(page.read_text(encoding="utf-8"))}


def place_fixtures(folder: Path) -> None:
    """A folder in which all runs can be done."""
    shutil.copytree(ROOT / "fixtures", folder / "fixtures")
    shutil.copy(ROOT / "fixtures" / "stacks" / "eight-errors.txt", folder / "requirements.txt")


def timeless(text: str) -> str:
    """The text without what changes with every rule, every list of releases and every run."""
    text = re.sub(r"against \d+ rules in \d+\.\d s", "against N rules in 0.1 s", text)
    return re.sub(r"\b20\d\d-\d\d-\d\d\b", "DATE", text).rstrip("\n")


def refresh() -> int:
    """Do every run anew and write into the pages what has changed; how many blocks were written."""
    with tempfile.TemporaryDirectory() as folder:
        place_fixtures(Path(folder))
        # What a machine's own Python holds is another thing on each machine.
        venv.create(Path(folder, "empty"))
        told = {name: _run(lines, Path(folder)) for name, lines in RUNS.items()}
    count = 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        fresh = _BLOCK.sub(lambda match: match[1] + _fresh(match[3], told[match[2]]) + match[4], text)
        count += len(_BLOCK.findall(fresh)) if fresh != text else 0
        page.write_text(fresh, encoding="utf-8")
    return count


def _run(lines: tuple[str, ...], folder: Path) -> str:
    for line in lines:
        command = [sys.executable, "-m", "envdoctor", *shlex.split(line)]
        given = {"PYTHONPATH": str(ROOT), "PATH": f"{folder / 'empty' / 'bin'}:/usr/bin:/bin"}
        done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True)
    return done.stdout


def _fresh(before: str, told: str) -> str:
    """What was printed, unless nothing but a time has changed."""
    return before if timeless(before) == timeless(told) else f"{told.rstrip()}\n"
