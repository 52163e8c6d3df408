"""Changed files as a diff, and onto the disk: all of them, or none."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from typing import TypeVar

from envdoctor.edits.edit import Edited
from envdoctor.edits.splice import encoding_of, lines_at_newline
from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.paths import real_path
from envdoctor.files.text import plain
from envdoctor.records import dataclass

T = TypeVar("T")
_LARGEST = 64 * 2**20
_CONTEXT = 3
_LONGEST_NAME = 50
# A byte order mark, and what joins letters and pictures: a terminal shows them, and patch needs them.
_SHOWN = "\t\ufeff\u200c\u200d"


def unified(edited: Edited) -> str:
    r"""What was changed, as ``diff -u`` has it; empty for a file that was not.

    Decoded with the file's encoding. Characters that a terminal would obey, and bytes that are no text, are escaped; but for those,
    for line ends of a lone ``\r`` and for other encodings than UTF-8, ``patch -p0`` makes the file of it.
    """
    if edited.before == edited.after:
        return ""
    import difflib

    before, after = (_shown_lines(data) for data in (edited.before, edited.after))
    # A name with a blank ends at a tab, else patch takes its first word.
    name = plain(str(edited.path), 4096)
    name += "\t" if " " in name else ""
    lines = difflib.unified_diff(before, after, name, name, n=_CONTEXT)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _shown_lines(data: bytes) -> list[str]:
    encoding = encoding_of(data)
    try:
        text = data.decode(encoding, "backslashreplace")
    except (LookupError, ValueError):
        text = data.decode("latin-1")
    return [_shown(line) for line in lines_at_newline(text)]


def _shown(line: str) -> str:
    """One line with what a terminal would obey escaped; its own end stays."""
    body = line.removesuffix("\n")
    end = line[len(body) :]
    if body.endswith("\r") and end:
        body, end = body[:-1], "\r\n"
    return line if body.isprintable() else "".join(map(_shown_character, body)) + end


def _shown_character(one: str) -> str:
    if one.isprintable() or one in _SHOWN:
        return one
    import unicodedata

    return one if unicodedata.category(one) == "Zs" else one.encode("unicode_escape", "surrogatepass").decode()


@dataclass(frozen=True, slots=True)
class _Replacing:
    """One file while it is replaced: where it really lies, its new content, and its old one under another name."""

    edited: Edited
    place: str
    new: str
    old: str


def replace(edited: Sequence[Edited], recheck: Callable[[], T]) -> T:
    """Write all changed files, each at once, and return what the recheck says of them; all are put back unless it is true.

    Links stay and what they lead to is replaced. Mode and, where it may be set, owner are kept; of several names of one file (hard
    links) only this one has the new content. Files that are not changed are not touched.

    Raises:
        EnvdoctorError: a file was changed meanwhile, may not be written, or cannot be. Nothing is written then.
    """
    places = _places(edited)
    with contextlib.ExitStack() as cleaned:
        work = [_prepared(one, place, cleaned) for place, one in places.items()]
        kept = False
        try:
            for one in work:
                _check(one.edited, one.place)
                _move(one.new, one.place)
            _sync(work)
            answer = recheck()
            kept = bool(answer)
        finally:
            if not kept:
                _put_back(work)
        return answer


def _places(edited: Sequence[Edited]) -> dict[str, Edited]:
    """The changed files by where they really lie; one that is changed in two ways cannot be written."""
    found: dict[str, Edited] = {}
    for one in edited:
        if one.before == one.after:
            continue
        place = str(real_path(one.path))
        if place in found and found[place].after != one.after:
            raise _unwritable(one, "two changes of one file that do not agree", "one change of each file", "name the file once")
        _check(one, place)
        found[place] = one
    return found


def _check(one: Edited, place: str) -> None:
    """Raises EnvdoctorError where a file is not as it was read, or may not be written."""
    try:
        now = read_bounded(place, _LARGEST)
    except UnreadableError as error:
        raise _unwritable(one, str(error), "the file that was read", "check the path") from None
    if now != one.before:
        raise _unwritable(one, "a file that was changed meanwhile", "the file as it was read", "run the command again")
    for what, where in (("file", place), ("directory", os.path.dirname(place))):
        # Whoever may do everything is asked for no more than the mode says.
        if not os.access(where, os.W_OK) or not os.stat(where).st_mode & 0o222:
            raise _unwritable(one, f"a {what} that may not be written", f"a writable {what}", "change its mode")


def _unwritable(one: Edited, found: str, expected: str, next_step: str) -> EnvdoctorError:
    return EnvdoctorError(plain(str(one.path), 4096), found=found, expected=expected, next_step=next_step)


def _prepared(one: Edited, place: str, cleaned: contextlib.ExitStack) -> _Replacing:
    """The new content in a file beside the old one, and a second name for the old one."""
    directory, name = os.path.split(place)
    name = name[:_LONGEST_NAME]
    try:
        status = os.stat(place)
        new = _beside(directory, name, one.after, status, cleaned)
        old = os.path.join(directory, f".{name}.{os.path.basename(new)[-12:]}.old")
        try:
            os.link(place, old)
        except OSError:  # a file system without hard links
            os.rename(_beside(directory, name, one.before, status, cleaned), old)
        cleaned.callback(_remove, old)
    except OSError as error:
        raise _unwritable(
            one, error.strerror or str(error), "a directory in which a file can be made", "check its space and mode"
        ) from error
    return _Replacing(one, place, new, old)


def _beside(directory: str, name: str, data: bytes, status: os.stat_result, cleaned: contextlib.ExitStack) -> str:
    descriptor, path = tempfile.mkstemp(dir=directory, prefix=f".{name}.", suffix=".new")
    cleaned.callback(_remove, path)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        if hasattr(os, "fchown"):
            with contextlib.suppress(OSError):  # only root may give a file away
                os.fchown(stream.fileno(), status.st_uid, status.st_gid)
        os.chmod(path, stat.S_IMODE(status.st_mode))
        os.fsync(stream.fileno())
    return path


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _move(source: str, target: str) -> None:
    try:
        os.replace(source, target)
    except OSError as error:
        raise EnvdoctorError(
            plain(target, 4096), found=error.strerror or str(error), expected="a file that can be replaced", next_step="check its mode"
        ) from error


def _sync(work: Sequence[_Replacing]) -> None:
    """Directories remember their new entries over a crash; where they cannot be opened (Windows) the system sees to it."""
    for directory in {os.path.dirname(one.place) for one in work}:
        with contextlib.suppress(OSError):
            descriptor = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _put_back(work: Sequence[_Replacing]) -> None:
    """The old files under their names again: those alone that were replaced, and that nobody has written since."""
    lost: EnvdoctorError | None = None
    for one in work:
        try:
            now = read_bounded(one.place, _LARGEST)
        except UnreadableError:
            now = b""
        if os.path.lexists(one.new):  # it was not moved: the old file is in its place
            continue
        if now != one.edited.after:
            lost = _unwritable(one.edited, "a file that was changed meanwhile", "the file as it was written", "put it back by hand")
            continue
        _move(one.old, one.place)
    _sync(work)
    if lost is not None:
        raise lost


__all__ = ["replace", "unified"]
