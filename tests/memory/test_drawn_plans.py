"""Plans that were drawn at random and were more than 8 % off, against the models' own code under fake tensors (benchmarks/fit_draws.py)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from envdoctor.memory.config import read_architecture
from envdoctor.memory.situation import planned
from tests.memory.models import stated

_HERE = Path(__file__).parent
_DRAWN = json.loads((_HERE / "drawn_plans.json").read_text())
_SANTACODER = json.loads((_HERE / "counted.json").read_text())["models"]["gpt_bigcode-santacoder"]["config"]


@pytest.mark.parametrize("drawn", _DRAWN, ids=[each["model"] for each in _DRAWN])
def test_the_fullest_moment_is_that_of_the_models_own_code(drawn: Mapping[str, Any]) -> None:
    """Seeds 20270105, 20270106, 20270410 to 20270412 and 20270603 to 20270605, and 20270701 when it had been judged: what an adapter of
    float32 casts beside a last product, a relu that keeps its result itself, losses in the dtype of the logits, a cache that
    checkpointing leaves on, scores that a float32 mask widens, a softmax in the dtype of its scores, the buffer that FSDP makes and
    empties before the first forward, the layers that it keeps for the keys among their inputs, the weight that DoRA transposes into a
    parameter, logits that CodeGen makes float32 itself, values that ModernBERT leaves in their product, the parameters of experts with
    what adapters add to them, embeddings that FSDP makes a unit, and copies of weights in front of the first adapter, which nothing
    holds, and the masks of layers that see a window. Seed 20271203, to work with: gate and up of merged experts in Adafactor's step, OPT's
    scores beside a mask of float32, and an encoder's layers that hand on what autocast's norm makes float32. Seed 20271799 when it had
    been judged, and five plans of the same kinds: what merged experts put out while it is weighted in the router's float32, the inputs
    and gradients of parameters that adapters add to, masks that layers with a window make or keep, a single key spread over all heads
    and cast, and GPT-J under sdpa."""
    found = planned(stated(drawn["facts"]), read_architecture(drawn["config"])).estimate().peak.total / 2**20
    assert found == pytest.approx(drawn["mib"], rel=0.04)


@pytest.mark.parametrize(("rows", "gib"), [(4, 10.494), (8, 14.150)])
def test_santacoder_takes_what_fms_acceleration_measured(rows: int, gib: float) -> None:
    """scripts/benchmarks/refs of fms-acceleration at 876e2ed, full fine-tuning at 2,048 tokens, transformers 4.48.1: the keys and values
    that checkpointing leaves in the cache, and three copies of the logits."""
    facts = {
        "plan.method": "full", "plan.load_dtype": "bfloat16", "plan.batch_size": rows, "plan.seq_len": 2048, "plan.padding": False,
        "plan.gradient_checkpointing": True, "plan.gradient_accumulation": 1, "plan.optimizer": "adamw_torch", "plan.attn": "sdpa",
        "plan.trainer": "trl", "packages.transformers": "==4.48.1", "packages.torch": "==2.4.1",
    }  # fmt: skip
    found = planned(stated(facts), read_architecture(_SANTACODER)).estimate()
    assert found.peak.total / 2**30 == pytest.approx(gib, rel=0.005)
