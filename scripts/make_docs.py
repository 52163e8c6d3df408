"""Build the pages that are made from the program and from its rules.

    python scripts/make_docs.py                  # docs/interface.md, the install lines, and docs/rules/ with a page for every rule
    python scripts/make_docs.py --outputs        # and what pages show of runs is printed anew
    python scripts/make_docs.py --output DIR     # the same pages into another directory
    python scripts/make_docs.py --check          # exit 1 when interface.md, install lines or number of rules, which git keeps, are stale

The pages of the rules are not kept in git: a new rule is one file, and nobody has to build its page to land it.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import shown_outputs
from rule_pages import MADE, pages

from envdoctor.cli.parser import help_texts
from envdoctor.facts.vocabulary import TERMS
from envdoctor.rules.rulebook import load_rulebook

DOCS = Path(__file__).resolve().parent.parent / "docs"
# Where the project can be cloned from. OWNER stands for whoever keeps the repository; change it here, and every page follows.
REPOSITORY = "https://github.com/OWNER/envdoctor"
# Whether the package index has llm-envdoctor: until then no page says `pip install llm-envdoctor`.
ON_THE_INDEX = False
_ADDRESS = re.compile(r"https://github\.com/[\w.-]+/envdoctor\b(?!\.)")
_ACTION = re.compile(r"(?<=uses: )[\w.-]+/envdoctor(?=@)")
_INSTALL = re.compile(r"(<!-- generated: install -->\n).*?(<!-- end -->)", re.DOTALL)


_RULES = re.compile(r"\bMore than (\d+) rules\b")


def interface() -> str:
    text = (DOCS / "interface.in.md").read_text(encoding="utf-8")
    return text.replace("<!-- generated: help -->", _help()).replace("<!-- generated: vocabulary -->", _vocabulary())


def _help() -> str:
    return "\n\n".join(f"```text\n$ envdoctor {name} --help\n{text.rstrip()}\n```" for name, text in help_texts().items())


def _vocabulary() -> str:
    rows = ["| fact | kind | unit | meaning | values |", "|---|---|---|---|---|"]
    rows += [f"| `{t.name}` | {t.kind} | {t.unit} | {t.meaning} | {', '.join(f'`{c}`' for c in t.choices)} |" for t in TERMS]
    return "\n".join([*rows, "| `packages.<name>` | version |  | a version or a specifier; `false`: not installed |  |"])


def install_lines() -> str:
    """The ways to install that work today."""
    rows = [
        ("git clone " + REPOSITORY + " && cd envdoctor", ""),
        ("python3 -m venv .venv && .venv/bin/pip install .", "from a clone; `pip install -e .` to change it"),
        (f"uvx --from git+{REPOSITORY} envdoctor check", "with uv, without installing anything for good"),
        (f'pip install "llm-envdoctor[pins] @ git+{REPOSITORY}"', "with uv as its resolver, which `fix` asks"),
    ]
    if ON_THE_INDEX:
        rows.append(('pip install "llm-envdoctor[pins]"', "from the package index"))
    lines = "\n".join(f"{line}{f'   # {note}' if note else ''}" for line, note in rows)
    owner = "`OWNER` is whoever keeps the repository that you clone. The command and the import are called `envdoctor`."
    return f"```sh\n{lines}\n```\n\n{owner}\n"


def with_count(text: str) -> str:
    """A page with the number of rules in round figures: true of the rules there are, and still true when somebody lands another one."""
    there = len(load_rulebook().rules)
    return _RULES.sub(lambda match: match[0] if there - 100 < int(match[1]) < there else f"More than {(there - 1) // 50 * 50} rules", text)


def with_repository(text: str) -> str:
    """A page with the address of the project, the ways to install it, and how many rules there are."""
    text = with_count(text)
    text = _INSTALL.sub(lambda match: match[1] + install_lines() + match[2], text)
    return _ACTION.sub(REPOSITORY.removeprefix("https://github.com/"), _ADDRESS.sub(REPOSITORY, text))


def stale_pages() -> list[Path]:
    """The pages whose install lines or number of rules are not those of this script."""
    found = {page: page.read_text(encoding="utf-8") for page in shown_outputs.pages() if page.name != "interface.md"}
    return [page for page, text in found.items() if with_repository(text) != text]


def build(output: Path) -> int:
    """Write every page below that directory, and remove those of rules that are gone; how many pages there are."""
    folder = output / "rules"
    made = {output / "interface.md": interface(), **{folder / name: text for name, text in pages().items()}}
    folder.mkdir(parents=True, exist_ok=True)
    for old in set(folder.glob("*.md")) - made.keys():
        if old.read_text(encoding="utf-8").startswith(MADE):
            old.unlink()
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return len(made)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, metavar="DIR", default=DOCS)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--outputs", action="store_true")
    options = parser.parse_args(words)
    if options.check:
        target = DOCS / "interface.md"
        stale = not target.exists() or target.read_text(encoding="utf-8") != interface()
        told = [*(["docs/interface.md"] if stale else []), *(page.name for page in stale_pages())]
        print(f"{', '.join(told)}: run python scripts/make_docs.py" if told else "the pages are up to date")
        return int(bool(told))
    if options.output == DOCS:
        for page in stale_pages():
            page.write_text(with_repository(page.read_text(encoding="utf-8")), encoding="utf-8")
    if options.outputs:
        print(f"{shown_outputs.refresh()} outputs printed anew")
    print(f"{build(options.output)} pages in {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
