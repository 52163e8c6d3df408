"""An unpacked image: its environments are found by their files, and no link leads out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.values import shown
from envdoctor.sources.machine.interpreter import facts
from envdoctor.sources.machine.root_filesystem import scan_root
from tests.cli.run import run


def install(site: Path, *packages: str) -> None:
    for package in packages:
        name, _, version = package.partition("==")
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def venv(root: Path, where: str, *packages: str, base: bool = False) -> None:
    install(root / where / "lib/python3.11/site-packages", *packages)
    told = f"home = /usr/local/bin\ninclude-system-site-packages = {str(base).lower()}\nversion = 3.11.9\n"
    (root / where / "pyvenv.cfg").write_text(told)
    (root / where / "bin").mkdir()
    (root / where / "bin" / "python").symlink_to("/usr/local/bin/python3.11")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    image = tmp_path / "rootfs"
    install(image / "usr/local/lib/python3.11/site-packages", "pip==24.0", "numpy==1.26.4")
    header = image / "usr/local/include/python3.11/patchlevel.h"
    header.parent.mkdir(parents=True)
    header.write_text('#define PY_VERSION              "3.11.9"\n')
    (image / "lib64").mkdir()
    (image / "lib64/ld-linux-x86-64.so.2").symlink_to("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    return image


def packages(root: Path, prefix: str | None = None) -> dict[str, str | None]:
    return {one.name: one.version for one in scan_root(root, prefix).distributions}


def test_the_environment_with_the_stack_is_taken(root: Path) -> None:
    assert packages(root) == {"pip": "24.0", "numpy": "1.26.4"}
    venv(root, "opt/venv", "torch==2.5.0", "transformers==4.46.3")
    found = scan_root(root)
    assert found.label == f"/opt/venv of {root}"
    told = {fact.name: (shown(fact.value), fact.origin.source) for fact in facts(found, "the image").facts}
    assert told == {
        "python": ("3.11.9", f"installed in /opt/venv of {root}"),
        "os": ("linux", "the image"),
        "machine": ("x86_64", "the image"),
        "packages.torch": ("2.5.0", f"installed in /opt/venv of {root}"),
        "packages.transformers": ("4.46.3", f"installed in /opt/venv of {root}"),
    }


def test_one_may_be_named_as_the_image_calls_it(root: Path) -> None:
    venv(root, "opt/a", "torch==2.5.0")
    venv(root, "app/.venv", "torch==2.6.0", base=True)
    assert packages(root, "/opt/a") == packages(root, "/opt/a/") == packages(root, "/opt/a/bin/python") == {"torch": "2.5.0"}
    assert packages(root, "/app/.venv") == {"torch": "2.6.0", "pip": "24.0", "numpy": "1.26.4"}
    with pytest.raises(EnvdoctorError) as raised:
        scan_root(root)
    assert "several Python environments: /usr/local, /app/.venv, /opt/a" in str(raised.value)
    with pytest.raises(EnvdoctorError, match=r"only /usr/local, /app/\.venv, /opt/a"):
        scan_root(root, "/opt/b")


def test_debian_and_conda(tmp_path: Path) -> None:
    install(tmp_path / "usr/lib/python3/dist-packages", "numpy==1.21.5")
    install(tmp_path / "usr/local/lib/python3.10/dist-packages", "torch==2.5.0a0+872d972e41.nv24.8")
    (tmp_path / "usr/lib/python3.10/dist-packages").mkdir(parents=True)
    assert packages(tmp_path) == {"torch": "2.5.0a0+872d972e41.nv24.8", "numpy": "1.21.5"}
    install(tmp_path / "opt/conda/lib/python3.12/site-packages", "transformers==4.46.3")
    assert packages(tmp_path, "/opt/conda") == {"transformers": "4.46.3"}


def test_pythons_that_share_a_prefix_are_told_apart(tmp_path: Path) -> None:
    """Ubuntu with a second Python: what pip installs for each lies in /usr/local, and apt's packages in one place for both."""
    for minor, torch in (("3.10", "2.5.0"), ("3.11", "2.6.0")):
        install(tmp_path / f"usr/local/lib/python{minor}/dist-packages", f"torch=={torch}")
        (tmp_path / f"usr/lib/python{minor}").mkdir(parents=True)
    install(tmp_path / "usr/lib/python3/dist-packages", "six==1.16.0")
    (tmp_path / "usr/bin").mkdir()
    (tmp_path / "usr/bin/python3").symlink_to("python3.10")
    assert packages(tmp_path, "/usr/bin/python3.11") == {"torch": "2.6.0", "six": "1.16.0"}
    assert packages(tmp_path, "/usr/bin/python3") == {"torch": "2.5.0", "six": "1.16.0"}
    for prefix in (None, "/usr", "/usr/local"):
        with pytest.raises(EnvdoctorError, match=r"several Python environments: /usr/bin/python3.10, /usr/bin/python3.11;"):
            scan_root(tmp_path, prefix)


def test_a_python_of_its_own_does_not_see_what_the_distribution_installed(root: Path) -> None:
    install(root / "usr/lib/python3/dist-packages", "six==1.16.0")
    for library in ("usr/lib/python3.11", "usr/local/lib/python3.11"):
        (root / library).mkdir(parents=True, exist_ok=True)
        (root / library / "os.py").touch()
    assert packages(root, "/usr/local") == {"pip": "24.0", "numpy": "1.26.4"}
    assert packages(root, "/usr/local/bin/python3.11") == {"pip": "24.0", "numpy": "1.26.4"}
    assert packages(root, "/usr") == {"six": "1.16.0"}


def test_fedora_reads_both_libraries_and_what_was_added(tmp_path: Path) -> None:
    install(tmp_path / "usr/lib/python3.12/site-packages", "six==1.16.0")
    install(tmp_path / "usr/lib64/python3.12/site-packages", "numpy==1.26.4")
    install(tmp_path / "usr/local/lib/python3.12/site-packages", "torch==2.6.0")
    assert packages(tmp_path) == {"six": "1.16.0", "numpy": "1.26.4", "torch": "2.6.0"}


def test_a_user_install_lies_before_what_all_users_see(root: Path) -> None:
    install(root / "root/.local/lib/python3.11/site-packages", "torch==2.6.0", "numpy==2.0.0")
    assert packages(root) == {"torch": "2.6.0", "numpy": "2.0.0", "pip": "24.0"}


def test_one_environment_under_two_names_is_one(root: Path) -> None:
    venv(root, "opt/venv", "torch==2.5.0")
    (root / "app").mkdir()
    (root / "app/venv").symlink_to("/opt/venv")
    (root / "lib64/../venv").symlink_to("opt/venv")
    assert packages(root) == packages(root, "/app/venv") == packages(root, "/venv") == packages(root, "/opt/venv") == {"torch": "2.5.0"}


@pytest.mark.parametrize(
    "where",
    ["venv", "app/.venv", "home/user/project/.venv", "usr/src/app/venv", "workspace/a/b/env", "mine/env", "root/.pyenv/versions/3.11.9"],
)
def test_where_images_keep_environments(root: Path, where: str) -> None:
    venv(root, where, "torch==2.5.0")
    assert scan_root(root).label == f"/{where} of {root}"


def test_the_environments_of_conda(tmp_path: Path) -> None:
    for prefix in ("home/user/miniconda3", "home/user/miniconda3/envs/train"):
        (tmp_path / prefix / "conda-meta").mkdir(parents=True)
        install(tmp_path / prefix / "lib/python3.12/site-packages", "pip==24.0")
    install(tmp_path / "home/user/miniconda3/envs/train/lib/python3.12/site-packages", "torch==2.6.0")
    assert packages(tmp_path) == {"pip": "24.0", "torch": "2.6.0"}


def test_a_place_that_nobody_would_look_at_can_be_named(root: Path) -> None:
    venv(root, "data/a/b/c/d/e", "torch==2.5.0")
    assert packages(root) == {"pip": "24.0", "numpy": "1.26.4"}
    assert packages(root, "/data/a/b/c/d/e") == packages(root, "/data/a/b/c/d/e/bin/python") == {"torch": "2.5.0"}
    assert packages(root, "/data//a/./b/c/d/e/") == {"torch": "2.5.0"}


@pytest.mark.large
def test_a_directory_of_many_files_hides_no_environment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "data").mkdir()
    for number in range(3000):
        (root / "data" / f"{number:05}.json").touch()
    venv(root, "workspace/project/.venv", "torch==2.5.0")
    found = scan_root(root)
    assert (found.label, found.skips) == (f"/workspace/project/.venv of {root}", ())
    monkeypatch.setattr("envdoctor.sources.machine.root_filesystem._MOST_DIRECTORIES", 3)
    assert [skip.why for skip in scan_root(root, "/workspace/project/.venv").skips] == [
        "more than 3 directories: environments further down are not looked for; --python names one"
    ]


def test_a_directory_that_may_not_be_read_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv(root, "opt/venv", "torch==2.5.0")
    scandir = os.scandir

    def refused(path: Path) -> object:
        if path == root / "opt":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr("os.scandir", refused)
    assert [(skip.what, skip.why) for skip in scan_root(root).skips] == [
        (f"/opt of {root}", "the directory cannot be read (Permission denied): environments in it are not seen")
    ]
    assert packages(root, "/opt/venv") == {"torch": "2.5.0"}


def test_an_editable_install_is_read_where_it_lies_in_the_image(root: Path) -> None:
    venv(root, "opt/venv", "torch==2.5.0")
    site = root / "opt/venv/lib/python3.11/site-packages"
    for name, version in (("linked", "1.2"), ("listed", "3.4")):
        info = root / f"src/{name}/{name}.egg-info"
        info.mkdir(parents=True)
        (info / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (site / "linked.egg-link").write_text("/src/linked\n.\n")
    (site / "easy-install.pth").write_text("import os; os.remove('/')\n/src/listed\n../../../../../src/linked\n/\n\0\n")
    assert packages(root) == {"torch": "2.5.0", "linked": "1.2", "listed": "3.4"}


def test_a_package_that_is_a_link_to_this_machine_is_not_read(root: Path, tmp_path: Path) -> None:
    install(tmp_path / "host", "peft==9.9")
    venv(root, "opt/venv", "transformers==4.46.3")
    site = root / "opt/venv/lib/python3.11/site-packages"
    (site / "peft-9.9.dist-info").symlink_to(tmp_path / "host" / "peft-9.9.dist-info")
    (tmp_path / "host" / "torch").mkdir()
    (tmp_path / "host" / "torch" / "version.py").write_text("__version__ = '9.9'\n")
    (site / "torch").symlink_to(tmp_path / "host" / "torch")
    found = scan_root(root)
    assert [one.name for one in found.distributions] == ["transformers"]
    assert found.torch is None
    assert [skip.why for skip in found.skips] == ["a link that leads out of the image: the package is not read"]


def test_no_link_leads_out_of_the_image(root: Path, tmp_path: Path) -> None:
    install(tmp_path / "host/lib/python3.11/site-packages", "torch==9.9.9")
    (root / "opt").mkdir()
    (root / "opt/out").symlink_to(tmp_path / "host")
    (root / "opt/up").symlink_to("../../host")
    (root / "opt/loop").symlink_to("loop")
    venv(root, "srv/real", "torch==2.5.0")
    (root / "opt/in").symlink_to("/srv/real")
    os.makedirs(root / "srv/real/lib/python3.11/site-packages", exist_ok=True)
    (root / "srv/real/lib/python3.11/site-packages/host.pth").write_text(f"{tmp_path / 'host/lib/python3.11/site-packages'}\n")
    assert packages(root, "/srv/real") == {"torch": "2.5.0"}
    assert packages(root, "/opt/in") == {"torch": "2.5.0"}
    with pytest.raises(EnvdoctorError) as raised:
        scan_root(root, "/opt/out")
    assert "/opt/out," not in str(raised.value).partition("found only ")[2]


def test_what_is_no_image(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError, match="no directory"):
        scan_root(tmp_path / "nowhere")
    with pytest.raises(EnvdoctorError, match="no Python environment"):
        scan_root(tmp_path)


def test_a_gate_over_an_image_runs_nothing_of_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    venv(root, "opt/venv", "torch==2.2.2", "numpy==2.1.0")
    ran = run(capsys, "check", "--isolated", "--root", str(root), "--format", "json")
    assert ran.status == 1
    assert ran.json["patient"] == f"/opt/venv of {root} (Python 3.11.9, 2 packages)"
    assert [one["rule"] for one in ran.json["findings"]] == ["numpy-2-with-torch-before-2-3"]
    assert "accelerator" not in ran.json["facts"]


def test_one_package_is_no_stack_that_lacks_others(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    venv(root, "opt/venv", "torch==2.2.2")
    ran = run(capsys, "check", "--isolated", "--root", str(root), "--format", "json")
    assert (ran.status, ran.json["findings"]) == (0, [])
    assert ran.json["patient"] == f"/opt/venv of {root} (Python 3.11.9, 1 package)"
