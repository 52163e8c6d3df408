"""Facts from the reports that people paste: ``transformers env``, ``accelerate env``, ``llamafactory-cli env``, ``collect_env``,
``ds_report``, ``nvidia-smi``, and what they write by hand around them.

Three levels of word are told apart. A *report* line names one thing and its value (``- PEFT version: 0.12.0``,
``[pip3] torch==2.5.1``, ``torch   2.4.0``); of two that contradict each other the first is taken and the other told. *Prose*
("torch 2.1.2, peft=0.8.2") counts where no report line speaks; two that contradict each other leave the fact unknown. A
*hint* is the weakest: the Python of a path in a traceback. A sentence about what ought to be installed (requires, upgrade,
pip install, since ...) states nothing. What a report does not speak of stays unknown: no report lists everything.
"""

# ruff: noqa: RUF001 - people write full-width punctuation
from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.fact import Collected, Skip
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import final_key
from envdoctor.sources.stated.report_gpus import gpu_facts, pieces, read_bare_gpu, read_labelled_gpus, read_smi
from envdoctor.sources.stated.report_statements import HINT, PROSE, REPORT, Statements, is_version, plausible, version_facts
from envdoctor.sources.stated.report_words import (
    ALIASES,
    BULLETS,
    DOTTED,
    DRIVER_LABELS,
    ESCAPES,
    GPU_NUMBER,
    HAVE,
    HEADER,
    NEGATED_WORK,
    NO_VERSION,
    NOT_STATED,
    NOWHERE,
    PATH_PARTS,
    PIN,
    PRESENT,
    PYTHON_PATH,
    ROW,
    SENTENCE_END,
    STATEMENT,
    SYSTEM,
    SYSTEM_ALONE,
    SYSTEM_LABELS,
    SYSTEM_NAME,
    TAGGED_CONDA,
    TAGGED_PIP,
    VERSION,
    WORD_BEFORE,
    conda_package,
    normalised,
    package_name,
)
from envdoctor.world.releases import exists, newest, release_texts

_LONGEST_LINE = 4000


def parse_env_report(text: str, place: str) -> Collected | None:
    """What a report, or a bug report around one, states of an environment; None when it states nothing.

    Found are package versions, and packages that a report says are not installed; python, os, machine, glibc, cuda, cudnn,
    driver, accelerator; name, number and memory of the GPUs. Every fact has its line. A package that is not spoken of is unknown.
    """
    return _collected(_read(text, place))


def parse_printed_report(text: str, place: str) -> Collected | None:
    """The same for a text that is a report itself: None when no line of its own states a package."""
    reading = _read(text, place)
    printed = any(said.level == REPORT for name, found in reading.said.items() if name.startswith("packages.") for said in found)
    return _collected(reading) if printed else None


def _read(text: str, place: str) -> Statements:
    reading = Statements(place)
    for number, line in enumerate(_lines(text), start=1):
        if len(line) > _LONGEST_LINE:
            reading.cut += 1
            line = line[:_LONGEST_LINE]
        if line and not line.isspace():
            _read_line(reading, line, number)
        else:
            reading.table = ""
    if reading.cut:
        reading.skips.append(Skip(place, f"of {reading.cut} long lines only the first {_LONGEST_LINE} characters were read"))
    return reading


def _collected(reading: Statements) -> Collected | None:
    facts = [*gpu_facts(reading), *version_facts(reading)]
    facts.sort(key=lambda fact: fact.origin.line or 0)
    return Collected(tuple(facts), (), tuple(reading.skips)) if facts else None


def _lines(text: str) -> Iterator[str]:
    """The lines as a terminal leaves them: without colours, and of a line that was written over its last state."""
    text = text.replace("\r\n", "\n")
    if "\n" not in text:
        text = text.replace("\r", "\n")
    coloured = "\x1b" in text or "[0m" in text or "[39m" in text
    for line in text.split("\n"):
        if "\r" in line:
            line = next((state for state in reversed(line.split("\r")) if state.strip()), "")
        yield ESCAPES.sub("", line[: 4 * _LONGEST_LINE]) if coloured else line


def _read_line(reading: Statements, line: str, number: int) -> None:
    if "-packages" in line or "ython3" in line:
        _hint_python(reading, line, number)
    stripped = line.strip()
    if stripped.startswith(('File "', "File '")):
        return
    if _tagged(reading, stripped.lstrip("> "), number) or _table_row(reading, stripped.lstrip("> "), number):
        return
    if "MiB" in line or "NVIDIA-SMI" in line or "|  " in line:
        read_smi(reading, line, number)
    body = stripped.lstrip(BULLETS)
    if _label(reading, body, number):
        return
    before = len(reading.gpus)
    read_labelled_gpus(reading, line, number)
    if not DOTTED.search(body):
        stated = False
    else:
        cleaned = _without_paths(body) if "/" in body or "\\" in body or ".whl" in body else body
        stated = _statements(reading, cleaned, number)
    if len(body) <= 200 and (stated or len(body) <= 48 or "Platform:" in body):
        _bare_system(reading, body, number)
    if len(body) <= 200 and len(reading.gpus) == before and GPU_NUMBER.search(body):
        read_bare_gpu(reading, body, number, stated)


def _hint_python(reading: Statements, line: str, number: int) -> None:
    found = PYTHON_PATH.search(line)
    if found:
        reading.say("python", HINT, found[1] or f"3.{found[2]}", number)


def _tagged(reading: Statements, line: str, number: int) -> bool:
    """``[pip3] torch==2.5.1``, ``[conda] pytorch 2.1.0 py3.10_cuda12.1_0``, and a line that is one pin."""
    if line.startswith("[conda]"):
        row = TAGGED_CONDA.match(line)
        if row:
            for name, text in conda_package(row[1], row[2], row[3] or ""):
                reading.say(name, REPORT, text, number)
        return True
    pin = TAGGED_PIP.match(line) if line.startswith("[pip") else PIN.fullmatch(line) if "==" in line else None
    if pin is None or not is_version(pin[2]):
        return line.startswith("[pip")
    name = normalised(pin[1])
    level = REPORT if line.startswith("[pip") else PROSE
    reading.say(f"packages.{ALIASES.get(name, name)}", level, pin[2], number)
    if name.startswith("nvidia-cudnn-cu"):
        reading.say("cudnn", level, pin[2], number)
    return True


def _table_row(reading: Statements, line: str, number: int) -> bool:
    """Rows under the header of ``pip list`` or ``conda list``."""
    if HEADER.match(line):
        reading.table = "conda" if "Build" in line else "pip"
        return True
    if not reading.table or not line.strip("-# "):
        return bool(reading.table)
    row = ROW.fullmatch(line)
    if row is None or not is_version(row[2]):
        reading.table = ""
        return False
    if reading.table == "conda":
        for name, text in conda_package(row[1], row[2], row[3] or ""):
            reading.say(name, REPORT, text, number)
    else:
        reading.say(f"packages.{normalised(row[1])}", REPORT, row[2], number)
    return True


def _label(reading: Statements, body: str, number: int) -> bool:
    """A line of a report that is not about a package; True when nothing else is to be read of it."""
    found = re.match(r"([^:：]{1,120})[:：](.*)", body)
    if found is None:
        return False
    key, value = " ".join(found[1].strip(" \t*`'\"_]】").lower().split()), found[2].strip(" \t*`'\"")
    if key in ("platform", "python platform"):
        _platform(reading, value, number)
    elif key in SYSTEM_LABELS:
        _system(reading, value, number)
        return bool(SYSTEM_NAME.match(value)) and not STATEMENT.search(value)
    elif key in ("libc version", "glibc version") and (glibc := re.match(r"(?:glibc-)?(2\.\d{1,3})$", value)):
        reading.say("glibc", REPORT, glibc[1], number)
    elif key in ("cuda used to build pytorch", "torch cuda version"):
        reading.cpu_build |= bool(re.match(r"none|n/a", value, re.IGNORECASE))
        _say_version(reading, "cuda", REPORT, value, number)
    elif key in ("rocm used to build pytorch", "hip runtime version"):
        if DOTTED.match(value):
            reading.say("accelerator", REPORT, "rocm", number)
    elif key == "is cuda available" or key.startswith("cuda support"):
        if re.match(r"true|yes", value, re.IGNORECASE):
            reading.say("accelerator", PROSE, "cuda", number)
    elif key == "pytorch accelerator":
        if value.lower() in ("cuda", "xpu", "npu"):
            reading.say("accelerator", REPORT, value.lower(), number)
    elif key in ("cuda runtime version", "cuda toolkit", "cuda toolkit version", "nvcc version"):
        _say_version(reading, "cuda", HINT, value, number)
    elif key in ("cudnn version", "cudnn"):
        _cudnn(reading, value, number)
    elif key in DRIVER_LABELS:
        _say_version(reading, "driver", REPORT, value, number)
    elif key in ("gpu number", "number of gpus", "gpu count", "num gpus", "gpu数量", "显卡数量"):
        if re.fullmatch(r"\d{1,4}", value):
            reading.say("gpu.count", REPORT, value, number)
    elif key == "gpu memory":
        if memory := re.fullmatch(r"(\d{1,4}(?:\.\d{1,3})?)\s?Gi?B", value):
            reading.memories.append((float(memory[1]), number))
    else:
        return _absent(reading, key, value, number)
    return True


def _absent(reading: Statements, key: str, value: str, number: int) -> bool:
    """``Safetensors version: not installed``: the report looked for it. ``None`` counts only behind the word version."""
    if not NOWHERE.match(value):
        return False
    subject, versioned, _ = key.partition(" version")
    package = package_name(subject.strip("`*' ")) if versioned or value.lower().startswith("not installed") else None
    if package is not None:
        reading.absent.setdefault(f"packages.{package}", number)
    return package is not None


def _platform(reading: Statements, value: str, number: int) -> None:
    """What ``platform.platform()`` prints: ``Linux-5.15.0-91-generic-x86_64-with-glibc2.35``, ``macOS-14.4-arm64-arm-64bit``."""
    _system(reading, value, number)
    machine = re.search(r"(?<![A-Za-z0-9])(x86_64|aarch64|arm64|amd64|AMD64)(?![A-Za-z0-9])", value[:300])
    if machine:
        reading.say("machine", REPORT, str(parse_value("machine", machine[1])), number)
    glibc = re.search(r"glibc(2\.\d{1,3})", value[:300])
    if glibc:
        reading.say("platform's glibc", REPORT, glibc[1], number)


def _system(reading: Statements, value: str, number: int) -> None:
    if SYSTEM_NAME.match(value):
        system = parse_value("os", value[:80])
        reading.say("os", REPORT, str(system), number)
        machine = re.search(r"\((x86_64|aarch64|arm64|amd64)\)", value[:200])
        if machine:
            reading.say("machine", REPORT, str(parse_value("machine", machine[1])), number)


def _cudnn(reading: Statements, value: str, number: int) -> None:
    """A cuDNN by its number. The libcudnn files of the system, which collect_env lists, are not what torch's wheels load."""
    packed = re.fullmatch(r"\d{4,6}", value)
    if packed:
        whole = int(value)
        unit = 10000 if whole >= 90000 else 1000
        reading.say("cudnn", REPORT, f"{whole // unit}.{whole % unit // 100}.{whole % 100}", number)
    elif re.match(r"v?\d+\.\d", value):
        _say_version(reading, "cudnn", PROSE, value, number)
    elif "libcudnn" in value or value.startswith("Probably"):
        why = "cuDNN: the report lists the system's files, and torch's wheels bring their own"
        reading.skips.append(Skip(f"{reading.place}:{number}", why))


def _say_version(reading: Statements, name: str, level: int, value: str, line: int) -> None:
    found = re.match(rf"[^\d]{{0,20}}?{VERSION}", value)
    if found and plausible(name, found["version"]):
        reading.say(name, level, found["version"], line)


def _without_paths(line: str) -> str:
    """The line without paths, addresses and file names, in which a version says nothing of what is installed."""
    kept = []
    for word in line.split(" "):
        bare = word.lstrip("\"'`(<[")
        is_path = bare.startswith(("/", "~", "./", "../", "\\")) and len(bare) > 1
        is_drive = bare[1:3] == ":\\"
        kept.append("\x00" if is_path or is_drive or any(part in word for part in PATH_PARTS) else word)
    return " ".join(kept).replace("/", " / ")


def _statements(reading: Statements, body: str, number: int) -> bool:
    have = HAVE.search(body) or PRESENT.search(body)
    if have:
        if (package := package_name(have[1])) and is_version(have[2]):
            reading.say(f"packages.{package}", REPORT, have[2], number)
        return True
    told = body.startswith("Successfully installed ")
    toolkit = "CUDA Toolkit:" in body
    stated = False
    for found in STATEMENT.finditer(body):
        name, version = _subject(body, found), found["version"]
        if found["label"]:
            version = version.replace("-cu", "+cu").replace("-cpu", "+cpu")
        compared = "__version__" in found[0] and "==" in found["glue"]  # a line of somebody's code
        if name is None or compared or not version.strip("0.") or NO_VERSION.match(body, found.end()):
            continue
        level = _level(body, found)
        if level == PROSE and not told and _not_stated(body, found):
            continue
        if name == "cuda" and toolkit:  # unsloth's banner: "CUDA: 8.9. CUDA Toolkit: 12.1." has the capability first
            continue
        if name == "cuda" and ("Driver Version" in body or "driver" in body[: found.start()].lower()[-12:]):
            continue  # what the driver can run at most, not what torch was built for
        stated = True
        _state(reading, name, level, version, number, body[found.end() : found.end() + 16])
    if toolkit and (cuda := re.search(r"CUDA Toolkit:\s{0,4}(\d{1,2}\.\d{1,2})", body)):
        reading.say("cuda", REPORT, cuda[1], number)
    return stated


def _subject(body: str, found: re.Match[str]) -> str | None:
    """The fact that a statement is about: two words may name a package (PyTorch Lightning, Huggingface Hub)."""
    name = found["name"]
    before = WORD_BEFORE.search(body[max(0, found.start() - 32) : found.start()])
    package = package_name(f"{before[1]}-{name}") if before else None
    if package is None and before and before[1].lower() in ("tensorflow", "vision"):  # TensorFlow Datasets, Vision Transformer
        return None
    lowered = name.lower()
    if package is None and lowered in SYSTEM:
        return SYSTEM[lowered]
    package = package or package_name(name)
    return None if package is None else f"packages.{package}"


def _level(body: str, found: re.Match[str]) -> int:
    if found.start() != 0:
        return PROSE
    glue, rest = found["glue"], body[found.end() :].strip(" \t*`'\"|,;，；。)）")
    columns = "  " in glue or "--" in glue or ".." in glue or "\t" in glue or "|" in glue
    return REPORT if not rest or columns or ":" in glue or "：" in glue else PROSE


def _not_stated(body: str, found: re.Match[str]) -> bool:
    start = max(0, found.start() - 300)
    for end in SENTENCE_END.finditer(body, start, found.start()):
        start = end.end()
    after = SENTENCE_END.search(body, found.end(), found.end() + 300)
    sentence = NEGATED_WORK.sub(" ", body[start : after.start() if after else found.end() + 300])
    return NOT_STATED.search(sentence) is not None


def _state(reading: Statements, name: str, level: int, version: str, number: int, tail: str) -> None:
    if not name.startswith("packages."):
        if name == "nvcc":
            name, level = "cuda", HINT
        if plausible(name, version):
            reading.say(name, level, version, number)
        return
    package = name.removeprefix("packages.")
    if not is_version(version):
        return
    if level == PROSE and _no_release(package, version):
        reading.skips.append(Skip(f"{reading.place}:{number}", f"{package} {version}: no such release, so not taken for a version"))
        return
    reading.say(name, level, version, number)
    working = re.match(r"\s?\((True|GPU|CUDA|NPU|XPU)\)", tail) if package == "torch" else None
    if working and "+cpu" not in version:
        kind = {"NPU": "npu", "XPU": "xpu"}.get(working[1], "cuda")
        reading.say("accelerator", REPORT, "rocm" if "+rocm" in version else kind, number)


def _no_release(package: str, version: str) -> bool:
    last = newest(package)
    key, top = final_key(version), None if last is None else final_key(last)
    if key is None or top is None or key > top or exists(package, version) is not False:
        return False
    public = version.partition("+")[0]
    return not any(release.startswith(f"{public}.") for release in release_texts(package))


def _bare_system(reading: Statements, body: str, number: int) -> None:
    for piece in pieces(body):
        if len(piece) <= 48 and SYSTEM_ALONE.fullmatch(piece):
            reading.say("os", PROSE, str(parse_value("os", piece)), number)


__all__ = ["conda_package", "package_name", "parse_env_report", "parse_printed_report"]
