"""The settings of the project at hand, beneath what the command line says."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import datetime, timezone
from difflib import get_close_matches
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected
from envdoctor.policy.settings import Settings, find_settings, read_settings
from envdoctor.report.model import Report
from envdoctor.rules.rulebook import Rulebook


def settled(options: argparse.Namespace) -> Settings:
    """The project's settings, written into those options that the command line leaves open.

    ``options.machine`` is then what is known of the machine that the run is meant for.

    Raises:
        EnvdoctorError: settings that cannot be used, a profile that does not exist.
    """
    if getattr(options, "isolated", False):
        if options.config is not None:
            raise EnvdoctorError(
                "--isolated", found=f"--config {options.config} as well", expected="one of both", next_step="leave one out"
            )
        settings = Settings()
    elif getattr(options, "config", None) is not None:
        settings = read_settings(Path(options.config))
    else:
        settings = find_settings(Path.cwd())
    if hasattr(options, "fail_on"):
        if options.fail_on is not None:
            # What the command line says goes before what is said for some files as well.
            settings = replace(settings, overrides=tuple(replace(one, fail_on=None) for one in settings.overrides))
        options.fail_on = options.fail_on or settings.fail_on or "error"
        options.strict = options.strict or bool(settings.strict)
    options.offline = options.offline or bool(settings.offline)
    options.rule_directories = [*(str(settings.directory / one) for one in settings.rules), *options.rule_directories]
    if getattr(options, "baseline", None) is None and settings.baseline is not None and getattr(options, "write_baseline", None) is None:
        options.baseline = str(settings.directory / settings.baseline)
    options.machine = _machine(options.profile, settings)
    return settings


def _machine(asked: str | None, settings: Settings) -> Collected | None:
    profile = settings.target if asked is None else asked
    if profile is None:
        return None
    from envdoctor.sources.stated.target_profile import parse_target

    if profile in settings.targets:
        return settings.targets[profile]
    place = "--target" if asked is not None else f"{settings.place}: target"
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


def judged(options: argparse.Namespace, report: Report, settings: Settings, book: Rulebook) -> Report:
    """The report with what the project excuses; writes the baseline where that is asked for.

    Raises:
        EnvdoctorError: a baseline that cannot be read or written.
    """
    if not settings.place and options.baseline is None and options.write_baseline is None:
        return report
    from envdoctor.policy.baseline import baseline_text, read_baseline
    from envdoctor.policy.excuse import excuse

    root = _root(settings)
    today = datetime.now(timezone.utc).date()
    known = frozenset[str]() if options.baseline is None else read_baseline(Path(options.baseline))
    if options.write_baseline is not None:
        path = Path(options.write_baseline)
        text = baseline_text(excuse(report, settings, book, today=today, root=root), root)
        try:
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            found = error.strerror or str(error)
            raise EnvdoctorError(str(path), found=found, expected="a file to write to", next_step="check --write-baseline") from error
        known |= read_baseline(path)
    return excuse(report, settings, book, today=today, root=root, targets=options.targets, baseline=known)


def _root(settings: Settings) -> Path:
    """What paths are relative to: the directory of the settings, else the repository, so that a baseline means the same below it."""
    if settings.place:
        return settings.directory.resolve()
    here = Path.cwd()
    return next((directory for directory in (here, *here.parents) if (directory / ".git").exists()), here)
