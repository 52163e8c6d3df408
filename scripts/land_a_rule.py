"""Land a rule as a stranger would, in a clone of this repository: one file is new, everything passes, and git shows that file only.

    .venv-test/bin/python scripts/land_a_rule.py            the rules' lint, their pages, and every test that reads the shipped rules
    .venv-test/bin/python scripts/land_a_rule.py --quick    a few of these tests, in seconds
    .venv-test/bin/python scripts/land_a_rule.py --whole    the test command of the README, in an environment of its own

What is not committed yet goes into the clone as well. Nothing is written outside a temporary directory.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ID = "flash-attn-2-6-1-gemma2-gradients"
# The longest known name decides, not the first word: there is a package flash-attn and none called flash.
PLACE = f"rules/flash-attn/{ID}.toml"
# The fault of flash-attn-softcap-backward-gemma2, told again in the words of somebody who met it in these two releases.
FILLED = {
    'title      = ""': 'title      = "flash-attn 2.6.0 and 2.6.1 train Gemma 2 with wrong gradients"',
    'effect     = "crash"': 'effect     = "silent"',
    'details    = ""': 'details    = "The cap on attention logits is applied forward from 2.6.0 on, and backward only from 2.6.2 on."',
    "\n\n[[fix]]": '\nmodel.type = "gemma2"\nplan.attn = "flash_attention_2"\n\n[[fix]]',
    'note = ""': 'note = "has both passes"',
    'url  = ""': 'url  = "https://github.com/Dao-AILab/flash-attention/issues/1065"',
    'says = ""': 'says = "2.6.1 lacks the backward pass of soft-capping."',
    '" }': '", model.type = "gemma2", plan.attn = "flash_attention_2" }',
    "FIRST_BAD": "2.6.0",
    "FIRST_GOOD": "2.6.2",
}
MORE_CASES = """
[[case]]
expect = "no-match"
facts  = { packages.flash-attn = "==2.6.1", model.type = "gemma", plan.attn = "flash_attention_2" }

[[case]]
expect = "no-match"
facts  = { packages.flash-attn = "==2.6.1", model.type = "gemma2", plan.attn = "eager" }
"""
QUICK = ("tests/cli/test_listings.py", "tests/cli/test_main_job.py", "tests/scripts/test_make_docs.py")
THAT_READ_RULES = (
    "tests/checks", "tests/cli", "tests/code", "tests/engine", "tests/logs", "tests/probes", "tests/remedies", "tests/rules",
    "tests/scripts/test_make_docs.py", "tests/snapshot/test_revisions.py", "tests/sources",
)  # fmt: skip


@dataclass(frozen=True)
class Clone:
    """A clone of this repository, and the environment in which its own envdoctor is found."""

    directory: Path
    environ: dict[str, str]

    def call(self, *command: str) -> str:
        """What a command prints; the end of the run where it fails."""
        print("+", " ".join(command), flush=True)
        done = subprocess.run(command, cwd=self.directory, env=self.environ, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{done.stdout}{done.stderr}\nexit status {done.returncode}")
        return done.stdout

    def git(self, *words: str) -> str:
        return self.call("git", "-c", "safe.directory=*", "-c", "user.name=A Stranger", "-c", "user.email=stranger@example.org", *words)

    def python(self, *words: str) -> str:
        return self.call(sys.executable, *words)


def clone(work: Path) -> Clone:
    """This repository as it lies here, with nothing left to commit."""
    # A test may be what runs this: what it tells its own children is not meant for these.
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV", "GIT_", "VIRTUAL_ENV"))}
    here, there = Clone(ROOT, environ), work / "envdoctor"
    here.git("clone", "--quiet", "--shared", str(ROOT), str(there))
    for name in filter(None, here.git("ls-files", "-z", "--modified", "--others", "--exclude-standard").split("\0")):
        (there / name).unlink(missing_ok=True)
        # The whole test command runs this again, in a clone in which the rule lies already.
        if name != PLACE and (ROOT / name).exists():
            (there / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, there / name)
    new = Clone(there, environ | {"PYTHONPATH": str(there), "XDG_CACHE_HOME": str(work / "cache")})
    new.git("add", "--all")
    new.git("commit", "--quiet", "--allow-empty", "--message", "as it lies here")
    return new


def fill_in(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for empty, filled in FILLED.items():
        if empty not in text:
            sys.exit(f"{path}: the skeleton has no {empty!r} to fill in")
        text = text.replace(empty, filled)
    path.write_text(text + MORE_CASES, encoding="utf-8")


def land(new: Clone, tests: tuple[str, ...]) -> None:
    """Write the rule and run what its author runs; without ``tests``, the README's command."""
    new.python("-m", "envdoctor", "rules", "new", ID)
    fill_in(new.directory / PLACE)
    new.python("-m", "envdoctor", "rules", "lint", PLACE)
    new.python("scripts/make_docs.py")
    if tests:
        new.python("-m", "pytest", "-q", "-m", "not probe and not network and not hypothesis", *tests)
    else:
        del new.environ["PYTHONPATH"]  # the command installs this clone, and tests its installation
        new.python("scripts/test.py")
    changed = new.git("status", "--porcelain", "--untracked-files=all").splitlines()
    if changed != [f"?? {PLACE}"]:
        sys.exit("more than the one file has changed:\n" + "\n".join(changed))


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_const", dest="tests", const=QUICK, default=THAT_READ_RULES)
    how.add_argument("--whole", action="store_const", dest="tests", const=())
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as work:
        land(clone(Path(work)), options.tests)
    print(f"one file, and everything passes: {PLACE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
