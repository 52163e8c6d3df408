"""Write envdoctor/data/library_surface.json: which releases of transformers have which member, from their wheels.

    python scripts/refresh_surface.py --wheels DIR [--versions 4.30.2,4.31.0]

Wheels are downloaded without their dependencies, read, and never installed or imported. Without --versions, every final
release of the bundled list from 4.30.0 on. Releases that the table has already are not read again: --afresh starts anew.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from packaging.version import Version

from envdoctor.code.chain import Chain, Link, add_named
from envdoctor.code.history import MODEL_NAME, load_history
from envdoctor.code.library import InstalledLibrary
from envdoctor.world.releases import release_texts

OUT = Path(__file__).parent.parent / "envdoctor" / "data" / "library_surface.json"
FIRST = Version("4.30")
BASES = {
    "model": ("transformers.modeling_utils.PreTrainedModel", "transformers.generation.utils.GenerationMixin"),
    "tokenizer": ("transformers.PreTrainedTokenizer", "transformers.PreTrainedTokenizerFast"),
    "config": ("transformers.PretrainedConfig",),
    "processor": ("transformers.processing_utils.ProcessorMixin",),
}
MODULES = (
    "transformers", "transformers.utils", "transformers.utils.import_utils", "transformers.utils.generic", "transformers.cache_utils",
    "transformers.modeling_utils", "transformers.modeling_outputs", "transformers.modeling_attn_mask_utils",
    "transformers.modeling_flash_attention_utils", "transformers.modeling_rope_utils", "transformers.pytorch_utils",
    "transformers.activations", "transformers.generation", "transformers.generation.utils", "transformers.tokenization_utils",
    "transformers.tokenization_utils_base", "transformers.configuration_utils", "transformers.processing_utils",
    "transformers.image_utils", "transformers.image_processing_utils", "transformers.models.llama.modeling_llama",
)  # fmt: skip
PLUMBING = re.compile(
    r"^(?:TF|Flax|Dummy|_?__)|^(?:annotations|Optional|Union|Any|Dict|List|Tuple|TYPE_CHECKING|np|os|re|sys|json|copy|warnings|math|inspect)$"
)


def surface(root: Path, version: str) -> dict[str, set[str]]:
    library = InstalledLibrary([root], {"transformers": version})
    found: dict[str, set[str]] = {}
    for name, bases in BASES.items():
        chain, links = Chain(), list[Link]()
        for base in bases:
            add_named(library, base, chain, links, 40)
        members = {member for link in links for member in link.shape.members()}
        if name == "config" and Version(version).major < 5:  # until then the defaults of generation were kept there as texts
            members |= {text for link in links if link.shape.dynamic for text in link.shape.strings if text.islower()}
        found[name] = {member for member in members if not member.startswith("__")}
    found["cache"] = {
        member for cls in library.classes_of("transformers.cache_utils").values() for member in cls.members() if not member.startswith("__")
    }
    for module in MODULES:
        shape = library.shape(module)
        if shape is None:
            found[f"module {module}"] = set()
            continue
        names = set(shape.names) | {name for listed in shape.lazy.values() for name in listed}
        for star in shape.stars:
            outer = library.shape(star)
            names |= set() if outer is None else set(outer.exported or outer.names)
        if shape.structure is not None:
            names |= library.exported(module, shape.structure)
        found[f"module {module}"] = {name for name in names if not PLUMBING.search(name)}
    return found


def encode(places: list[int], count: int) -> str:
    stretches: list[list[int]] = []
    for place in places:
        if stretches and stretches[-1][1] == place - 1:
            stretches[-1][1] = place
        else:
            stretches.append([place, place])
    return " ".join(f"{first or ''}-{'' if last == count - 1 else last}" for first, last in stretches)


def wheels(versions: Iterable[str], folder: Path) -> Iterable[tuple[str, Path]]:
    for version in versions:
        there = list(folder.glob(f"transformers-{version}-*.whl"))
        if not there:
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "--only-binary=:all:", "--python-version", "3.11"]
            done = subprocess.run([*command, "-d", str(folder), f"transformers=={version}"], check=False)
            there = list(folder.glob(f"transformers-{version}-*.whl"))
            if done.returncode or not there:
                print(f"transformers {version}: no wheel, left out", file=sys.stderr)
                continue
        yield version, there[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, required=True, help="directory in which wheels are kept")
    parser.add_argument("--versions", default="", help="comma-separated; default: every final release since 4.30.0")
    parser.add_argument("--afresh", action="store_true", help="read all releases again")
    parser.add_argument("--drop", action="store_true", help="remove each wheel that was downloaded after reading it")
    options = parser.parse_args()
    listed = options.versions.split(",") if options.versions else release_texts("transformers")
    versions = sorted((text for text in listed if not Version(text).is_prerelease and Version(text) >= FIRST), key=Version)
    told = {} if options.afresh else written()
    for count, (version, wheel) in enumerate(wheels([text for text in versions if text not in told], options.wheels), 1):
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.endswith(".py")])
            told[version] = surface(Path(folder), version)
        if options.drop:
            wheel.unlink()
        if count % 8 == 0:
            write(told)
    write(told)


def written() -> dict[str, dict[str, set[str]]]:
    """The table as it is, turned back into the members of each release."""
    if not OUT.is_file():
        return {}
    history = load_history(OUT)
    return {
        version: {
            area: {member for member in members if any(first <= place <= last for first, last in history.stretches(area, member))}
            for area, members in history.texts.items()
        }
        for place, version in enumerate(history.releases)
    }


def write(told: dict[str, dict[str, set[str]]]) -> None:
    kept = sorted(told, key=Version)
    surfaces: dict[str, dict[str, str]] = {}
    for area in told[kept[-1]]:
        members = sorted({member for version in kept for member in told[version][area]})
        if area == "module transformers":
            members = [member for member in members if not MODEL_NAME.search(member)]
        surfaces[area] = {
            member: encode([place for place, version in enumerate(kept) if member in told[version][area]], len(kept)) for member in members
        }
    OUT.write_text(json.dumps({"releases": kept, "surfaces": surfaces}, separators=(",", ":"), sort_keys=True) + "\n", encoding="utf-8")
    print(f"{OUT.name}: {len(kept)} releases, {sum(map(len, surfaces.values()))} members, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
