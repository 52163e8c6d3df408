"""The command line: one module a command; only here is anything printed, and only here does a run end."""

from __future__ import annotations

import errno
import gc
import os
import sys
import time
from collections.abc import Sequence

from envdoctor.errors import EnvdoctorError

FOUND, USAGE, INTERNAL, INTERRUPTED = 1, 2, 3, 130

# What writing says where the report has nowhere to go; reading has none of them without the name of a file.
_NO_ROOM = (errno.ENOSPC, errno.EBADF, errno.EFBIG, errno.EIO, errno.EDQUOT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0 clean, 1 findings, 2 bad input, 3 an error of our own.

    Without arguments those of the process are meant, which ends with this run.
    """
    if arguments is not None:
        return _run(arguments)
    status = _run(sys.argv[1:])
    # At its end Python looks through all values for cycles, and throws them all away: a fifth of a run.
    gc.freeze()
    return status


def _run(arguments: Sequence[str]) -> int:
    words = list(arguments)
    _open_closed_streams()
    # A run makes many small values and few cycles: with Python's own thresholds a tenth of a long run goes into looking for them.
    gc.set_threshold(200_000, 30, 30)
    form = _format(words)
    started = time.monotonic()
    try:
        if "_ARGCOMPLETE" in os.environ:
            from envdoctor.cli.completion import answer

            answer()
        if not words:
            from envdoctor.cli.parser import overview

            sys.stdout.write(overview())
            return USAGE
        from envdoctor.cli.output import refuse_overwriting
        from envdoctor.cli.parser import parse

        options = parse(words)
        options.started = started
        refuse_overwriting(options)
        status: int = options.run(options)
        sys.stdout.flush()
    except EnvdoctorError as error:
        return _refused(error, form)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`): nothing is left to say, and Python's own complaint at exit is noise.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
        return FOUND
    except OSError as error:
        if error.errno not in _NO_ROOM or error.filename is not None:
            return _crashed(error, form)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - what is left in the old one has nowhere to go
        print(f"envdoctor: stdout: found {error.strerror}; expected room for the report; next: --output FILE", file=sys.stderr)
        return USAGE
    except Exception as error:  # noqa: BLE001 - the one outer door
        return _crashed(error, form)
    return status


def _open_closed_streams() -> None:
    """A shell can close any of the three (`>&-`), and Python then has None: nothing is read there, and what is written is an error."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 - until the process ends
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends


def _format(words: Sequence[str]) -> str:
    """The format asked for, read from the words themselves: what is wrong may be the command line."""
    for word, value in zip(words, [*words, ""][1:], strict=True):
        if word in ("-f", "--format"):
            return value
        if word.startswith("--format="):
            return word[9:]
    return "text"


def _refused(error: EnvdoctorError, form: str) -> int:
    from envdoctor.report.plain import defuse, printable

    if form != "text":
        from envdoctor.cli.output import error_text

        sys.stdout.write(defuse(error_text(form, error), form))
    for one in getattr(error, "errors", (error,)):
        print(defuse(f"envdoctor: {printable(str(one))}", "text"), file=sys.stderr)
    return USAGE


def _crashed(error: Exception, form: str) -> int:
    """An error of our own: versions and a traceback, ready to paste."""
    import platform
    import traceback

    from envdoctor import __version__
    from envdoctor.report.plain import defuse, printable

    about = f"envdoctor {__version__}, Python {platform.python_version()}, {platform.platform()}"
    if form != "text":
        from envdoctor.cli.output import error_text

        found = f"{type(error).__name__}: {error}"
        told = EnvdoctorError(about, found=found, expected="no error", next_step="report it with the text on stderr")
        sys.stdout.write(defuse(error_text(form, told), form))
    print(f"envdoctor: internal error; please report this text\n{about}", file=sys.stderr)
    print(defuse(printable("".join(traceback.format_exception(error)), keep_newlines=True), "text"), file=sys.stderr)
    return INTERNAL
