"""The one root of every error that a user may see."""

from __future__ import annotations


class EnvdoctorError(Exception):
    """Something that cannot be used at all: exit status 2.

    The message always has four parts, so that nobody has to guess:
    the place (file, line, option), what was found there, what was expected, and the next step.
    """

    def __init__(self, place: str, *, found: str, expected: str, next_step: str) -> None:
        self.place = place
        self.found = found
        self.expected = expected
        self.next_step = next_step
        super().__init__(f"{place}: found {found}; expected {expected}; next: {next_step}")


class SeveralErrors(EnvdoctorError):  # noqa: N818 - it is several
    """All that is wrong with one file, told at once."""

    def __init__(self, errors: list[EnvdoctorError]) -> None:
        first = errors[0]
        super().__init__(first.place, found=first.found, expected=first.expected, next_step=first.next_step)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)
