from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from envdoctor.hashing import cache as module
from envdoctor.hashing.cache import GRANULARITY_NS, DigestCache
from envdoctor.hashing.digest import Digest, identity

ROOT = Path(__file__).parent.parent.parent
SECOND = 1_000_000_000
NOW = 1_700_000_000 * SECOND


class Clock:
    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def state(device: int = 1, inode: int = 2, size: int = 3, mtime: int = NOW // 2, ctime: int = NOW // 2) -> os.stat_result:
    seconds = (0, mtime // SECOND, ctime // SECOND)
    return os.stat_result((0o100644, inode, device, 1, 0, 0, size, *seconds), {"st_mtime_ns": mtime, "st_ctime_ns": ctime})


def digest(size: int = 3, of: int = 0, git_blob: bool = False) -> Digest:
    return Digest(size, f"{of:064x}", f"{of:040x}" if git_blob else None)


def opened(directory: Path, clock: Clock | None = None, *, full: bool = False) -> DigestCache:
    return DigestCache.open(directory, full=full, clock=clock or Clock())


def only_file(directory: Path) -> Path:
    (found,) = directory.iterdir()
    return found


def test_what_was_put_is_known_to_the_next(tmp_path: Path) -> None:
    cache = opened(tmp_path / "a" / "b")
    assert cache.get(state()) is None
    cache.put(state(), digest(git_blob=True))
    assert cache.get(state()) == digest(git_blob=True)
    cache.save()
    assert opened(tmp_path / "a" / "b").get(state()) == digest(git_blob=True)
    assert only_file(tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o600


def test_the_users_own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = DigestCache.open(clock=Clock())
    cache.put(state(), digest())
    cache.save()
    assert only_file(tmp_path / "envdoctor").name.startswith("digests-")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    cache = DigestCache.open(clock=Clock())
    cache.put(state(), digest())
    cache.save()
    assert only_file(tmp_path / "home" / ".cache" / "envdoctor").is_file()
    assert not (tmp_path / "relative").exists()


numbers = st.integers(0, 3)
states = st.builds(state, numbers, numbers, numbers, numbers.map(lambda n: NOW // 2 + n), numbers.map(lambda n: NOW // 2 + n))


@given(put=st.lists(states, max_size=12), asked=states, between=st.lists(st.booleans(), max_size=12))
def test_a_digest_is_told_of_the_very_same_state_alone(
    tmp_path_factory: pytest.TempPathFactory, put: list[os.stat_result], asked: os.stat_result, between: list[bool]
) -> None:
    directory = tmp_path_factory.mktemp("cache")
    cache = opened(directory)
    last: dict[tuple[int, int], tuple[tuple[int, ...], Digest]] = {}
    for number, stat in enumerate(put):
        cache.put(stat, digest(stat.st_size, number))
        last[stat.st_dev, stat.st_ino] = identity(stat), digest(stat.st_size, number)
        if number < len(between) and between[number]:
            cache.save()
            cache = opened(directory)
    of_file = last.get((asked.st_dev, asked.st_ino))
    expected = of_file[1] if of_file is not None and of_file[0] == identity(asked) else None
    assert cache.get(asked) == expected
    cache.save()
    assert opened(directory).get(asked) == expected


@given(
    mtime=st.integers(NOW - 3 * GRANULARITY_NS, NOW + 3 * GRANULARITY_NS),
    ctime=st.integers(NOW - 3 * GRANULARITY_NS, NOW + 3 * GRANULARITY_NS),
    begun=st.integers(NOW - 3 * GRANULARITY_NS, NOW + 3 * GRANULARITY_NS),
)
def test_only_files_at_rest_before_they_were_hashed_are_kept(
    tmp_path_factory: pytest.TempPathFactory, mtime: int, ctime: int, begun: int
) -> None:
    cache = opened(tmp_path_factory.mktemp("cache"))
    cache.put(state(mtime=mtime, ctime=ctime), digest(), begun=begun)
    at_rest = max(mtime, ctime) <= begun - 2 * SECOND and begun <= NOW
    assert (cache.get(state(mtime=mtime, ctime=ctime)) is not None) == at_rest


def test_a_file_written_just_now_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    os.utime(path, ns=(1, 1))  # a modification time is easily forged, a change time is not
    cache = DigestCache.open(tmp_path / "cache")
    cache.put(path.stat(), digest())
    assert cache.get(path.stat()) is None


def test_times_in_the_future_vouch_for_nothing(tmp_path: Path) -> None:
    clock = Clock()
    cache = opened(tmp_path, clock)
    cache.put(state(), digest())
    cache.save()
    clock.now = NOW - 1  # set back since
    assert opened(tmp_path, clock).get(state()) is None
    assert cache.get(state()) is None


def test_full_believes_nothing_and_keeps_what_it_finds(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.put(state(), digest(of=1))
    cache.save()
    full = opened(tmp_path, full=True)
    assert full.get(state()) is None
    full.put(state(), digest(of=2))
    assert full.get(state()) is None
    full.save()
    assert opened(tmp_path).get(state()) == digest(of=2)


def test_a_blob_id_once_found_stays_with_its_content(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.put(state(), digest(of=1, git_blob=True))
    cache.put(state(), digest(of=1))
    assert cache.get(state()) == digest(of=1, git_blob=True)
    cache.put(state(), digest(of=2))
    assert cache.get(state()) == digest(of=2)


def test_a_digest_of_another_size_is_a_contradiction(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="4 bytes for a file of 3"):
        opened(tmp_path).put(state(size=3), digest(size=4))


@pytest.mark.parametrize("number", [-1, 2**64, 2**80])
def test_numbers_of_no_file_are_not_kept(tmp_path: Path, number: int) -> None:
    cache = opened(tmp_path)
    for stat in (state(device=number), state(inode=number)):
        cache.put(stat, digest())
        assert cache.get(stat) is None
    cache.save()
    assert os.listdir(tmp_path) == []


def test_processes_keep_what_others_have_written_meanwhile(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    first.put(state(inode=1), digest(of=1))
    second.put(state(inode=2), digest(of=2))
    first.save()
    second.save()
    third = opened(tmp_path)
    assert third.get(state(inode=1)) == digest(of=1)
    assert third.get(state(inode=2)) == digest(of=2)
    assert second.get(state(inode=1)) == digest(of=1)


def test_processes_that_write_at_once_leave_a_whole_cache(tmp_path: Path) -> None:
    program = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from envdoctor.hashing.cache import DigestCache
from envdoctor.hashing.digest import Digest
for number in range(int(sys.argv[1]), int(sys.argv[1]) + 40):
    cache = DigestCache.open(Path({str(tmp_path)!r}), clock=lambda: {NOW})
    cache.put(os.stat_result((0o100644, number, 1, 1, 0, 0, 3, 0, {NOW // 2 // SECOND}, {NOW // 2 // SECOND}),
        {{"st_mtime_ns": {NOW // 2}, "st_ctime_ns": {NOW // 2}}}), Digest(3, f"{{number:064x}}", None))
    cache.save()
"""
    children = [subprocess.Popen([sys.executable, "-c", program, str(start)]) for start in (100, 200, 300)]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    cache = opened(tmp_path)
    known = {number: cache.get(state(inode=number)) for number in range(100, 400)}
    kept = {number: found for number, found in known.items() if found is not None}
    assert kept == {number: digest(of=number) for number in kept}
    assert len(kept) >= 40  # at least all of who came last
    assert only_file(tmp_path).suffix == ".bin"


@given(data=st.data())
def test_a_damaged_file_is_no_cache(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    directory = tmp_path_factory.mktemp("cache")
    cache = opened(directory)
    for inode in range(4):
        cache.put(state(inode=inode), digest(of=inode))
    cache.save()
    whole = only_file(directory).read_bytes()
    damaged = data.draw(
        st.one_of(
            st.binary(max_size=400),
            st.integers(0, len(whole) - 1).map(lambda size: whole[:size]),
            st.binary(min_size=1, max_size=300).map(lambda more: whole + more),
            st.tuples(st.integers(0, len(whole) - 1), st.integers(1, 255)).map(
                lambda bit: whole[: bit[0]] + bytes([whole[bit[0]] ^ bit[1]]) + whole[bit[0] + 1 :]
            ),
        )
    )
    assume(damaged != whole)
    only_file(directory).write_bytes(damaged)
    cache = opened(directory)
    assert [cache.get(state(inode=inode)) for inode in range(4)] == [None] * 4
    cache.put(state(inode=1), digest(of=1))
    cache.save()
    assert opened(directory).get(state(inode=1)) == digest(of=1)


def test_a_huge_file_is_no_cache_and_not_read(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.put(state(), digest())
    cache.save()
    os.truncate(only_file(tmp_path), 1 << 40)
    assert opened(tmp_path).get(state()) is None


@pytest.mark.parametrize("kind", ["directory", "pipe", "link", "writable", "foreign"])
def test_what_someone_else_may_have_put_there_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    cache = opened(tmp_path)
    cache.put(state(), digest())
    cache.save()
    file = only_file(tmp_path)
    if kind == "writable":
        file.chmod(0o666)
    elif kind == "foreign":
        monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    else:
        file.rename(tmp_path / "away")
        if kind == "directory":
            file.mkdir()
        elif kind == "pipe":
            os.mkfifo(file)
        else:
            file.symlink_to("away")
    assert opened(tmp_path).get(state()) is None


def test_another_host_has_a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = opened(tmp_path)
    cache.put(state(), digest())
    cache.save()
    here = only_file(tmp_path)
    monkeypatch.setattr(module, "_host", lambda: bytes(32))
    other = opened(tmp_path)
    assert other.get(state()) is None
    here.rename(other._place)  # carried over by hand
    assert opened(tmp_path).get(state()) is None


@pytest.mark.parametrize("place", ["file/below", "/dev/null/envdoctor", "/proc/envdoctor"])
def test_a_cache_that_cannot_be_written_only_costs_time(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    cache = opened(tmp_path / place)
    cache.put(state(), digest())
    cache.save()
    assert cache.get(state()) == digest()


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = opened(tmp_path)
    cache.put(state(inode=1), digest(of=1))
    cache.save()
    cache.put(state(inode=2), digest(of=2))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    cache.save()
    monkeypatch.undo()
    assert only_file(tmp_path).suffix == ".bin"
    assert opened(tmp_path).get(state(inode=1)) == digest(of=1)


def test_a_cache_deleted_meanwhile_is_made_again(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.put(state(inode=1), digest(of=1))
    cache.save()
    only_file(tmp_path).unlink()
    assert cache.get(state(inode=1)) == digest(of=1)
    cache.put(state(inode=2), digest(of=2))
    cache.save()
    assert opened(tmp_path).get(state(inode=2)) == digest(of=2)


def test_those_of_no_use_for_longest_go_first(tmp_path: Path) -> None:
    clock = Clock()
    with mock.patch.object(module, "MOST", 3):
        for inode in range(3):
            cache = opened(tmp_path, clock)
            cache.put(state(inode=inode), digest(of=inode))
            cache.save()
            clock.now += SECOND
        clock.now += 8 * 24 * 3600 * SECOND
        cache = opened(tmp_path, clock)
        assert cache.get(state(inode=0)) == digest(of=0)  # of use again
        cache.put(state(inode=3), digest(of=3))
        cache.save()
        cache = opened(tmp_path, clock)
        assert [cache.get(state(inode=inode)) is not None for inode in range(4)] == [True, False, True, True]


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.save()
    assert os.listdir(tmp_path) == []
    cache.put(state(), digest())
    cache.save()
    before = only_file(tmp_path).stat()
    cache = opened(tmp_path)
    assert cache.get(state()) == digest()
    cache.save()
    after = only_file(tmp_path).stat()
    # Not the time of the last access: the cache was read.
    assert (after.st_ino, after.st_mtime_ns, after.st_size) == (before.st_ino, before.st_mtime_ns, before.st_size)


def test_caches_of_hosts_long_gone_and_parts_of_writes_broken_off_do_not_pile_up(tmp_path: Path) -> None:
    for number in range(20):
        old = tmp_path / f"digests-{number:016x}.bin"
        old.touch()
        os.utime(old, ns=(number, number))
    (tmp_path / "rules-1.json").touch()
    cache = opened(tmp_path)
    cache.put(state(), digest())
    cache.save()
    assert len(list(tmp_path.glob("digests-*"))) == 8
    assert (tmp_path / "rules-1.json").exists()
    assert opened(tmp_path).get(state()) == digest()
