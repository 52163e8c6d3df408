"""What a project says of its checks: read with the line of every entry, and refused as a whole where it is wrong."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.facts.fact import Collected, Fact, Origin
from envdoctor.facts.versions import exact
from envdoctor.policy.settings import Ignore, Override, Settings, find_settings, read_settings

WHOLE = """\
fail-on = "warning"
strict = true
offline = true
baseline = "known.json"
target = "train"
rules = ["tools/rules"]
ignore = [
    { rule = "a", reason = "mended upstream" },
    { rule = "b", reason = "until the move", until = 2027-01-31, paths = ["legacy/*.txt"] },
]

[targets.train]
platform = "linux-x86_64"
python = "3.11"

[[overrides]]
paths = ["docs"]
fail-on = "never"

[[overrides]]
paths = ["old/**"]
ignore = [{ rule = "c", reason = "frozen", until = "2027-02-01" }]
"""


def test_a_file_of_its_own_with_everything(tmp_path: Path) -> None:
    path = tmp_path / "envdoctor.toml"
    path.write_text(WHOLE)
    assert read_settings(path) == Settings(
        place=str(path),
        fail_on="warning",
        strict=True,
        offline=True,
        baseline="known.json",
        target="train",
        rules=("tools/rules",),
        ignore=(
            Ignore("a", "mended upstream", None, (), 8),
            Ignore("b", "until the move", datetime.date(2027, 1, 31), ("legacy/*.txt",), 9),
        ),
        overrides=(
            Override(("docs",), "never", (), 16),
            Override(("old/**",), None, (Ignore("c", "frozen", datetime.date(2027, 2, 1), (), 22),), 20),
        ),
        targets={
            "train": Collected(
                (
                    Fact("os", "linux", Origin(f"{path}: targets.train", str(path), 13)),
                    Fact("machine", "x86_64", Origin(f"{path}: targets.train", str(path), 13)),
                    Fact("python", exact("3.11"), Origin(f"{path}: targets.train", str(path), 14)),
                )
            )
        },
    )


def test_the_nearest_directory_with_settings_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert find_settings(tmp_path / "a" / "b") == Settings()
    (tmp_path / "pyproject.toml").write_text('[tool.envdoctor]\nfail-on = "note"\n')
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert (find_settings(deep).fail_on, find_settings(deep).place) == ("note", "../../pyproject.toml")
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.envdoctor]\nfail-on = "never"\n')
    assert find_settings(deep).fail_on == "never"
    (tmp_path / "a" / "envdoctor.toml").write_text('fail-on = "error"\n')
    assert find_settings(deep).fail_on == "error"


@pytest.mark.parametrize("text", ["[project\nname = 'envdoctor'\n", "[project\n[tool.other]\n", "# tool.envdoctor\n= 3\n"])
def test_a_broken_manifest_without_settings_is_left_to_the_check_of_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.envdoctor]\nfail-on = "note"\n')
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "pyproject.toml").write_text(text)
    assert find_settings(tmp_path / "a").fail_on == "note"


@pytest.mark.parametrize("header", ["[tool.envdoctor]", "[[tool.envdoctor.ignore]]", '[ tool . "envdoctor" ]'])
def test_settings_that_cannot_be_read_are_not_passed_over(tmp_path: Path, header: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"{header}\nfail-on = never\n")
    with pytest.raises(EnvdoctorError, match=r"pyproject\.toml, line 2: found no TOML"):
        find_settings(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        'tool = { envdoctor = { fail-on = "note" } }\n',
        'tool.envdoctor.fail-on = "note"\n',
        '"tool" . envdoctor = { fail-on = "note" }\n',
        '[tool]\nother = 1\nenvdoctor.fail-on = "note"\n',
        "\ufeff[ 'tool' ]\r\nenvdoctor = { fail-on = 'note' }\r\n",
        '["t\\u006fol"]\nenvdoctor = { fail-on = "note" }\n',
        '[project]\nname = "envdoctor"\n[tool.envdoctor]\nfail-on = "note"\n',
    ],
)
def test_settings_are_found_however_the_table_is_written(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8", newline="")
    assert find_settings(tmp_path).fail_on == "note"


def test_a_project_that_only_names_envdoctor_has_no_settings(tmp_path: Path) -> None:
    text = '[project]\nname = "envdoctor"\n[project.scripts]\nenvdoctor = "envdoctor.cli:main"\n[tool.other]\nenvdoctor = { strict = 1 }\n'
    (tmp_path / "pyproject.toml").write_text(text)
    assert find_settings(tmp_path) == Settings()


def test_a_directory_that_is_reached_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "envdoctor.toml").write_text('fail-on = "note"\n')
    (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
    monkeypatch.chdir(tmp_path / "link")
    assert (find_settings(Path.cwd()).fail_on, find_settings(Path.cwd()).place) == ("note", "../envdoctor.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fail_on = 'error'\n", "line 1: fail_on: found the key 'fail_on'; expected one of fail-on, strict"),
        ("fail-on = 'errors'\n", "line 1: fail-on: found 'errors'; expected one of error, warning, note, never"),
        ("strict = 1\n", "line 1: strict: found 1; expected true or false"),
        ("\nignore = ['a']\n", "line 2: ignore: found ['a']; expected a list of tables"),
        ("ignore = [{ rule = 'a' }]\n", "line 1: ignore.0: found no reason; expected rule and reason"),
        ("ignore = [{ rule = 'a', reason = ' ' }]\n", "line 1: ignore.0.reason: found ' '; expected why it is ignored"),
        ("ignore = [{ rule = 'a', reason = 'b', until = 'soon' }]\n", "ignore.0.until: found 'soon'; expected a day, such as 2027-01-31"),
        ("ignore = [{ rule = 'a', reason = 'b', expires = 2027-01-01 }]\n", "found the key 'expires'"),
        ("[[overrides]]\nfail-on = 'never'\n", "line 1: overrides.0: found no paths"),
        ("rules = 'dir'\n", "line 1: rules: found 'dir'; expected a list of directories"),
        ("targets = { a = 1 }\n", "line 1: targets: found {'a': 1}; expected tables of target profiles"),
        ("fail-on = \n", "line 1"),
        ("ignore = [{ rule = 'a', reason = 'b', until = 07:32:00 }]\n", "ignore.0.until: found datetime.time(7, 32)"),
        ("ignore = [{ rule = 'a', reason = 'b', until = '20270131' }]\n", "ignore.0.until: found '20270131'"),
        ("ignore = [{ rule = 'a', reason = 'b', until = '2027-W05-7' }]\n", "ignore.0.until: found '2027-W05-7'"),
        ("[targets.a]\npython = '3.11'\ngpuu = 'H100'\n", "line 3: targets.a: found 'gpuu'; expected one of platform"),
        ("[targets.a]\npython = 3.10\n", "line 2: targets.a: found python = 3.1, a number"),
        ("[targets.a]\nglibc = 2.30\n", "line 2: targets.a: found glibc = 2.3, a number"),
        ("[targets.a]\ndriver = [550]\n", "line 2: targets.a: found driver = [550]; expected a text or a number"),
        ("[targets.a]\nplatform = 'linux-sparc'\n", "line 2: targets.a: found the platform 'linux-sparc'"),
        ("[targets.a]\n", "line 1: targets.a: found nothing"),
        ("ignore = {}\n", "line 1: ignore: found {}; expected a list of tables"),
        ("overrides = 3\n", "line 1: overrides: found 3; expected a list of tables"),
        ("targets = []\n", "line 1: targets: found []; expected tables of target profiles"),
        ("[targets.a.gpu]\nname = 'H100'\n", "targets.a: found gpu = {'name': 'H100'}; expected a text or a number"),
        ("ignore = [{ rule = 3, reason = 'b' }]\n", "line 1: ignore.0.rule: found 3; expected the id of a rule"),
        ("ignore = [{ rule = 'a', reason = 'b', paths = [''] }]\n", "line 1: ignore.0.paths: found ['']; expected a list of paths"),
        ("target = ''\n", "line 1: target: found ''; expected a profile"),
        ("[[overrides]]\npaths = ['a']\nignore = [{ rule = 'b', reason = 'c', path = ['d'] }]\n", "the key 'path'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "envdoctor.toml"
    path.write_text(text)
    with pytest.raises(EnvdoctorError) as raised:
        read_settings(path)
    assert said in str(raised.value)


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.envdoctor]\nstrct = true\nbaseline = 3\n")
    with pytest.raises(SeveralErrors) as raised:
        read_settings(path)
    assert str(raised.value).splitlines() == [
        f"{path}, line 2: tool.envdoctor.strct: found the key 'strct'; expected one of fail-on, strict, offline, baseline, target, rules, "
        "ignore, overrides, targets; next: perhaps strict",
        f"{path}, line 3: tool.envdoctor.baseline: found 3; expected the path of a file; next: correct the setting",
    ]


@pytest.mark.parametrize("day", ["2027-01-31", "2027-01-31T10:00:00", "2027-01-31T23:59:59Z", "'2027-01-31'"])
def test_a_day_may_have_a_time(tmp_path: Path, day: str) -> None:
    path = tmp_path / "envdoctor.toml"
    path.write_text(f"ignore = [{{ rule = 'a', reason = 'b', until = {day} }}]\n")
    assert read_settings(path).ignore[0].until == datetime.date(2027, 1, 31)


@pytest.mark.parametrize("text", ["[project]\nname = 'x'\n", "[tool]\nenvdoctor = 3\n"])
def test_a_manifest_that_is_named_must_have_settings(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(text)
    with pytest.raises(EnvdoctorError):
        read_settings(path)
