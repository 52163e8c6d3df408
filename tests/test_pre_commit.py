"""The hooks, installed and run by the real pre-commit on a real git repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.network


def call(where: Path, *words: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=where, env=environ, capture_output=True, text=True, check=False)


def git(where: Path, *words: str) -> str:
    told = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always", *words)
    done = call(where, *told)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_commit_with_a_known_bad_combination_is_refused_and_one_without_is_not(tmp_path: Path) -> None:
    hooks = tmp_path / "envdoctor"
    git(tmp_path, "-c", "safe.directory=*", "clone", "--quiet", str(ROOT), str(hooks))
    # The working copy as it is, whether or not it is committed yet.
    for name in (".pre-commit-hooks.yaml", "pyproject.toml", "hatch_build.py", "README.md"):
        (hooks / name).write_bytes((ROOT / name).read_bytes())
    git(hooks, "add", "--all")
    git(hooks, "commit", "--quiet", "--allow-empty", "--message", "hooks")
    revision = git(hooks, "rev-parse", "HEAD")
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "--quiet")
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n  - id: envdoctor\n"
        "  - id: envdoctor-plan\n    files: ^plans/\n    args: [--set, packages.transformers=4.46.3, --set, packages.bitsandbytes=0.44.1]\n"
    )
    environ = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environ.pop("VIRTUAL_ENV", None)

    def commit(name: str, text: str) -> subprocess.CompletedProcess[str]:
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        git(project, "add", "--all")
        return call(project, sys.executable, "-m", "pre_commit", "run", environ=environ)

    bad = commit("requirements.txt", "torch==2.2.2\nnumpy==2.1.3\n")
    assert bad.returncode == 1, bad.stdout + bad.stderr
    assert "numpy-2-with-torch-before-2-3" in bad.stdout
    assert "[numpy-2-with-torch-before-2-3]" in bad.stdout
    good = commit("requirements.txt", "torch==2.2.2\nnumpy==1.26.4\n")
    assert good.returncode == 0, good.stdout + good.stderr
    assert "envdoctor (training plans)" in good.stdout
    assert "(no files to check)Skipped" in good.stdout
    plan = commit("plans/lora.json", '{"per_device_train_batch_size": 2, "bf16": true, "output_dir": "out"}\n')
    assert plan.returncode == 0, plan.stdout + plan.stderr
    assert plan.stdout.count("Passed") == 2
