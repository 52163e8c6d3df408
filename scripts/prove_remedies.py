"""Build what `envdoctor fix` proposes, and see that it cures: the failing script or probe of a rule, before and after.

    python scripts/prove_remedies.py [RULE ...] [--write docs/remedies.md] [--keep-going]

Of every rule named (default: those below), whose `[reproduction]` says what is installed and what is run:

1. the bad environment is built with uv, and the harm is seen there;
2. `envdoctor fix --python ENVIRONMENT` is asked, with what the rule's first matching case says of plan and model;
3. the commands that it prints are run as they stand;
4. the same script or probe runs again: the harm must be gone and the run must end well.

It needs the package index and some 10 GB of disk for a while; `docs/remedies.json` keeps what was seen, `docs/remedies.md` shows it.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from envdoctor.cli import main as envdoctor
from envdoctor.facts.values import flatten
from envdoctor.files.toml import read_toml
from envdoctor.rules.reproduction import Reproduction, examine, reproduction_of
from envdoctor.rules.rulebook import rule_files, shipped_rules
from envdoctor.uv.command import uv_command, uv_environ
from envdoctor.uv.environments import NotBuiltError, UvBuilder, describe

KEPT = Path(__file__).resolve().parent.parent / "docs" / "remedies.json"
# Of different libraries and kinds: an import that fails, a step that fails, a loss that is wrong, two packages and one.
RULES = (
    "accelerate-1-5-0-command-needs-pytest",
    "accelerate-before-0-21-peft-npu-import",
    "accelerate-before-0-26-seedable-sampler",
    "accelerate-before-0-34-optimizer-train",
    "accelerate-before-1-3-keep-torch-compile",
    "bitsandbytes-before-0-46-1-transformers-5",
    "deepspeed-before-0-14-1-torch-elastic-log",
    "gemma-7b-eager-attention-4-38-0",
    "gradio-before-3-36-1-pydantic-2",
    "lightning-utilities-before-0-11-5-setuptools-82",
    "numpy-2-with-pandas-or-scikit-learn-built-for-1",
    "openai-before-1-55-3-httpx-0-28",
    "peft-0-11-0-sets-the-compiler",
    "peft-0-18-0-modeling-layers",
    "peft-encoder-decoder-cache-import",
    "peft-fp16-adapter-nan",
    "peft-hybrid-cache-import",
    "pyarrow-26-needs-numpy-2",
    "tensorboard-before-2-17-1-numpy-2",
    "trainer-4-56-0-parallelism-config",
    "transformers-4-36-attention-argument-beside-config",
    "transformers-5-0-0-accelerate-ties-import",
    "transformers-5-kernels-0-15-version",
    "transformers-lacks-qwen3",
    "trl-sft-push-to-hub-token-transformers-5",
    "trl-top-k-top-p-filtering-import",
    "typer-before-0-15-4-click-8-2",
    "wandb-before-0-17-2-numpy-2",
)


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one rule's remedy; ``why`` is empty where it cured."""

    rule: str
    date: str
    python: str
    before: tuple[str, ...]
    pins: dict[str, str]
    verified: str
    moved: tuple[str, ...]
    harm: str
    after: str
    seconds: float
    why: str = ""


def settings(table: Mapping[str, Any]) -> Iterator[str]:
    """What the first matching case of a rule says beside packages and machine, as words of the command line."""
    case = next(case for case in table["case"] if case["expect"] == "match")
    stated = {**dict(flatten(case["facts"])), **dict(flatten(table["reproduction"].get("facts", {})))}
    for name, value in stated.items():
        if name.startswith(("plan.", "model.")):
            yield from (
                "--set",
                f"{name}={','.join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else value}",
            )


def asked(interpreter: Path, words: Sequence[str]) -> dict[str, Any]:
    """The report of `envdoctor fix` about an environment."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = envdoctor(["fix", "--isolated", "--python", str(interpreter), *words, "--format", "json"])
    if status > 1:
        raise ValueError(err.getvalue().strip() or out.getvalue().strip())
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def run_commands(commands: Sequence[str]) -> str:
    """Run the printed lines; what the one that failed said, or nothing."""
    for line in commands:
        words = shlex.split(line)
        if words[0] == "uv":
            words[:1] = uv_command("prove_remedies")
        done = subprocess.run(words, env=uv_environ(os.environ), capture_output=True, text=True, check=False, timeout=1800)
        if done.returncode:
            return f"{line}: {' '.join(done.stderr.split())[-300:]}"
    return ""


def prove(rule: str, table: Mapping[str, Any], directory: Path) -> Row:
    """One rule: harm, fix, cure."""
    reproduction: Reproduction = reproduction_of(table["reproduction"])
    pins = reproduction.pins["bad"]
    start, today = time.monotonic(), datetime.now(timezone.utc).date().isoformat()

    def row(why: str = "", **told: Any) -> Row:
        filled = {"pins": {}, "verified": "none", "moved": (), "harm": "", "after": "", **told}
        return Row(rule, today, reproduction.python, pins, seconds=round(time.monotonic() - start, 1), why=why, **filled)

    try:
        built = UvBuilder(directory)(reproduction.python, pins)
    except NotBuiltError as error:
        return row(f"not built: {error}")
    harm = examine(reproduction, built)
    if not harm.harmed:
        return row(f"the harm was not seen: {harm.line}")
    report = asked(built.interpreter, [*settings(table)])
    remedy = report["remedy"]
    told = {"pins": remedy["pins"], "verified": remedy["verified"], "harm": harm.line,
            "moved": tuple(f"{one['package']} {one['before']} -> {one['after']}" for one in remedy["moves"])}  # fmt: skip
    if rule not in remedy["clears"]:
        return row("no pin was proposed for it", **told)
    failed = run_commands(report["commands"])
    if failed:
        return row(f"a command failed: {failed}", **told)
    after = examine(reproduction, describe(built.interpreter))
    why = "" if after.well and not after.harmed else "the harm is still there" if after.harmed else f"the run fails otherwise: {after.line}"
    return row(why, **{**told, "after": after.line})


def page(rows: Sequence[Row]) -> str:
    """The page that is kept."""
    cured = [row for row in rows if not row.why]
    lines = [
        "# Remedies that were built",
        "",
        "Made by `python scripts/prove_remedies.py`; its docstring says what was done of each. The environment of the second column was",
        "built, the harm was seen there, the commands that `envdoctor fix` printed for it were run as they stand, and the same script or",
        "probe ran again.",
        "",
        f"**{len(cured)} of {len(rows)} cured.**",
        "",
        "| rule | environment | pins of the remedy | proof | moved along | before | after |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        pins = ", ".join(f"{name}{pin}" for name, pin in row.pins.items()) or "-"
        after = f"{row.after or 'well'}" if not row.why else f"**{row.why}**"
        cells = (
            f"`{row.rule}`",
            f"Python {row.python}: {', '.join(row.before)}",
            pins,
            row.verified,
            ", ".join(row.moved) or "-",
            row.harm,
            after,
        )
        lines.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    dates = sorted({row.date for row in rows})
    lines += ["", f"Seen on {', '.join(dates)}; {sum(row.seconds for row in rows):.0f} s in all, builds included."]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", metavar="RULE", nargs="*", help="rules with a [reproduction] (default: the list in this script)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the result as a page, and beside it as JSON")
    options = parser.parse_args(arguments)
    files = {path.stem: path for path in rule_files(shipped_rules())}
    rows = []
    for rule in options.rules or RULES:
        with tempfile.TemporaryDirectory(prefix="envdoctor-remedy-", ignore_cleanup_errors=True) as directory:
            row = prove(rule, read_toml(files[rule]), Path(directory))
        rows.append(row)
        print(f"{'cured' if not row.why else 'NOT':<6} {rule}: {row.pins} ({row.verified}; {row.seconds:.0f} s) {row.why}", flush=True)
    print(f"{sum(not row.why for row in rows)} of {len(rows)} cured")
    if options.write:
        before = {row["rule"]: row for row in json.loads(KEPT.read_text(encoding="utf-8"))} if KEPT.exists() else {}
        kept = before | {row.rule: asdict(row) for row in rows}
        KEPT.write_text(json.dumps([kept[name] for name in sorted(kept)], indent=1) + "\n", encoding="utf-8")
        options.write.write_text(page([Row(**kept[name]) for name in sorted(kept)]), encoding="utf-8", newline="\n")
    return int(any(row.why for row in rows))


if __name__ == "__main__":
    sys.exit(main())
