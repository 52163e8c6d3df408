"""Whether a download is whole, told by names, sizes and links; no data is read."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.fact import Defect
from envdoctor.files.text import plain
from envdoctor.snapshot.claims import Claims
from envdoctor.snapshot.inventory import Inventory
from envdoctor.snapshot.roles import role_of

RULES = ("snapshot-download-incomplete", "snapshot-download-interrupted", "snapshot-blob-corrupt", "snapshot-edited-since-download")


def download_defects(inventory: Inventory, claims: Claims | None, *, weights: bool = True) -> Iterator[Defect]:
    """Links to nothing, files whose download never ended, and sizes that the listing of the commit contradicts.

    Without ``weights`` a dangling link of a weight file is left to whoever follows the index. No library opens a README.
    """
    gone = [name for name in inventory.dangling if role_of(name) not in ("documentation", *(() if weights else ("weights",)))]
    names = inventory.names | frozenset(inventory.left_out)
    # Of a directory that was downloaded into, the files of the directory itself tell more: see coherence.
    begun = frozenset(claims.interrupted if claims is not None and claims.kind == "cache" else ())
    listed = {} if claims is None else claims.listed
    cut = [name for name in sorted(listed.keys() - names - set(gone)) if (listed[name].sha256 or listed[name].git_blob) in begun]
    if gone:
        lead = "is a link to nothing" if len(gone) == 1 else "are links to nothing"
        yield Defect("snapshot-download-incomplete", f"{_listed(gone)} {lead}: what was downloaded is gone", inventory.place(gone[0]))
    if cut:
        yield Defect("snapshot-download-incomplete", f"the download of {_listed(cut)} was begun and not finished", inventory.place(cut[0]))
    if claims is None:
        return
    told = {listed[name].sha256 or listed[name].git_blob for name in cut}
    unknown = sorted(begun - told)
    if unknown:
        what = "part of a file that is" if len(unknown) == 1 else f"parts of {len(unknown)} files that are"
        detail = f"{what} not known here: {_listed(unknown)}"
        yield Defect("snapshot-download-interrupted", detail, inventory.place("."))
    for entry in inventory.entries:
        promised = claims.files.get(entry.name)
        if promised is not None and promised.size != entry.size and entry.name not in claims.edited:
            detail = f"{plain(entry.name)} has {entry.size} bytes, and the listing of commit {claims.commit[:12]} says {promised.size}"
            yield Defect("snapshot-blob-corrupt", detail, inventory.place(entry.name))


def _listed(names: list[str]) -> str:
    shown = ", ".join(plain(name) for name in names[:6])
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"
