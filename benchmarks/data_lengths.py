"""How long `fit --data` takes to count a training file, in CPU seconds of all its threads.

    STACK/bin/python benchmarks/data_lengths.py --rows 300000 [--keep DIR] [--child FILE]

STACK has tokenizers and jinja2. A byte-level BPE of 8,000 words is trained on this repository's pages, and conversations of four turns are
drawn from their words, a tenth of the rows with letters beyond ASCII; the child that `fit --data` runs counts them. ``--child`` names that
of another commit (envdoctor/lengths/children/count.py), to compare on the same machine within the same minutes.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import runpy
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CHILD = ROOT / "envdoctor" / "lengths" / "children" / "count.py"
PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful"
    " assistant.<|im_end|>\n' }}{% endif %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_BEYOND = ("naïve", "façade", "Größe", "café", "日本語", "données", "Ελλάδα")


def pages() -> list[str]:
    return [path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))]


def train(target: Path) -> None:
    import tokenizers as library  # type: ignore[import-not-found,unused-ignore]

    made: Any = library.Tokenizer(library.models.BPE())
    split = library.pre_tokenizers.Split(library.Regex(PATTERN), "isolated")
    made.pre_tokenizer = library.pre_tokenizers.Sequence([split, library.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = library.pre_tokenizers.ByteLevel.alphabet()
    trainer = library.trainers.BpeTrainer(vocab_size=8000, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(pages(), trainer)
    made.save(str(target))


def write(target: Path, rows: int) -> None:
    chance = random.Random(20261126)
    words = " ".join(pages()).split(" ")
    with target.open("w", encoding="utf-8") as out:
        for _ in range(rows):
            turns = []
            for role in ("user", "assistant", "user", "assistant"):
                start = chance.randrange(len(words) - 200)
                said = words[start : start + int(chance.expovariate(1 / 28)) + 3]
                if chance.random() < 0.025:
                    said.insert(1, chance.choice(_BEYOND))
                turns.append({"role": role, "content": " ".join(said)})
            out.write(json.dumps({"messages": turns}, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--child", type=Path, default=CHILD)
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    data, tokenizer = folder / f"rows-{options.rows}.jsonl", folder / "tokenizer.json"
    if not tokenizer.exists():
        train(tokenizer)
    if not data.exists():
        write(data, options.rows)
    params = {
        "data": str(data), "routes": [{"library": "tokenizers", "path": str(tokenizer)}], "template": TEMPLATE, "variables": {},
        "glm": False, "seconds": 3600,
    }  # fmt: skip
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    told = runpy.run_path(str(options.child))["run"](params, lambda _: None)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{told['rows']} rows, {data.stat().st_size / 1e6:.0f} MB, {told['tokens']} tokens, longest {told['longest'][0][0]}: "
        f"{cpu:.1f} s CPU, {time.monotonic() - started:.1f} s wall, {after.ru_maxrss / 1024:.0f} MiB; answers {told['answers']}"
    )


if __name__ == "__main__":
    main()
