"""Messages that state values (a path, a shape, a position in a file): what follows from these, with the values in the answer.

Each message is one of an operating system, of Python itself, of a file format, of a tool or of torch's own checks, and is the same in
all releases. No package is accused. A message that any code can raise says what is certain and where to look, and is `possible`.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.build_messages import BUILDS
from envdoctor.logs.collective_messages import COLLECTIVES
from envdoctor.logs.compiled_messages import COMPILED
from envdoctor.logs.counted_messages import judge_counted
from envdoctor.logs.device_messages import DEVICES
from envdoctor.logs.engine_messages import ENGINES
from envdoctor.logs.fetched_messages import FETCHED
from envdoctor.logs.format_messages import FORMATS
from envdoctor.logs.framework_messages import FRAMEWORKS
from envdoctor.logs.installer_messages import INSTALLERS
from envdoctor.logs.library_messages import LIBRARIES
from envdoctor.logs.loaded_messages import LOADED
from envdoctor.logs.nothing_as_path import judge_nothing_as_path
from envdoctor.logs.nothing_as_version import judge_nothing_as_version
from envdoctor.logs.own_code import innermost_own, is_of_a_package
from envdoctor.logs.path_clues import clue_of
from envdoctor.logs.python_messages import PYTHON
from envdoctor.logs.rows_messages import DATA
from envdoctor.logs.saving_messages import SAVING
from envdoctor.logs.sharding_messages import SHARDING
from envdoctor.logs.shell_messages import SHELL
from envdoctor.logs.stated_message import StatedMessage
from envdoctor.logs.system_messages import SYSTEM
from envdoctor.logs.tensor_messages import TENSORS_STATED
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.training_messages import TRAINING
from envdoctor.logs.value_messages import VALUES
from envdoctor.logs.wording import place_of
from envdoctor.world.import_names import package_of

RUN, OF_INPUT = "error-of-the-run", "error-of-what-was-given"
# What many programs say (SYSTEM, VALUES) comes before what one kind of them says, but for messages that hold the words of another.
_TABLES = (
    *(COMPILED, SAVING, COLLECTIVES, LOADED, SYSTEM, SHELL, FORMATS, TENSORS_STATED, VALUES, LIBRARIES),
    *(ENGINES, SHARDING, BUILDS, DEVICES, FRAMEWORKS, DATA, INSTALLERS, FETCHED, TRAINING),
)
_ALL = tuple((one, re.compile(one.says)) for table in _TABLES for one in table)
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
# Classes that projects raise for what they check themselves, with a sentence of some words.
_OF_CHECKS = frozenset(("AssertionError", "ValueError", "RuntimeError", "NotImplementedError", "Exception"))
_WORDS = 4
_TO_DO = re.compile(r"(?i)\b(?:please|you (?:should|must|need|have to|can)|try |set |use |install |make sure|ensure|check )")
_SPECTROGRAM = re.compile(
    r"stack expects each tensor to be equal size, but got \[(?:1, )?(?P<bands>80|100|128), (?P<a>\d{1,5})\] at entry \d{1,6} and "
    r"\[(?:1, )?(?:80|100|128), (?P<b>\d{1,5})\]"
)
# Vocabularies of language models, and by how much a model has more rows than its tokenizer has tokens.
_VOCABULARIES, _MOST_PADDING = (20_000, 300_000), 512
_CHANNELS = {"1": "grey", "2": "stereo, or grey with alpha", "3": "RGB", "4": "RGBA, or the latents of a VAE"}


def judge_stated(failure: Failure) -> Hit | None:
    """What follows from the values that a message states; None where it is none of those that are known."""
    if (counted := judge_counted(failure)) is not None:
        return counted
    if (nothing := judge_nothing_as_path(failure) or judge_nothing_as_version(failure)) is not None:
        return nothing
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
    if (patches := _patches(longer["a"], longer["b"])) is not None:
        return patches
    few, many = sorted((longer["a"], longer["b"]), key=int)
    if (padded := _padded_vocabulary(int(few), int(many))) is not None:
        return padded
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


def _padded_vocabulary(few: int, many: int) -> Hit | None:
    """Two numbers that are a vocabulary and its rows in the model, which are more: https://github.com/THU-BPM/Robust_Watermark/issues/9."""
    if not _VOCABULARIES[0] <= few < many <= _VOCABULARIES[1] or many - few > _MOST_PADDING or many % 8:
        return None
    return Hit(
        OF_INPUT,
        True,
        detail="models round their rows up (OPT has 50272 for 50265 tokens, Qwen 152064 for 151643), so that len(tokenizer) is less",
        edge="code:padded-vocabulary",
        headline=f"The model's output has {many} columns, and the other side was made for a vocabulary of {few}",
        advice=f"model.get_output_embeddings().weight.shape[0] (config.vocab_size) in place of len(tokenizer), or logits[..., :{few}]",
    )


def _patches(came: str, made: str) -> Hit | None:
    """Two numbers of patches: squares of the patches on a side, mostly with one token more."""
    sides = [_side(int(one)) for one in (came, made)]
    if came == made or 0 in sides or min(sides) < 2:
        return None
    return Hit(
        OF_INPUT,
        True,
        detail="the sizes are squares (and one token for the whole image): patches of an image, and the positions of a vision model",
        edge="code:patches",
        headline=f"An image of {sides[0]} x {sides[0]} patches meets positions for {sides[1]} x {sides[1]}",
        advice="resize the images to the size that the model was made for (224 is 14 x 14 patches of 16), or make the model for theirs "
        "(img_size, image_size, interpolate_pos_encoding=True)",
    )


def _side(tokens: int) -> int:
    """The patches on a side of a square image of so many tokens; 0 where they make no square, or are a power of two as widths are."""
    for patches in (tokens, max(tokens - 1, 0)):
        side = int(patches**0.5)
        if side * side == patches and (patches != tokens or tokens & (tokens - 1)):
            return side
    return 0


def judge_general(failure: Failure) -> Hit | None:
    """What is certain of a message that any code can raise, where nothing more was found."""
    for one, pattern in _GENERAL:
        if (shown := pattern.search(failure.told)) is not None:
            return _tell(one, shown, failure)
    return None


def judge_own_words(failure: Failure) -> Hit | None:
    """A sentence that no package which was read says, and that says itself what to do: a check of the project that runs."""
    if failure.kind not in _OF_CHECKS or failure.frames:
        return None
    to_do = next((one for one in re.split(r"(?<=[.!])\s+", failure.message) if _TO_DO.search(one)), "")
    if not to_do or len(failure.message.split()) < _WORDS:
        return None
    return Hit(
        OF_INPUT,
        None,
        detail="no package whose releases were read says this: the words are those of the project that runs",
        edge=f"code:own-words:{'-'.join(re.findall(r'[a-z0-9]+', failure.message.lower())[:6])}",
        headline=f"A check of the program's own failed, and means what it says: {failure.message[:200]}",
        advice=f"do what it asks for: {to_do[:200]}",
    )


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
    owner = package_of(at.package) if at is not None and is_of_a_package(at) and at.package != "transformers_modules" else one.package
    return Hit(
        OF_INPUT if one.given else RUN,
        True if sure else None,
        detail="; ".join(filter(None, (behind, where))),
        packages=(owner,) if owner else (),
        edge=f"{owner or 'code'}:{'-'.join(re.findall(r'[a-z0-9]+', one.means.lower())[:6])}",
        headline=means,
        advice=advice,
        unless=one.unless,
        over=one.over,
    )


def _channels(want: str, got: str, message: str) -> str:
    """What images and sounds of so many channels are; empty where the message is about something else."""
    if "channels" not in message or want not in _CHANNELS or got not in _CHANNELS:
        return ""
    return f"{got} is {_CHANNELS[got]}, {want} is {_CHANNELS[want]}"
