"""The environment examined: which one it is, what is read of it, and that nothing of it is ever run."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from packaging.markers import default_environment

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Defect, Fact, NotUnderstood, Origin, Skip
from envdoctor.facts.versions import Ranged, exact
from envdoctor.sources.machine.interpreter import Installed, Patient, facts, find_patient, marker_environment, scan
from envdoctor.sources.machine.layout import read_layout
from envdoctor.sources.machine.site_packages import Distribution

pytestmark = pytest.mark.skipif(os.name != "posix", reason="interpreters are stood in for by shell scripts")

RUNNING = ".".join(map(str, sys.version_info[:2]))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the clone, which has an environment of its own once README's .venv is made."""
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))


@cache
def cpythons() -> dict[str, Path]:
    """The CPythons of this machine by their minor version; the running one always."""
    own = Path(sys.base_prefix, "bin", f"python{RUNNING}")
    found = {RUNNING: own if own.is_file() else Path(os.path.realpath(sys.executable))}
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for path in sorted(root.glob("versions/*/bin/python")):
        found.setdefault(".".join(path.parent.parent.name.split(".")[:2]), path)
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        for minor in range(8, 15):
            path = Path(directory, f"python3.{minor}")
            # A shim of a version manager is no interpreter and answers only where its version is chosen.
            if "shims" not in path.parts and path.is_file():
                found.setdefault(f"3.{minor}", path)
    return found


@pytest.fixture(params=[f"3.{minor}" for minor in range(8, 14)])
def cpython(request: pytest.FixtureRequest) -> Path:
    minor: str = request.param
    if minor not in cpythons():
        pytest.skip(f"no CPython {minor} on this machine")
    return cpythons()[minor]


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def make_venv(python: Path, path: Path, *options: str) -> Path:
    subprocess.run([python, "-m", "venv", "--without-pip", *options, path], check=True, capture_output=True)
    return path


def site_of(venv: Path) -> Path:
    [site] = venv.glob("lib/python*/site-packages")
    return site


def package(site: Path, name: str, version: str, *headers: str) -> Path:
    path = site / f"{name}-{version}.dist-info"
    path.mkdir(parents=True)
    (path / "METADATA").write_text("\n".join((f"Name: {name}", f"Version: {version}", *headers, "")))
    return path


def torch(site: Path, version: str, cuda: str) -> Path:
    file = site / "torch" / "version.py"
    file.parent.mkdir(parents=True)
    file.write_text(f"from typing import Optional\n\n__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda}\nhip = None\n")
    return file


def booby_trap(site: Path, marker: Path) -> None:
    """Everything by which a site-packages directory can get code run: each would leave the marker."""
    code = f"open({str(marker)!r}, 'w').close()\n"
    for module in ("sitecustomize", "usercustomize", "os", "site", "json", "subprocess"):
        (site / f"{module}.py").write_text(code)
    (site / "torch").mkdir(exist_ok=True)
    (site / "torch" / "__init__.py").write_text(code)
    (site / "run.pth").write_text(f"import os; {code}")


def versions(installed: Installed) -> dict[str, str | None]:
    return {distribution.name: distribution.version for distribution in installed.distributions}


def environ(**extra: str) -> dict[str, str]:
    """The variables that the child needs, and none by which this test run would leak into it."""
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **extra}


@pytest.fixture
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """envdoctor in an environment of its own with nothing else in it."""
    own = tmp_path / "own"
    (own / "bin").mkdir(parents=True)
    (own / "pyvenv.cfg").touch()
    script(own / "bin" / "python", "exit 1")
    monkeypatch.setattr(sys, "prefix", str(own))
    monkeypatch.setattr(sys, "path", [str(own)])
    return own


# Reading environments


def test_an_environment_is_read_whole_and_nothing_in_it_is_run(cpython: Path, tmp_path: Path) -> None:
    venv, marker = make_venv(cpython, tmp_path / "venv"), tmp_path / "ran"
    site = site_of(venv)
    path = package(site, "torch", "2.5.0", "Requires-Dist: numpy", "Requires-Python: >=3.8")
    build = torch(site, "2.5.0+cu124", "'12.4'")
    booby_trap(site, marker)
    program = "import platform; print(platform.python_version())"
    version = subprocess.run([cpython, "-I", "-c", program], capture_output=True, check=True, text=True)
    installed = scan(find_patient(str(venv), {}), environ())
    assert (installed.python, installed.implementation, installed.platform) == (version.stdout.strip(), "cpython", sys.platform)
    assert installed.site_dirs == (site,)
    assert installed.distributions == (Distribution("torch", "2.5.0+cu124", ("numpy",), path, requires_python=">=3.8"),)
    assert (installed.torch and installed.torch.file, installed.defects, installed.skips) == (build, (), ())
    assert not marker.exists()


def test_a_wrapper_around_an_environment_is_asked_and_nothing_in_it_is_run(
    cpython: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv, marker = make_venv(cpython, tmp_path / "venv"), tmp_path / "ran"
    site = site_of(venv)
    package(site, "peft", "0.17.1")
    booby_trap(site, marker)
    booby_trap(tmp_path, marker)
    monkeypatch.chdir(tmp_path)
    shim = script(tmp_path / "shims" / "python", f'echo a line of the wrapper\nexec {venv}/bin/python "$@"')
    installed = scan(find_patient(str(shim), {}), environ(PYTHONPATH=str(tmp_path), PYTHONSTARTUP=str(tmp_path / "os.py")))
    assert (versions(installed), installed.skips) == ({"peft": "0.17.1"}, ())
    assert site in installed.site_dirs
    assert not marker.exists()


def test_an_installation_is_asked_for_its_directories(cpython: Path) -> None:
    program = "import json, site; print(json.dumps(site.getsitepackages()))"
    asked = subprocess.run([cpython, "-I", "-c", program], capture_output=True, check=True, text=True)
    installed = scan(find_patient(str(cpython), {}), environ())
    assert installed.label == str(cpython)
    assert [str(directory) for directory in installed.site_dirs] == [entry for entry in json.loads(asked.stdout) if os.path.isdir(entry)]


def test_pythonpath_applies_and_the_user_site_only_where_the_base_is_seen(tmp_path: Path) -> None:
    base = cpythons()[RUNNING]
    user, extra = tmp_path / "user", tmp_path / "extra"
    package(user / "lib" / f"python{RUNNING}" / "site-packages", "from-user", "1.0")
    package(extra, "from-pythonpath", "1.0")
    closed = make_venv(base, tmp_path / "closed")
    opened = make_venv(base, tmp_path / "opened", "--system-site-packages")
    package(site_of(opened), "own", "1.0")
    variables = environ(PYTHONUSERBASE=str(user), PYTHONPATH=f"{extra}{os.pathsep}{os.pathsep}/not/there")
    assert versions(scan(find_patient(str(closed), {}), variables)) == {"from-pythonpath": "1.0"}
    installed = scan(find_patient(str(opened), {}), variables)
    assert {d.name: d.via for d in installed.distributions if d.via != "base Python"} == {
        "from-pythonpath": "PYTHONPATH",
        "from-user": "user site",
        "own": "",
    }
    assert installed.site_dirs[:2] == (extra, site_of(opened))
    without = scan(find_patient(str(opened), {}), {**variables, "PYTHONNOUSERSITE": "1"})
    assert "from-user" not in versions(without)


def conda(prefix: Path, marker: Path) -> Path:
    (prefix / "conda-meta").mkdir(parents=True)
    for name in ("python-3.10.13-hd12c33a_0_cpython.json", "python-dateutil-2.9.0-pyhd8ed1ab_0.json", "history"):
        (prefix / "conda-meta" / name).touch()
    script(prefix / "bin" / "python", f"touch {marker}")
    return prefix / "lib" / "python3.10" / "site-packages"


def test_a_conda_prefix_is_read_from_its_files_after_the_user_site(tmp_path: Path) -> None:
    site = conda(tmp_path / "envs" / "llm", tmp_path / "ran")
    package(site, "transformers", "4.46.0")
    package(site, "peft", "0.13.0")
    user = package(tmp_path / "home" / ".local" / "lib" / "python3.10" / "site-packages", "transformers", "4.30.0")
    installed = scan(find_patient(str(tmp_path / "envs" / "llm"), {}), environ(HOME=str(tmp_path / "home")))
    assert (installed.python, versions(installed)) == ("3.10.13", {"peft": "0.13.0", "transformers": "4.30.0"})
    detail = f"transformers 4.30.0 in {user.parent} (user site) comes first on the path and hides 4.46.0 in {site}"
    assert installed.defects == (Defect("installed-duplicate-distribution", detail, str(user), packages=("transformers",)),)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("settings", "library", "python", "implementation"),
    [
        ("home = /gone\nversion = 3.11.7\n", "python3.11", "3.11.7", "cpython"),
        ("home = /gone\nimplementation = CPython\nuv = 0.5.1\nversion_info = 3.13.0\n", "python3.13", "3.13.0", "cpython"),
        ("home = /gone\nimplementation = CPython\nversion_info = 3.8.18.final.0\nvirtualenv = 20.26\n", "python3.8", "3.8.18", "cpython"),
        ("HOME=/gone\nVersion_Info=3.14.0.candidate.2\n", "python3.14t", "3.14.0rc2", "cpython"),
        ("home = /gone\nimplementation = PyPy\nversion_info = 3.10.14.final.0\n", "pypy3.10", "3.10.14", "pypy"),
    ],
)
def test_the_settings_of_every_maker_of_virtual_environments_are_read(
    tmp_path: Path, settings: str, library: str, python: str, implementation: str
) -> None:
    site = tmp_path / "lib" / library / "site-packages"
    site.mkdir(parents=True)
    (tmp_path / "pyvenv.cfg").write_text(settings)
    layout = read_layout(tmp_path)
    assert layout is not None
    assert (layout.python, layout.implementation, layout.site, layout.sees_base) == (python, implementation, site, False)


def test_a_windows_environment_is_read(tmp_path: Path) -> None:
    script(tmp_path / "Scripts" / "python.exe", "exit 1")
    (tmp_path / "pyvenv.cfg").write_text("home = C:\\Python311\nversion = 3.11.7\ninclude-system-site-packages = false\n")
    package(tmp_path / "Lib" / "site-packages", "torch", "2.5.0")
    installed = scan(find_patient(str(tmp_path), {}), environ())
    assert (installed.python, versions(installed)) == ("3.11.7", {"torch": "2.5.0"})


def test_a_base_that_was_upgraded_in_place_tells_its_own_version(tmp_path: Path) -> None:
    header = tmp_path / "base" / "include" / "python3.11" / "patchlevel.h"
    header.parent.mkdir(parents=True)
    header.write_text('#define PY_MICRO_VERSION 9\n#define PY_VERSION              "3.11.9+"\n')
    (tmp_path / "base" / "bin").mkdir()
    (tmp_path / "venv" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").write_text(f"home = {tmp_path / 'base' / 'bin'}\nversion = 3.11.7\n")
    assert scan(find_patient(str(tmp_path / "venv"), {}), environ()).python == "3.11.9"


def test_an_environment_whose_base_is_gone_is_read_and_that_is_said(tmp_path: Path) -> None:
    venv = make_venv(cpythons()[RUNNING], tmp_path / "venv")
    package(site_of(venv), "torch", "2.5.0")
    settings = (venv / "pyvenv.cfg").read_text().splitlines()
    (venv / "pyvenv.cfg").write_text("\n".join(line for line in settings if not line.startswith("home")) + "\nhome = /gone/bin\n")
    for link in (venv / "bin").glob("python*"):
        link.unlink()
        link.symlink_to("/gone/bin/python")
    for named in (venv, venv / "bin" / "python"):
        patient = find_patient(str(named), {})
        assert (patient.interpreter, patient.prefix) == (None, venv)
        installed = scan(patient, environ())
        assert versions(installed) == {"torch": "2.5.0"}
        why = "the Python it was made from is gone: its packages were read from their files, but nothing can run in it"
        assert installed.skips == (Skip(f"interpreter of {venv}", why),)


def test_an_environment_that_sees_a_base_that_is_gone_says_what_it_misses(tmp_path: Path) -> None:
    package(tmp_path / "lib" / "python3.11" / "site-packages", "torch", "2.5.0")
    (tmp_path / "pyvenv.cfg").write_text("home = /gone/bin\nversion = 3.11.7\ninclude-system-site-packages = true\n")
    installed = scan(find_patient(str(tmp_path), {}), environ())
    assert versions(installed) == {"torch": "2.5.0"}
    assert [skip.what for skip in installed.skips] == [f"interpreter of {tmp_path}", f"packages of the base Python that {tmp_path} sees"]


def test_an_environment_that_an_upgrade_gave_another_python_has_only_what_that_python_sees(tmp_path: Path) -> None:
    unseen = tmp_path / "lib" / "python3.1" / "site-packages"
    package(unseen, "torch", "2.5.0")
    package(tmp_path / "lib" / f"python{RUNNING}" / "site-packages", "numpy", "2.1.0")
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.1.4\n")
    (tmp_path / "bin").mkdir()
    named = tmp_path / f"python{RUNNING}"
    script(named, f'exec {cpythons()[RUNNING]} "$@"')
    (tmp_path / "bin" / "python").symlink_to(named)
    installed = scan(find_patient(str(tmp_path), {}), environ())
    assert versions(installed) == {"numpy": "2.1.0"}
    assert [skip.what for skip in installed.skips] == [str(unseen)]


def test_an_environment_without_interpreter_and_settings_is_read_as_far_as_its_directories_tell(tmp_path: Path) -> None:
    package(tmp_path / "lib" / "python3.9" / "site-packages", "torch", "2.5.0")
    (tmp_path / "pyvenv.cfg").touch()
    installed = scan(find_patient(str(tmp_path), {}), environ())
    assert (installed.python, versions(installed)) == ("3.9", {"torch": "2.5.0"})
    assert [skip.why.partition(":")[0] for skip in installed.skips] == ["no interpreter any more"]
    package(tmp_path / "lib" / "python3.10" / "site-packages", "torch", "2.5.0")
    with pytest.raises(EnvdoctorError, match="found no interpreter any more"):
        scan(find_patient(str(tmp_path), {}), environ())


# Interpreters that do not answer


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("exec tail -f /dev/null", "no answer within 0.5 s"),
        ("tail -f /dev/null & exit 0", "no answer within 0.5 s"),
        ("kill -SEGV $$", "no answer: ended by signal 11, nothing printed"),
        ("echo one; echo 'not found' >&2; exit 127", "no answer: exit status 127, last line printed: 'not found'"),
        ("exit 0", "no answer: exit status 0, nothing printed"),
        ("exec cat /dev/zero", "no answer: output without end"),
        (r"printf '<envdoctor-scan\0python=3\0envdoctor-scan>'", "an answer that makes no sense: 'implementation'"),
        (
            r"printf '<envdoctor-scan\0python=x\0implementation=\0platform=\0executable=\0envdoctor-scan>'",
            "an answer that makes no sense: Invalid version: 'x'",
        ),
    ],
)
@pytest.mark.large
def test_an_interpreter_that_does_not_answer_is_an_error_or_its_files_are_read(tmp_path: Path, behaviour: str, said: str) -> None:
    interpreter = script(tmp_path / "bin" / "python", behaviour)
    with pytest.raises(EnvdoctorError) as raised:
        scan(find_patient(str(interpreter), {}), environ(), timeout_s=0.5)
    assert (raised.value.place, raised.value.found) == (f"{interpreter} (--python)", said)
    package(tmp_path / "lib" / "python3.9" / "site-packages", "torch", "2.5.0")
    installed = scan(find_patient(str(interpreter), {}), environ(), timeout_s=0.5)
    assert (installed.python, versions(installed)) == ("3.9", {"torch": "2.5.0"})
    site = tmp_path / "lib" / "python3.9" / "site-packages"
    why = f"{said}: only {site} was read, and its Python's patch release is unknown"
    assert installed.skips == (Skip(f"interpreter of {interpreter}", why),)


def test_an_interpreter_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "python"
    path.write_bytes(b"\x7fELF of another machine")
    path.chmod(0o755)
    with pytest.raises(EnvdoctorError, match="found no interpreter that starts: Exec format error"):
        scan(find_patient(str(path), {}), environ())


def test_a_program_that_is_no_python_is_an_error_whatever_lies_beside_it(tmp_path: Path) -> None:
    package(tmp_path / "lib" / "python3.9" / "site-packages", "torch", "2.5.0")
    with pytest.raises(EnvdoctorError, match="expected a Python interpreter that answers"):
        scan(find_patient(str(script(tmp_path / "bin" / "ls", "exit 2")), {}), environ())


def test_a_python_that_is_too_old_for_probes_is_read_and_that_is_said(tmp_path: Path) -> None:
    site = tmp_path / "site"
    package(site, "torch", "1.4.0")
    old = script(
        tmp_path / "bin" / "python2.7",
        'case "$1" in -I) echo "Unknown option: -I" >&2; exit 2;; esac\n'
        rf"printf '<envdoctor-scan\0python=2.7.18\0implementation=cpython\0platform=linux2\0executable=/x\0site={site}\0envdoctor-scan>'",
    )
    installed = scan(find_patient(str(old), {}), environ())
    assert (installed.python, versions(installed)) == ("2.7.18", {"torch": "1.4.0"})
    why = "older than 3.8: what is installed is read, but no probe can run in it"
    assert installed.skips == (Skip(f"Python 2.7.18 of {old}", why),)
    assert facts(installed).facts[1] == Fact("os", "linux", Origin("this machine"))


# Facts


def fabricated(tmp_path: Path) -> tuple[Patient, Path]:
    (tmp_path / "pyvenv.cfg").write_text(f"home = {tmp_path}\nversion = 3.11.7\n")
    script(tmp_path / "bin" / "python", "exit 1")
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    return Patient(".venv", tmp_path / "bin" / "python", tmp_path, "--python"), site


def test_the_facts_of_an_environment_carry_where_they_were_read(tmp_path: Path) -> None:
    patient, site = fabricated(tmp_path)
    peft = package(site, "peft", "0.17.1")
    broken = site / "trl-0.9.dist-info"
    broken.mkdir()
    package(site, "torch", "2.5.0")
    build = torch(site, "2.5.0+cu124", "'12.4'")
    extra = package(tmp_path / "extra", "hf_xet", "1.0")
    installed = scan(patient, environ(PYTHONPATH=str(tmp_path / "extra")))
    collected = facts(installed)
    machine = {"x86_64": "x86_64", "aarch64": "aarch64", "arm64": "arm64"}.get(platform.machine(), NotUnderstood(platform.machine()))
    here, venv = Origin("this machine"), "installed in .venv"
    assert collected.facts == (
        Fact("python", exact("3.11.7"), Origin(venv, str(tmp_path / "bin" / "python"))),
        Fact("os", "macos" if sys.platform == "darwin" else "linux", here),
        Fact("machine", machine, here),
        Fact("packages.hf-xet", exact("1.0"), Origin(f"{venv} (PYTHONPATH)", str(extra))),
        Fact("packages.peft", exact("0.17.1"), Origin(venv, str(peft))),
        Fact("packages.torch", exact("2.5.0+cu124"), Origin(venv, str(build), 3)),
        Fact("packages.trl", Ranged(""), Origin(venv, str(broken))),
        Fact("cuda", exact("12.4"), Origin(venv, str(build), 5)),
    )
    assert [defect.rule for defect in collected.defects] == ["installed-metadata-broken"]
    assert collected.skips == installed.skips == ()


@pytest.mark.parametrize("cuda", ["None", "'none'", "get_cuda()", "'" + "1" * 5000 + "'"])
def test_a_torch_without_a_cuda_version_states_none(tmp_path: Path, cuda: str) -> None:
    patient, site = fabricated(tmp_path)
    package(site, "torch", "2.13.0")
    torch(site, "2.13.0+cpu", cuda)
    names = {fact.name: str(fact.value) for fact in facts(scan(patient, environ())).facts}
    assert names["packages.torch"] == "2.13.0+cpu"
    assert "cuda" not in names


@pytest.mark.parametrize(
    "text", ["", "__version__ = 'none of these'", "__version__ = get()", "__version__ = '" + "1" * 5000 + "'", "\xff\x00"]
)
def test_a_version_file_that_says_nothing_leaves_the_metadata_standing(tmp_path: Path, text: str) -> None:
    patient, site = fabricated(tmp_path)
    package(site, "torch", "2.5.0")
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_bytes(text.encode("latin-1"))
    installed = scan(patient, environ())
    assert (versions(installed), installed.torch, installed.defects) == ({"torch": "2.5.0"}, None, ())


def test_a_torch_whose_code_and_metadata_differ_is_what_its_code_says(tmp_path: Path) -> None:
    patient, site = fabricated(tmp_path)
    path = package(site, "torch", "2.5.0")
    torch(site, "2.4.1+cu121", "'12.1'")
    installed = scan(patient, environ())
    assert versions(installed) == {"torch": "2.4.1+cu121"}
    detail = "torch's metadata says 2.5.0, its own version.py 2.4.1+cu121: files of two releases are mixed"
    assert installed.defects == (Defect("installed-metadata-broken", detail, str(path), packages=("torch",)),)


def test_of_two_recorded_torches_its_code_tells_which_it_is(tmp_path: Path) -> None:
    patient, site = fabricated(tmp_path)
    package(site, "torch", "2.4.1")
    package(site, "torch", "2.5.0")
    torch(site, "2.5.0+cu124", "'12.4'")
    installed = scan(patient, environ())
    assert versions(installed) == {"torch": "2.5.0+cu124"}
    assert [defect.rule for defect in installed.defects] == ["installed-duplicate-distribution"]


def test_a_torch_without_metadata_is_there_all_the_same(tmp_path: Path) -> None:
    patient, site = fabricated(tmp_path)
    torch(site, "2.5.0", "'12.4'")
    installed = scan(patient, environ())
    assert versions(installed) == {"torch": "2.5.0"}
    assert [defect.detail for defect in installed.defects] == ["torch 2.5.0 lies there without metadata: what it requires is unknown"]


def test_a_system_without_a_name_here_is_kept_as_it_calls_itself() -> None:
    found = {fact.name: fact.value for fact in facts(Installed("x", None, "cpython", "freebsd14", "powerpc")).facts}
    assert found == {"os": NotUnderstood("freebsd14"), "machine": NotUnderstood("powerpc")}


def test_markers_see_the_patient_as_it_sees_itself() -> None:
    installed = scan(find_patient(str(cpythons()[RUNNING]), {}), environ())
    own = {key: value for key, value in default_environment().items() if key not in ("platform_release", "platform_version")}
    assert marker_environment(installed) == own


# Which environment


def test_the_active_environment_comes_before_conda_and_the_path(tmp_path: Path, own_environment: Path) -> None:
    venv = tmp_path / "venv"
    script(venv / "bin" / "python", "exit 1")
    (venv / "pyvenv.cfg").touch()
    conda(tmp_path / "conda", tmp_path / "ran")
    script(tmp_path / "bin" / "python3", "exit 1")
    variables = {"VIRTUAL_ENV": str(venv), "CONDA_PREFIX": str(tmp_path / "conda"), "PATH": f"{own_environment / 'bin'}:{tmp_path / 'bin'}"}
    assert find_patient(None, variables) == Patient(str(venv), venv / "bin" / "python", venv, "$VIRTUAL_ENV")
    del variables["VIRTUAL_ENV"]
    prefix = tmp_path / "conda"
    assert find_patient(None, variables) == Patient(str(prefix), prefix / "bin" / "python", prefix, "$CONDA_PREFIX")
    del variables["CONDA_PREFIX"]
    path = tmp_path / "bin" / "python3"
    why = "python3 on the PATH (python on the PATH is envdoctor's own environment, without torch and transformers)"
    assert find_patient(None, variables) == Patient(str(path), path, None, why)


def test_an_active_environment_that_is_gone_is_passed_over_and_that_is_said(tmp_path: Path, own_environment: Path) -> None:
    path = script(tmp_path / "bin" / "python", "exit 1")
    patient = find_patient(None, {"VIRTUAL_ENV": "/gone", "PATH": f"::{tmp_path / 'bin'}"})
    assert patient.interpreter == path
    assert patient.why == "python on the PATH ($VIRTUAL_ENV names /gone, which is no environment with a Python in it)"


def test_the_environment_of_envdoctor_is_taken_only_with_torch_or_transformers_in_it(own_environment: Path) -> None:
    variables = {"VIRTUAL_ENV": str(own_environment)}
    with pytest.raises(EnvdoctorError) as raised:
        find_patient(None, variables)
    assert raised.value.found == "$VIRTUAL_ENV is envdoctor's own environment, without torch and transformers"
    with pytest.raises(EnvdoctorError, match=r"found no \$VIRTUAL_ENV, no \$CONDA_PREFIX, no python on the PATH"):
        find_patient(None, {})
    (own_environment / "transformers").mkdir()
    assert find_patient(None, variables).why == "$VIRTUAL_ENV"
    patient = find_patient(None, {})
    assert (patient.prefix, patient.why) == (own_environment, "envdoctor's own environment: transformers in it")


def test_the_environment_of_envdoctor_is_taken_when_it_is_named(own_environment: Path) -> None:
    assert find_patient(str(own_environment), {}).prefix == own_environment


def test_a_label_is_the_path_as_written_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project" / ".venv").mkdir(parents=True)
    fabricated(tmp_path / "project" / ".venv")
    monkeypatch.chdir(tmp_path / "project")
    assert find_patient(".venv", {}).label == ".venv"
    assert find_patient(".venv/bin/python", {}).label == ".venv"
    monkeypatch.chdir(tmp_path / "project" / ".venv")
    assert find_patient("../.venv", {}).label == str(tmp_path / "project" / ".venv")


def test_a_name_is_looked_up_on_the_path(tmp_path: Path) -> None:
    path = script(tmp_path / "python3.12", "exit 1")
    assert find_patient("python3.12", {"PATH": str(tmp_path)}).interpreter == path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("nothing", "nothing there"),
        ("folder", "a directory without a Python in it"),
        ("notes.txt", "a file that cannot be executed"),
        ("dangling", "a link to what is not there"),
        ("nul\0", "nothing there"),
        ("x" * 5000, "nothing there"),
    ],
)
def test_what_is_no_environment_is_an_error_with_the_next_step(tmp_path: Path, name: str, found: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").touch()
    (tmp_path / "dangling").symlink_to("gone")
    with pytest.raises(EnvdoctorError) as raised:
        find_patient(str(tmp_path / name), {"PATH": str(tmp_path)})
    assert raised.value.place == f"--python {tmp_path / name}"
    assert raised.value.found == found
    assert raised.value.expected == "a Python interpreter, a virtual environment or a conda prefix"
    assert raised.value.next_step
