"""An unpacked image: its environments are found by their files, and no link leads out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.sources.interpreter import facts
from envdoctor.sources.root_filesystem import scan_root
from envdoctor.values import shown
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
    assert "several Python environments: /usr/local, /opt/a, /app/.venv" in str(raised.value)
    with pytest.raises(EnvdoctorError, match=r"only /usr/local, /opt/a, /app/\.venv"):
        scan_root(root, "/opt/b")


def test_debian_and_conda(tmp_path: Path) -> None:
    install(tmp_path / "usr/lib/python3/dist-packages", "numpy==1.21.5")
    install(tmp_path / "usr/local/lib/python3.10/dist-packages", "torch==2.5.0a0+872d972e41.nv24.8")
    (tmp_path / "usr/lib/python3.10/dist-packages").mkdir(parents=True)
    assert packages(tmp_path) == {"torch": "2.5.0a0+872d972e41.nv24.8", "numpy": "1.21.5"}
    install(tmp_path / "opt/conda/lib/python3.12/site-packages", "transformers==4.46.3")
    assert packages(tmp_path, "/opt/conda") == {"transformers": "4.46.3"}


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
