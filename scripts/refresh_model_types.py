"""Which releases of transformers know which model_type and which tokenizer class: read from the released wheels.

    python scripts/refresh_model_types.py WHEELS    # a folder that keeps the downloaded wheels (about 10 MB each)

Writes envdoctor/data/model_types.json. Nothing of a wheel is imported. Each row is a list of releases: the first that
has the name, the first that lacks it again, and so on; a row of odd length is still known to the newest release.

A model type is known to a release that maps it to a configuration class, or in which a configuration class says that it
is its own: a part of a model, which is loaded by its class. For the same reason a type does not go with a class that was
never mapped, and one that no release maps is left out. A tokenizer class is known where transformers exports it,
or exports it with Fast behind its name. From 5.0.0 on AutoTokenizer takes TokenizersBackend for a class that it does not
find, so that a class of transformers 4 counts as known to all of 5.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.version import Version

from envdoctor.rules.wheels import Wheels
from envdoctor.world.releases import release_texts

OLDEST = "4.20.0"
FALLS_BACK = Version("5.0.0")
OUT = Path(__file__).resolve().parent.parent / "envdoctor" / "data" / "model_types.json"

# Types of models that are published with code of their own and that no release has taken over. A configuration class or a
# config.json with its auto_map was read of each; a type that only some package registers is none of them.
REMOTE_ONLY = (
    "RefinedWeb", "RefinedWebModel", "Yi", "aquila", "baichuan", "bailing_moe", "chatglm", "deepseek", "exaone", "internlm", "internlm2",
    "internvl_chat", "kimi_vl", "minicpm", "minicpmo", "minicpmv", "phi-msft", "phi3_v", "phi4mm", "qwen", "skywork", "telechat", "xverse",
)  # fmt: skip

_MAPPING = "CONFIG_MAPPING_NAMES"
_AUTO = "transformers/models/auto/"
_OWN_TYPE = re.compile(r"""^    model_type(?:: \w+)? = ["']([^"'\n]+)["']""", re.MULTILINE)
_ALL = re.compile(r"^__all__ = (\[.*?\])", re.MULTILINE | re.DOTALL)
_TOKENIZER = re.compile(r"\w*Tokenizer(Fast)?|TokenizersBackend|SentencePieceBackend|MistralCommonBackend|PythonBackend")


def model_types(archive: zipfile.ZipFile) -> tuple[set[str], set[str]]:
    """The model types that a release maps, and those that its configuration classes say are theirs."""
    mapped: set[str] = set()
    own: set[str] = set()
    for name in archive.namelist():
        if name in (f"{_AUTO}auto_mappings.py", f"{_AUTO}configuration_auto.py"):
            mapped |= mapped_types(archive.read(name).decode())
        elif name.startswith("transformers/models/") and name.rpartition("/")[2].startswith("configuration_"):
            own |= set(_OWN_TYPE.findall(archive.read(name).decode()))
    return mapped, own


def mapped_types(source: str) -> set[str]:
    """The keys of CONFIG_MAPPING_NAMES, as a module writes or extends it."""
    keys: set[str] = set()
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign):
            target: ast.expr = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign):
            target = statement.target
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            function = statement.value.func
            if not isinstance(function, ast.Attribute) or function.attr != "update":
                continue
            target = function.value
        else:
            continue
        if isinstance(target, ast.Name) and target.id == _MAPPING and statement.value is not None:
            keys |= set(_keys(statement.value))
    return keys


def _keys(node: ast.expr) -> Iterator[str]:
    """The keys of a dict, of a list of pairs, or of a call that is given either."""
    if isinstance(node, ast.Call):
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from _keys(argument)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from _keys(value) if key is None else _text(key)
    elif isinstance(node, (ast.List, ast.Tuple)):
        for pair in node.elts:
            if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
                raise SystemExit(f"{_MAPPING} is written in a way that this script does not know: {ast.unparse(pair)[:80]}")
            yield from _text(pair.elts[0])


def _text(node: ast.expr) -> Iterator[str]:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise SystemExit(f"a key of {_MAPPING} that is no text: {ast.unparse(node)[:80]}")
    yield node.value


def tokenizer_classes(archive: zipfile.ZipFile) -> set[str]:
    """The names under which AutoTokenizer finds a class that transformers exports: its own, and the same without Fast."""
    source = archive.read("transformers/__init__.py").decode()
    texts = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    exported = {text for text in texts if _TOKENIZER.fullmatch(text)}
    if "define_import_structure" in source:
        for name in archive.namelist():
            if name.startswith("transformers/models/") and name.rpartition("/")[2].startswith("tokenization_"):
                listed = _ALL.search(archive.read(name).decode())
                exported |= set(ast.literal_eval(listed[1])) if listed else set()
        exported = {text for text in exported if _TOKENIZER.fullmatch(text)}
    return exported | {name.removesuffix("Fast") for name in exported}


def rows(releases: Sequence[str], names: Sequence[set[str]]) -> dict[str, list[str]]:
    """For each name the releases at which it came and went, in turn."""
    found: dict[str, list[str]] = {}
    before: set[str] = set()
    for release, known in zip(releases, names, strict=True):
        for name in known ^ before:
            found.setdefault(name, []).append(release)
        before = known
    return dict(sorted(found.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path, help="a folder that keeps the downloaded wheels")
    wheels = Wheels(parser.parse_args().wheels)
    releases = [release for release in release_texts("transformers") if Version(release) >= Version(OLDEST)]
    mapped: list[set[str]] = []
    types: list[set[str]] = []
    tokenizers: list[set[str]] = []
    for release in releases:
        with zipfile.ZipFile(wheels.wheel("transformers", release)) as archive:
            maps, own = model_types(archive)
            parts = types[-1] - mapped[-1] if types else set()
            mapped.append(maps)
            types.append(maps | own | parts)
            tokenizers.append(tokenizer_classes(archive))
        if Version(release) >= FALLS_BACK:
            tokenizers[-1] |= tokenizers[-2]
        print(release, len(types[-1]), len(tokenizers[-1]), flush=True)
    ever = set().union(*mapped)
    table = {
        "source": "https://pypi.org/project/transformers/",
        "oldest": releases[0],
        "newest": releases[-1],
        "remote_only": list(REMOTE_ONLY),
        "model_types": rows(releases, [known & ever for known in types]),
        "tokenizers": rows(releases, tokenizers),
    }
    known = set(REMOTE_ONLY) & set(table["model_types"])
    if known:
        raise SystemExit(f"no longer types of remote code alone: {', '.join(sorted(known))}")
    # One row a line: a refresh shows as the lines of the names that it touches.
    text = json.dumps(table, indent=1)
    text = re.sub(r"\[\s+([^\[\]]*?)\s+\]", lambda match: "[" + re.sub(r"\s*\n\s*", " ", match[1]) + "]", text)
    OUT.write_text(text + "\n", encoding="utf-8")
    print(len(table["model_types"]), "model types;", len(table["tokenizers"]), "tokenizer classes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
