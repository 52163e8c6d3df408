"""setup.py by its syntax tree: what setup() is given, and what only running the file would tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected
from envdoctor.sources.declared.setup_py import collect_setup_py
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation

HERE = Installation({"sys_platform": "linux"}).with_python("3.11")


def write(folder: Path, text: str) -> Path:
    path = folder / "setup.py"
    path.write_bytes(text.encode())
    return path


def read(folder: Path, text: str) -> tuple[Variant, ...]:
    return collect_setup_py(write(folder, text), HERE)


def shown(found: Collected) -> dict[str, tuple[str, int | None]]:
    return {fact.name.removeprefix("packages."): (str(fact.value), fact.origin.line) for fact in found.facts}


def skipped(found: Collected) -> list[tuple[str, str]]:
    return [(Path(skip.what).name, skip.why) for skip in found.skips]


PLAIN = '''\
"""Install with setuptools==1.0 (a comment is no requirement: torch==9.9)."""
import os
from setuptools import find_packages, setup

VERSION = "2.1.0"
core = [
    "torch>=2.1,<3",
    "numpy<2; python_version<'3.13'",  # numpy==9
    f"torchvision=={VERSION}",
]
core += ["peft" + ">=0.13"]
core = [*core, *[]]
extras = {"quant": ["bitsandbytes>=0.44"], "nothing": []}
extras["deep"] = ["deepspeed==0.15.4"] + extras["quant"]
extras["all"] = []
for rows in extras.values():
    extras["all"].extend(rows)
extras["some"] = {row for name, rows in extras.items() for row in rows if name not in ("all", "quant") and "deep" in row}
extras["self"] = ["fine_tune[quant]"]
extras[":python_version<'3.8'"] = ["typing-extensions"]
extras[":python_version>='3.8'"] = ["safetensors"]
extras["win:sys_platform=='win32'"] = ["xformers"]

if __name__ == "__main__":
    setup(
        name="fine-tune",
        python_requires=">=3.9",
        install_requires=core,
        extras_require=extras,
        packages=find_packages("src"),
    )
'''


def test_a_whole_file(tmp_path: Path) -> None:
    variants = {variant.label: shown(variant.collected) for variant in read(tmp_path, PLAIN)}
    base = {
        "python": (">=3.9", 27),
        "torch": ("<3,>=2.1", 7),
        "numpy": ("<2", 8),
        "torchvision": ("2.1.0", 9),
        "peft": (">=0.13", 11),
        "safetensors": ("", 21),
    }
    quant, deep = {"bitsandbytes": (">=0.44", 13)}, {"deepspeed": ("0.15.4", 14)}
    assert variants == {
        "": base,
        "extra quant": base | quant,
        "extra deep": base | deep | quant,
        "extra all": base | quant | deep,
        "extra some": base | deep,
        "extra self": base | quant,
    }
    assert skipped(read(tmp_path, PLAIN)[0].collected) == []


LOOKUP = """\
import re
from setuptools import setup
_deps = [
    "torch>=2.1",
    "huggingface-hub[cli]>=0.23",
    "tqdm",
]
deps = {b: a for a, b in (re.findall(r"^(([^!=<>~ \\[\\]]+)(?:\\[[^\\]]+\\])?(?:[!=<>~ ].*)?$)", x)[0] for x in _deps)}

def deps_list(*pkgs):
    return [deps[pkg] for pkg in pkgs]

extras = {}
extras["torch"] = deps_list("torch")
setup(install_requires=[deps["huggingface-hub"], deps["tqdm"]], extras_require=extras)
"""


def test_the_table_of_requirements_that_many_projects_keep(tmp_path: Path) -> None:
    base, extra = read(tmp_path, LOOKUP)
    assert shown(base.collected) == {"huggingface-hub": (">=0.23", 5), "tqdm": ("", 6)}
    assert (extra.label, shown(extra.collected)["torch"]) == ("extra torch", (">=2.1", 4))


@pytest.mark.parametrize("pattern", [r"^(([^!=<>~]+)(?:[!=<>~].*)?$)", r"^(([^!=<>~ ]+)(?:[!=<>~ ].*)?$)"])
def test_older_forms_of_that_table(tmp_path: Path, pattern: str) -> None:
    text = (
        "import re\nfrom setuptools import setup\n_deps = ['Pillow',\n    'numpy>=1.20,!=1.21.0']\n"
        f"deps = {{b: a for a, b in (re.findall(r'{pattern}', x)[0] for x in _deps)}}\n"
        "setup(install_requires=[deps['numpy'], deps['Pillow']])\n"
    )
    (base,) = read(tmp_path, text)
    assert shown(base.collected) == {"pillow": ("", 3), "numpy": ("!=1.21.0,>=1.20", 4)}
    assert skipped(base.collected) == []


def test_what_a_line_leaves_unknown_is_said_once_for_each_list_that_it_makes(tmp_path: Path) -> None:
    text = """\
from setuptools import setup
def pick(*names):
    return [look_up(name) for name in names]
setup(install_requires=pick("a", "b", "c"), extras_require={"test": pick("d", "e")})
"""
    variants = read(tmp_path, text)
    assert [why for _, why in skipped(variants[0].collected)] == [
        "install_requires: made when the file runs",
        "extras_require['test']: made when the file runs",
    ]


@pytest.mark.parametrize(
    "code",
    [
        "setup(install_requires=open('requirements.txt').read().splitlines())",
        "setup(install_requires=[line.strip() for line in open('requirements.txt') if not line.startswith('#')])",
        "with open('requirements.txt', encoding='utf-8') as f:\n    rows = f.read().split('\\n')\nsetup(install_requires=rows)",
        "with open(os.path.join(here, 'requirements.txt')) as f:\n    rows = list(f)\nsetup(install_requires=rows)",
        "rows = (Path(__file__).parent / 'requirements.txt').read_text().splitlines()\nsetup(install_requires=rows)",
        "setup(install_requires=[str(row.req) for row in parse_requirements('requirements.txt', session=False)])",
        "def read(name='requirements.txt'):\n    with open(name) as f:\n        return [x for x in f if x]\nsetup(install_requires=read())",
        "def read(name):\n    rows = []\n    for x in open(name):\n        if x:\n            rows.append(x)\n    return rows\n"
        "setup(install_requires=read('requirements.txt'))",
        "here = os.path.abspath(os.path.dirname(__file__))\ndef read():\n    path = os.path.join(here, 'requirements.txt')\n"
        "    with open(path) as f:\n        return f.read().strip().split()\nsetup(install_requires=read())",
        "import setuptools\ndef main():\n    setuptools.setup(install_requires=list(open('requirements.txt')))\nmain()",
        "try:\n    setup(install_requires=io.open('requirements.txt').readlines())\nfinally:\n    pass",
    ],
)  # fmt: skip
def test_a_file_that_is_opened_by_a_literal_name_is_read(tmp_path: Path, code: str) -> None:
    (tmp_path / "requirements.txt").write_text("# rows\ntorch==2.1.0\n-r more.txt\n")
    (tmp_path / "more.txt").write_text("\n\nnumpy\n")
    (variant,) = read(tmp_path, f"from setuptools import setup\n{code}\n")
    assert {(fact.name, Path(str(fact.origin.file)).name, fact.origin.line) for fact in variant.collected.facts} == {
        ("packages.torch", "requirements.txt", 2),
        ("packages.numpy", "more.txt", 3),
    }
    assert skipped(variant.collected) == []


LIST = "rows = ['torch']\n"


@pytest.mark.parametrize(
    ("code", "line", "why"),
    [
        ("setup(install_requires=get())", 2, "install_requires: made when the file runs"),
        ("setup(install_requires=rows)", 2, "install_requires: rows is not known without running the file"),
        ("setup(install_requires=['torch', f'numpy=={version}'])", 2, "install_requires: made when the file runs"),
        ("setup(\n  install_requires=['torch'],\n  **more)", 4, "arguments of setup() that are made when the file runs"),
        (f"{LIST}if cuda():\n    rows.append('triton')\nsetup(install_requires=rows)", 3, "install_requires: what line 3 decides"),
        ("rows = ['torch']\nif cuda():\n    rows += ['triton']\nsetup(install_requires=rows)", 3, "install_requires: what line 3 decides"),
        ("rows = ['torch']\nwhile more():\n    rows.extend(x)\nsetup(install_requires=rows)", 3, "install_requires: what line 3 decides"),
        ("setup(install_requires=['torch', *rows])", 2, "install_requires: rows is not known without running the file"),
        ("setup(install_requires=[*open(name()).readlines()])", 2, "install_requires: the name of a file that is made when the file runs"),
        ("setup(install_requires=['torch'], extras_require=extras())", 2, "extras_require: made when the file runs"),
        ("setup(install_requires=['torch', open('missing.txt')])", 2, "install_requires: missing.txt: No such file or directory"),
        ("setup(install_requires=['torch', open('../../etc/passwd')])", 2, "install_requires: ../../etc/passwd lies outside the project"),
        ("setup(install_requires=[open('a\\0.txt')])", 2, "install_requires: a\\x00.txt: a name that no file can have"),
        ("setup(install_requires=[row for row in ['torch', 'numpy'] if wanted(row)])", 2, "install_requires: made when the file runs"),
        ("setup(name='x')", 2, "setup() states no install_requires: the project requires nothing, or states it elsewhere"),
    ],
)  # fmt: skip
def test_what_only_running_it_would_tell_is_said(tmp_path: Path, code: str, line: int, why: str) -> None:
    (variant,) = read(tmp_path, f"from setuptools import setup\n{code}\n")
    assert set(shown(variant.collected)) <= {"torch"}
    assert (f"setup.py:{line}", why) in skipped(variant.collected)
    assert len(variant.collected.skips) <= 2


def test_nothing_is_executed(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    code = f"open({str(marker)!r}, 'w').write('x')\nimport os; os.mkdir({str(marker)!r})\nsetup(install_requires=['torch'])\n"
    (variant,) = read(tmp_path, code)
    assert set(shown(variant.collected)) == {"torch"}
    assert not marker.exists()


def test_a_malformed_requirement_is_a_defect_at_its_line(tmp_path: Path) -> None:
    (variant,) = read(tmp_path, "setup(\n    install_requires=[\n        'torch',\n        'jinja2=>3.0',\n    ]\n)\n")
    assert [(defect.rule, defect.line) for defect in variant.collected.defects] == [("requirement-malformed", 4)]
    assert set(shown(variant.collected)) == {"torch"}


def test_one_text_of_several_lines(tmp_path: Path) -> None:
    (variant,) = read(tmp_path, 'setup(install_requires="""\n    torch>=2.1\n    # none\n    numpy\n""")\n')
    assert shown(variant.collected) == {"torch": (">=2.1", 2), "numpy": ("", 4)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("setup(", "line 1, column"),
        ("print 'x'\n", "line 1, column"),
        ("x = 1\n\0", "setup.py"),
        ("# coding: klingon\n", "setup.py"),
        ("(" * 500 + ")" * 500, "setup.py"),
        ("x = [" + "1," * 300_000 + "]", "more code than any setup.py has"),
    ],
)
def test_what_is_no_python(tmp_path: Path, text: str, found: str) -> None:
    with pytest.raises(EnvdoctorError, match=found):
        read(tmp_path, text)


@pytest.mark.large
@pytest.mark.parametrize(
    "code",
    [
        "x = ['a']\n" + "x = x + x\n" * 60,
        "x = 'a'\n" + "x = x + x\n" * 60,
        "def x(): return x()",
        "x = ['a'] * 10 ** 9",
        "x = [" + "'a'," * 2000 + "]\nx = [a for a in x for b in x for c in x]",
        "x = [" + "'a'," * 2000 + "]\nfor a in x:\n    for b in x:\n        x.append('a')",
        "x = " + "[" * 80 + "]" * 80,
        "x = []\nx.append(x)",
        "x = {}\nx['x'] = x\nx = [x]",
    ],
)
def test_hostile_code_ends_and_is_said(tmp_path: Path, code: str) -> None:
    (variant,) = read(tmp_path, f"{code}\nsetup(install_requires=[x, x()])\n")
    assert variant.collected.skips != ()


def test_no_call_of_setup(tmp_path: Path) -> None:
    (variant,) = read(tmp_path, "import setuptools\n")
    assert skipped(variant.collected) == [("setup.py", "no call of setup() is in it")]


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True).filter(lambda name: name != "none")
ROWS = st.lists(st.tuples(NAMES, st.sampled_from(["", ">=1.2", "==3.4.5"])), max_size=5)


@given(ROWS, ROWS, st.sampled_from(["{a} + {b}", "[*{a}, *{b}]", "list({a}) + sorted({b})", "(lambda: 0) and {a}"]))
def test_lists_are_followed_to_their_lines(
    tmp_path_factory: pytest.TempPathFactory, first: list[tuple[str, str]], second: list[tuple[str, str]], joined: str
) -> None:
    rows = list({name: (name, version) for name, version in (*first, *second)}.values())
    parts = (rows[: len(rows) // 2], rows[len(rows) // 2 :])
    text, expected = "from setuptools import setup\n", {}
    for variable, part in zip("ab", parts, strict=True):
        text += f"{variable} = [\n"
        for name, version in part:
            expected[name] = (version.removeprefix("=="), text.count("\n") + 1)
            text += f"    {name + version!r},\n"
        text += "]\n"
    text += f"setup(install_requires={joined.format(a='a', b='b')})\n"
    (variant,) = read(tmp_path_factory.mktemp("setup"), text)
    if "lambda" in joined:
        assert shown(variant.collected) == {}
        assert len(variant.collected.skips) == 1
    else:
        assert shown(variant.collected) == expected
