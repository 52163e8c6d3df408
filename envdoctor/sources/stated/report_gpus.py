"""The GPUs that a report or a person speaks of: ``nvidia-smi`` tables, labelled lines, and names that stand for themselves."""

# ruff: noqa: RUF001, RUF002 - people write full-width punctuation
from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.fact import Fact, Skip
from envdoctor.sources.stated.report_statements import PROSE, REPORT, SaidGpu, Statements, fact_of, printable
from envdoctor.sources.stated.report_words import GPU_LABEL, GPU_NUMBER, GPU_WORD, SMI_GPU, SMI_MEMORY
from envdoctor.world.gpus import capability_key, find_gpu, parse_gpu, vendor

MOST_GPUS = 500


def read_smi(reading: Statements, line: str, number: int) -> None:
    """A line of nvidia-smi's table. Its CUDA is what the driver can run at most, and no fact."""
    gpu = SMI_GPU.match(line.strip().lstrip("> ")) if len(reading.gpus) < MOST_GPUS else None
    if gpu and re.search(r"[A-Za-z]{2}", gpu[2]):
        reading.gpus.append(SaidGpu(REPORT, gpu[2].strip(), number, int(gpu[1])))
    memory = SMI_MEMORY.search(line)
    if memory and len(reading.memories) < MOST_GPUS:
        reading.memories.append((round(int(memory[1]) / 1024, 2), number))
    driver = re.search(r"Driver Version:\s{0,8}(\d{3}(?:\.\d{1,4}){1,3})", line) if "Driver Version" in line else None
    if driver:
        reading.say("driver", REPORT, driver[1], number)


def read_labelled_gpus(reading: Statements, line: str, number: int) -> None:
    """``GPU type: NVIDIA L20``, ``GPU 0: NVIDIA A100-SXM4-80GB (UUID: ...)``, ``显卡：A40(48G)``."""
    lowered = line.lower()
    if not any(word in lowered for word in ("gpu", "npu", "xpu", "显卡", "硬件", "hardware", "graphics")):
        return
    for found in GPU_LABEL.finditer(line[:1000]):
        kind, qualifier, value = found[1].lower(), found[2].strip().lower(), found[3]
        inner = re.match(r"GPU\s?(\d{1,3})\s{0,40}[:：]\s{0,8}(\S.{0,100})", value)
        index, value = (int(inner[1]), inner[2]) if inner else (int(qualifier) if qualifier.isdigit() else None, value)
        printed = index is not None or (qualifier == "type" and kind in ("gpu", "npu", "xpu"))
        _gpu(reading, value, number, REPORT if printed else PROSE, index)


def _gpu(reading: Statements, value: str, number: int, level: int, index: int | None) -> bool:
    if len(reading.gpus) >= MOST_GPUS:
        return True
    value = re.sub(r"\s?\(UUID.*", "", value).strip(" \t*`'\"")
    forms = [value, *(re.split(cut, value, maxsplit=1)[0] for cut in (r"[,，;；。、|]|\. |\s{2,}", r"显存|,|，"))]
    for form in dict.fromkeys(form.strip(" \t*`'\".") for form in forms):
        name, count = parse_gpu(form)
        gpu = find_gpu(form)
        # A product that is not in the table yet is believed where a program printed it.
        if (gpu is not None and gpu.vendor != "none") or (level == REPORT and 2 < len(form) <= 80 and vendor(form) not in (None, "none")):
            reading.gpus.append(SaidGpu(level, printable(name.removeprefix("GPU ")), number, index, count))
            return True
    return False


def pieces(body: str) -> list[str]:
    """What stands between the commas, slashes and columns of a line."""
    return [piece.strip(" \t*`'\".") for piece in re.split(r"[,，;；:：、|/。]|\. |\s{2,}| with | on ", body)]


def read_bare_gpu(reading: Statements, body: str, number: int, stated: bool) -> None:
    """A GPU that stands for itself between commas or slashes, beside other statements or with its maker, number or size."""
    for piece in pieces(body):
        fits = 2 <= len(piece) <= 48 and GPU_NUMBER.search(piece) and (stated or GPU_WORD.search(piece))
        if fits and _gpu(reading, piece, number, PROSE, None):
            return


def gpu_facts(reading: Statements) -> Iterator[Fact]:
    """Name, number and memory (GiB, of one) of the GPUs; of unequal ones the weakest, and a skip that says so."""
    level = max((gpu.level for gpu in reading.gpus), default=PROSE)
    gpus = [gpu for gpu in reading.gpus if gpu.level == level]
    indexed: dict[int, SaidGpu] = {}
    for gpu in gpus:
        if gpu.index is not None:
            indexed.setdefault(gpu.index, gpu)
    chosen = list(indexed.values()) or gpus[:1]
    kinds = {_product(gpu.name): gpu for gpu in (chosen if level == REPORT else gpus)}
    if len(kinds) > 1:
        names = ", ".join(gpu.name for gpu in list(kinds.values())[:6])
        if level == PROSE:
            reading.skips.append(Skip("GPU", f"several are spoken of ({names}): not taken ({reading.place})"))
            chosen = []
        else:
            why = f"unequal GPUs ({names}): the one of the lowest capability is taken for all ({reading.place})"
            reading.skips.append(Skip("GPU", why))
    count = next(iter(reading.said.pop("gpu.count", [])), None)
    if chosen:
        weakest = min(chosen, key=_strength)
        yield fact_of(reading, "gpu.name", weakest.name, weakest.line)
        if count is None and (indexed or weakest.count):
            yield fact_of(reading, "gpu.count", len(indexed) or weakest.count or 1, weakest.line)
    if count is not None:
        yield fact_of(reading, "gpu.count", int(count.text), count.line)
    if reading.memories:
        memory, line = min(reading.memories)
        yield fact_of(reading, "gpu.memory_gib", memory, line)


def _product(name: str) -> str:
    gpu = find_gpu(name)
    return name.lower() if gpu is None else gpu.name


def _strength(gpu: SaidGpu) -> tuple[tuple[int, int], float]:
    known = find_gpu(gpu.name)
    capability = capability_key(known.compute_capability) if known and known.compute_capability else None
    return capability or (99, 0), (known.memory_gib if known and known.memory_gib else 0.0)
