"""What ``torch/version.py`` says of torch: the release with its local label, and the CUDA that it was built for."""

from __future__ import annotations

from pathlib import Path

from envdoctor.facts.fact import Defect
from envdoctor.facts.versions import exact, final_key
from envdoctor.records import dataclass, replace
from envdoctor.sources.machine.metadata import read_bounded
from envdoctor.sources.machine.site_packages import BROKEN, Distribution

_LONGEST_VALUE = 100


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """What ``torch/version.py`` says: the release with its local label, which METADATA may lack, and the CUDA of the build."""

    file: Path
    version: str
    version_line: int
    cuda: str | None = None
    cuda_line: int | None = None


def with_torch(
    distributions: tuple[Distribution, ...], site_dirs: tuple[Path, ...]
) -> tuple[tuple[Distribution, ...], TorchBuild | None, tuple[Defect, ...]]:
    """The distributions with torch's release as its own code states it.

    That is what runs, and it has the local label; a torch directory without metadata is torch too.
    """
    recorded = next((d for d in distributions if d.name == "torch"), None)
    places = list(site_dirs) if recorded is None else [recorded.path.parent]
    build = next((build for place in places if (build := _torch_build(place / "torch" / "version.py")) is not None), None)
    if build is None:
        return distributions, None, ()
    defects: list[Defect] = []
    if recorded is None:
        recorded = Distribution("torch", None, (), build.file.parent)
        distributions = tuple(sorted((*distributions, recorded), key=lambda d: d.name))
        detail = f"torch {build.version} lies there without metadata: what it requires is unknown"
        defects.append(Defect(BROKEN, detail, str(build.file.parent), packages=("torch",)))
    elif recorded.version is not None and not _same_release(recorded.version, build.version):
        detail = f"torch's metadata says {recorded.version}, its own version.py {build.version}: files of two releases are mixed"
        defects.append(Defect(BROKEN, detail, str(recorded.path), packages=("torch",)))
    torch = recorded
    return tuple(replace(d, version=build.version) if d is torch else d for d in distributions), build, tuple(defects)


def _same_release(first: str, second: str) -> bool:
    """Whether two versions are one release, local labels aside."""
    first, second = first.partition("+")[0], second.partition("+")[0]
    key = final_key(first)
    return first == second or (key is not None and key == final_key(second))


def _torch_build(file: Path) -> TorchBuild | None:
    """``torch/version.py`` read as text: assignments of literals, never run. None where it is missing or says no version."""
    try:
        data, _ = read_bounded(str(file), 1 << 16)
    except OSError:
        return None
    assigned: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        target, equals, value = line.partition("=")
        value = value.strip()
        if equals and 2 < len(value) < _LONGEST_VALUE and value[0] in "'\"" and value[-1] == value[0]:
            assigned[target.partition(":")[0].rstrip()] = (value[1:-1], number)
    try:
        version, line_number = assigned["__version__"]
        exact(version)
    except (KeyError, ValueError):
        return None
    cuda, cuda_line = assigned.get("cuda", (None, None))
    if cuda is not None and final_key(cuda) is None:
        cuda, cuda_line = None, None
    return TorchBuild(file, version, line_number, cuda, cuda_line)
