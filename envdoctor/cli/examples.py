"""What ``--help`` shows of each command as lines to type; every line is parsed by a test."""

from __future__ import annotations

OVERVIEW = """\
examples:
  envdoctor check requirements.txt lora.yaml   before anything is installed
  envdoctor diagnose train.log                 which known fault explains it
"""

_LINES = {
    "check": """\
envdoctor check                                the environment of this shell
envdoctor check requirements.txt lora.yaml     what is declared and planned
envdoctor check ./chatglm3-6b -p /opt/venv     a model in another stack
pip freeze | envdoctor check --facts -         what another machine has
envdoctor check train.py --against transformers==5.23.0   an upgrade""",
    "diagnose": """\
envdoctor diagnose train.log
python train.py 2>&1 | envdoctor diagnose      a run that fails now
envdoctor diagnose train.log ./model lora.yaml with what the run was made of
envdoctor diagnose issue.txt -f json           for a bot""",
    "report": """\
envdoctor report                               this environment, for an issue
envdoctor report --log train.log               with what explains a log""",
    "fix": """\
envdoctor fix requirements.txt                 show the change as a diff
envdoctor fix requirements.txt --write         make it, and check again
envdoctor fix -p /opt/venv                     the commands for an environment""",
    "lock": """\
envdoctor lock ./chatglm3-6b lora.yaml
envdoctor lock THUDM/chatglm3-6b --lock chatglm3.lock""",
    "verify": """\
envdoctor verify ./chatglm3-6b                 against its lock
envdoctor verify ./chatglm3-6b --against hub   against what the hub has now
envdoctor verify ./new --against ./old --diff  against another directory""",
    "fit": """\
envdoctor fit ./model --plan lora.yaml --gpu "RTX 3090"
envdoctor fit ./model --plan lora.yaml --data train.jsonl""",
    "probe": """\
envdoctor probe --list
envdoctor probe lora-step -p /opt/venv""",
    "explain": """\
envdoctor explain peft-fp16-adapter-nan""",
    "rules": """\
envdoctor rules peft                           those about peft
envdoctor rules NaN loss --severity error      those with both words
envdoctor rules lint my-rules/                 for authors of rules""",
    "facts": """\
envdoctor facts -p /opt/venv
envdoctor facts -f toml -o facts.toml          to give back: check --facts
envdoctor facts --vocabulary                   every fact that can be stated""",
    "api": """\
envdoctor api transformers.HybridCache         since when, until when
envdoctor api 'peft.LoraConfig(use_dora)'      an argument
envdoctor api numpy.float --in reqs.txt        in the pinned release""",
    "atlas": """\
envdoctor atlas status peft                    the releases that were read
envdoctor atlas update peft                    those that are newer
envdoctor atlas build --from wheels/ --output my-atlas/""",
    "completion": """\
eval "$(envdoctor completion bash)"            in ~/.bashrc; zsh alike
envdoctor completion fish | source             in config.fish
envdoctor completion powershell | Out-String | Invoke-Expression""",
}


def examples(command: str) -> str:
    """The examples of a command, with a heading; nothing where it has none."""
    lines = _LINES.get(command, "")
    return "\n".join(["examples:", *(f"  {line}" for line in lines.split("\n")), ""]) if lines else ""


__all__ = ["OVERVIEW", "examples"]
