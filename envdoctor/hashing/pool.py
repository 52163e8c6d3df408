"""Digests of many files: a thread per core, the largest files first, no file twice."""

from __future__ import annotations

import os
import stat as modes
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from envdoctor.hashing.digest import Digest, FileChangedError, Shortcut, Stopped, digest_file
from envdoctor.records import dataclass, field

if TYPE_CHECKING:
    import threading
    from queue import SimpleQueue

    from envdoctor.hashing.cache import DigestCache
    from envdoctor.hashing.mapping import Mapper

# Reading costs 8 % more than hashing mapped memory; a child process that maps costs about 15 ms, as much as 0.3 GB of that.
LARGE = 64 << 20
WORTH_A_CHILD = 512 << 20


@dataclass(frozen=True, slots=True)
class Job:
    """A file to hash. ``path`` is real: where it ends in a symbolic link, the file is not read."""

    path: str
    git_blob: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """A digest, or else the problem that there was; ``cached`` where the file was not read for it."""

    job: Job
    digest: Digest | None
    problem: str | None
    cached: bool


@dataclass(slots=True)
class _File:
    """One file, whatever names the jobs have for it, by the numbers of the jobs."""

    stat: os.stat_result
    jobs: list[int] = field(default_factory=list)
    git_blob: bool = False


def digest_all(
    jobs: Sequence[Job],
    *,
    cache: DigestCache | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """The outcomes of the jobs, in their order; what was found is kept in the cache, even where the work is broken off.

    ``threads`` is the number of files read at once: the usable cores, where it is not given. ``progress`` is called in the
    calling thread with numbers of bytes: first once for all files that the cache knew, if any, then as files are hashed. Their
    sum is the size of all files, each counted once, unless one cannot be read to its end.

    Raises:
        KeyboardInterrupt: from the calling thread, which then waits no longer than a moment for the workers;
            so does whatever ``progress`` raises.
    """
    outcomes: dict[int, Outcome] = {}
    unknown: list[_File] = []
    familiar = 0
    for file in _files(jobs, outcomes):
        digest = None if cache is None else cache.get(file.stat)
        if digest is None or (file.git_blob and digest.git_blob is None):
            unknown.append(file)
            continue
        familiar += digest.size
        outcomes.update((number, Outcome(jobs[number], digest, None, True)) for number in file.jobs)
    if familiar and progress is not None:
        progress(familiar)
    try:
        if unknown:
            unknown.sort(key=lambda file: file.stat.st_size, reverse=True)
            outcomes.update(_hash(jobs, unknown, cache, threads or usable_cores(), progress))
    finally:
        if cache is not None:
            cache.save()
    return [outcomes[number] for number in range(len(jobs))]


def usable_cores() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _files(jobs: Sequence[Job], outcomes: dict[int, Outcome]) -> list[_File]:
    """The files that the jobs name; the outcomes of jobs that name none are added."""
    files: dict[tuple[int, int], _File] = {}
    for number, job in enumerate(jobs):
        try:
            stat = os.lstat(job.path)
        except OSError as error:
            outcomes[number] = Outcome(job, None, _problem(error), False)
            continue
        except ValueError:  # a null character
            outcomes[number] = Outcome(job, None, "no file can have such a name", False)
            continue
        # What is not a regular file says so when it is opened.
        key = (stat.st_dev, stat.st_ino) if modes.S_ISREG(stat.st_mode) else (-1, number)
        file = files.setdefault(key, _File(stat))
        file.jobs.append(number)
        file.git_blob |= job.git_blob
    return list(files.values())


def _hash(
    jobs: Sequence[Job], files: Sequence[_File], cache: DigestCache | None, threads: int, progress: Callable[[int], None] | None
) -> dict[int, Outcome]:
    import threading  # a run whose files are all known has no need of it
    from queue import SimpleQueue

    work = _Work(jobs, deque(files), cache, SimpleQueue(), threading.Event())
    workers = min(threads, len(files))
    mapping = _worth_mapping(files, workers)
    team = [threading.Thread(target=work.run, args=(number < mapping,), daemon=True) for number in range(workers)]
    outcomes: dict[int, Outcome] = {}
    running = 0
    try:
        for thread in team:
            try:
                thread.start()
            except RuntimeError:  # the system gives no more of them
                break
            running += 1
        if not running:
            running = 1
            work.run(mapping=False)
        while running:
            told = work.news.get()
            if told is None:
                running -= 1
            elif isinstance(told, tuple):
                outcomes[told[0]] = told[1]
            elif progress is not None:
                progress(told)
    finally:
        work.end()
        patience = time.monotonic() + 1
        for thread in team:
            if thread.is_alive():
                thread.join(max(0.0, patience - time.monotonic()))
    for file in files:  # none, unless a worker died of a fault of ours, which has been printed
        for number in file.jobs:
            outcomes.setdefault(number, Outcome(jobs[number], None, "it was not hashed", False))
    return outcomes


def _worth_mapping(files: Sequence[_File], workers: int) -> int:
    """How many children that map files pay for themselves."""
    large = [file.stat.st_size for file in files if _to_map(file)]
    return min(workers, len(large), sum(large) // WORTH_A_CHILD)


def _to_map(file: _File) -> bool:
    return file.stat.st_size >= LARGE and not file.git_blob


class _Work:
    """What the workers share."""

    def __init__(
        self,
        jobs: Sequence[Job],
        pending: deque[_File],
        cache: DigestCache | None,
        news: SimpleQueue[int | tuple[int, Outcome] | None],
        stop: threading.Event,
    ) -> None:
        self.jobs = jobs
        self.pending = pending
        self.cache = cache
        # Bytes hashed, the outcome of a job by its number, or None where a worker has ended.
        self.news = news
        self.stop = stop
        self.mappers: list[Mapper] = []

    def run(self, mapping: bool) -> None:
        """Hash files until none is left, or all is to end."""
        mapper = self._mapper() if mapping else None
        try:
            while not self.stop.is_set():
                try:
                    file = self.pending.popleft()
                except IndexError:
                    break
                self._hash(file, mapper)
        except Stopped:
            pass
        finally:
            if mapper is not None:
                mapper.end()
            self.news.put(None)

    def end(self) -> None:
        """Let no worker go on; may be called by any thread."""
        self.stop.set()
        for mapper in tuple(self.mappers):
            mapper.kill()

    def _mapper(self) -> Mapper | None:
        from envdoctor.hashing.mapping import Mapper

        try:
            mapper = Mapper()
        except OSError:
            return None
        self.mappers.append(mapper)
        return mapper

    def _hash(self, file: _File, mapper: Mapper | None) -> None:
        """One digest for all names of a file; where one name has gone meanwhile, another may still lead to it."""
        shortcut = mapper.sha256 if mapper is not None and _to_map(file) else None
        digest: Digest | None = None
        for number in file.jobs:
            problem = None
            if digest is None:
                try:
                    digest = self._digest(file, self.jobs[number], shortcut)
                except (OSError, FileChangedError) as error:
                    problem = _problem(error)
            self.news.put((number, Outcome(self.jobs[number], digest, problem, False)))

    def _digest(self, file: _File, job: Job, shortcut: Shortcut | None) -> Digest:
        begun = None if self.cache is None else self.cache.now()
        digest = digest_file(
            job.path, git_blob=file.git_blob, progress=self.news.put, stop=self.stop, expected=file.stat, shortcut=shortcut
        )
        if self.cache is not None:
            self.cache.put(file.stat, digest, begun=begun)
        return digest


def _problem(error: OSError | FileChangedError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
