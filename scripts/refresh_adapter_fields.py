"""Which fields the configurations of peft's adapters have in which release: read from the released wheels.

    python scripts/refresh_adapter_fields.py WHEELS    # a folder that keeps the downloaded wheels (less than 1 MB each)

Writes envdoctor/data/adapter_fields.json: for each peft_type the releases that know it, and for each field of its
configuration the first release that has it, the last one where it was dropped again, and its default where that is plain.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "envdoctor" / "data" / "adapter_fields.json"
RELEASES = ROOT / "envdoctor" / "data" / "releases.json"
OLDEST = (0, 2)


def releases() -> list[str]:
    listed = json.loads(RELEASES.read_text(encoding="utf-8"))["packages"]["peft"]["releases"]
    return [release for release in (row.partition(" ")[0] for row in listed) if tuple(map(int, release.split(".")[:2])) >= OLDEST]


def wheel(release: str, folder: Path) -> Path:
    found = list(folder.glob(f"peft-{release}-*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
        subprocess.run([*command, "-d", str(folder), f"peft=={release}"], check=True)
        found = list(folder.glob(f"peft-{release}-*.whl"))
    return found[0]


@dataclass
class Config:
    """One configuration class: its own fields with their default as source text, its bases, and the type that it sets."""

    bases: list[str]
    fields: dict[str, str | None] = field(default_factory=dict)
    peft_type: str | None = None


def configs(path: Path) -> dict[str, Config]:
    found: dict[str, Config] = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.startswith("peft/") or not name.endswith(".py") or "/bnb" in name:
                continue
            for node in ast.parse(archive.read(name).decode("utf-8")).body:
                if isinstance(node, ast.ClassDef) and (node.name.endswith("Config") or node.name.endswith("ConfigMixin")):
                    found[node.name] = config(node)
    return found


def config(node: ast.ClassDef) -> Config:
    made = Config([ast.unparse(base).rpartition(".")[2] for base in node.bases])
    for statement in node.body:
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and "ClassVar" not in ast.unparse(statement.annotation)
        ):
            made.fields[statement.target.id] = default_of(statement.value)
    told = re.findall(r"self\.peft_type\s*=\s*PeftType\.(\w+)", ast.unparse(node))
    made.peft_type = told[-1] if told else None
    return made


def default_of(value: ast.expr | None) -> str | None:
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        for keyword in value.keywords:
            if keyword.arg == "default":
                return ast.unparse(keyword.value)
            if keyword.arg == "default_factory":
                return {"dict": "{}", "list": "[]"}.get(ast.unparse(keyword.value))
        return None
    return None if value is None else ast.unparse(value)


def all_fields(name: str, classes: dict[str, Config]) -> dict[str, str | None]:
    made = classes.get(name)
    if made is None:
        return {}
    inherited: dict[str, str | None] = {}
    for base in reversed(made.bases):
        inherited |= all_fields(base, classes)
    return inherited | made.fields


def by_type(path: Path) -> dict[str, dict[str, str | None]]:
    classes = configs(path)
    return {made.peft_type: all_fields(name, classes) for name, made in classes.items() if made.peft_type is not None}


def span(having: list[int], newest: int, read: list[str]) -> dict[str, object]:
    """The first release, and the last one where a later release has dropped it."""
    ended = {} if having[-1] == newest else {"last": read[having[-1]]}
    return {"first": read[having[0]], **ended}


def default(source: str | None) -> dict[str, object]:
    """The default as JSON has it, where it is told."""
    try:
        return {} if source is None else {"default": json.loads(json.dumps(ast.literal_eval(source)))}
    except (ValueError, TypeError, SyntaxError):
        return {}


def main() -> int:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    read = releases()
    seen = [by_type(wheel(release, folder)) for release in read]
    lines = ['{"read_from": ' + json.dumps(read) + ', "source": "https://pypi.org/project/peft/", "types": {']
    names = sorted({name for one in seen for name in one})
    for name in names:
        having = [number for number, one in enumerate(seen) if name in one]
        about = json.dumps(span(having, len(read) - 1, read))[1:-1]
        lines.append(f'"{name}": {{{about}, "fields": {{')
        keys = sorted({key for number in having for key in seen[number][name]})
        for key in keys:
            with_it = [number for number in having if key in seen[number][name]]
            entry = span(with_it, having[-1], read) | default(seen[with_it[-1]][name][key])
            lines.append(f'"{key}": {json.dumps(entry)}' + ("," if key != keys[-1] else ""))
        lines.append("}}" + ("," if name != names[-1] else ""))
    text = "\n".join([*lines, "}}"]) + "\n"
    json.loads(text)
    OUT.write_text(text, encoding="utf-8")
    print(len(names), "types in", len(read), "releases")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
