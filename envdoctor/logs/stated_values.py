"""Messages that state values (a path, a shape, a position in a file): what follows from these, with the values in the answer.

Each message is one of an operating system, of Python itself, of a file format, of a tool or of torch's own checks, and is the same in
all releases. No package is accused. A message that any code can raise says what is certain and where to look, and is `possible`.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.counted_messages import judge_counted
from envdoctor.logs.format_messages import FORMATS
from envdoctor.logs.own_code import innermost_own, is_of_a_package
from envdoctor.logs.path_clues import clue_of
from envdoctor.logs.python_messages import PYTHON
from envdoctor.logs.shell_messages import SHELL
from envdoctor.logs.stated_message import StatedMessage
from envdoctor.logs.system_messages import SYSTEM
from envdoctor.logs.tensor_messages import TENSORS_STATED
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.value_messages import VALUES
from envdoctor.logs.wording import place_of
from envdoctor.world.import_names import package_of

RUN, OF_INPUT = "error-of-the-run", "error-of-what-was-given"
_ALL = tuple((one, re.compile(one.says)) for one in (*SYSTEM, *SHELL, *FORMATS, *TENSORS_STATED, *VALUES))
_GENERAL = tuple((one, re.compile(one.says)) for one in PYTHON)
_HAND_ON = frozenset(("torch", "accelerate", "peft"))
# The positions that models have: openai/whisper, google-bert, FacebookAI/roberta-base, openai/clip, openai-community/gpt2.
_POSITIONS = {
    "448": "448 is how many tokens Whisper's decoder takes: a label is longer",
    "512": "512 is how many positions BERT and its kin have: a row is longer",
    "514": "514 is how many positions RoBERTa has (512 and two of padding): a row is longer",
    "77": "77 is how many tokens the text encoders of CLIP take: a prompt is longer",
    "1024": "1024 is how many positions GPT-2 and BART have: a row is longer",
}
_LONGER = re.compile(
    r"[Tt]he (?:size of tensor a|expanded size of the tensor) \((?P<a>\d{1,7})\) must match the (?:size of tensor b|existing size) "
    r"\((?P<b>\d{1,7})\)(?! at non-singleton dimension [2-9])"
)
_SPECTROGRAM = re.compile(
    r"stack expects each tensor to be equal size, but got \[(?:1, )?(?P<bands>80|100|128), (?P<a>\d{1,5})\] at entry \d{1,6} and "
    r"\[(?:1, )?(?:80|100|128), (?P<b>\d{1,5})\]"
)
_CHANNELS = {"1": "grey", "2": "stereo, or grey with alpha", "3": "RGB", "4": "RGBA, or the latents of a VAE"}


def judge_stated(failure: Failure) -> Hit | None:
    """What follows from the values that a message states; None where it is none of those that are known."""
    if (counted := judge_counted(failure)) is not None:
        return counted
    for one, pattern in _ALL:
        if (shown := pattern.search(failure.told)) is not None:
            return _tell(one, shown, failure)
    return None


def judge_positions(failure: Failure) -> Hit | None:
    """A row that is longer than the positions of a model, where one of the sizes is a number of positions that models have."""
    if (frames := _SPECTROGRAM.search(failure.told)) is not None and frames["a"] != frames["b"]:
        return Hit(
            OF_INPUT,
            True,
            detail=f"they are of {frames['bands']} bands of frequency (mel), so the last number counts frames of sound",
            edge="code:spectrograms",
            headline=f"Spectrograms of one batch differ in length: {frames['a']} frames and {frames['b']}",
            advice="cut or pad sound and spectrogram to one segment; where both are given, with the hop length of the model",
        )
    longer = _LONGER.search(failure.told)
    if longer is None or "transformers_modules" in failure.packages:
        return None
    few, many = sorted((longer["a"], longer["b"]), key=int)
    # Widths of layers are multiples of 64, and so are hardly ever the lengths of rows.
    if few not in _POSITIONS or int(few) * 8 < int(many) or int(many) % 64 == 0 or few == many:
        return None
    return Hit(
        OF_INPUT,
        True,
        detail=f"a mask, rotary tables or weights of another model do the same where no row is so long ({many})",
        edge=f"code:positions:{few}",
        headline=f"A row of {many} meets {few} positions: {_POSITIONS[few]}",
        advice=f"truncation=True with max_length={few}, or leave out the rows whose labels are longer than {few}",
    )


def judge_general(failure: Failure) -> Hit | None:
    """What is certain of a message that any code can raise, where nothing more was found."""
    for one, pattern in _GENERAL:
        if (shown := pattern.search(failure.told)) is not None:
            return _tell(one, shown, failure)
    return None


def _tell(one: StatedMessage, shown: re.Match[str], failure: Failure) -> Hit:
    values = {name: (value or "") for name, value in shown.groupdict().items()}
    means, behind, advice = one.means.format_map(values), one.behind.format_map(values), one.advice.format_map(values)
    sure = one.sure
    means = re.sub(r"(?:, and|:)?\s{1,3}$", "", means)
    if (clue := clue_of(values.get("path") or values.get("other", ""), one.clues)) is not None:
        behind, advice = clue
    if "want" in values and "got" in values and (named := _channels(values["want"], values["got"], shown.string)):
        behind = "; ".join(filter(None, (named, behind)))
    at = next((frame for frame in reversed(failure.frames) if frame.package and frame.package not in _HAND_ON), None)
    own = innermost_own(failure)
    where = f"in {at.module or at.package}{f', {at.function}' if at.function else ''}" if at is not None else ""
    if own is not None and own.text:
        where = f"{place_of(own)}: `{own.text[:100]}`"
    owner = package_of(at.package) if at is not None and is_of_a_package(at) and at.package != "transformers_modules" else ""
    return Hit(
        OF_INPUT if one.given else RUN,
        True if sure else None,
        detail="; ".join(filter(None, (behind, where))),
        packages=(owner,) if owner else (),
        edge=f"{owner or 'code'}:{'-'.join(re.findall(r'[a-z0-9]+', one.means.lower())[:6])}",
        headline=means,
        advice=advice,
        unless=one.unless,
    )


def _channels(want: str, got: str, message: str) -> str:
    """What images and sounds of so many channels are; empty where the message is about something else."""
    if "channels" not in message or want not in _CHANNELS or got not in _CHANNELS:
        return ""
    return f"{got} is {_CHANNELS[got]}, {want} is {_CHANNELS[want]}"
