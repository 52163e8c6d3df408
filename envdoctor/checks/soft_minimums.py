"""What libraries ask of optional companions: floors that they look at while they run, and those that their extras declare.

Neither is seen by pip: the companion is no requirement. transformers 5.0.0, as an example, has ``BITSANDBYTES_MIN_VERSION = "0.46.1"``
in ``utils/import_utils.py`` and treats an older one as not installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envdoctor.checks.hit import Hit
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import exact, version_condition
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.sources.machine.interpreter import Installed
from envdoctor.sources.machine.site_packages import Distribution

MINIMUM = "soft-minimum-unmet"
EXTRA = "extra-requirement-unmet"

# Where each library keeps its floors.
_FILES = {
    "transformers": ("transformers/utils/import_utils.py", "transformers/integrations/peft.py"),
    "peft": ("peft/import_utils.py",),
    "trl": ("trl/import_utils.py",),
}
_CONSTANT = r"""^[ \t]*([A-Z][A-Z_]*)[ \t]*=[ \t]*(?:packaging\.)?(?:version\.)?(?:parse\()?["']([0-9][0-9a-z.]*)["']"""
# The word for a package in the constants' names.
_NAMED = {
    "ACCELERATE": "accelerate", "AUTOGPTQ": "auto-gptq", "AUTOROUND": "auto-round", "BITSANDBYTES": "bitsandbytes", "GGUF": "gguf",
    "GPTQMODEL": "gptqmodel", "HQQ": "hqq", "KERNELS": "kernels", "LIGER_KERNEL": "liger-kernel", "OPTIMUM": "optimum", "PEFT": "peft",
    "SCHEDULEFREE": "schedulefree", "TORCHAO": "torchao", "VPTQ": "vptq",
}  # fmt: skip
_MIN = r"_?MIN(?:IMUM)?_?|_?VERSION"
_REQUIREMENT = (
    r"""([A-Za-z0-9._-]+)[ \t]*\(?((?:[<>=!~]=?[^;()\[\]]*)?)\)?[ \t]*;[ \t]*extra[ \t]*==[ \t]*["']([A-Za-z0-9._-]+)["'][ \t]*"""
)
_WITH_EXTRAS = ("accelerate", "peft", "transformers", "trl")
# An extra named like the package that it is for; what a library tests or documents itself with is nobody's requirement.
_OF_EXTRA = {"liger": "liger-kernel"}


def soft_minimums(installed: Installed) -> tuple[Hit, ...]:
    """Every floor of transformers, accelerate, peft or trl that an installed companion lies below."""
    present = {distribution.name: distribution for distribution in installed.distributions}
    asked = [present[name] for name in _WITH_EXTRAS if name in present]
    hits = [hit for distribution in asked for hit in _at_run_time(distribution, present)]
    told = {hit.packages for hit in hits}
    return (*hits, *(hit for distribution in asked for hit in _of_extras(distribution, present) if hit.packages not in told))


def _at_run_time(library: Distribution, present: Mapping[str, Distribution]) -> Iterator[Hit]:
    for file in _FILES.get(library.name, ()):
        path = library.path.parent / file
        try:
            text = read_bounded(path).decode("utf-8", "replace")
        except UnreadableError:
            # A release that has no such file keeps no floors in it; an editable install has its files elsewhere.
            continue
        for found in re.finditer(_CONSTANT, text, re.MULTILINE):
            package = _NAMED.get(re.sub(_MIN, "", found[1])) if "MIN" in found[1] else None
            if package is not None and _below(present.get(package), f">={found[2]}"):
                yield Hit(
                    MINIMUM,
                    True,
                    because=(
                        (f"packages.{library.name}", f"{found[1]} = {found[2]}"),
                        (f"packages.{package}", f"not >={found[2]}"),
                    ),
                    detail=f"{_shown(library)} asks for {package}>={found[2]} when it uses it, and {_shown(present[package])} is installed",
                    packages=(library.name, package),
                    pins=((package, f">={found[2]}"),),
                    yields=True,
                    file=plain(str(path), 4096),
                    line=text.count("\n", 0, found.start(1)) + 1,
                )


def _of_extras(library: Distribution, present: Mapping[str, Distribution]) -> Iterator[Hit]:
    for line in library.requires:
        match = re.fullmatch(_REQUIREMENT, line.strip())
        if match is None:
            continue
        package, specifier, extra = canonical(match[1]), match[2].strip(), canonical(match[3])
        if _OF_EXTRA.get(extra, extra) == package and specifier and _below(present.get(package), specifier):
            found = _shown(present[package])
            yield Hit(
                EXTRA,
                True,
                because=(
                    (f"packages.{library.name}", f"its extra {extra} requires {package}{specifier}"),
                    (f"packages.{package}", f"not {specifier}"),
                ),
                detail=f"{_shown(library)} declares {package}{specifier} for its extra {extra}, and {found} is installed",
                packages=(library.name, package),
                pins=((package, specifier),),
                yields=True,
            )


def _below(companion: Distribution | None, specifier: str) -> bool:
    if companion is None or companion.version is None:
        return False
    try:
        return not version_condition(specifier).admits(exact(companion.version))
    except ValueError:
        return False


def _shown(distribution: Distribution) -> str:
    return distribution.name if distribution.version is None else f"{distribution.name} {distribution.version}"
