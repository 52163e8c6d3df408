"""Build the pages that are made from the program and from its rules.

    python scripts/make_docs.py                  # docs/interface.md, and docs/rules/ with a page for every rule
    python scripts/make_docs.py --output DIR     # the same pages into another directory
    python scripts/make_docs.py --check          # exit 1 when docs/interface.md, the one of them that git keeps, is stale

The pages of the rules are not kept in git: a new rule is one file, and nobody has to build its page to land it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rule_pages import MADE, pages

from envdoctor.cli.parser import help_texts
from envdoctor.facts.vocabulary import TERMS

DOCS = Path(__file__).resolve().parent.parent / "docs"


def interface() -> str:
    text = (DOCS / "interface.in.md").read_text(encoding="utf-8")
    return text.replace("<!-- generated: help -->", _help()).replace("<!-- generated: vocabulary -->", _vocabulary())


def _help() -> str:
    return "\n\n".join(f"```text\n$ envdoctor {name} --help\n{text.rstrip()}\n```" for name, text in help_texts().items())


def _vocabulary() -> str:
    rows = ["| fact | kind | unit | meaning | values |", "|---|---|---|---|---|"]
    rows += [f"| `{t.name}` | {t.kind} | {t.unit} | {t.meaning} | {', '.join(f'`{c}`' for c in t.choices)} |" for t in TERMS]
    return "\n".join([*rows, "| `packages.<name>` | version |  | a version or a specifier; `false`: not installed |  |"])


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
    options = parser.parse_args(words)
    if options.check:
        target = DOCS / "interface.md"
        stale = not target.exists() or target.read_text(encoding="utf-8") != interface()
        print("docs/interface.md is stale: run python scripts/make_docs.py" if stale else "docs/interface.md is up to date")
        return int(stale)
    print(f"{build(options.output)} pages in {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
