"""A column that a dataset does not have: who asks for it, and what the dataset has where the message lists it."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.own_code import is_of_a_package
from envdoctor.logs.run_errors import RUN
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named, place_of
from envdoctor.world.import_names import package_of

# datasets/formatting/formatting.py hands the KeyError of its table on; arrow_dataset.py lists what there is.
_KEY = re.compile(r"^['\"](?P<name>[^'\"]{1,80})['\"]$")
_LISTED = re.compile(
    r"Columns? \[?'?(?P<name>[\w.-]{1,80})'?\]? not in the dataset\. Current columns in the dataset: (?P<there>\[[^\]]{0,400}\])"
)
_ADVICE = (
    "print(dataset.column_names), then dataset.rename_column(OLD, {0!r}), or name the column that is there in the settings "
    "(dataset_text_field, the text column, the mapping of columns)"
)


def judge_column(failure: Failure) -> Hit | None:
    """The column that an error of the datasets library is about; None where it is about something else."""
    told = _LISTED.search(failure.message)
    plain = _KEY.match(failure.message.strip()) if failure.kind == "KeyError" else None
    inner = failure.frames[-1] if failure.frames else None
    if told is None and (plain is None or inner is None or not inner.module.startswith(("datasets.formatting", "datasets.arrow_dataset"))):
        return None
    name = told["name"] if told is not None else plain["name"] if plain is not None else ""
    asker = next((frame for frame in reversed(failure.frames) if package_of(frame.package) != "datasets"), None)
    caller = package_of(asker.package) if asker is not None and is_of_a_package(asker) else ""
    there = f"; it has {told['there']}" if told is not None else ""
    detail = f"{place_of(asker)} asks for it{there}" if asker is not None else there.removeprefix("; ")
    edge = f"{caller or 'code'}:column:{name}"
    packages = named("datasets", caller)
    return Hit(
        RUN,
        True,
        (),
        detail=detail,
        packages=packages,
        edge=edge,
        headline=f"The dataset has no column {name}",
        advice=_ADVICE.format(name),
    )
