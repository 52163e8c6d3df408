"""Pins in pyproject.toml: what stands there says the pin, and every other byte is what it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.edits.edit import Edited, Pin
from envdoctor.edits.pyproject import edit_pyproject
from envdoctor.errors import EnvdoctorError
from envdoctor.files.toml import parse_toml
from envdoctor.world.installation import Installation
from tests.edits.laws import assert_left_alone, assert_only_named_lines_changed
from tests.steps import IN_PROPORTION, growth

LINUX = Installation().on("linux", "x86_64").with_python("3.11")


def edited(folder: Path, text: str | bytes, *pins: Pin, installation: Installation = LINUX) -> Edited:
    path = folder / "pyproject.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    [result] = edit_pyproject(path, pins, installation)
    assert_only_named_lines_changed(result)
    if result.after == result.before:
        assert_left_alone(result)
    parse_toml(result.after, "after")
    path.write_bytes(result.after)
    [again] = edit_pyproject(path, pins, installation)
    assert_left_alone(again)
    assert set(result.done) | {refusal.wish for refusal in result.refused} == set(pins)
    return result


def after(folder: Path, text: str, *pins: Pin) -> str:
    result = edited(folder, text, *pins)
    assert not result.refused
    return result.after.decode()


PROJECT = """\
# built by hand
[project]
name = "tuner"   # ours
requires-python = ">=3.9"
dependencies = [
  "torch>=2.1",   # the fast one
  'peft[x] >= 0.5 ; python_version < "4"',
  "accelerate==0.27.2"
]

[project.optional-dependencies]
train = ["deepspeed", "peft==0.5.0"]

[dependency-groups]
dev = ["pytest", { include-group = "lint" }, "peft"]
lint = ["ruff"]

[tool.uv]
constraint-dependencies = ["peft<0.9"]
override-dependencies = ["peft==0.8"]
dev-dependencies = ["peft>=0.1"]

[tool.pdm.dev-dependencies]
more = ["peft~=0.5"]

[tool.hatch.envs.test]
dependencies = [ "peft" ]

[build-system]
requires = ["hatchling", "peft"]
"""


def test_every_statement_of_a_package_says_the_pin(tmp_path: Path) -> None:
    result = edited(tmp_path, PROJECT, Pin("peft", "==0.12.0"))
    assert result.lines == (7, 12, 15, 19, 20, 21, 24, 27)
    text = result.after.decode()
    assert """  'peft[x] == 0.12.0 ; python_version < "4"',""" in text
    assert 'train = ["deepspeed", "peft==0.12.0"]' in text
    assert 'dev = ["pytest", { include-group = "lint" }, "peft==0.12.0"]' in text
    assert 'constraint-dependencies = ["peft==0.12.0"]' in text
    assert 'requires = ["hatchling", "peft"]' in text, "what builds the project is not what runs"
    assert text.count("0.12.0") == 8


def test_a_package_that_only_builds_the_project_is_changed_there_and_never_taken_out(tmp_path: Path) -> None:
    assert 'requires = ["hatchling==1.2", "peft"]' in after(tmp_path, PROJECT, Pin("hatchling", "==1.2"))
    assert_left_alone(edited(tmp_path, PROJECT, Pin("hatchling", "")))


@pytest.mark.parametrize(
    ("stated", "wish", "expected"),
    [
        ("peft>=0.5", "<0.13", "peft>=0.5,<0.13"),
        ("peft >= 0.5, < 2", "<0.13", "peft >= 0.5, < 0.13"),
        ("peft", "<0.13", "peft<0.13"),
        ("peft<0.12", "<0.13", "peft<0.12"),
        ("peft==0.12.1", "<0.13", "peft==0.12.1"),
        ("peft ; os_name == 'posix'", "==1.0", "peft==1.0 ; os_name == 'posix'"),
        ("peft (>=0.5)", "==1.0", "peft (==1.0)"),
        ("PEFT==1", "==1.0", "PEFT==1"),
        ("torch==2.4.1", "==2.4.1+cu118", "torch==2.4.1+cu118"),
    ],
)
def test_a_requirement_keeps_its_own_words(tmp_path: Path, stated: str, wish: str, expected: str) -> None:
    text = f'[project]\nname = "x"\ndependencies = ["{stated}"]\n'
    package = stated[:5].strip("=> <(").lower()
    assert after(tmp_path, text, Pin(package, wish)) == text.replace(stated, expected)


@pytest.mark.parametrize(
    ("stated", "wish", "expected"),
    [
        ("^4.28", "<4.29", ">=4.28,<4.29"),
        ("^4.28", "==4.28.1", "4.28.1"),
        ("4.28.0", "==4.28.1", "4.28.1"),
        ("==4.28.0", "==4.28.1", "==4.28.1"),
        ("*", "==4.28.1", "4.28.1"),
        ("*", "<5", "<5"),
        ("~4.28", ">=4.28.1", ">=4.28.1,<4.29"),
        ("4.28.1", "==4.28.1", "4.28.1"),
        ("4.28.1", "<5", "4.28.1"),
        (">=4, <5", "<4.5", ">=4, <4.5"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        'transformers = "{}"  # why',
        "transformers = '{}'",
        'transformers = {{ version = "{}", extras = ["torch"] }}',
        'transformers = [\n  {{ version = "{}", markers = "os_name == \'posix\'" }},\n  {{ version = "1.0", platform = "win32" }},\n]',
        'transformers.version = "{}"',
        '[tool.poetry.dependencies.transformers]\nversion = "{}"\noptional = true',
    ],
)
def test_a_constraint_of_poetrys_is_told_in_its_form(tmp_path: Path, form: str, stated: str, wish: str, expected: str) -> None:
    text = f'[tool.poetry]\nname = "x"\n\n[tool.poetry.dependencies]\npython = "^3.9"\n{form.format(stated)}\n'
    assert after(tmp_path, text, Pin("transformers", wish)) == text.replace(form.format(stated), form.format(expected))


def test_all_groups_of_poetry_that_state_a_package_are_changed(tmp_path: Path) -> None:
    text = (
        '[tool.poetry.dependencies]\npython = "^3.9"\ntrl = "^0.7"\n[tool.poetry.dev-dependencies]\nTRL = "0.7.1"\n'
        '[tool.poetry.group.train.dependencies]\ntrl = "*"\n'
    )
    assert after(tmp_path, text, Pin("trl", "==0.9.6")).count('"0.9.6"') == 3


def test_a_removed_package_leaves_with_its_line(tmp_path: Path) -> None:
    text = after(tmp_path, PROJECT, Pin("peft", ""), Pin("accelerate", ""), Pin("ruff", ""), Pin("deepspeed", ""))
    assert '  "torch>=2.1",   # the fast one\n]\n' in text
    assert "train = []" in text
    assert "lint = []" in text
    assert "dependencies = []" in text, "of an environment of Hatch's"
    assert text.count("peft") == 1, "in build-system"


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        ('["a", "b", "c"]', ('["b", "c"]', '["a", "c"]', '["a", "b"]')),
        ('[ "a", "b", "c", ]', ('[ "b", "c", ]', '[ "a", "c", ]', '[ "a", "b", ]')),
        ('[\n  "a",\n  "b",  # why b\n  # c comes last\n  "c"\n]', None),
        ('[\n    "a"\n  , "b"\n  , "c"\n]', None),
        ('["a",\n "b", # of b\n "c"]', None),
    ],
)
def test_an_item_can_be_taken_from_any_place(tmp_path: Path, array: str, expected: tuple[str, ...] | None) -> None:
    head = '[project]\nname = "x"\ndependencies = '
    for place, name in enumerate("abc"):
        text = after(tmp_path, f"{head}{array}\n", Pin(name, ""))
        assert parse_toml(text.encode(), "")["project"]["dependencies"] == [other for other in "abc" if other != name]
        if expected:
            assert text == f"{head}{expected[place]}\n"
        if name != "c":
            assert "# c comes last" in text or "# c comes last" not in array


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        ('["a"]', '["a", "peft==0.12.0"]'),
        ("['a', ]", "['a', 'peft==0.12.0', ]"),
        ("[]", '["peft==0.12.0"]'),
        ("[\n]", '[\n    "peft==0.12.0",\n]'),
        ('[\n  "a"  # one\n]', '[\n  "a",  # one\n  "peft==0.12.0"\n]'),
        ('[\n\t"a",\n\t# the end\n]', '[\n\t"a",\n\t"peft==0.12.0",\n\t# the end\n]'),
        ('[\n  "a",\n  "b"]', '[\n  "a",\n  "b",\n  "peft==0.12.0"]'),
        ('[ "a"\n, "b"\n]', '[ "a"\n, "b"\n, "peft==0.12.0"\n]'),
    ],
)
def test_what_nothing_states_is_added_in_the_style_of_the_list(tmp_path: Path, array: str, expected: str) -> None:
    head = '[project]\nname = "x"\ndependencies = '
    assert after(tmp_path, f"{head}{array}\n", Pin("peft", "==0.12.0")) == f"{head}{expected}\n"
    crlf = edited(tmp_path, f"{head}{array}\n".replace("\n", "\r\n"), Pin("peft", "==0.12.0"))
    assert crlf.after.decode() == f"{head}{expected}\n".replace("\n", "\r\n")


def test_what_nothing_states_finds_a_place(tmp_path: Path) -> None:
    bare = '[project]\nname = "x"\nversion = "1"\n\n[tool.a]\nb = 1\n'
    assert after(tmp_path, bare, Pin("peft", "==1")) == bare.replace('"1"\n', '"1"\ndependencies = ["peft==1"]\n')
    poetry = '[tool.poetry]\nname = "x"\n\n[tool.poetry.dependencies]\npython = "^3.9"\n  # end\n\n[build-system]\n'
    assert after(tmp_path, poetry, Pin("peft", "==1")) == poetry.replace('"^3.9"\n', '"^3.9"\npeft = "1"\n')
    assert after(tmp_path, poetry, Pin("peft", "<2")) == poetry.replace('"^3.9"\n', '"^3.9"\npeft = "<2"\n')


@pytest.mark.parametrize(
    ("text", "pin", "why"),
    [
        ('[project]\nname = "x"\ndynamic = ["dependencies"]\n', Pin("peft", "==1"), "dynamic"),
        ("[tool.black]\n", Pin("peft", "==1"), "no project"),
        ('[project]\ndependencies = ["peft @ git+https://example.org/peft"]\n', Pin("peft", "==1"), "line 2"),
        ("[project]\ndependencies = [\"peft==1; sys_platform == 'win32'\"]\n", Pin("peft", "==2"), "line 2: peft is stated for other"),
        ('[project]\ndependencies = ["peft==1"]\n', Pin("peft", "<0.5"), "line 2: it says ==1"),
        ('[project]\ndependencies = ["torch"]\n[tool.uv.sources]\ntorch = { path = "../t" }\n', Pin("torch", "==2"), "line 4: uv takes it"),
        ('[tool.poetry.dependencies]\npeft = { git = "https://example.org/peft" }\n', Pin("peft", "==2"), "line 2"),
        ('[tool.poetry.dependencies]\npeft = "^1 || ^3"\n', Pin("peft", "<3.5"), "several ranges"),
        ('[tool.poetry.dependencies.peft]\nversion = "1"\n', Pin("peft", ""), "by hand"),
        ('[tool.poetry]\ndependencies = { peft = "1", python = "3.9" }\n', Pin("peft", ""), "by hand"),
        ('[project]\nname = "x"\n', Pin("python", ""), "Python itself"),
    ],
)
def test_what_cannot_be_given_is_refused_with_its_reason(tmp_path: Path, text: str, pin: Pin, why: str) -> None:
    result = edited(tmp_path, text, pin)
    assert_left_alone(result)
    [refusal] = result.refused
    assert why in refusal.why


def test_one_refusal_does_not_keep_the_others_from_being_done(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\ndependencies = ["a @ https://example.org/a.zip", "b"]\n'
    result = edited(tmp_path, text, Pin("a", "==1"), Pin("b", "==1"))
    assert [refusal.wish for refusal in result.refused] == [Pin("a", "==1")]
    assert result.done == (Pin("b", "==1"),)
    assert result.after.decode() == text.replace('"b"', '"b==1"')


def test_what_is_done_and_undone_changes_no_line(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\nname = "x"\ndependencies = [\n  "a",\n]\n', encoding="utf-8")
    [result] = edit_pyproject(path, [Pin("datasets", "==1"), Pin("datasets", "")], LINUX)
    assert_left_alone(result)


INDEX = "https://download.pytorch.org/whl/cu118"


def test_a_build_of_an_index_needs_the_index(tmp_path: Path) -> None:
    pin = Pin("torch", "==2.4.1+cu118", index=INDEX)
    head = '[project]\nname = "x"\ndependencies = ["torch"]\n'
    [refusal] = edited(tmp_path, head, pin).refused
    assert f'[[tool.uv.index]] name = "cu118", url = "{INDEX}"' in refusal.why
    named = f'{head}[[tool.uv.index]]\nname = "pt"\nurl = "{INDEX}/"\nexplicit = true\n'
    [refusal] = edited(tmp_path, named, pin).refused
    assert 'torch = { index = "pt" }' in refusal.why
    bound = f'{named}[tool.uv.sources]\ntorch = {{ index = "pt" }}\n'
    assert after(tmp_path, bound, pin) == bound.replace('["torch"]', '["torch==2.4.1+cu118"]')
    poetry = f'[tool.poetry.dependencies]\ntorch = "^2"\n[[tool.poetry.source]]\nname = "pt"\nurl = "{INDEX}"\npriority = "explicit"\n'
    [refusal] = edited(tmp_path, poetry, pin).refused
    assert 'source = "pt"' in refusal.why
    told = poetry.replace('"^2"', '{ version = "^2", source = "pt" }')
    assert after(tmp_path, told, pin) == told.replace('"^2"', '"2.4.1+cu118"')
    extra = f'{head}[tool.uv]\nextra-index-url = ["{INDEX}"]\n'
    assert not edited(tmp_path, extra, pin).refused


@pytest.mark.parametrize(
    ("stated", "wish", "expected"),
    [(">=3.8", "<3.12", ">=3.8,<3.12"), (">=3.8,<4", ">=3.9,<3.12", ">=3.9,<3.12"), (">=3.8", ">=3.10", ">=3.10")],
)
def test_the_pythons_of_a_project_are_bound_or_replaced(tmp_path: Path, stated: str, wish: str, expected: str) -> None:
    text = f'[project]\nname = "x"\nrequires-python = "{stated}"\ndependencies = []\n'
    assert after(tmp_path, text, Pin("python", wish)) == text.replace(stated, expected)
    poetry = f'[tool.poetry.dependencies]\npython = "{stated}"\n'
    assert after(tmp_path, poetry, Pin("python", wish)) == poetry.replace(stated, expected)
    bare = '[project]\nname = "x"\nversion = "1"\n'
    assert after(tmp_path, bare, Pin("python", wish)) == f'{bare}requires-python = "{wish}"\n'


@pytest.mark.parametrize("data", [b"[project\n", b'a = "\xff"\n', b"a = 1\na = 2\n", b"\x00", b"a = " + b"[" * 5000])
def test_what_is_no_toml_is_an_error_with_a_place(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(data)
    with pytest.raises(EnvdoctorError):
        edit_pyproject(path, [Pin("peft", "==1")], LINUX)


def test_a_byte_order_mark_and_strange_values_stay(tmp_path: Path) -> None:
    text = '\ufeff[project]\r\nname = "x"\r\ndependencies = ["""peft""", \'a\']\r\nx = nan\r\ny = 1979-05-27 07:32:00\r\n'
    result = edited(tmp_path, text.replace("x = nan", "x = inf"), Pin("peft", "==1"))
    assert result.after.decode() == text.replace("x = nan", "x = inf").replace('"""peft"""', '"""peft==1"""')


NAMES = st.sampled_from(["peft", "torch", "a-b", "A.b", "x"])
QUOTED = st.builds(
    lambda name, specifier, quote: f"{quote}{name}{specifier}{quote}",
    NAMES,
    st.sampled_from(["", ">=0.1", "==0.2", " >= 0.1, < 9", "<3", "[x]>0.1"]),
    st.sampled_from(['"', "'", '"""']),
)
COMMENT = st.sampled_from(["", "  # why", " "])


@st.composite
def arrays(draw: st.DrawFn) -> str:
    items = draw(st.lists(QUOTED, max_size=5))
    if draw(st.booleans()):
        gap, comma = draw(st.sampled_from(["", " "])), draw(st.sampled_from([", ", ","]))
        trailing = "," if items and draw(st.sampled_from([True, False])) else ""
        return f"[{gap}{comma.join(items)}{trailing}]"
    rows = ["[" + draw(COMMENT)]
    for place, item in enumerate(items):
        if draw(st.integers(0, 4)) == 0:
            rows.append(draw(st.sampled_from(["", "  # a line of its own"])))
        comma = "" if place == len(items) - 1 and draw(st.booleans()) else draw(st.sampled_from([",", " ,"]))
        rows.append(draw(st.sampled_from(["  ", "\t", ""])) + item + comma + draw(COMMENT))
    return "\n".join([*rows, draw(st.sampled_from(["]", "  # tail\n]", "  ]"]))])


@st.composite
def documents(draw: st.DrawFn) -> str:
    parts = [
        f'[project]\nname = "p"\ndependencies = {draw(arrays())}{draw(COMMENT)}\n',
        f"[dependency-groups]\ndev = {draw(arrays())}\nmore = {draw(arrays())}\n",
        "[tool.other]\npeft = 'not a package'\n",
        f'[tool.poetry.dependencies]\npeft = "^0.5"{draw(COMMENT)}\ntorch = {{version="*", optional=true}}\n',
    ]
    text = draw(st.sampled_from(["\n", ""])).join(draw(st.permutations(parts)))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(
    document=documents(),
    pins=st.lists(st.builds(Pin, NAMES, st.sampled_from(["==0.7", "==0.2", "<2", ">=0.5,<4", ""])), min_size=1, max_size=3),
)
def test_whatever_is_written_only_the_named_lines_change(tmp_path_factory: pytest.TempPathFactory, document: str, pins: list[Pin]) -> None:
    path = tmp_path_factory.mktemp("p") / "pyproject.toml"
    path.write_bytes(document.encode())
    [result] = edit_pyproject(path, pins, LINUX)
    assert_only_named_lines_changed(result)
    before, now = parse_toml(result.before, ""), parse_toml(result.after, "")
    assert now["tool"]["other"] == before["tool"]["other"]
    assert now["project"]["name"] == "p"
    assert result.after.count(b"\r\n") == result.after.count(b"\n") or b"\r" not in result.before
    if not result.done:
        assert_left_alone(result)
    kept = [wish for wish in result.done if isinstance(wish, Pin)]
    path.write_bytes(result.after)
    if len({pin.package.lower().replace(".", "-") for pin in pins}) == len(pins):
        [again] = edit_pyproject(path, kept, LINUX)
        assert_left_alone(again)
        assert again.done == tuple(kept)


def long_file(count: int) -> str:
    rows = "".join(f'  "package-{number}>=1", # why\n' for number in range(count))
    tables = "".join(f"[tool.t{number}]\na.b = [1, {{ c = 2 }}]\n" for number in range(count))
    return f'[project]\nname = "x"\ndependencies = [\n{rows}]\n{tables}'


@pytest.mark.large
def test_a_long_file_takes_steps_in_proportion(tmp_path: Path) -> None:
    wishes = (Pin("package-7", "==2"), Pin("package-20", ""), Pin("peft", "==1"))
    assert edited(tmp_path, long_file(40), *wishes).lines == (11, 24, 43)

    def edit(count: int) -> Callable[[], object]:
        path = tmp_path / f"{count}.toml"
        path.write_text(long_file(count), encoding="utf-8")
        return lambda: edit_pyproject(path, wishes, LINUX)

    assert growth(edit, 40) < IN_PROPORTION
