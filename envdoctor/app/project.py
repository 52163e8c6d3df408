"""The settings of the project at hand: beneath what a request says, and what they excuse."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from envdoctor.app.request import Request
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected
from envdoctor.files.paths import exists, real_path, working_directory
from envdoctor.policy.settings import Settings, find_settings, read_settings
from envdoctor.records import replace
from envdoctor.report.model import Report
from envdoctor.rules.rulebook import Rulebook


def read_project(config: str | None, *, isolated: bool) -> Settings:
    """The settings in the file ``config``, or in the nearest one here or above; none with ``isolated``.

    Raises:
        EnvdoctorError: settings that cannot be used, or ``isolated`` and a file as well.
    """
    if isolated:
        if config is not None:
            raise EnvdoctorError("--isolated", found=f"--config {config} as well", expected="one of both", next_step="leave one out")
        return Settings()
    return find_settings(working_directory()) if config is None else read_settings(Path(config))


def apply_project(request: Request, settings: Settings, *, profile: str | None, fail_on: str | None) -> Request:
    """The request with what the settings say where it leaves something open; ``profile`` and ``fail_on`` are None where nobody asked.

    Raises:
        EnvdoctorError: a profile that does not exist.
    """
    baseline = request.baseline
    if baseline is None and settings.baseline is not None and request.write_baseline is None:
        baseline = settings.directory / settings.baseline
    machine = _read_machine(profile, settings)
    if fail_on is not None:
        # What the request says goes before what is said for some files as well.
        settings = replace(settings, overrides=tuple(replace(one, fail_on=None) for one in settings.overrides))
    return replace(
        request,
        fail_on=fail_on or settings.fail_on or "error",
        strict=request.strict or bool(settings.strict),
        offline=request.offline or bool(settings.offline),
        rule_directories=(*(settings.directory / one for one in settings.rules), *request.rule_directories),
        baseline=baseline,
        machine=machine,
        machine_from="profile" if profile is None else "--target",
        policy=settings,
    )


def _read_machine(asked: str | None, settings: Settings) -> Collected | None:
    profile = settings.target if asked is None else asked
    if profile is None:
        return None
    from envdoctor.sources.stated.target_profile import parse_target

    if profile in settings.targets:
        return settings.targets[profile]
    place = "--target" if asked is not None else f"{settings.place}: target"
    from difflib import get_close_matches

    close = get_close_matches(profile, settings.targets, n=1)
    try:
        return parse_target(profile, place)
    except EnvdoctorError:
        if not settings.targets or ("-" in profile and not close) or any(mark in profile for mark in "=,"):
            raise
        known = ", ".join(settings.targets)
        raise EnvdoctorError(
            place, found=f"the profile {profile!r}", expected=f"one of {known}", next_step=f"perhaps {(close or [known])[0]}"
        ) from None


def apply_policy(request: Request, report: Report, book: Rulebook) -> Report:
    """The report with what the project excuses; writes the baseline where that is asked for.

    Raises:
        EnvdoctorError: a baseline that cannot be read or written.
    """
    settings = request.policy
    if not settings.place and request.baseline is None and request.write_baseline is None:
        return report
    from envdoctor.policy.baseline import baseline_text, read_baseline
    from envdoctor.policy.excuse import excuse

    root = _root(settings)
    today = datetime.now(timezone.utc).date()
    known = frozenset[str]() if request.baseline is None else read_baseline(request.baseline)
    if request.write_baseline is not None:
        path = request.write_baseline
        text = baseline_text(excuse(report, settings, book, today=today, root=root), root)
        from envdoctor.files.writing import write_whole

        write_whole(path, text, next_step="check --write-baseline")
        known |= read_baseline(path)
    return excuse(report, settings, book, today=today, root=root, targets=request.targets, baseline=known)


def _root(settings: Settings) -> Path:
    """What paths are relative to: the directory of the settings, else the repository, so that a baseline means the same below it."""
    if settings.place:
        return real_path(settings.directory)
    here = working_directory()
    return next((directory for directory in (here, *here.parents) if exists(directory / ".git")), here)
