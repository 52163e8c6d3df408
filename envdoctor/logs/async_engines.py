"""What a program takes from vLLM's AsyncLLMEngine and its successor AsyncLLM has not, by the releases that still have both.

Read in the wheels: vllm/engine/async_llm_engine.py of 0.7.3, 0.9.2, 0.10.2 (a class of its own, chosen by VLLM_USE_V1=0) and 0.11.0
(AsyncLLMEngine = AsyncLLM); vllm/envs.py, which has VLLM_USE_V1 up to 0.11.0 and no longer in 0.11.1, 0.11.2, 0.12.0 and 0.13.0;
vllm/v1/engine/async_llm.py of 0.8.0, 0.10.2 and 0.11.0. https://github.com/lm-sys/FastChat/commit/c4452e5
"""

from __future__ import annotations

from envdoctor.logs.break_form import Break

_SAYS = (
    r"'AsyncLLM' object has no attribute '(?:engine|engine_step|get_tokenizer_group|tokenizer|background_loop|get_lora_config"
    r"|get_parallel_config|get_scheduler_config|start_background_loop|run_engine_loop|_request_tracker|_abort)'"
)
_MEANS = "vllm runs its V1 engine from 0.8 on, whose AsyncLLM has not what the program takes from AsyncLLMEngine"
_BEHIND = "FastChat's worker and other servers reach into the engine of before"
_NEWEST = "the newest state of the program, which does without"

ASYNC_ENGINES = (
    Break(
        _SAYS,
        _MEANS,
        _BEHIND,
        "with vllm 0.8 to 0.10.2 VLLM_USE_V1=0 in the environment before it starts (later releases have no other engine, and "
        "from 0.11.1 on "
        f"no such setting); or {_NEWEST}",
        "error-attribute-missing",
        ("vllm",),
        ">=0.8,<0.11",
        (("vllm", "<0.8"),),
    ),
    Break(
        _SAYS,
        _MEANS,
        f"{_BEHIND}, which vllm has no longer: from 0.11.0 on AsyncLLMEngine is another name of AsyncLLM, and VLLM_USE_V1=0 brings nothing "
        "back",
        _NEWEST,
        "error-attribute-missing",
        ("vllm",),
        ">=0.11",
        (("vllm", "<0.8"),),
    ),
)
