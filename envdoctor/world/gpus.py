"""GPUs by the names that people write for them."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypedDict

from envdoctor.records import dataclass, replace

MemoryFrom = Literal["nvidia-smi", "sold", "stated"]

_TABLE = Path(__file__).parent.parent / "data" / "gpus.json"
_LONGEST_NAME = 200

# Words that tell vendor, form, packaging or who built the card, and never tell two products of one number apart.
_NOISE = frozenset((
    "nvidia", "corporation", "geforce", "tesla", "amd", "ati", "instinct", "radeon",
    "huawei", "npu", "npus", "intel", "habana", "hpu", "hpus",
    "gpu", "gpus", "graphics", "card", "cards", "accelerator", "tensor", "core", "cores", "cuda", "mps",
    "sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "pcie", "pci", "express",
    "hbm2", "hbm2e", "hbm3", "hbm3e", "gddr5", "gddr5x", "gddr6", "gddr6x", "gddr7", "vram", "memory",
    "edition", "generation", "with", "design", "and", "each", "active", "lc", "ac",
    "fe", "founders", "founder", "oc", "lhr", "asus", "msi", "gigabyte", "zotac", "evga", "palit", "pny", "inno3d", "galax", "gainward",
    "colorful", "rog", "strix", "tuf", "gaming", "ventus", "windforce", "aorus", "suprim", "trio",
))  # fmt: skip
_FAMILIES = {
    "kepler": ("3.",), "maxwell": ("5.",), "pascal": ("6.",), "volta": ("7.0", "7.2"), "turing": ("7.5",),
    "ampere": ("8.0", "8.6", "8.7"), "ada": ("8.9",), "lovelace": ("8.9",), "hopper": ("9.",), "blackwell": ("10.", "11.", "12."),
}  # fmt: skip
# Cards that people name by their series, all of one capability.
_SERIES = {
    "rtx50": "12.0", "rtx40": "8.9", "rtx30": "8.6", "rtx20": "7.5", "gtx16": "7.5", "gtx10": "6.1", "gtx900": "5.2",
}  # fmt: skip
_NO_GPU = frozenset(("none", "no", "cpu", "nonecpu", "cpuonly", "onlycpu", "nogpu", "nocuda", "nonecpuonly"))
_VENDOR_WORDS = {
    "nvidia": "nvidia", "geforce": "nvidia", "tesla": "nvidia", "quadro": "nvidia", "rtx": "nvidia", "gtx": "nvidia", "jetson": "nvidia",
    "amd": "amd", "radeon": "amd", "instinct": "amd",
    "apple": "apple", "intel": "intel", "gaudi": "intel", "habana": "intel",
    "ascend": "huawei", "huawei": "huawei",
}  # fmt: skip


class _Memory(TypedDict, total=False):
    gib: float
    smi_mib: int


class _Row(TypedDict, total=False):
    name: str
    vendor: str
    compute_capability: str | None
    also: list[str]
    memory: list[_Memory]
    gfx: str
    bf16: bool | None
    size_in_name: str
    sources: list[str]


@dataclass(frozen=True, slots=True)
class Gpu:
    """One product.

    ``memory_gib`` is of one GPU, in GiB: what nvidia-smi prints where that is known, else what is
    sold; None where variants of the name differ. ``bf16`` says whether the hardware computes in
    bfloat16 (NVIDIA: compute capability 8.0 and above), None where that is not known. ``sources``
    are public addresses.
    """

    name: str
    vendor: str
    compute_capability: str | None
    memory_gib: float | None
    bf16: bool | None
    memory_from: MemoryFrom | None = None
    gfx: str | None = None
    sources: tuple[str, ...] = ()


def capability_key(text: str) -> tuple[int, int] | None:
    """``8.6`` -> (8, 6), so that capabilities can be compared; None for anything else."""
    major, dot, minor = text.strip().partition(".")
    written = dot and text.isascii() and major.isdigit() and minor.isdigit() and len(major) <= 2 and len(minor) == 1
    return (int(major), int(minor)) if written else None


_TIMES = frozenset("xX\u00d7*")


def parse_gpu(text: str) -> tuple[str, int | None]:
    """The name without its count, and the count: ``8x A100`` -> ("A100", 8); None where no count is written."""
    name = " ".join(text.split())
    if len(name) > _LONGEST_NAME or not (name[:1].isdigit() or _TIMES.intersection(name)):
        return name, None
    for pattern in (
        r"(?P<name>.*\S)\s*\(\s*[x\u00d7]\s*(?P<count>\d{1,3})\s*\)",
        r"(?P<name>.*\S)\s*\(\s*(?P<count>\d{1,3})\s*[x\u00d7]\s*\)",
        r"(?P<name>.*\S)(?:(?<![a-z])x|\s+x\s*|\s*[\u00d7*]\s*)(?P<count>\d{1,3})",
        r"(?P<count>\d{1,3})\s*[x\u00d7*]\s*(?P<name>\S.*)",
        r"(?P<count>\d{1,2})\s+(?!gi?b\b|g\b)(?P<name>[a-z].*)",
    ):
        match = re.fullmatch(pattern, name, flags=re.IGNORECASE | re.ASCII)
        if match and int(match["count"]) > 0 and re.search(r"[a-z]|\d{4}", match["name"], flags=re.IGNORECASE):
            return match["name"].strip(" ,;:"), int(match["count"])
    return name, None


@lru_cache(maxsize=64)
def find_gpu(text: str) -> Gpu | None:
    """The product that a text names, with or without a count; None for an unknown name: nothing is guessed.

    A name without its size (``A100``) tells the capability and leaves the memory unknown where
    variants differ. A size that no variant has is believed as stated (``RTX 4090 48GB``).
    """
    if len(text) > _LONGEST_NAME:
        return None
    name = parse_gpu(text)[0].lower()
    name, slice_found, _ = name.partition(" mig ")
    size = re.search(r"(?<![\w.])(\d{1,4}(?:\.\d+)?)\s*(?:gi?b|g)(?!\w)", name)
    tokens = _tokens(name[: size.start()] + " " + name[size.end() :] if size else name)
    if "".join(tokens) in _NO_GPU:
        return Gpu("none", "none", None, None, None)
    row = _row(_whole(tokens, name)) or _row_beside_its_target(tokens)
    stated = float(size[1]) if size else None
    gpu = (
        (_vendor_only(tokens, stated) or _capability_only(tokens, stated) or _series(tokens, stated)) if row is None else _gpu(row, stated)
    )
    if gpu is None or not slice_found:
        return gpu
    return replace(gpu, name=f"{gpu.name} (MIG slice)", memory_gib=None, memory_from=None)


def sold_with(text: str) -> tuple[float, ...]:
    """The sizes in GiB that a name may stand for, where it does not tell which."""
    row = _row(_tokens(parse_gpu(text)[0].lower())) if len(text) <= _LONGEST_NAME else None
    return () if row is None else tuple(sorted(_memory(variant)[0] for variant in row["memory"]))


def vendor(text: str) -> str | None:
    """Who made the GPU, by the product found or by the vendor's own words in the text; None where neither tells."""
    gpu = find_gpu(text)
    if gpu is not None:
        return gpu.vendor
    named = {_VENDOR_WORDS[token] for token in _tokens(text[:_LONGEST_NAME].lower()) if token in _VENDOR_WORDS}
    return named.pop() if len(named) == 1 else None


def _tokens(text: str) -> list[str]:
    text = re.sub(r"\((?:r|tm|c)\)|[®™©]", " ", text).replace("mobile", "laptop").replace("max-q", "maxq")
    return re.findall(r"[a-z0-9]+", text)


def _whole(tokens: list[str], name: str) -> list[str]:
    """The tokens without a last one that nvidia-smi's table cut off, where what is left of it is plainly noise."""
    if not name.rstrip().endswith("...") or not tokens:
        return tokens
    cut = tokens[-1]
    harmless = len(cut) >= 3 and any(word.startswith(cut) for word in _NOISE)
    return tokens[:-1] if harmless else []


def _vendor_only(tokens: list[str], size: float | None) -> Gpu | None:
    """Apple and Ascend chips: their capability is no CUDA capability and their memory is not told by the name, only beside it."""
    key = "".join(token for token in tokens if token not in _NOISE)
    apple = re.fullmatch(r"apple(m\d)(pro|max|ultra)?|(m\d)(pro|max|ultra)", key)
    if apple:
        chip, tier = apple[1] or apple[3], apple[2] or apple[4]
        name, maker = f"Apple {chip.upper()}{f' {tier.capitalize()}' if tier else ''}", "apple"
    else:
        ascend = re.fullmatch(r"ascend(\d{3}[a-z]?\d?)", key)
        if ascend is None:
            return None
        name, maker = f"Ascend {ascend[1].upper()}", "huawei"
    return Gpu(name if size is None else f"{name} {size:g}GB", maker, None, size, None, None if size is None else "stated")


def _row_beside_its_target(tokens: list[str]) -> _Row | None:
    """The row of a product written with its own target beside it: ``RTX 5090 (sm_120)``, ``V100 (compute capability 7.0)``."""
    text = " ".join(tokens)
    target = re.search(r"\b(?:sm|(?:compute )?capability|compute|cc) ?(\d{1,2}) ?(\d)\b", text)
    row = _row((text[: target.start()] + text[target.end() :]).split()) if target else None
    return row if row is not None and target is not None and row["compute_capability"] == f"{target[1]}.{target[2]}" else None


def _capability_only(tokens: list[str], size: float | None) -> Gpu | None:
    """A card that is told by its target alone: ``sm_61``, with or without a family that has it."""
    text = "".join(token for token in tokens if token not in _NOISE and token not in _FAMILIES)
    target = re.fullmatch(r"(?:sm|computecapability|compute|cc)(\d{1,2})(\d)", text)
    capability = f"{target[1]}.{target[2]}" if target else ""
    families = [token for token in tokens if token in _FAMILIES]
    # A capability that no product has is more likely a slip, or a model's number.
    if not any(row["compute_capability"] == capability for row in _rows().values()):
        return None
    if not all(capability.startswith(_FAMILIES[family]) for family in families):
        return None
    key = capability_key(capability)
    bf16 = None if key is None else key >= (8, 0)
    name = f"sm_{capability.replace('.', '')}"
    return Gpu(name if size is None else f"{name} {size:g}GB", "nvidia", capability, size, bf16, None if size is None else "stated")


def _series(tokens: list[str], size: float | None) -> Gpu | None:
    """Cards that are told by their series: ``RTX 50 series``, ``RTX 50xx (Blackwell)``."""
    families = [token for token in tokens if token in _FAMILIES]
    key = "".join(token for token in tokens if token not in _NOISE and token not in _FAMILIES)
    named = re.fullmatch(r"(rtx|gtx)(\d0|16|900)(?:(?:xx)?series|xx)(?:laptops?|desktops?)?", key)
    capability = _SERIES.get(named[1] + named[2]) if named else None
    if named is None or capability is None or not all(capability.startswith(_FAMILIES[family]) for family in families):
        return None
    name = f"GeForce {named[1].upper()} {named[2]} series"
    bf16 = (capability_key(capability) or (0, 0)) >= (8, 0)
    return Gpu(name if size is None else f"{name} {size:g}GB", "nvidia", capability, size, bf16, None if size is None else "stated")


def _row(tokens: list[str]) -> _Row | None:
    """The row of the table whose name is all of the tokens but noise and a fitting family or gfx word."""
    rows = _rows()
    for noise in (_NOISE - {"pcie"}, _NOISE):
        kept = [token for token in tokens if token not in noise]
        row = rows.get("".join(kept))
        if row is not None:
            return row
    gfx = {token for token in kept if re.fullmatch(r"gfx[0-9a-f]{3,4}", token)}
    families = {token for token in kept if token in _FAMILIES}
    row = rows.get("".join(token for token in kept if token not in gfx | families))
    if row is None or any(token != row.get("gfx") for token in gfx):
        return None
    capability = row["compute_capability"] or ""
    return row if all(capability.startswith(_FAMILIES[family]) for family in families) else None


def _gpu(row: _Row, size: float | None) -> Gpu:
    variants = row["memory"]
    sized = [variant for variant in variants if size is not None and _is_size(variant, size)]
    memory: float | None = None
    memory_from: MemoryFrom | None = None
    if row.get("size_in_name") == "cpu":
        size = None
    if len(sized) == 1 or (len(variants) == 1 and size is None):
        memory, memory_from = _memory((sized or variants)[0])
    elif size is not None:
        memory, memory_from = size, "stated"
    told_apart = size is not None and (len(variants) > 1 or memory_from == "stated")
    name = f"{row['name']} {size:g}GB" if told_apart else row["name"]
    capability = row["compute_capability"]
    key = None if capability is None else capability_key(capability)
    return Gpu(
        name=name,
        vendor=row["vendor"],
        compute_capability=capability,
        memory_gib=memory,
        bf16=row.get("bf16") if key is None else key >= (8, 0),
        memory_from=memory_from,
        gfx=row.get("gfx"),
        sources=tuple(url for source in row["sources"] if (url := _sources()[source]) is not None),
    )


def _is_size(variant: _Memory, size: float) -> bool:
    """Whether a person who writes this size means the variant: as sold, or as nvidia-smi shows it, rounded."""
    shown = variant.get("smi_mib")
    return variant.get("gib") == size or (shown is not None and abs(shown / 1024 - size) < 1)


def _memory(variant: _Memory) -> tuple[float, MemoryFrom]:
    if "smi_mib" in variant:
        return round(variant["smi_mib"] / 1024, 2), "nvidia-smi"
    return float(variant["gib"]), "sold"


@lru_cache(maxsize=1)
def _read() -> tuple[list[_Row], dict[str, str | None]]:
    table = json.loads(_TABLE.read_bytes())
    return table["gpus"], {name: source["url"] for name, source in table["sources"].items()}


def _sources() -> dict[str, str | None]:
    return _read()[1]


@lru_cache(maxsize=1)
def _rows() -> dict[str, _Row]:
    """The rows by every spelling, joined: ``rtx3090``, and ``3090`` for a GeForce."""
    rows: dict[str, _Row] = {}
    for row in _read()[0]:
        for name in (row["name"], *row.get("also", ())):
            tokens = [token for token in _tokens(name.lower()) if token not in _NOISE - {"pcie"}]
            rows["".join(tokens)] = row
            if name.startswith("GeForce"):
                rows["".join(tokens[1:])] = row
            if row["vendor"] == "nvidia" and tokens[-1] == "blackwell":
                rows["".join(tokens[:-1])] = row
    return rows
