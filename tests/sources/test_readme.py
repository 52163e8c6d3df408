"""What the fenced commands of a README install is read where the file is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.sources.targets import read_target

PAGE = """# A project

pip install torch==1.0 is no command here.

```bash
conda create -n ours python=3.10
$ pip install torch==2.1.0 "numpy<2"
```

For CUDA 11.8:
```
pip install vllm==0.6.0
```
else
~~~sh
pip install vllm==0.8.0
pip install -r requirements.txt
~~~
```python
run("pip install peft==0.1.0")
```
"""


def test_the_commands_of_a_page_state_what_they_install(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(PAGE)
    found = read_target(str(page)).collected
    stated = {fact.name: (str(fact.value), fact.origin.line) for fact in found.facts if fact.name.startswith("packages.")}
    assert stated == {"packages.torch": ("2.1.0", 7), "packages.numpy": ("<2", 7)}
    assert [skip.what.rpartition(":")[2] for skip in found.skips] == ["17", "12"]
    assert "several of one package: vllm==0.6.0 (line 12), vllm==0.8.0 (line 16)" in found.skips[1].why


@pytest.mark.parametrize("text", ["# Nothing\n\npip install torch==2.1.0\n", "```python\npip install torch\n```\n", "```sh\nls\n```\n"])
def test_a_page_without_such_a_command_is_of_no_known_kind(tmp_path: Path, text: str) -> None:
    page = tmp_path / "NOTES.md"
    page.write_text(text)
    with pytest.raises(EnvdoctorError, match="no known kind"):
        read_target(str(page))
