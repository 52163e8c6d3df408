"""Write the generated parts of docs/interface.md from the program itself.

python scripts/make_docs.py            # write
python scripts/make_docs.py --check    # exit 1 when the page is stale
"""

from __future__ import annotations

import sys
from pathlib import Path

from envdoctor.cli.parser import help_texts
from envdoctor.facts.vocabulary import TERMS

DOCS = Path(__file__).resolve().parent.parent / "docs"


def page() -> str:
    text = (DOCS / "interface.in.md").read_text(encoding="utf-8")
    return text.replace("<!-- generated: help -->", _help()).replace("<!-- generated: vocabulary -->", _vocabulary())


def _help() -> str:
    return "\n\n".join(f"```text\n$ envdoctor {name} --help\n{text.rstrip()}\n```" for name, text in help_texts().items())


def _vocabulary() -> str:
    rows = ["| fact | kind | unit | meaning | values |", "|---|---|---|---|---|"]
    rows += [f"| `{t.name}` | {t.kind} | {t.unit} | {t.meaning} | {', '.join(f'`{c}`' for c in t.choices)} |" for t in TERMS]
    return "\n".join([*rows, "| `packages.<name>` | version |  | a version or a specifier; `false`: not installed |  |"])


def main() -> int:
    target = DOCS / "interface.md"
    if "--check" in sys.argv[1:]:
        stale = not target.exists() or target.read_text(encoding="utf-8") != page()
        print("docs/interface.md is stale: run python scripts/make_docs.py" if stale else "docs/interface.md is up to date")
        return int(stale)
    target.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
