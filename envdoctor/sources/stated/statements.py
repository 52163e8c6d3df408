"""Facts stated by hand: a facts file (or a listing or report in its place) and ``--set``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.facts.fact import Collected, Fact, FactValue, NotUnderstood, Origin, Skip
from envdoctor.facts.values import OF_AMD, flatten, parse_value, shown
from envdoctor.facts.vocabulary import suggestion, term
from envdoctor.files.toml import MOST_BYTES, parse_toml
from envdoctor.sources.stated.plan_words import Statement, as_facts
from envdoctor.sources.stated.stated_value import what_it_should_be

_TYPED = "--set"


def collect_facts_file(path: Path) -> Collected:
    """The facts of a TOML facts file, or of a listing or environment report, each with its line.

    The content tells which: TOML when it parses and states a fact of the vocabulary.

    Raises:
        EnvdoctorError: unreadable, of no known form, or nothing but facts that do not exist (every one of them is told).
    """
    try:
        with path.open("rb") as file:  # a pipe too: --facts <(pip freeze)
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        found = error.strerror or str(error)
        raise EnvdoctorError(str(path), found=found, expected="a readable facts file", next_step="check the path") from error
    return collect_facts_text(data, str(path))


def collect_facts_text(data: bytes, place: str) -> Collected:
    """The same for facts that come from a pipe."""
    if len(data) > MOST_BYTES:
        raise EnvdoctorError(place, found="more than 16 MiB", expected="a facts file or a listing of packages", next_step="check the path")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # PowerShell 5 redirects output as UTF-16
        data = data.decode("utf-16", errors="replace").encode("utf-8", errors="replace")
    text = data.decode("utf-8-sig", errors="replace")
    try:
        table = parse_toml(data, place)
    except EnvdoctorError as error:
        if _meant_as_toml(text):
            raise
        from envdoctor.sources.stated.listings import parse_listing, unknown_form

        listing = parse_listing(text, place)
        if listing is None:
            raise unknown_form(text, place) from error
        return listing
    return _collect(table, place, _lines(text))


def _meant_as_toml(text: str) -> bool:
    """Whether most lines of a text are a table's header or ``key = value``: then the TOML error helps, and nothing is guessed."""
    header = r"\[\[?[A-Za-z_][\w.-]{0,60}\]{0,2}\s*(?:#|$)"
    statement = r"""["']?[A-Za-z_][\w.-]{0,60}["']?\s*=\s*(?:["'\[{\d+-]|true|false)(?!\S*=)"""
    lines = [line for line in (line.strip() for line in text.splitlines()) if line and not line.startswith("#")]
    written = sum(bool(re.match(f"{header}|{statement}", line)) for line in lines)
    return written > 0 and 2 * written >= len(lines)


def collect_settings(settings: Iterable[str]) -> Collected:
    """The facts of ``--set NAME=VALUE``.

    Raises:
        EnvdoctorError: no ``=``, or a fact that does not exist.
    """
    statements, errors = [], []
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            errors.append(EnvdoctorError(_TYPED, found=repr(text), expected="NAME=VALUE", next_step="for example --set plan.method=lora"))
        elif name.strip().startswith("packages.") and not value.strip():
            errors.append(
                EnvdoctorError(_TYPED, found=f"{name.strip()} without a value", expected="a version", next_step="or false: not installed")
            )
        else:
            statements.append((_normal(name.strip()), value.strip().strip("\"'")))
    return _stated([(name, value, Origin(_TYPED)) for name, value in statements], _TYPED, errors)


def _normal(name: str) -> str:
    return next(name for name, _ in flatten({"packages": {name[9:]: 0}})) if name.startswith("packages.") else name


def _collect(table: Mapping[str, object], place: str, lines: Mapping[str, int]) -> Collected:
    flat = list(flatten(table))
    return _stated([(name, value, Origin(place, place, lines.get(name))) for name, value in flat], place, [])


def _stated(statements: list[tuple[str, object, Origin]], place: str, errors: list[EnvdoctorError]) -> Collected:
    facts, skips = [], []
    statements = as_facts([_constraint(*statement) for statement in statements])
    said = {name for name, _, _ in statements}
    for name, raw, origin in statements:
        where = place if origin.line is None else f"{place}, line {origin.line}"
        if term(name) is None:
            close = suggestion(name)
            expected = "a fact of the vocabulary"
            next_step = f"{f'did you mean `{close}`? ' if close else ''}envdoctor facts --vocabulary lists them"
            errors.append(EnvdoctorError(where, found=f"the fact {name!r}", expected=expected, next_step=next_step))
            continue
        value = parse_value(name, raw)
        wrong = _outside(name, value, typed=place == _TYPED)
        if wrong is not None:
            errors.append(wrong(where))
            # Stated, and not understood: no default may be taken in its place.
            facts.append(Fact(name, NotUnderstood(shown(value)), origin))
            continue
        if isinstance(value, NotUnderstood):
            goal = _objective(name, shown(value))
            why = f"says what is learned (plan.objective = {goal}), not what is trained: lora, qlora or full" if goal else _FREE_TEXT
            skips.append(Skip(f"{name} = {shown(value)}", f"{why} ({origin.source})"))
        if name == "gpu.name" and "gpu.compute_capability" not in said and not _is_known_gpu(str(raw)):
            skips.append(
                Skip(f"{name} = {shown(value)}", f"no GPU that is known: what it computes stays unknown, and its memory ({origin.source})")
            )
        facts.append(Fact(name, value, origin))
        facts += [one for one in _implied(name, raw, origin) if one.name not in said]
    if errors and (place == _TYPED or not facts):
        raise SeveralErrors(errors)
    # One word of a file that nobody knows leaves the rest of it as it is; that it was not examined is told, and weighs.
    lost = [Skip(f"{error.place}: {error.found}", f"expected {error.expected}; {error.next_step}", lost=True) for error in errors]
    return Collected(facts=tuple(facts), skips=(*lost, *skips))


def _is_known_gpu(name: str) -> bool:
    from envdoctor.world.gpus import find_gpu

    return find_gpu(name) is not None


def _from_poetry(text: str) -> str:
    """``^1.7.7`` and ``~1.7``, which people copy out of a pyproject.toml, as PEP 440 has them; what is no constraint stays as it is."""
    from envdoctor.facts.poetry_ranges import alternatives, one_specifier

    try:
        return one_specifier(alternatives(text)) or text
    except ValueError:
        return text


def _constraint(name: str, raw: object, origin: Origin) -> Statement:
    """A package's range as poetry writes it, under PEP 440; everything else as it is."""
    if name.startswith("packages.") and isinstance(raw, str) and raw.strip().startswith(("^", "~")) and not raw.strip().startswith("~="):
        return name, _from_poetry(raw), origin
    return name, raw, origin


def _outside(name: str, value: FactValue, *, typed: bool) -> Callable[[str], EnvdoctorError] | None:
    """What is wrong with a value that is none of its fact's, to be told with its place."""
    known = term(name)
    if typed and known is not None and (expected := what_it_should_be(known, value)):
        found, next_step = f"{name} = {shown(value)}", "envdoctor facts --vocabulary lists kinds and units"
        return lambda where: EnvdoctorError(where, found=found, expected=expected, next_step=next_step)
    if known is None or not known.choices or (isinstance(value, str) and value in known.choices):
        return None
    text = shown(value)
    if (name == "plan.distributed" and _SEVERAL.search(text)) or _objective(name, text) or _training_alone(name, text):
        return None  # it says that the work is shared, and not how; what is learned, and not what is trained; that there is training
    from difflib import get_close_matches

    close = get_close_matches(text, known.choices, n=1, cutoff=0.5)
    meant = f"did you mean `{close[0]}`? " if close else ""
    expected = f"one of {', '.join(known.choices)}"
    return lambda where: EnvdoctorError(
        where, found=f"{name} = {text}", expected=expected, next_step=f"{meant}envdoctor facts --vocabulary lists them"
    )


_FREE_TEXT = "not understood; kept as free text"
# What people write for the method that is the goal of the training: any of these can be with LoRA or without it.
_OBJECTIVES = {
    "sft": "sft", "supervised": "sft", "supervisedfinetuning": "sft", "instruction": "sft", "instructiontuning": "sft",
    "instructtuning": "sft", "finetune": "sft", "finetuning": "sft",
    "reward": "reward", "rm": "reward", "rewardmodel": "reward", "rewardmodeling": "reward", "rewardmodelling": "reward", "prm": "reward",
    "rlhf": "ppo", "rl": "rl", "rloo": "rloo", "reinforce++": "reinforce++", "gspo": "grpo", "dapo": "grpo", "drgrpo": "grpo",
    "ipo": "dpo", "cpo": "cpo", "simpo": "simpo", "onlinedpo": "dpo", "bco": "bco", "gkd": "gkd", "distillation": "distillation",
    "dreambooth": "dreambooth", "textualinversion": "textual-inversion", "controlnet": "controlnet",
}  # fmt: skip
_SEVERAL = re.compile(r"deepspeed|\bzero\b|multi|\bgpus\b|parallel|torchrun|accelerate", re.IGNORECASE)


def _objective(name: str, text: str) -> str:
    """What is learned by a method that says no more than that; empty for every other value."""
    return _OBJECTIVES.get(re.sub(r"[\s_-]+", "", text.lower()), "") if name == "plan.method" else ""


def _training_alone(name: str, text: str) -> bool:
    """``method = "train"``: people say so of a run of which they say no more."""
    return name == "plan.method" and text.lower() in ("train", "training")


def _implied(name: str, raw: object, origin: Origin) -> list[Fact]:
    """What one statement says besides: the glibc in ``Ubuntu 20.04 (glibc 2.31)``."""
    if name == "os":
        glibc = re.search(r"glibc\s*v?(\d+\.\d+)", str(raw), re.IGNORECASE)
        if glibc:
            return [Fact("glibc", parse_value("glibc", glibc[1]), origin)]
    if name == "cuda" and OF_AMD.match(str(raw)):
        return [Fact("accelerator", "rocm", origin)]
    if goal := _objective(name, str(raw)):
        return [Fact("plan.objective", goal, origin)]
    if name == "plan.distributed" and isinstance(parse_value(name, raw), NotUnderstood) and re.search("deepspeed", str(raw), re.IGNORECASE):
        return [Fact("plan.deepspeed", True, origin)]
    return []


def _lines(text: str) -> dict[str, int]:
    """The line of every ``key = value`` under its table, by the name of its fact."""
    from envdoctor.files.toml_spans import toml_lines

    lines: dict[str, int] = {}
    for path, line in toml_lines(text).items():
        lines.setdefault(_normal(".".join(map(str, path))), line)
    return lines
