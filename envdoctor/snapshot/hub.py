"""What the hub says of the files of a repository at a revision: names, sizes and digests, none of their contents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

from envdoctor.errors import EnvdoctorError
from envdoctor.files.paths import is_dir
from envdoctor.files.text import plain
from envdoctor.records import dataclass
from envdoctor.snapshot.claims import expected_of
from envdoctor.snapshot.record import Record

_TIMEOUT = 20.0
_REPOSITORY = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Listing:
    """A repository at one commit."""

    repository: str
    commit: str
    files: Mapping[str, Record]

    @property
    def label(self) -> str:
        return f"{self.repository} on the hub at {self.commit[:12]}"


def hub_listing(repository: str, revision: str | None, *, endpoint: str | None = None, timeout: float = _TIMEOUT) -> Listing:
    """Ask the hub, through huggingface_hub, which also knows the user's token.

    ``endpoint`` is another hub than huggingface.co; ``timeout`` is in seconds, for each wait of the one request.

    Raises:
        EnvdoctorError: no such repository or revision, no access, no answer, or an answer that is not the hub's.
    """
    from huggingface_hub import HfApi

    # They have been there in every release, but moved to huggingface_hub.errors in some.
    errors = import_module("huggingface_hub.utils")
    _check(repository, endpoint)
    place = f"{repository} on the hub" + (f" at {plain(revision, 80)}" if revision else "")
    try:
        told = HfApi(endpoint=endpoint).model_info(repository, revision=revision, files_metadata=True, timeout=timeout)
        files = [(sibling.rfilename, sibling.size, sibling.blob_id, sibling.lfs) for sibling in told.siblings or ()]
        commit = told.sha or ""
    except errors.GatedRepoError:
        raise EnvdoctorError(
            place, found="a gated repository", expected="one that you may read", next_step="accept its terms on the hub, then hf auth login"
        ) from None
    except errors.RepositoryNotFoundError:
        raise EnvdoctorError(
            place, found="no such repository, or one that you may not read", expected="a model repository",
            next_step="check the id; for a private one: hf auth login",
        ) from None  # fmt: skip
    except errors.RevisionNotFoundError:
        raise EnvdoctorError(
            place, found="no such revision", expected="a commit, a branch or a tag", next_step="--revision names another"
        ) from None
    # Its bases are the root of the errors of whatever carries the requests: requests, httpx or what comes next.
    except (*errors.HfHubHTTPError.__bases__, OSError) as error:
        raise EnvdoctorError(
            place, found=_reason(error), expected="an answer of the hub", next_step="check the network, or compare with the lock alone"
        ) from None
    except errors.HFValidationError:
        raise _no_id(repository) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EnvdoctorError(
            place,
            found=f"an answer that is not the hub's ({type(error).__name__}: {plain(str(error), 80)})",
            expected="the JSON of its API",
            next_step="check HF_ENDPOINT and the proxy",
        ) from None
    return Listing(repository, plain(commit, 80), _records(files, place))


def _check(repository: str, endpoint: str | None) -> None:
    if not _REPOSITORY.fullmatch(repository):
        raise _no_id(repository)
    if endpoint is None:
        return
    try:
        parts = urlsplit(endpoint)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise EnvdoctorError("HF_ENDPOINT", found=plain(endpoint, 80), expected="a URL, as https://huggingface.co", next_step="correct it")


def _no_id(text: str) -> EnvdoctorError:
    found = f"{plain(text, 80)!r}, which is no id of a repository"
    return EnvdoctorError("--against hub", found=found, expected="ORGANISATION/NAME", next_step="--repo ORGANISATION/NAME")


def _reason(error: BaseException) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int):
        return f"HTTP status {status}"
    return plain(f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": "), 160)


def _records(files: Iterable[tuple[object, object, object, object]], place: str) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for name, size, blob, lfs in files:
        # An object with attributes since huggingface_hub 0.22, a table before.
        large = lfs if lfs is None or isinstance(lfs, Mapping) else vars(lfs)
        etag = blob if large is None else large.get("sha256")
        length = size if large is None else large.get("size", size)
        record = expected_of(etag, length) if isinstance(etag, str) and type(length) is int and 0 <= length < 2**63 else None
        if not isinstance(name, str) or record is None:
            raise EnvdoctorError(
                place, found=f"no size and digest of {plain(repr(name), 80)}", expected="both for every file", next_step="check HF_ENDPOINT"
            )
        found[name] = record
    return found


def _only_one(snapshots: Path) -> Path | None:
    try:
        there = [path for path in snapshots.iterdir() if is_dir(path)]
    except OSError:
        return None
    return there[0] if len(there) == 1 else None


def cached_snapshot(repository: str, revision: str | None) -> Path | None:
    """The directory of a snapshot in the local hub cache; None where there is none, or several and nothing says which."""
    from huggingface_hub import constants

    folder = Path(getattr(constants, "HF_HUB_CACHE", None) or constants.HUGGINGFACE_HUB_CACHE) / f"models--{repository.replace('/', '--')}"
    snapshots = folder / "snapshots"
    if not _REPOSITORY.fullmatch(repository) or not is_dir(snapshots):
        return None
    wanted = revision or "main"
    if ".." in wanted.split("/") or wanted.startswith("/"):
        return None
    if is_dir(snapshots / wanted):
        return snapshots / wanted
    try:
        commit = (folder / "refs" / wanted).read_text(encoding="utf-8")[:64].strip()
    except (OSError, UnicodeDecodeError):
        return _only_one(snapshots) if revision is None else None
    return snapshots / commit if commit and "/" not in commit and is_dir(snapshots / commit) else None
