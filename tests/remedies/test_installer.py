"""The command for an environment, in the words of the installer that put the packages there."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from envdoctor.remedies.installer import command
from envdoctor.remedies.remedy import Move, Remedy
from envdoctor.sources.machine.interpreter import Installed
from envdoctor.sources.machine.site_packages import SiteDir, read_site_dirs

CU118 = "https://download.pytorch.org/whl/cu118"


def remedy(*removes: str, moves: tuple[Move, ...] = (), index: str = "", **pins: str) -> Remedy:
    return Remedy({name: f"=={pin}" for name, pin in pins.items()}, (), (), removes=removes, moves=moves, index=index)


class Prefix:
    """An environment on disk: what its installers wrote of themselves."""

    def __init__(self, path: Path, *, platform: str = "linux") -> None:
        self.path, self.platform = path, platform
        self.site = path / "lib" / "python3.11" / "site-packages"
        self.site.mkdir(parents=True)
        self.python = path / "bin" / "python"
        self.python.parent.mkdir()
        self.python.touch()
        (path / "pyvenv.cfg").write_text("version = 3.11.7\n")

    def has(self, installer: str | None, *names: str) -> None:
        for name in names:
            info = self.site / f"{name}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
            if installer is not None:
                (info / "INSTALLER").write_text(installer)

    def has_conda(self, name: str, channel: str = "conda-forge") -> None:
        (self.path / "conda-meta").mkdir(exist_ok=True)
        url = f"https://conda.anaconda.org/{channel}/linux-64"
        (self.path / "conda-meta" / f"{name}-1.0-py311_0.json").write_text(f'{{"channel": "{url}", "name": "{name}"}}')

    def command(self, wanted: Remedy, environ: Mapping[str, str] | None = None, via: str = "") -> str:
        found = read_site_dirs([SiteDir(self.site, via)]).distributions
        installed = Installed("env", "3.11.7", "cpython", self.platform, "x86_64", distributions=found)
        return command(wanted, installed, self.python, environ or {})


@pytest.fixture
def prefix(tmp_path: Path) -> Prefix:
    return Prefix(tmp_path / "env")


def test_what_nobody_installed_here_is_pips() -> None:
    assert command(remedy(peft="0.12.0", transformers="4.44.2")) == 'pip install "peft==0.12.0" "transformers==4.44.2"'
    assert command(remedy("bitsandbytes", torch="2.4.1+cu118", index=CU118)) == (
        f'pip uninstall -y bitsandbytes\npip install "torch==2.4.1+cu118" --extra-index-url {CU118}'
    )
    assert command(remedy("bitsandbytes")) == "pip uninstall -y bitsandbytes"
    assert command(remedy()) == ""


def test_what_moves_is_installed_and_what_comes_comes_by_itself() -> None:
    moves = (Move("accelerate", "0.20.3", "0.27.2"), Move("hf-xet", "", "1.0"), Move("old", "1", ""))
    assert command(remedy(peft="0.12.0", moves=moves)) == 'pip install "peft==0.12.0" "accelerate==0.27.2"'


def test_pip_of_an_environment(prefix: Prefix) -> None:
    prefix.has("pip\n", "peft")
    assert prefix.command(remedy(peft="0.12.0")) == f'{prefix.python} -m pip install "peft==0.12.0"'
    assert prefix.command(remedy(peft="0.12.0"), {"VIRTUAL_ENV": str(prefix.path)}) == 'python -m pip install "peft==0.12.0"'
    assert prefix.command(remedy(peft="0.12.0"), {"VIRTUAL_ENV": "/elsewhere"}).startswith(str(prefix.python))
    assert prefix.command(remedy("peft")) == f"{prefix.python} -m pip uninstall -y peft"


def test_a_package_of_the_users_own_site_stays_there(prefix: Prefix) -> None:
    prefix.has("pip", "peft")
    assert prefix.command(remedy(peft="0.12.0"), via="user site") == f'{prefix.python} -m pip install --user "peft==0.12.0"'


def test_uv_of_an_environment(prefix: Prefix) -> None:
    prefix.has("uv", "peft", "torch", "bitsandbytes")
    assert prefix.command(remedy(peft="0.12.0")) == f'uv pip install --python {prefix.python} "peft==0.12.0"'
    active = {"VIRTUAL_ENV": str(prefix.path)}
    assert prefix.command(remedy("bitsandbytes", torch="2.4.1+cu118", index=CU118), active) == (
        f'uv pip uninstall bitsandbytes\nuv pip install "torch==2.4.1+cu118" --extra-index-url {CU118} --index-strategy unsafe-best-match'
    )


def test_a_new_package_is_installed_by_what_made_the_environment(prefix: Prefix) -> None:
    assert prefix.command(remedy(peft="0.12.0")).endswith('-m pip install "peft==0.12.0"')
    (prefix.path / "pyvenv.cfg").write_text("uv = 0.5.1\nversion = 3.11.7\n")
    assert prefix.command(remedy(peft="0.12.0")).startswith("uv pip install --python ")


def test_conda_and_pip_in_one_prefix(prefix: Prefix) -> None:
    prefix.has_conda("pytorch", "pytorch")
    prefix.has_conda("transformers")
    prefix.has_conda("openssl", "main")
    prefix.has("conda", "torch", "transformers")
    prefix.has("pip", "peft")
    assert prefix.command(remedy("transformers", torch="2.4.1+cu118", peft="0.12.0", accelerate="0.33.0", index=CU118)) == (
        f"conda remove -p {prefix.path} transformers\n"
        f'conda install -p {prefix.path} -c pytorch "pytorch=2.4.1"\n'
        f'{prefix.python} -m pip install "peft==0.12.0" "accelerate==0.33.0"'
    )


def test_a_conda_package_that_pip_has_replaced_is_pips(prefix: Prefix) -> None:
    prefix.has_conda("transformers")
    prefix.has("pip", "transformers")
    assert " -m pip install " in prefix.command(remedy(transformers="4.44.2"))


@pytest.mark.parametrize("installer", ["", "\n", "poetry 1.8.2", "\x1b[31m; rm -rf /", None])
def test_an_installer_that_is_not_known_is_pip(prefix: Prefix, installer: str | None) -> None:
    prefix.has(installer, "peft")
    assert prefix.command(remedy(peft="0.12.0")) == f'{prefix.python} -m pip install "peft==0.12.0"'


def test_paths_and_pins_are_quoted(tmp_path: Path) -> None:
    prefix = Prefix(tmp_path / "my env; rm -rf $HOME")
    prefix.has("pip", "peft")
    line = prefix.command(remedy("$(reboot)", peft="0.12.0$(reboot)", index="https://example.org/$(reboot)"))
    words = [shlex.split(one) for one in line.splitlines()]
    assert words == [
        [str(prefix.python), "-m", "pip", "uninstall", "-y", "$(reboot)"],
        [str(prefix.python), "-m", "pip", "install", "peft==0.12.0$(reboot)"],
    ]
    assert "'peft==0.12.0$(reboot)'" in line


def test_a_windows_path_is_quoted_as_windows_does(tmp_path: Path) -> None:
    prefix = Prefix(tmp_path / "my env", platform="win32")
    assert prefix.command(remedy(peft="0.12.0")).startswith(f'"{os.path.abspath(prefix.python)}" -m pip install ')


@pytest.mark.parametrize("record", [b"", b"\xff" * 100, b'{"channel": "https://example.org/$(reboot)"}', b'{"channel": 3}'])
def test_a_conda_record_that_tells_no_channel(prefix: Prefix, record: bytes) -> None:
    prefix.has_conda("peft")
    (prefix.path / "conda-meta" / "peft-1.0-py311_0.json").write_bytes(record)
    prefix.has("conda", "peft")
    assert prefix.command(remedy(peft="0.12.0")) == f'conda install -p {prefix.path} "peft=0.12.0"'
