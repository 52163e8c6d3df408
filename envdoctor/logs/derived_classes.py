"""Classes that are made of another one and take arguments of their own: whoever passes such an argument meant the class that has it."""

from __future__ import annotations

from envdoctor.atlas.answers import answer, owner_of

_MADE_OF = {
    "TrainingArguments": (
        "transformers:Seq2SeqTrainingArguments", "trl:SFTConfig", "trl:DPOConfig", "trl:GRPOConfig", "trl:KTOConfig", "trl:ORPOConfig",
        "trl:RewardConfig", "sentence_transformers:SentenceTransformerTrainingArguments",
    ),
    "Trainer": ("transformers:Seq2SeqTrainer", "trl:SFTTrainer", "trl:DPOTrainer", "trl:GRPOTrainer", "trl:RewardTrainer"),
}  # fmt: skip
_FEW = 2


def made_for(cls: str, keyword: str) -> tuple[str, ...]:
    """The classes made of this one that take a keyword, by name; none where so many do that nobody knows which was meant."""
    found = [one for one in _MADE_OF.get(cls, ()) if _takes(one, keyword)]
    return tuple(one.partition(":")[2] for one in found) if len(found) <= _FEW else ()


def _takes(cls: str, keyword: str) -> bool:
    """Whether the newest release that was read takes it."""
    told, bound = answer(f"{cls}({keyword})"), owner_of(cls)
    return told is not None and bound is not None and told.there >> (len(bound.volume.releases) - 1) & 1 == 1
